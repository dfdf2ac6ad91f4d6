"""Outputs as cubes of test sets: systems × segments, with statistics, segment scores and human scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.cube import Cube, Grid
from metassay.data.dataset import Dataset
from metassay.engine.batches import Rows
from metassay.engine.local import Progress, checked, default_workers
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
