"""A long table of scored outputs: human and metric scores, and who, what and where each output is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.errors import InputError
from metassay.meta.dependence.cells import Cells
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.isotonic import Counts

Labels = NDArray[np.str_]


@dataclass(frozen=True)
class Column:
    """A column of labels: the distinct ones, sorted, and which of them each output has."""

    names: tuple[str, ...]
    codes: LongArray

    @classmethod
    def of(cls, labels: Labels) -> Column:
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
class ScoredOutputs:
    """One row per output, in an order that does not depend on the input's.

    Human and metric scores are oriented to higher is better, NaN where missing. `group` is whose mapping an
    output belongs to (the system, or any column), `cluster` the unit that is resampled. `contexts` are
    further columns, by each of which system dependence is measured locally.
    """

    human: FloatArray
    metrics: Mapping[str, FloatArray]
    group: Column
    system: Column
    item: Column
    cluster: Column
    weight: FloatArray
    contexts: Mapping[str, Column]

    def scored_by(self, *metrics: str) -> NDArray[np.bool_]:
        """The outputs that have a weight, a human score, and a score by each of these metrics."""
        scored = ~np.isnan(self.human) & (self.weight > 0)
        for metric in metrics:
            scored &= ~np.isnan(self.metrics[metric])
        return scored

    def cells(self, metric: str, keep: NDArray[np.bool_]) -> Cells:
        """The kept outputs as cells under one metric."""
        return Cells(
            self.human[keep],
            self.metrics[metric][keep],
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


def scored_outputs(
    human: ArrayLike,
    metrics: Mapping[str, ArrayLike],
    *,
    system: ArrayLike,
    item: ArrayLike,
    group: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    contexts: Mapping[str, ArrayLike] | None = None,
) -> ScoredOutputs:
    """Scored outputs from columns. By default the group is the system and the cluster is the item."""
    systems, items = _labels(system), _labels(item)
    order = np.lexsort((systems, items))
    _refuse_duplicates(systems[order], items[order])
    groups = systems if group is None else _labels(group)
    clusters = items if cluster is None else _labels(cluster)
    weights = np.ones(len(items)) if weight is None else np.asarray(weight, dtype=np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InputError("weights must be finite and not negative.")
    return ScoredOutputs(
        _scores(human, "the human score")[order],
        {name: _scores(scores, name)[order] for name, scores in metrics.items()},
        Column.of(groups[order]),
        Column.of(systems[order]),
        Column.of(items[order]),
        Column.of(clusters[order]),
        weights[order],
        {name: Column.of(_labels(values)[order]) for name, values in (contexts or {}).items()},
    )


def _labels(values: ArrayLike) -> Labels:
    return np.asarray(values).astype(np.str_)


def _scores(values: ArrayLike, what: str) -> FloatArray:
    scores = np.asarray(values, dtype=np.float64) + 0.0
    if np.isinf(scores).any():
        raise InputError(f"{what} is infinite for output {int(np.argmax(np.isinf(scores))) + 1}.")
    return scores


def _refuse_duplicates(system: Labels, item: Labels) -> None:
    same = np.flatnonzero((system[1:] == system[:-1]) & (item[1:] == item[:-1]))
    if len(same):
        raise InputError(
            f"system {system[same[0]]} has more than one output for item {item[same[0]]}.",
            remedy="Name the columns that make an item unique, or keep one row of each.",
        )
