"""Compare soft pairwise accuracy and tests between metrics with plain recomputation and scipy.

    python benchmarks/bench_pairwise.py [--quick]

The 43 metrics of WMT23 zh-en (15 systems, 1,177 segments) where the data is found in METASSAY_DATA or
../shared/data, else scores of the same shape made up. Peers that would take hours are timed on a few draws
and multiplied; those rows say "extrapolated". The last rows add five metrics with missing scores.

`--missing` prints these rows alone, in CPU seconds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.meta.people.metric_comparison import (
    compare_metrics_on_shared_items,
    compute_metric_differences,
)
from metassay.stats.score_exchanges import list_metric_pairs, standardize_metrics

TABLE = "wmt23/wmt23_zh-en_metrics.parquet"
SOFT = parse_meta_metric("spa")


def load_scores() -> tuple[ScoreArrays, str]:
    """Load the real scores, or draw scores of the same shape."""
    root = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if (root / TABLE).exists():
        table = pl.read_parquet(root / TABLE).sort("system", "seg_id")
        systems = table["system"].n_unique()
        names = [name for name in table.columns if name not in {"lp", "system", "seg_id"}]
        arrays = {name: table[name].to_numpy().reshape(systems, -1) for name in names}
        return ScoreArrays(arrays.pop("mqm"), np.stack(list(arrays.values()))), "WMT23 zh-en"
    rng = np.random.default_rng(0)
    human = rng.normal(size=(15, 1)) * 0.2 + rng.normal(size=1177) + rng.normal(size=(15, 1177))
    return ScoreArrays(human, human + rng.normal(size=(43, 15, 1177)) * 2), "made-up scores"


def time_best(function: Callable[[], object], repeats: int = 1) -> float:
    """Return the seconds of the fastest of several runs."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def compute_permutation_p_values(x: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Compute p-values of all pairs of systems in the plain way: flip, average, compare."""
    null = signs @ x.T
    first, second = np.triu_indices(len(x), 1)
    observed = x.sum(axis=1)
    return (null[:, first] - null[:, second] >= observed[first] - observed[second]).mean(axis=0)


def compute_draw(
    human: np.ndarray, x: np.ndarray, y: np.ndarray, signs: np.ndarray, rng: np.random.Generator
) -> float:
    """Compute one draw for two standardised metrics from their swapped scores."""
    swap = rng.random(human.shape[1]) < 0.5
    p_human = compute_permutation_p_values(human, signs)
    values = [
        1 - np.abs(compute_permutation_p_values(np.where(swap, one, other), signs) - p_human).mean()
        for one, other in ((y, x), (x, y))
    ]
    return float(values[0] - values[1])


def print_row(what: str, ours: float, peer: float | None = None, note: str = "") -> None:
    ratio = "" if peer is None else f"{peer:12.3f} s {peer / ours:10.0f} x"
    print(f"{what:<58} {ours:9.3f} s {ratio}  {note}", flush=True)


def time_peers(scores: ScoreArrays, draws: int) -> tuple[float, float]:
    """Estimate the seconds that plain recomputation and scipy would take for everything, from a part."""
    metrics, systems, segments = scores.metrics.shape
    rng = np.random.default_rng(0)
    signs = np.where(rng.random((1000, segments)) < 0.5, -1.0, 1.0)
    some = 5
    x, y = standardize_metrics(scores.metrics[:2])
    one = time_best(lambda: [compute_draw(scores.human, x, y, signs, rng) for _ in range(some)]) / some
    pairs = systems * (systems - 1) // 2
    difference = scores.human[0] - scores.human[1]
    test = time_best(
        lambda: stats.permutation_test(
            (difference,), np.mean, permutation_type="samples", n_resamples=1000, vectorized=True, axis=0
        )
    )
    return one * draws * metrics * (metrics - 1) / 2, test * pairs * (metrics + 1)


def print_missing_scores(scores: ScoreArrays, draws: int) -> None:
    """Print the CPU time of tests between metrics, without and with five more that lack some scores."""
    rng = np.random.default_rng(1)
    incomplete = scores.metrics[:5].copy()
    for count, metric in zip((2, 5, 10, 40, 100), incomplete):
        metric[:, rng.choice(metric.shape[1], count, replace=False)] = np.nan
    both = ScoreArrays(scores.human, np.concatenate([scores.metrics, incomplete]))
    settings = ComparisonSettings(draws=draws, workers=1)
    for _ in range(2):  # the first time compiles
        seconds = []
        for arrays in (scores, both):
            start = time.process_time()
            pairs = list_metric_pairs(len(arrays.metrics))
            compare_metrics_on_shared_items(SOFT, arrays, settings, pairs)
            seconds.append(time.process_time() - start)
    complete, with_incomplete = seconds
    print(f"{len(scores.metrics)} complete metrics, {draws} draws: {complete:.2f} CPU s")
    print(f"and five with missing scores: {with_incomplete:.2f} CPU s, {with_incomplete / complete:.2f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="100 draws instead of 1000")
    parser.add_argument("--missing", action="store_true", help="only the rows on missing scores")
    options = parser.parse_args()
    draws = 100 if options.quick else 1000
    scores, source = load_scores()
    if options.missing:
        print_missing_scores(scores, draws)
        return
    metrics, systems, segments = scores.metrics.shape
    print(f"{source}: {metrics} metrics, {systems} systems, {segments} segments")
    print(f"{draws} draws, {os.cpu_count()} cores")
    print(f"{'':<58} {'ours':>11} {'peer':>14} {'ratio':>12}")
    tiny = ScoreArrays(scores.human[:, :20], scores.metrics[:3, :, :20])
    for test in ("perm-inputs", "perm-both", "perm-systems", "cells"):  # compile first
        for method in ("normal", "permutation"):
            compute_metric_differences(SOFT, tiny, ComparisonSettings(test, method, draws=2, permutations=10))
    by_hand, by_scipy = time_peers(scores, draws)
    soft = time_best(lambda: SOFT.evaluate_metrics(scores), 5)
    print_row(
        "SPA of all metrics, normal", soft, by_scipy, "peer: scipy.stats.permutation_test, extrapolated"
    )
    flips = time_best(lambda: SOFT.evaluate_metrics(scores, ComparisonSettings(method="permutation")), 2)
    print_row("SPA of all metrics, 1000 permutations", flips, by_scipy, "the same peer")
    for test in ("perm-inputs", "perm-both", "perm-systems", "cells"):
        for method in ("normal", "permutation"):
            if test == "cells" and method == "permutation":
                continue
            procedure = ComparisonSettings(test, method, draws=draws)
            seconds = time_best(lambda p=procedure: compute_metric_differences(SOFT, scores, p))
            note = "peer: every draw recomputed, extrapolated" if test == "perm-inputs" else ""
            print_row(
                f"all pairs, {test}, {method}", seconds, by_hand if test == "perm-inputs" else None, note
            )
    print_row(
        "acc_eq with calibration", time_best(lambda: parse_meta_metric("acc_eq").evaluate_metrics(scores))
    )
    print("scaling of perm-inputs, normal:")
    for count in (10, 20, 40):
        part = ScoreArrays(scores.human, scores.metrics[:count])
        print_row(
            f"  {count} metrics",
            time_best(lambda p=part: compute_metric_differences(SOFT, p, ComparisonSettings(draws=draws))),
        )
    for count in (segments // 4, segments // 2, segments):
        part = ScoreArrays(scores.human[:, :count], scores.metrics[:, :, :count])
        print_row(
            f"  {count} segments",
            time_best(lambda p=part: compute_metric_differences(SOFT, p, ComparisonSettings(draws=draws))),
        )
    for count in (5, 10, systems):
        part = ScoreArrays(scores.human[:count], scores.metrics[:, :count])
        print_row(
            f"  {count} systems",
            time_best(lambda p=part: compute_metric_differences(SOFT, p, ComparisonSettings(draws=draws))),
        )
    print_missing_scores(scores, draws)


if __name__ == "__main__":
    main()
