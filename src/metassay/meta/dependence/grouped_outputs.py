"""The outputs of a data set, grouped by system or by another column, with the columns that analyses need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError, UnknownName
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.isotonic import Counts

SYSTEM = "system"
DOMAIN = "domain"
NO_LABEL = "(none)"
"""Shown as the context of outputs that have no value in a context column."""

Labels = NDArray[np.object_]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Grouping:
    """Names of the columns by which outputs are grouped, clustered, weighted and divided into contexts.

    All metrics are used unless some are named. Without `contexts` the context is the domain, if the data has
    a column of that name. `cluster` is what the bootstrap resamples, by default segments.
    """

    by: str = SYSTEM
    metrics: Sequence[str] = ()
    contexts: Sequence[str] | None = None
    cluster: str | None = None
    weight: str | None = None


@dataclass(frozen=True)
class LabelColumn:
    """A column of labels, encoded: the sorted distinct labels, and the code of each output's label."""

    names: tuple[str, ...]
    codes: LongArray

    @classmethod
    def encode(cls, labels: NDArray[np.str_]) -> LabelColumn:
        """Encode one label per output."""
        names, codes = np.unique(labels, return_inverse=True)
        return cls(tuple(names.tolist()), codes.astype(np.int64))

    def find_present_codes(self, keep: BoolArray) -> LongArray:
        """Return the sorted codes that occur among the outputs where `keep` is true."""
        return np.flatnonzero(np.bincount(self.codes[keep], minlength=len(self.names)))

    def renumber_codes(self, keep: BoolArray) -> LongArray:
        """Return the codes of the outputs where `keep` is true, renumbered from 0 without gaps."""
        new_codes = np.zeros(len(self.names), dtype=np.int64)
        remaining = self.find_present_codes(keep)
        new_codes[remaining] = np.arange(len(remaining))
        return new_codes[self.codes[keep]]


@dataclass(frozen=True)
class GroupedOutputs:
    """All outputs of a score cube that belong to a group, with group, system, item, cluster and contexts.

    `by` is the column that groups outputs, usually the system. `contexts` are further columns within whose
    values system dependence is measured as well. `positions` are the positions of the outputs in the
    flattened cube, all systems of a segment in a row; the scores stay in the cube.
    """

    cube: ScoreCube
    human: str
    by: str
    metrics: tuple[str, ...]
    positions: LongArray
    group: LabelColumn
    system: LabelColumn
    item: LabelColumn
    cluster: LabelColumn
    weights: FloatArray
    contexts: Mapping[str, LabelColumn]

    def get_scores(self, name: str) -> FloatArray:
        """Return a human score or a metric of every output; higher is better, NaN where it is missing."""
        return self.cube.orient_scores(name).T.ravel()[self.positions] + 0.0

    def find_scored_outputs(self, *metrics: str) -> BoolArray:
        """Return a mask of the outputs that have a weight, a human score and scores of all these metrics."""
        is_scored = self.weights > 0
        for name in (self.human, *metrics):
            is_scored &= ~np.isnan(self.get_scores(name))
        return is_scored

    def select(self, metric: str, keep: BoolArray) -> ScoredOutputs:
        """Return the outputs where `keep` is true, with the scores of one metric."""
        return ScoredOutputs(
            human_scores=self.get_scores(self.human)[keep],
            metric_scores=self.get_scores(metric)[keep],
            weights=self.weights[keep],
            groups=self.group.renumber_codes(keep),
            systems=self.system.renumber_codes(keep),
            items=self.item.renumber_codes(keep),
            clusters=self.cluster.renumber_codes(keep),
            group_names=tuple(self.group.names[code] for code in self.group.find_present_codes(keep)),
        )

    def select_resamples(self, resample_counts: Counts, keep: BoolArray) -> Counts:
        """Restrict resamples of all clusters to the clusters of the outputs where `keep` is true."""
        return np.ascontiguousarray(resample_counts[:, self.cluster.find_present_codes(keep)])


def group_outputs(cube: ScoreCube, human: str, grouping: Grouping | None = None) -> GroupedOutputs:
    """Group, cluster and weight the outputs of a cube; outputs without a group are left out."""
    grouping = grouping or Grouping()
    groups = _get_labels(cube, grouping.by)
    positions = np.flatnonzero([label is not None for label in groups])
    # padded with zeros, so that sorting the labels keeps the order of the segments
    items = np.repeat([f"{segment:09}" for segment in range(len(cube.items))], len(cube.systems))
    clusters = items if grouping.cluster is None else _get_clusters(cube, grouping.cluster)
    contexts = _choose_contexts(cube, grouping)
    return GroupedOutputs(
        cube=cube,
        human=human,
        by=grouping.by,
        metrics=choose_metrics(cube, grouping),
        positions=positions,
        group=LabelColumn.encode(groups[positions].astype(np.str_)),
        system=LabelColumn.encode(_get_labels(cube, SYSTEM)[positions].astype(np.str_)),
        item=LabelColumn.encode(items[positions]),
        cluster=LabelColumn.encode(clusters[positions]),
        weights=_get_weights(cube, grouping.weight)[positions],
        contexts=_encode_contexts(cube, contexts, positions),
    )


def choose_metrics(cube: ScoreCube, grouping: Grouping) -> tuple[str, ...]:
    """Return the metrics that were named, or all metrics of the cube; a column of weights is no metric."""
    if grouping.metrics:
        return cube.resolve_metrics(grouping.metrics)
    return cube.resolve_metrics([name for name in cube.metric_scores if name != grouping.weight])


def _choose_contexts(cube: ScoreCube, grouping: Grouping) -> list[str]:
    contexts = grouping.contexts
    if contexts is None:
        contexts = (DOMAIN,) if DOMAIN in cube.item_metadata else ()
    return [name for name in contexts if name != grouping.by]


def _encode_contexts(cube: ScoreCube, names: Sequence[str], positions: LongArray) -> dict[str, LabelColumn]:
    columns: dict[str, LabelColumn] = {}
    for name in names:
        labels = _get_labels(cube, name)
        shown_labels = np.array([NO_LABEL if label is None else label for label in labels])
        columns[name] = LabelColumn.encode(shown_labels[positions])
    return columns


def _get_labels(cube: ScoreCube, column: str) -> Labels:
    """Return the value of a column for each output, None where it has none."""
    if column in cube.item_metadata:
        return np.repeat(np.array(cube.item_metadata[column], dtype=np.object_), len(cube.systems))
    system_columns = {SYSTEM: cube.systems, **cube.system_metadata}
    if column in system_columns:
        return np.tile(np.array(system_columns[column], dtype=np.object_), len(cube.items))
    raise UnknownName(
        "column of segments or systems", column, (SYSTEM, *cube.item_metadata, *cube.system_metadata)
    )


def _get_clusters(cube: ScoreCube, column: str) -> NDArray[np.str_]:
    """Return the cluster of each output; a segment without a cluster is a cluster of its own."""
    if column not in cube.item_metadata:
        raise UnknownName("column of segments", column, cube.item_metadata)
    clusters = [
        f"segment {segment}" if label is None else f"cluster {label}"
        for label, segment in zip(cube.item_metadata[column], cube.items)
    ]
    return np.repeat(clusters, len(cube.systems))


def _get_weights(cube: ScoreCube, column: str | None) -> FloatArray:
    """Return the weight of each output, 0 where it has none."""
    if column is None:
        return np.ones(len(cube.systems) * len(cube.items))
    (name,) = cube.resolve_metrics([column])
    weights = np.nan_to_num(cube.metric_scores[name].T.ravel())
    if (weights < 0).any():
        raise InputError("weights must be finite and not negative.")
    return weights
