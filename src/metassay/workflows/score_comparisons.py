"""Tests between all pairs of systems, on the segments that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metassay.data.cube import Cube
from metassay.errors import InputError
from metassay.meta.aggregation.scores import Resampling
from metassay.metrics.base import Metric, StatisticsMetric
from metassay.stats.arrays import FloatArray
from metassay.stats.multiplicity import holm
from metassay.stats.resampling import (
    FromStatistics,
    approximate_randomization,
    from_mean_statistics,
    mean_statistics,
    paired_bootstrap,
)

TESTS = {"bootstrap": 1000, "randomization": 10_000}
"""Tests by name, with their usual number of draws."""


def comparisons(
    cubes: Sequence[Cube],
    metrics: Sequence[Metric],
    test: str,
    *,
    draws: int | None = None,
    seed: int = 0,
    several: bool,
) -> list[dict[str, Any]]:
    """All pairs of systems within each test set, by corpus score where there is one, else by mean score."""
    count = TESTS[test] if draws is None else draws
    if count < 1:
        raise InputError(f"{count} draws are not enough for a test.")
    return [
        ({"group": cube.dataset} if several else {}) | row
        for metric in metrics
        for cube in cubes
        for row in _between_systems(cube, metric, test, count, seed)
    ]


def _between_systems(cube: Cube, metric: Metric, test: str, draws: int, seed: int) -> list[dict[str, Any]]:
    statistics, from_statistics = _statistics(cube, metric)
    common = ~np.isnan(statistics).any(axis=(0, 2))
    if len(cube.systems) < 2 or not common.any():
        return []
    rng = Resampling(seed=seed).stream(cube.dataset, test, int(common.sum()))
    compare = paired_bootstrap if test == "bootstrap" else approximate_randomization
    found = compare(statistics[:, common], from_statistics, rng, draws=draws)
    pairs = [(i, j) for i in range(len(cube.systems)) for j in range(i + 1, len(cube.systems))]
    adjusted = holm([found.p[pair] for pair in pairs])
    return [
        {
            "metric": metric.spec,
            "a": cube.systems[i],
            "b": cube.systems[j],
            "difference": _plain(found.differences[i, j]),
            "p": _plain(found.p[i, j]),
            "test": test,
            "p_holm": _plain(p_holm),
            "segments": int(common.sum()),
        }
        for (i, j), p_holm in zip(pairs, adjusted)
    ]


def _statistics(cube: Cube, metric: Metric) -> tuple[FloatArray, FromStatistics]:
    """Statistics [systems, segments, s], NaN where a system has no (defined) score, and their score."""
    if isinstance(metric, StatisticsMetric):
        return cube.statistics[metric.spec], metric.from_statistics
    scores = cube.metrics[metric.spec]
    statistics = mean_statistics(scores)
    statistics[np.isnan(scores)] = np.nan
    return statistics, from_mean_statistics


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
