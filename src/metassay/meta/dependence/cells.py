"""Scored outputs, one cell each: what every question about system dependence starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray, LongArray
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
