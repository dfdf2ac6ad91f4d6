"""Compare a whole assay with the work that it cannot avoid: metrics and perturbations.

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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.preparation import prepare_dataset_for_scoring
from metassay.engine.batches import OutputRows
from metassay.engine.scoring import score_rows
from metassay.metrics.registry import parse_metrics
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.sample import get_bundled_sample_path
from metassay.store.run_scores import RunScores
from metassay.workflows import assay_pairs
from metassay.workflows.assay import assay
from metassay.workflows.pair_scoring import list_texts_of_pairs
from metassay.workflows.read import read

DATA = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
WMT = DATA / "wmt22/wmt22_en-de.parquet"
METRICS = "bleu,chrf,ter,rougel"
MORE = "chrf(word_order=2)"
THREADS = "POLARS_MAX_THREADS"


def measure_cpu_seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def score_with_kernels(rows: OutputRows, metrics: str) -> float:
    """Score batches that are ready, each distinct text once, and return the CPU seconds."""
    seconds = 0.0
    for batch_rows in rows.split_into_batches():
        first_rows = batch_rows.frame.with_row_index().unique("output")["index"].to_numpy()
        distinct_rows = batch_rows.select_rows(np.sort(first_rows))
        for metric in parse_metrics(metrics):
            batch = distinct_rows.build_metric_batch(metric.needs)
            seconds += measure_cpu_seconds(partial(metric.score, batch))
    return seconds


def main() -> None:
    data = read(WMT if WMT.exists() else get_bundled_sample_path("mt"))
    clean: Dataset = prepare_dataset_for_scoring(data, normalize=None, keep_references=False)
    folder = Path(tempfile.mkdtemp())
    try:
        compile_kernels(read(get_bundled_sample_path("mt")))
        run: dict[str, Any] = {"workers": 1, "cache": folder / "cache"}
        # Measured within the assay, because taggers remember the words that they have seen.
        with time_perturbation() as perturbing:
            first = measure_cpu_seconds(lambda: assay(data, metrics=METRICS, out=folder / "run", **run))
        second = measure_cpu_seconds(lambda: assay(data, metrics=METRICS, out=folder / "run", **run))
        with time_perturbation() as again:
            more = measure_cpu_seconds(
                lambda: assay(data, metrics=f"{METRICS},{MORE}", out=folder / "more", **run)
            )
        pairs = make_perturbed_output_pairs(clean, per_output=None)
        rows = OutputRows(list_texts_of_pairs(clean, pairs))
        scoring, alone = score_with_kernels(rows, METRICS), score_with_kernels(rows, MORE)
        print(f"{len(data):,} outputs, {len(rows):,} texts, {METRICS}, one thread, seconds of the processor")
        print(
            f"perturbations {perturbing[0]:.1f}, kernels {scoring:.2f}, whole assay {first:.1f} s", end=": "
        )
        print(f"{first / (perturbing[0] + scoring):.2f} × what it cannot do without")
        print(f"the same again: {second:.1f} s, {first / second:.1f} × faster")
        print(f"one more metric, scores shared: {more:.1f} s; that metric {alone:.2f} s", end=", ")
        print(f"making or finding worse copies {again[0]:.1f} s, the rest is judging and report")
        measure_store(rows, folder)
        for times in (1, 8):
            one, two = (time_assay_in_new_process(workers, times) for workers in (1, 2))
            print(
                f"{times * len(data):,} outputs: one worker {one:.1f} s, two {two:.1f} s, {one / two:.2f} ×"
            )
    finally:
        shutil.rmtree(folder)


@contextmanager
def time_perturbation() -> Iterator[list[float]]:
    """Measure the CPU seconds of making pairs inside a `with` block."""
    seconds: list[float] = []

    def call_and_time(*arguments: Any, **keywords: Any) -> Any:
        start = time.process_time()
        pairs = make_perturbed_output_pairs(*arguments, **keywords)
        seconds.append(time.process_time() - start)
        return pairs

    assay_pairs.make_perturbed_output_pairs = call_and_time  # type: ignore[attr-defined]
    yield seconds
    assay_pairs.make_perturbed_output_pairs = make_perturbed_output_pairs  # type: ignore[attr-defined]


def compile_kernels(data: Dataset) -> None:
    """Compile, or load from disk, what is needed once per process."""
    with tempfile.TemporaryDirectory() as folder:
        assay(data, metrics=f"{METRICS},{MORE}", workers=1, out=Path(folder) / "run")


def measure_store(rows: OutputRows, folder: Path) -> None:
    """Measure what storing and finding scores costs, as the minimum of five."""
    metrics = parse_metrics(METRICS)
    scores = len(rows) * len(metrics)
    off = min(measure_cpu_seconds(lambda: score_rows(metrics, rows, workers=1)) for _ in range(5))
    on, found = [], []
    for number in range(5):
        parts = RunScores(folder / f"scores-{number}")
        on.append(measure_cpu_seconds(lambda kept=parts: score_rows(metrics, rows, workers=1, store=kept)))
        again = RunScores(folder / f"scores-{number}")
        found.append(measure_cpu_seconds(lambda kept=again: score_rows(metrics, rows, workers=1, store=kept)))
    keeping, finding = 1e6 * (min(on) - off) / scores, 1e6 * min(found) / scores
    print(f"keeping a score: {keeping:.2f} µs; finding it, digests and all: {finding:.2f} µs")


def time_assay_in_new_process(workers: int, times: int) -> float:
    """Measure the seconds of an assay in a new process, after compilation."""
    command = [sys.executable, __file__, str(workers), str(times)]
    environment = os.environ | {THREADS: str(workers)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


def time_assay(workers: int, times: int) -> float:
    """Measure the seconds of an assay in this process, on the sample repeated several times."""
    texts = pl.read_parquet(WMT if WMT.exists() else get_bundled_sample_path("mt"))
    copies = [
        texts.with_columns(pl.col("seg_id").cast(pl.String) + f"-{n}", pl.col("hyp") + f" {n}" * (n > 0))
        for n in range(times)
    ]
    with tempfile.TemporaryDirectory() as folder:
        compile_kernels(read(get_bundled_sample_path("mt")))
        data = read(pl.concat(copies))
        start = time.perf_counter()
        assay(data, metrics=METRICS, workers=workers, out=Path(folder) / "run")
        return time.perf_counter() - start


if __name__ == "__main__":
    if THREADS not in os.environ:  # polars reads it when it is imported
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {THREADS: "1"})
    elif sys.argv[1:]:
        print(time_assay(*map(int, sys.argv[1:])))
    else:
        main()
