"""A whole assay against the work it cannot do without: kernels and perturbations, with everything kept.

WMT22 en-de where it is (METASSAY_DATA or ../shared/data), else the bundled sample; BLEU, chrF, TER and
ROUGE-L, all default perturbations, one thread. Seconds are of the processor: others may be at work beside us.
Last, one worker against two by the clock, each in a process of its own: of the same data, and of eight times
as much.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.preparation import prepare_dataset
from metassay.engine.batches import OutputRows
from metassay.engine.scoring import score_rows
from metassay.metrics.registry import parse_metrics
from metassay.perturbations.pairs import make_pairs
from metassay.sample import sample_path
from metassay.store.run_scores import RunScores
from metassay.workflows import perturb as workflow
from metassay.workflows.assay import assay
from metassay.workflows.pair_scoring import scored_texts
from metassay.workflows.read import read

DATA = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
WMT = DATA / "wmt22/wmt22_en-de.parquet"
METRICS = "bleu,chrf,ter,rougel"
MORE = "chrf(word_order=2)"
THREADS = "POLARS_MAX_THREADS"


def seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def kernels(rows: Any, metrics: str) -> float:
    """The metrics alone, on batches that are ready, each distinct text once."""
    spent = 0.0
    for piece in rows.split_into_batches():
        distinct = piece.select(np.sort(piece.frame.with_row_index().unique("output")["index"].to_numpy()))
        for metric in parse_metrics(metrics):
            batch = distinct.to_batch(metric.needs)
            spent += seconds(lambda m=metric, b=batch: m.score(b))
    return spent


def main() -> None:
    data = read(WMT if WMT.exists() else sample_path("mt"))
    clean: Dataset = prepare_dataset(data, normalize=None, keep_references=False)
    folder = Path(tempfile.mkdtemp())
    try:
        _compile(read(sample_path("mt")))
        run: dict[str, Any] = {"workers": 1, "cache": folder / "cache"}
        with (
            perturbing_timed() as perturbing
        ):  # in the assay itself: what taggers learn of words stays with them
            first = seconds(lambda: assay(data, metrics=METRICS, out=folder / "run", **run))
        second = seconds(lambda: assay(data, metrics=METRICS, out=folder / "run", **run))
        with perturbing_timed() as again:
            more = seconds(lambda: assay(data, metrics=f"{METRICS},{MORE}", out=folder / "more", **run))
        pairs = make_pairs(clean, per_output=None)
        rows = OutputRows(scored_texts(clean, pairs))
        scoring, alone = kernels(rows, METRICS), kernels(rows, MORE)
        print(f"{len(data):,} outputs, {len(rows):,} texts, {METRICS}, one thread, seconds of the processor")
        print(
            f"perturbations {perturbing[0]:.1f}, kernels {scoring:.2f}, whole assay {first:.1f} s", end=": "
        )
        print(f"{first / (perturbing[0] + scoring):.2f} × what it cannot do without")
        print(f"the same again: {second:.1f} s, {first / second:.1f} × faster")
        print(f"one more metric, scores shared: {more:.1f} s; that metric {alone:.2f} s", end=", ")
        print(f"making or finding worse copies {again[0]:.1f} s, the rest is judging and report")
        _store(rows, folder)
        for times in (1, 8):
            one, two = (_by_the_clock(workers, times) for workers in (1, 2))
            print(
                f"{times * len(data):,} outputs: one worker {one:.1f} s, two {two:.1f} s, {one / two:.2f} ×"
            )
    finally:
        shutil.rmtree(folder)


@contextmanager
def perturbing_timed() -> Iterator[list[float]]:
    """The seconds of the processor that making pairs takes meanwhile."""
    spent: list[float] = []

    def timed(*given: Any, **named: Any) -> Any:
        start = time.process_time()
        made = make_pairs(*given, **named)
        spent.append(time.process_time() - start)
        return made

    workflow.make_pairs = timed  # type: ignore[attr-defined]
    yield spent
    workflow.make_pairs = make_pairs  # type: ignore[attr-defined]


def _compile(data: Dataset) -> None:
    """What is compiled, or read from disk, once per process."""
    with tempfile.TemporaryDirectory() as folder:
        assay(data, metrics=f"{METRICS},{MORE}", workers=1, out=Path(folder) / "run")


def _store(rows: Any, folder: Path) -> None:
    """What keeping and finding scores costs, the smallest of five."""
    metrics = parse_metrics(METRICS)
    scores = len(rows) * len(metrics)
    off = min(seconds(lambda: score_rows(metrics, rows, workers=1)) for _ in range(5))
    on, found = [], []
    for number in range(5):
        parts = RunScores(folder / f"scores-{number}")
        on.append(seconds(lambda kept=parts: score_rows(metrics, rows, workers=1, store=kept)))
        again = RunScores(folder / f"scores-{number}")
        found.append(seconds(lambda kept=again: score_rows(metrics, rows, workers=1, store=kept)))
    keeping, finding = 1e6 * (min(on) - off) / scores, 1e6 * min(found) / scores
    print(f"keeping a score: {keeping:.2f} µs; finding it, digests and all: {finding:.2f} µs")


def _by_the_clock(workers: int, times: int) -> float:
    """Seconds that an assay takes in a process of its own, once all is compiled."""
    command = [sys.executable, __file__, str(workers), str(times)]
    environment = os.environ | {THREADS: str(workers)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


def assay_by_the_clock(workers: int, times: int) -> float:
    """The same, in this process; texts that are repeated end in a number."""
    texts = pl.read_parquet(WMT if WMT.exists() else sample_path("mt"))
    copies = [
        texts.with_columns(pl.col("seg_id").cast(pl.String) + f"-{n}", pl.col("hyp") + f" {n}" * (n > 0))
        for n in range(times)
    ]
    with tempfile.TemporaryDirectory() as folder:
        _compile(read(sample_path("mt")))
        data = read(pl.concat(copies))
        start = time.perf_counter()
        assay(data, metrics=METRICS, workers=workers, out=Path(folder) / "run")
        return time.perf_counter() - start


if __name__ == "__main__":
    if THREADS not in os.environ:  # polars reads it when it is imported
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {THREADS: "1"})
    elif sys.argv[1:]:
        print(assay_by_the_clock(*map(int, sys.argv[1:])))
    else:
        main()
