"""Scores of systems: outputs as cubes of test sets, and tests between all pairs of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.cube import Cube, Grid
from metassay.data.dataset import Dataset
from metassay.engine.batches import Rows
from metassay.engine.local import Progress, checked, default_workers
from metassay.errors import InputError
from metassay.meta.aggregation.scores import Resampling
from metassay.metrics.base import Metric, Scores, StatisticsMetric
from metassay.stats.arrays import FloatArray
from metassay.stats.multiplicity import holm
from metassay.stats.resampling import (
    FromStatistics,
    approximate_randomization,
    from_mean_statistics,
    mean_statistics,
    paired_bootstrap,
)
from metassay.stats.threads import map_blocks
from metassay.workflows.preparing import groups

TESTS = {"bootstrap": 1000, "randomization": 10_000}
"""Tests by name, with their usual number of draws."""


def row_statistics(
    metrics: Sequence[StatisticsMetric],
    rows: Rows,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Scores], dict[str, Scores]]:
    """Statistics [n, s] and segment scores [n] of every row, by metric; metrics of a family share a batch."""
    for metric in metrics:
        rows.check(metric)
    pieces = list(rows.cuts())
    done: list[int] = []

    def compute(piece: Rows) -> list[tuple[Scores, Scores]]:
        batches = {needs: piece.batch(needs) for needs in {metric.needs for metric in metrics}}
        found = []
        for metric in metrics:
            statistics = metric.statistics(batches[metric.needs])
            found.append((statistics, checked(metric, metric.segment_scores(statistics), piece)))
        done.append(len(piece))
        if progress is not None:
            progress("scoring", len(done), len(pieces))
        return found

    parts = map_blocks(compute, pieces, default_workers(workers))
    return (
        {m.spec: np.concatenate([part[k][0] for part in parts]) for k, m in enumerate(metrics)},
        {m.spec: np.concatenate([part[k][1] for part in parts]) for k, m in enumerate(metrics)},
    )


def cubes_of(data: Dataset, statistics: Mapping[str, Scores], segments: Mapping[str, Scores]) -> list[Cube]:
    """One cube for each test set, in the order of their names; items in the plain order of their ids."""
    group = groups(data)
    human = {name: data.outputs[name].cast(pl.Float64).to_numpy() for name in data.human}
    return [
        _cube(data, str(name), (group == name).arg_true().to_numpy(), statistics, segments, human)
        for name in sorted(set(group))
    ]


def _cube(
    data: Dataset,
    name: str,
    rows: NDArray[np.uint32],
    statistics: Mapping[str, Scores],
    segments: Mapping[str, Scores],
    human: Mapping[str, Scores],
) -> Cube:
    keys = data.outputs.select("system", "item")[rows]
    grid = Grid.of(keys["system"], keys["item"], order=sorted)

    def arrays(scores: Mapping[str, Scores]) -> dict[str, Scores]:
        return {key: grid.array(values[rows]) for key, values in scores.items()}

    rated = {key: values for key, values in human.items() if not np.isnan(values[rows]).all()}
    return Cube(
        name,
        grid.systems,
        grid.segments,
        arrays(rated),
        arrays(segments),
        statistics=arrays(statistics),
    )


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
