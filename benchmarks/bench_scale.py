"""Measure time and memory of an assay as its table grows.

python benchmarks/bench_scale.py [--outputs 1e5 1e6 1e7] [--default-perturbations]

The texts of the bundled sample are repeated. Each copy has another word in another place, so that no two
outputs of the table are alike. The metrics are BLEU, chrF and WER; the perturbations are four fast ones, or
with `--default-perturbations` those that `metassay assay` uses by default for translations, `entity` among
them. Each size runs in a process of its own with two threads. Seconds are CPU seconds, because other programs
may be running. Memory is the largest resident memory of the process.
"""

from __future__ import annotations

import argparse
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

from metassay.sample import get_bundled_sample_path

OPTIONS = (
    *("--task", "mt", "--language", "en", "--metrics", "bleu,chrf,wer"),
    *("--workers", "2", "--cache", "off"),
)
FAST_PERTURBATIONS = ("--perturbations", "removal,insertion,swapping,removal_20")
COLUMNS = ("seg_id", "system", "domain", "hyp", "ref")
# Time may deviate by this exponent from growing linearly with the number of outputs.
LINEAR_TOLERANCE = 0.15


def generate_copies(output_count: int) -> Iterator[pl.DataFrame]:
    """Generate changed copies of the sample until there are this many outputs."""
    sample = pl.read_parquet(get_bundled_sample_path("mt")).select(
        pl.concat_str("lp", "seg_id", separator="-").alias("seg_id"), *COLUMNS[1:]
    )
    words = sorted({word for text in sample["ref"] for word in text.split() if word.isalpha()})
    item_numbers = {item: number for number, item in enumerate(sample["seg_id"].unique(maintain_order=True))}
    number_of_row = [item_numbers[item] for item in sample["seg_id"]]
    for copy_number in range(math.ceil(output_count / sample.height)):
        changed_columns = []
        for name in ("hyp", "ref"):
            texts = [
                insert_word(text, copy_number, item_number, words)
                for text, item_number in zip(sample[name].to_list(), number_of_row)
            ]
            changed_columns.append(pl.Series(name, texts))
        ids = pl.Series("seg_id", [f"{copy_number:05d}-{item}" for item in sample["seg_id"]])
        copy = sample.with_columns(ids, *changed_columns)
        yield copy.head(output_count - copy_number * sample.height)


def insert_word(text: str, copy_number: int, item_number: int, words: list[str]) -> str:
    """Insert a word and a number into a text, the same into the output and the reference of an item."""
    words_of_text = text.split(" ")
    position = (copy_number + item_number) % (len(words_of_text) + 1)
    word = words[(31 * copy_number + item_number) % len(words)]
    words_of_text.insert(position, f"{word} {copy_number}")
    return " ".join(words_of_text)


def write_table(path: Path, output_count: int) -> None:
    """Write the table in row groups of about 2^16 rows."""
    frames: list[pl.DataFrame] = []
    writer: pq.ParquetWriter | None = None
    for frame in generate_copies(output_count):
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


def measure_assay(table: Path, run_folder: Path, options: tuple[str, ...]) -> tuple[float, float, float]:
    """Run an assay; return its CPU seconds, elapsed seconds and peak memory in bytes."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "metassay", "assay", str(table), "--out", str(run_folder), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}.")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss * 1024


def main() -> None:
    """Print a row per size, and between two sizes how the time grows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--outputs", nargs="+", type=float, default=[1e5, 1e6])
    parser.add_argument("--default-perturbations", action="store_true")
    arguments = parser.parse_args()
    sizes = sorted(map(int, arguments.outputs))
    options = OPTIONS if arguments.default_perturbations else (*OPTIONS, *FAST_PERTURBATIONS)
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("BENCH_FOLDER")))
    all_cpu_seconds: list[float] = []
    try:
        for size in sizes:
            table = folder / f"{size}.parquet"
            run_folder = folder / f"run-{size}"
            write_table(table, size)
            cpu_seconds, seconds, memory = measure_assay(table, run_folder, options)
            all_cpu_seconds.append(cpu_seconds)
            print(
                f"{size:>12,} outputs: {cpu_seconds:,.0f} CPU seconds, {seconds:,.0f} s elapsed, "
                f"{1e6 * cpu_seconds / size:,.0f} µs an output, at most {memory / 1e9:.2f} GB",
                flush=True,
            )
            shutil.rmtree(run_folder)
            table.unlink()
        for (small, less), (large, more) in pairwise(zip(sizes, all_cpu_seconds)):
            exponent = math.log(more / less) / math.log(large / small)
            growth = "linear" if abs(exponent - 1) <= LINEAR_TOLERANCE else "not linear"
            print(f"{small:,} to {large:,}: time grows as n^{exponent:.2f} ({growth})")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
