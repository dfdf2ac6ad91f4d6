"""The outputs of a cube in a row: whose mapping each belongs to, and what is resampled together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.data.cube import Cube
from metassay.errors import InputError, UnknownName
from metassay.meta.dependence.cells import Cells
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.isotonic import Counts

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

    cube: Cube
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
        return self.cube.oriented(name).T.ravel()[self.places] + 0.0

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
    cube: Cube,
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
    group = _labels(cube, by)
    places = np.flatnonzero([label is not None for label in group])
    wanted = (DOMAIN,) if contexts is None else contexts
    local = [name for name in wanted if name != by and (contexts or name in cube.labels)]
    item = np.repeat([f"{place:09}" for place in range(len(cube.segments))], len(cube.systems))
    return Outputs(
        cube,
        human,
        by,
        cube.chosen_metrics(metrics or [name for name in cube.metrics if name != weight]),
        places,
        Column.of(group[places].astype(np.str_)),
        Column.of(_labels(cube, SYSTEM)[places].astype(np.str_)),
        Column.of(item[places]),
        Column.of((item if cluster is None else _clusters(cube, cluster))[places]),
        _weights(cube, weight)[places],
        {name: Column.of(_named(_labels(cube, name))[places]) for name in local},
    )


def _labels(cube: Cube, column: str) -> Labels:
    """The value of a column for each output; None where there is none."""
    if column in cube.labels:
        return np.repeat(np.array(cube.labels[column], dtype=np.object_), len(cube.systems))
    of_systems = {SYSTEM: cube.systems, **cube.system_labels}
    if column in of_systems:
        return np.tile(np.array(of_systems[column], dtype=np.object_), len(cube.segments))
    raise UnknownName("column of segments or systems", column, (SYSTEM, *cube.labels, *cube.system_labels))


def _named(labels: Labels) -> NDArray[np.str_]:
    return np.array(["(none)" if label is None else label for label in labels])


def _clusters(cube: Cube, column: str) -> NDArray[np.str_]:
    """Clusters of segments; a segment without one stands for itself."""
    if column not in cube.labels:
        raise UnknownName("column of segments", column, cube.labels)
    clusters = [
        f"segment {item}" if label is None else f"cluster {label}"
        for label, item in zip(cube.labels[column], cube.segments)
    ]
    return np.repeat(clusters, len(cube.systems))


def _weights(cube: Cube, column: str | None) -> FloatArray:
    """The weight of each output, 0 where it has none."""
    if column is None:
        return np.ones(len(cube.systems) * len(cube.segments))
    weights = np.nan_to_num(cube.metrics[cube.chosen_metrics([column])[0]].T.ravel())
    if (weights < 0).any():
        raise InputError("weights must be finite and not negative.")
    return weights
