"""Measure time and memory of an assay as its table grows: `bench_scale.py 1e5 1e6 1e7`, two threads.

The texts of the bundled sample are repeated, in each copy with another word in another place, so that no two
outputs of the table are alike. Four perturbations; BLEU, chrF and WER. Each size runs in a process of its
own, whose largest resident memory the kernel tells. Seconds are of the processor: others may be at work.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from metassay.sample import get_sample_path

OPTIONS = (
    *("--metrics", "bleu,chrf,wer", "--perturbations", "removal,insertion,swapping,removal_20"),
    *("--language", "en", "--workers", "2", "--cache", "off"),
)
COLUMNS = ("seg_id", "system", "domain", "hyp", "ref")
WITHIN = 0.15
"""So far a doubling of the table may be from a doubling of the time."""


def generate_copies(outputs: int) -> Iterator[pl.DataFrame]:
    """Generate changed copies of the sample until there are this many outputs."""
    sample = pl.read_parquet(get_sample_path("mt")).select(
        pl.concat_str("lp", "seg_id", separator="-").alias("seg_id"), *COLUMNS[1:]
    )
    words = sorted({word for text in sample["ref"] for word in text.split() if word.isalpha()})
    items = {item: place for place, item in enumerate(sample["seg_id"].unique(maintain_order=True))}
    places = [items[item] for item in sample["seg_id"]]
    for copy in range(math.ceil(outputs / sample.height)):
        changed = {
            name: [
                _change_text(text, copy, place, words) for text, place in zip(sample[name].to_list(), places)
            ]
            for name in ("hyp", "ref")
        }
        ids = [f"{copy:05d}-{item}" for item in sample["seg_id"]]
        frame = sample.with_columns(pl.Series("seg_id", ids), *(pl.Series(n, t) for n, t in changed.items()))
        yield frame.head(outputs - copy * sample.height)


def _change_text(text: str, copy: int, place: int, words: list[str]) -> str:
    """Put a number and a word into a text; output and reference of an item get the same."""
    own = text.split(" ")
    own.insert((copy + place) % (len(own) + 1), f"{words[(31 * copy + place) % len(words)]} {copy}")
    return " ".join(own)


def write_table(path: Path, outputs: int) -> None:
    """Write the table in row groups of about 2^16 rows."""
    frames, writer = [], None
    for frame in generate_copies(outputs):
        frames.append(frame)
        if sum(each.height for each in frames) >= 2**16 or frame.height < frames[0].height:
            table = pl.concat(frames).to_arrow(compat_level=pl.CompatLevel.oldest())
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
            frames = []
    if frames:
        table = pl.concat(frames).to_arrow(compat_level=pl.CompatLevel.oldest())
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def read_assay_measurements(table: Path, folder: Path) -> tuple[float, float, float]:
    """Return CPU seconds, elapsed seconds and peak memory of one assay."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "metassay", "assay", str(table), "--out", str(folder), *OPTIONS]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}.")
    return used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss * 1024


def main() -> None:
    sizes = sorted(int(float(size)) for size in sys.argv[1:] or ("1e5", "1e6"))
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("BENCH_FOLDER")))
    spent: list[float] = []
    try:
        for outputs in sizes:
            table, made = folder / f"{outputs}.parquet", folder / f"run-{outputs}"
            write_table(table, outputs)
            cpu, wall, memory = read_assay_measurements(table, made)
            spent.append(cpu)
            print(f"{outputs:>12,} outputs: {cpu:,.0f} s of the processor, {wall:,.0f} s in all", end=", ")
            print(f"{1e6 * cpu / outputs:,.0f} µs an output, {memory / 1e9:.2f} GB at most", flush=True)
            shutil.rmtree(made)
            table.unlink()
        for (small, less), (large, more) in pairwise(zip(sizes, spent)):
            slope = math.log(more / less) / math.log(large / small)
            said = "linear" if abs(slope - 1) <= WITHIN else "not linear"
            print(f"{small:,} to {large:,}: time grows as n^{slope:.2f}, {said} within {WITHIN:.0%}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
