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
# Shown as the context of outputs that have no value in a context column.
NO_LABEL = "(none)"

Labels = NDArray[np.object_]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class GroupingColumns:
    """Names of the columns that say how outputs are grouped, clustered, weighted and put into contexts.

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
    """A column with one label per output, stored as distinct labels and an integer code for each output."""

    names: tuple[str, ...]
    codes: LongArray

    @classmethod
    def create_from_labels(cls, labels: NDArray[np.str_]) -> LabelColumn:
        """Create a column from an array with one label per output."""
        names, codes = np.unique(labels, return_inverse=True)
        return cls(tuple(names.tolist()), codes.astype(np.int64))

    def list_distinct_codes(self, is_selected_output: BoolArray) -> LongArray:
        """Return the distinct codes of the selected outputs in ascending order."""
        return np.flatnonzero(np.bincount(self.codes[is_selected_output], minlength=len(self.names)))

    def renumber_codes(self, is_selected_output: BoolArray) -> LongArray:
        """Return the codes of the selected outputs, renumbered from 0 without gaps."""
        new_codes = np.zeros(len(self.names), dtype=np.int64)
        remaining = self.list_distinct_codes(is_selected_output)
        new_codes[remaining] = np.arange(len(remaining))
        return new_codes[self.codes[is_selected_output]]


@dataclass(frozen=True)
class GroupedOutputs:
    """The outputs of a data set, each with its group, item, cluster, weight and contexts.

    `by` is the column that groups outputs, usually the system. `contexts`
    are further columns within whose values system dependence is measured as well. `positions` are the
    positions of the outputs in the flattened cube, all systems of a segment in a row; the scores stay in the
    cube.
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

    def get_scores(self, column: str) -> FloatArray:
        """Return the human scores, or the scores of a metric, for all outputs.

        Higher is better, and missing scores are NaN.
        """
        return self.cube.get_higher_is_better_scores(column).T.ravel()[self.positions] + 0.0

    def find_outputs_with_complete_scores(self, *metrics: str) -> BoolArray:
        """Return which outputs have a positive weight, a human score and scores of all given metrics."""
        is_scored = self.weights > 0
        for name in (self.human, *metrics):
            is_scored &= ~np.isnan(self.get_scores(name))
        return is_scored

    def select_scored_outputs(self, metric: str, is_selected: BoolArray) -> ScoredOutputs:
        """Return the selected outputs with their human scores and the scores of one metric."""
        return ScoredOutputs(
            human_scores=self.get_scores(self.human)[is_selected],
            metric_scores=self.get_scores(metric)[is_selected],
            weights=self.weights[is_selected],
            groups=self.group.renumber_codes(is_selected),
            systems=self.system.renumber_codes(is_selected),
            items=self.item.renumber_codes(is_selected),
            clusters=self.cluster.renumber_codes(is_selected),
            group_names=tuple(self.group.names[code] for code in self.group.list_distinct_codes(is_selected)),
        )

    def drop_unused_clusters_from_resamples(
        self, resample_counts: Counts, is_selected_output: BoolArray
    ) -> Counts:
        """Restrict bootstrap resamples to the clusters that contain a selected output.

        A cluster is, for example, a document.
        """
        return np.ascontiguousarray(resample_counts[:, self.cluster.list_distinct_codes(is_selected_output)])


def assign_outputs_to_groups(
    score_cube: ScoreCube, human_column: str, grouping: GroupingColumns | None = None
) -> GroupedOutputs:
    """Assign each output of a data set to a group, usually its system, and to a cluster of items, such as a
    document.

    Outputs get weights as well. Outputs without a group are left out.
    """
    grouping = grouping or GroupingColumns()
    groups = _get_output_labels(score_cube, grouping.by)
    positions = np.flatnonzero([label is not None for label in groups])
    # padded with zeros, so that sorting the labels keeps the order of the segments
    items = np.repeat([f"{segment:09}" for segment in range(len(score_cube.items))], len(score_cube.systems))
    clusters = items if grouping.cluster is None else _get_output_clusters(score_cube, grouping.cluster)
    contexts = _list_context_columns(score_cube, grouping)
    return GroupedOutputs(
        cube=score_cube,
        human=human_column,
        by=grouping.by,
        metrics=list_metrics_to_analyze(score_cube, grouping),
        positions=positions,
        group=LabelColumn.create_from_labels(groups[positions].astype(np.str_)),
        system=LabelColumn.create_from_labels(
            _get_output_labels(score_cube, SYSTEM)[positions].astype(np.str_)
        ),
        item=LabelColumn.create_from_labels(items[positions]),
        cluster=LabelColumn.create_from_labels(clusters[positions]),
        weights=_get_output_weights(score_cube, grouping.weight)[positions],
        contexts=_encode_context_columns(score_cube, contexts, positions),
    )


def list_metrics_to_analyze(score_cube: ScoreCube, grouping: GroupingColumns) -> tuple[str, ...]:
    """List the metrics that the user named, or else all metrics of the data set.

    A metric that holds weights is left out by default.
    """
    if grouping.metrics:
        return score_cube.check_metric_names(grouping.metrics)
    return score_cube.check_metric_names(
        [name for name in score_cube.metric_scores if name != grouping.weight]
    )


def _list_context_columns(score_cube: ScoreCube, grouping: GroupingColumns) -> list[str]:
    """List the columns that divide the data into contexts. By default this is the domain."""
    contexts = grouping.contexts
    if contexts is None:
        contexts = (DOMAIN,) if DOMAIN in score_cube.item_metadata else ()
    return [name for name in contexts if name != grouping.by]


def _encode_context_columns(
    score_cube: ScoreCube, column_names: Sequence[str], output_positions: LongArray
) -> dict[str, LabelColumn]:
    """Encode each of the given columns, such as the domain, as integer codes with one code per output."""
    columns: dict[str, LabelColumn] = {}
    for name in column_names:
        labels = _get_output_labels(score_cube, name)
        shown_labels = np.array([NO_LABEL if label is None else label for label in labels])
        columns[name] = LabelColumn.create_from_labels(shown_labels[output_positions])
    return columns


def _get_output_labels(score_cube: ScoreCube, column: str) -> Labels:
    """Return the value of a column for each output, or None for outputs without a value."""
    if column in score_cube.item_metadata:
        return np.repeat(
            np.array(score_cube.item_metadata[column], dtype=np.object_), len(score_cube.systems)
        )
    system_columns = {SYSTEM: score_cube.systems, **score_cube.system_metadata}
    if column in system_columns:
        return np.tile(np.array(system_columns[column], dtype=np.object_), len(score_cube.items))
    raise UnknownName(
        "column of segments or systems",
        column,
        (SYSTEM, *score_cube.item_metadata, *score_cube.system_metadata),
    )


def _get_output_clusters(score_cube: ScoreCube, column: str) -> NDArray[np.str_]:
    """Return the label of the cluster of each output, such as its document.

    A segment without a cluster is a cluster of its own.
    """
    if column not in score_cube.item_metadata:
        raise UnknownName("column of segments", column, score_cube.item_metadata)
    clusters = []
    for label, segment in zip(score_cube.item_metadata[column], score_cube.items):
        clusters.append(f"segment {segment}" if label is None else f"cluster {label}")
    return np.repeat(clusters, len(score_cube.systems))


def _get_output_weights(score_cube: ScoreCube, column: str | None) -> FloatArray:
    """Return the weight of each output, or 0 where it is missing.

    Without a column of weights, all weights are 1.
    """
    if column is None:
        return np.ones(len(score_cube.systems) * len(score_cube.items))
    (name,) = score_cube.check_metric_names([column])
    weights = np.nan_to_num(score_cube.metric_scores[name].T.ravel())
    if (weights < 0).any():
        raise InputError("weights must be finite and not negative.")
    return weights
