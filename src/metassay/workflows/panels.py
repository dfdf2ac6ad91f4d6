"""Outputs as tables of test sets: systems × segments, with statistics, segment scores and human scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.dataset import Dataset
from metassay.engine.batches import Rows
from metassay.engine.local import Progress, checked, default_workers
from metassay.meta.aggregation.scores import Panel
from metassay.metrics.base import Scores, StatisticsMetric
from metassay.stats.threads import map_blocks
from metassay.workflows.preparing import groups


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


def panels_of(data: Dataset, statistics: Mapping[str, Scores], segments: Mapping[str, Scores]) -> list[Panel]:
    """One panel for each test set, in the order of their names."""
    group = groups(data).to_numpy()
    human = {name: data.outputs[name].cast(pl.Float64).to_numpy() for name in data.human}
    return [
        _panel(data, str(name), np.flatnonzero(group == name), statistics, segments, human)
        for name in sorted(set(group))
    ]


def _panel(
    data: Dataset,
    name: str,
    rows: NDArray[np.int64],
    statistics: Mapping[str, Scores],
    segments: Mapping[str, Scores],
    human: Mapping[str, Scores],
) -> Panel:
    systems, row = np.unique(data.outputs["system"].to_numpy()[rows], return_inverse=True)
    items, column = np.unique(data.outputs["item"].to_numpy()[rows], return_inverse=True)

    def spread(values: Scores) -> Scores:
        table = np.full((len(systems), len(items), *values.shape[1:]), np.nan)
        table[row, column] = values[rows]
        return table

    return Panel(
        name,
        tuple(map(str, systems)),
        {spec: spread(values) for spec, values in statistics.items()},
        {spec: spread(values) for spec, values in segments.items()},
        {key: spread(values) for key, values in human.items() if not np.isnan(values[rows]).all()},
    )
