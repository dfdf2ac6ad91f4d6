"""Scored outputs, one cell each: what every question about system dependence starts from.

They come from two arrays, or from a cube: whose mapping each belongs to, and what is resampled together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError, UnknownName
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.isotonic import Counts
from metassay.stats.score_order import SortedScores, sort_scores


@dataclass(frozen=True)
class Cells:
    """Outputs that have both a human and a metric score (both: higher is better).

    `group` says whose mapping a cell belongs to (the system, or any other grouping), `unit` which system made
    the output, `item` what was translated, transcribed or ranked, `cluster` which cells are resampled
    together. All four are codes from 0; `names` are the groups'.
    """

    human: FloatArray
    metric: FloatArray
    weight: FloatArray
    group: LongArray
    unit: LongArray
    item: LongArray
    cluster: LongArray
    names: tuple[str, ...]

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.names)

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.cluster.max()) + 1

    @cached_property
    def sorted_metric(self) -> SortedScores:
        """The metric's scores, sorted once for all fits."""
        return sort_scores(self.metric)

    @cached_property
    def human_means(self) -> FloatArray:
        """Mean human score of each group."""
        return self.group_means(self.human)

    @cached_property
    def metric_means(self) -> FloatArray:
        """Mean metric score of each group."""
        return self.group_means(self.metric)

    def group_means(self, values: FloatArray) -> FloatArray:
        """Weighted mean of any values per cell, by group."""
        totals = np.bincount(self.group, weights=self.weight, minlength=self.groups)
        return np.bincount(self.group, weights=self.weight * values, minlength=self.groups) / totals

    def select(self, keep: NDArray[np.bool_]) -> Cells:
        """The cells where `keep` is true; groups and clusters left empty disappear."""
        present, group = np.unique(self.group[keep], return_inverse=True)
        return Cells(
            self.human[keep],
            self.metric[keep],
            self.weight[keep],
            group.astype(np.int64),
            _codes(self.unit[keep]),
            _codes(self.item[keep]),
            _codes(self.cluster[keep]),
            tuple(self.names[k] for k in present),
        )

    def with_metric(self, metric: FloatArray) -> Cells:
        """The same cells under another metric."""
        return replace(self, metric=metric)


def cells_of(
    human: ArrayLike,
    metric: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Cells:
    """Cells of two `[systems, segments]` arrays.

    NaN is a missing score: that cell is left out, its row and column stay. `clusters` gives a label per
    segment (a document, say); `weights` a number per segment or per cell.
    """
    human, metric = _matrix(human, "human"), _matrix(metric, "metric")
    if human.shape != metric.shape:
        raise InputError(f"human scores are {human.shape} but metric scores are {metric.shape}.")
    weight = _weights(weights, human.shape)
    keep = ~np.isnan(human) & ~np.isnan(metric) & (weight > 0)
    _check_groups(keep, names)
    system, segment = np.nonzero(keep)
    labels = np.arange(human.shape[1]) if clusters is None else _labels(clusters, human.shape[1])
    return Cells(
        human[keep] + 0.0,
        metric[keep] + 0.0,
        weight[keep],
        system.astype(np.int64),
        system.astype(np.int64),
        _codes(segment),
        _codes(labels[segment]),
        tuple(names) if names is not None else tuple(str(k) for k in range(len(human))),
    )


def _matrix(scores: ArrayLike, what: str) -> FloatArray:
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2:
        raise InputError(f"{what} scores must be [systems, segments], not an array of {matrix.ndim} axes.")
    if np.isinf(matrix).any():
        row, column = np.argwhere(np.isinf(matrix))[0]
        raise InputError(
            f"{what} score of system {row}, segment {column} is infinite.", remedy="A missing score is NaN."
        )
    return matrix


def _weights(weights: ArrayLike | None, shape: tuple[int, ...]) -> FloatArray:
    if weights is None:
        return np.ones(shape)
    weight = np.asarray(weights, dtype=np.float64)
    if weight.shape not in {shape, shape[1:]}:
        raise InputError(f"weights are {weight.shape}; expected {shape[1:]} (segments) or {shape}.")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise InputError("weights must be finite and not negative.")
    return np.broadcast_to(weight, shape)


def _labels(clusters: ArrayLike, segments: int) -> NDArray[np.generic]:
    labels: NDArray[np.generic] = np.asarray(clusters)
    if labels.shape != (segments,):
        raise InputError(f"clusters must give one label per segment: {segments}, not {labels.shape}.")
    return labels


def _check_groups(keep: NDArray[np.bool_], names: Sequence[str] | None) -> None:
    if len(keep) < 2:
        raise InputError("system dependence compares systems: at least two are needed.")
    empty = np.flatnonzero(~keep.any(axis=1))
    if len(empty):
        who = names[empty[0]] if names is not None else str(empty[0])
        raise InputError(f"system {who} has no output with both a human and a metric score.")


def _codes(labels: NDArray[np.generic]) -> LongArray:
    codes: LongArray = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return codes


SYSTEM = "system"
DOMAIN = "domain"
Labels = NDArray[np.object_]


@dataclass(frozen=True)
class Column:
    """A column of labels: the distinct ones, sorted, and which of them each output has."""

    names: tuple[str, ...]
    codes: LongArray

    @classmethod
    def of(cls, labels: NDArray[np.str_]) -> Column:
        """From one label per output."""
        names, codes = np.unique(labels, return_inverse=True)
        return cls(tuple(names.tolist()), codes.astype(np.int64))

    def present(self, keep: NDArray[np.bool_]) -> LongArray:
        """The codes that occur among the kept outputs."""
        return np.flatnonzero(np.bincount(self.codes[keep], minlength=len(self.names)))

    def compact(self, keep: NDArray[np.bool_]) -> LongArray:
        """Codes of the kept outputs, renumbered from 0 without gaps."""
        numbers = np.zeros(len(self.names), dtype=np.int64)
        present = self.present(keep)
        numbers[present] = np.arange(len(present))
        return numbers[self.codes[keep]]


@dataclass(frozen=True)
class Outputs:
    """A cube read output by output, all systems of a segment together; the scores stay in the cube.

    `by` names the column that groups outputs (the system, or any other), `cluster` is what is resampled
    together. `contexts` are further columns, by each of which system dependence is measured locally. `places`
    says where in the cube the outputs stand: those without a group are left out.
    """

    cube: ScoreCube
    human: str
    by: str
    metrics: tuple[str, ...]
    places: LongArray
    group: Column
    system: Column
    item: Column
    cluster: Column
    weight: FloatArray
    contexts: Mapping[str, Column]

    def scores(self, name: str) -> FloatArray:
        """A human score or a metric of every output, higher is better, NaN where missing."""
        return self.cube.orient_scores(name).T.ravel()[self.places] + 0.0

    def scored_by(self, *metrics: str) -> NDArray[np.bool_]:
        """The outputs that have a weight, a human score, and a score by each of these metrics."""
        scored = self.weight > 0
        for name in (self.human, *metrics):
            scored &= ~np.isnan(self.scores(name))
        return scored

    def cells(self, metric: str, keep: NDArray[np.bool_]) -> Cells:
        """The kept outputs as cells under one metric."""
        return Cells(
            self.scores(self.human)[keep],
            self.scores(metric)[keep],
            self.weight[keep],
            self.group.compact(keep),
            self.system.compact(keep),
            self.item.compact(keep),
            self.cluster.compact(keep),
            tuple(self.group.names[k] for k in self.group.present(keep)),
        )

    def resamples(self, counts: Counts, keep: NDArray[np.bool_]) -> Counts:
        """Resamples of all clusters, as resamples of those that the kept outputs belong to."""
        return np.ascontiguousarray(counts[:, self.cluster.present(keep)])


def outputs_of(
    cube: ScoreCube,
    human: str,
    *,
    by: str = SYSTEM,
    metrics: Sequence[str] = (),
    contexts: Sequence[str] | None = None,
    cluster: str | None = None,
    weight: str | None = None,
) -> Outputs:
    """The outputs of a cube, grouped, clustered and weighted by columns; all metrics, or those named.

    Without `contexts` system dependence is also measured within domains, where there are any.
    """
    group = _labels_in(cube, by)
    places = np.flatnonzero([label is not None for label in group])
    wanted = (DOMAIN,) if contexts is None else contexts
    local = [name for name in wanted if name != by and (contexts or name in cube.item_metadata)]
    item = np.repeat([f"{place:09}" for place in range(len(cube.items))], len(cube.systems))
    return Outputs(
        cube,
        human,
        by,
        cube.resolve_metrics(metrics or [name for name in cube.metric_scores if name != weight]),
        places,
        Column.of(group[places].astype(np.str_)),
        Column.of(_labels_in(cube, SYSTEM)[places].astype(np.str_)),
        Column.of(item[places]),
        Column.of((item if cluster is None else _clusters(cube, cluster))[places]),
        _weights_in(cube, weight)[places],
        {name: Column.of(_named(_labels_in(cube, name))[places]) for name in local},
    )


def _labels_in(cube: ScoreCube, column: str) -> Labels:
    """The value of a column for each output; None where there is none."""
    if column in cube.item_metadata:
        return np.repeat(np.array(cube.item_metadata[column], dtype=np.object_), len(cube.systems))
    of_systems = {SYSTEM: cube.systems, **cube.system_metadata}
    if column in of_systems:
        return np.tile(np.array(of_systems[column], dtype=np.object_), len(cube.items))
    raise UnknownName(
        "column of segments or systems", column, (SYSTEM, *cube.item_metadata, *cube.system_metadata)
    )


def _named(labels: Labels) -> NDArray[np.str_]:
    return np.array(["(none)" if label is None else label for label in labels])


def _clusters(cube: ScoreCube, column: str) -> NDArray[np.str_]:
    """Clusters of segments; a segment without one stands for itself."""
    if column not in cube.item_metadata:
        raise UnknownName("column of segments", column, cube.item_metadata)
    clusters = [
        f"segment {item}" if label is None else f"cluster {label}"
        for label, item in zip(cube.item_metadata[column], cube.items)
    ]
    return np.repeat(clusters, len(cube.systems))


def _weights_in(cube: ScoreCube, column: str | None) -> FloatArray:
    """The weight of each output, 0 where it has none."""
    if column is None:
        return np.ones(len(cube.systems) * len(cube.items))
    weights = np.nan_to_num(cube.metric_scores[cube.resolve_metrics([column])[0]].T.ravel())
    if (weights < 0).any():
        raise InputError("weights must be finite and not negative.")
    return weights
