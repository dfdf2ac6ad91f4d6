"""Tests between all pairs of systems, on the segments that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metassay.errors import InputError
from metassay.meta.aggregation.scores import Panel, Resampling
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
    panels: Sequence[Panel],
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
        ({"group": panel.group} if several else {}) | row
        for metric in metrics
        for panel in panels
        for row in _between_systems(panel, metric, test, count, seed)
    ]


def _between_systems(panel: Panel, metric: Metric, test: str, draws: int, seed: int) -> list[dict[str, Any]]:
    statistics, from_statistics = _statistics(panel, metric)
    common = ~np.isnan(statistics).any(axis=(0, 2))
    if len(panel.systems) < 2 or not common.any():
        return []
    rng = Resampling(seed=seed).stream(panel.group, test, int(common.sum()))
    compare = paired_bootstrap if test == "bootstrap" else approximate_randomization
    found = compare(statistics[:, common], from_statistics, rng, draws=draws)
    pairs = [(i, j) for i in range(len(panel.systems)) for j in range(i + 1, len(panel.systems))]
    adjusted = holm([found.p[pair] for pair in pairs])
    return [
        {
            "metric": metric.spec,
            "a": panel.systems[i],
            "b": panel.systems[j],
            "difference": _plain(found.differences[i, j]),
            "p": _plain(found.p[i, j]),
            "test": test,
            "p_holm": _plain(p_holm),
            "segments": int(common.sum()),
        }
        for (i, j), p_holm in zip(pairs, adjusted)
    ]


def _statistics(panel: Panel, metric: Metric) -> tuple[FloatArray, FromStatistics]:
    """Statistics [systems, segments, s], NaN where a system has no (defined) score, and their score."""
    if isinstance(metric, StatisticsMetric):
        return panel.statistics[metric.spec], metric.from_statistics
    scores = panel.segments[metric.spec]
    statistics = mean_statistics(scores)
    statistics[np.isnan(scores)] = np.nan
    return statistics, from_mean_statistics


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
