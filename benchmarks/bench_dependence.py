"""Compare the system dependence of the 43 metrics of WMT23 zh-en, 200 bootstrap fits each, with scikit-learn.

python benchmarks/bench_dependence.py [--bootstraps 200] [--peer-bootstraps 4]

The peer fits fewer resamples, of all metrics, and its time is scaled: every resample costs the same. On those
resamples both must give the same deviations. Times are the best of three. Without the real tables
(METASSAY_DATA, else ../shared/data) the scores are random numbers of the same size.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.isotonic import IsotonicRegression

from metassay.meta.dependence.deviations import system_dependence
from metassay.stats.resampling import draw_cluster_counts

SYSTEMS, SEGMENTS, METRICS = 15, 1177, 43


def load_scores() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Load human scores and metric scores, each `[systems, segments]`."""
    folder = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
    path = folder / "wmt23" / "wmt23_zh-en_metrics.parquet"
    if not path.exists():
        print("real data absent: random scores of the same size")
        rng = np.random.default_rng(0)
        human = rng.normal(size=(SYSTEMS, SEGMENTS)).round(1)
        return human, {f"m{n}": human + rng.normal(size=human.shape) for n in range(METRICS)}
    table = pl.read_parquet(path).sort("system", "seg_id")
    arrays = {name: table[name].to_numpy().reshape(SYSTEMS, SEGMENTS) for name in table.columns[3:]}
    return arrays.pop("mqm"), arrays


def compute_with_sklearn(human: np.ndarray, metric: np.ndarray, bootstraps: int) -> np.ndarray:
    """Compute system dependence as in the paper, with scikit-learn."""
    total = np.zeros(len(human))
    for count in draw_cluster_counts(human.shape[1], bootstraps, seed=0):
        drawn = np.repeat(np.arange(human.shape[1]), count)
        pooled = _fit_isotonic(metric[:, drawn], human[:, drawn])
        for k in range(len(human)):
            own = _fit_isotonic(metric[k, drawn], human[k, drawn])
            total[k] += (pooled.predict(metric[k]) - own.predict(metric[k])).mean()
    return total / bootstraps


def _fit_isotonic(metric: np.ndarray, human: np.ndarray) -> IsotonicRegression:
    return IsotonicRegression(out_of_bounds="clip").fit(metric.ravel(), human.ravel())


def compute_ours(human: np.ndarray, metrics: dict[str, np.ndarray], bootstraps: int) -> dict[str, np.ndarray]:
    """Compute system dependence of all metrics on all cores of this process."""
    workers = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(workers) as pool:
        found = pool.map(
            lambda metric: system_dependence(human, metric, bootstraps=bootstraps).deviations,
            metrics.values(),
        )
        return dict(zip(metrics, found))


def time_best(run: Callable[[], dict[str, np.ndarray]]) -> tuple[float, dict[str, np.ndarray]]:
    """Return the seconds of the fastest of three runs, and its result."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - start)
    return min(times), found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstraps", type=int, default=200)
    parser.add_argument("--peer-bootstraps", type=int, default=4)
    options = parser.parse_args()
    human, metrics = load_scores()
    system_dependence(human, next(iter(metrics.values())), bootstraps=1)  # compile

    seconds, _ = time_best(lambda: compute_ours(human, metrics, options.bootstraps))
    measured, theirs = time_best(
        lambda: {
            name: compute_with_sklearn(human, metric, options.peer_bootstraps)
            for name, metric in metrics.items()
        }
    )
    scaled = measured * options.bootstraps / options.peer_bootstraps

    same = compute_ours(human, metrics, options.peer_bootstraps)
    difference = max(np.abs(same[name] - theirs[name]).max() for name in metrics)
    systems, segments = human.shape
    print(f"{len(metrics)} metrics x {systems} systems x {segments} segments, B = {options.bootstraps}")
    print(f"metassay      {seconds:8.2f} s")
    print(f"scikit-learn  {scaled:8.2f} s  (measured {measured:.2f} s for B = {options.peer_bootstraps})")
    print(f"ratio         {scaled / seconds:8.1f} x")
    print(f"largest difference of a deviation on the same resamples: {difference:.1e}")


if __name__ == "__main__":
    main()
