"""Compare bootstrap scores from statistics with calling the official corpus function on every resample.

    python benchmarks/bench_aggregation.py [--quick]

One system of WMT23 zh-en (1,177 segments) where the data is found in METASSAY_DATA or ../shared/data, else of
the bundled sample: 1000 resamples of 1000 segments. The official function is timed on a few of the resamples
and multiplied ("extrapolated"); on these both must give the same scores. Ours starts from the texts.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import polars as pl
from sacrebleu import corpus_bleu, corpus_chrf

from metassay.metrics.base import Batch, StatisticsMetric
from metassay.metrics.registry import parse_metric
from metassay.sample import get_bundled_sample_path
from metassay.stats.resampling import draw_bootstrap_counts
from metassay.stats.sufficient_statistics import compute_scores_of_resamples

ROOT = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
OFFICIAL = {"bleu": corpus_bleu, "chrf": corpus_chrf}
RESAMPLES = SIZE = 1000


def load_outputs() -> tuple[list[str], list[str]]:
    path = ROOT / "wmt23" / "wmt23_zh-en.parquet"
    frame = pl.read_parquet(path if path.exists() else get_bundled_sample_path("mt"))
    system = min(frame["system"].unique())
    frame = frame.filter(system=system)
    return frame["hyp"].to_list(), frame["ref"].to_list()


def aggregate_ours(metric: StatisticsMetric, outputs: list[str], references: list[str]) -> np.ndarray:
    """Compute the statistics once, then all resamples with one matrix product."""
    statistics = metric.statistics(Batch.from_texts(outputs, [[reference] for reference in references]))
    counts = draw_bootstrap_counts(len(outputs), SIZE, RESAMPLES, np.random.default_rng(0))
    return compute_scores_of_resamples(statistics[None], counts, metric.from_statistics)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one resample of the official")
    few = 1 if parser.parse_args().quick else 5
    outputs, references = load_outputs()
    drawn = np.random.default_rng(0).integers(0, len(outputs), size=(RESAMPLES, SIZE))
    print(f"{RESAMPLES} resamples of {SIZE} segments, one system, from {len(outputs)} segments")
    for spec, official in OFFICIAL.items():
        metric = parse_metric(spec)
        scores = aggregate_ours(metric, outputs, references)
        best = np.inf
        for _ in range(5):
            start = time.perf_counter()
            aggregate_ours(metric, outputs, references)
            best = min(best, time.perf_counter() - start)
        start = time.perf_counter()
        expected = [
            official([outputs[i] for i in row], [[references[i] for i in row]]).score for row in drawn[:few]
        ]
        theirs = (time.perf_counter() - start) / few * RESAMPLES
        gap = np.max(np.abs(scores[:few] / expected - 1))
        ratio = theirs / best
        verdict = "reached" if ratio >= 1000 else "MISSED"
        print(
            f"{spec:5} sacrebleu {theirs:7.1f} s (extrapolated)  ours {best * 1e3:6.1f} ms  {ratio:6.0f}×"
            f"  ≥ 1000× {verdict}  largest relative difference on the same resamples {gap:.1e}"
        )


if __name__ == "__main__":
    main()
