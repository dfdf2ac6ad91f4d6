"""Scores of one metric next to the human scores of the same outputs: the input of all analyses here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray, LongArray, convert_labels_to_integers
from metassay.stats.sorted_scores import SortedScores, sort_scores


@dataclass(frozen=True)
class ScoredOutputs:
    """Outputs that have both a human score and a metric score, stored as arrays with one entry per output.

    Higher scores are better. `groups` holds the group of each output: its system, or the value of another
    column. `systems`, `items` and `clusters` hold the system, the item and the cluster of each output. All
    four are codes that count from 0; `group_names` maps the codes of groups to names.
    """

    human_scores: FloatArray
    metric_scores: FloatArray
    weights: FloatArray
    groups: LongArray
    systems: LongArray
    items: LongArray
    clusters: LongArray
    group_names: tuple[str, ...]

    @property
    def group_count(self) -> int:
        """Number of groups, such as systems, to which the outputs belong."""
        return len(self.group_names)

    @property
    def cluster_count(self) -> int:
        """Number of clusters, such as documents, that the bootstrap resamples as a whole."""
        return int(self.clusters.max()) + 1

    @cached_property
    def sorted_metric_scores(self) -> SortedScores:
        """The metric scores in sorted order, which all isotonic regressions share."""
        return sort_scores(self.metric_scores)

    @cached_property
    def human_means_of_groups(self) -> FloatArray:
        """Mean human score of the outputs in each group."""
        return self.average_by_group(self.human_scores)

    @cached_property
    def metric_means_of_groups(self) -> FloatArray:
        """Mean metric score of the outputs in each group."""
        return self.average_by_group(self.metric_scores)

    def average_by_group(self, output_values: FloatArray) -> FloatArray:
        """Return the weighted mean of the given values (one per output) in each group."""
        total_weights = np.bincount(self.groups, weights=self.weights, minlength=self.group_count)
        weighted_sums = np.bincount(
            self.groups, weights=self.weights * output_values, minlength=self.group_count
        )
        return weighted_sums / total_weights

    def select_outputs(self, is_selected: NDArray[np.bool_]) -> ScoredOutputs:
        """Return a copy with the selected outputs only.

        Groups and clusters that have no output left are removed.
        """
        remaining_groups = np.unique(self.groups[is_selected])
        return ScoredOutputs(
            human_scores=self.human_scores[is_selected],
            metric_scores=self.metric_scores[is_selected],
            weights=self.weights[is_selected],
            groups=convert_labels_to_integers(self.groups[is_selected]),
            systems=convert_labels_to_integers(self.systems[is_selected]),
            items=convert_labels_to_integers(self.items[is_selected]),
            clusters=convert_labels_to_integers(self.clusters[is_selected]),
            group_names=tuple(self.group_names[group] for group in remaining_groups),
        )


def build_scored_outputs(
    human_scores: ArrayLike,
    metric_scores: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> ScoredOutputs:
    """Convert tables of scores to arrays with one entry per output.

    Outputs with a missing score (NaN) are left out. Tables are `[systems, segments]`. `clusters` has a label
    per segment (such as its document), `weights` a number per segment or per output. Systems are named by
    their row numbers.
    """
    human_scores = _check_score_matrix(human_scores, "human")
    metric_scores = _check_score_matrix(metric_scores, "metric")
    if human_scores.shape != metric_scores.shape:
        raise InputError(
            f"human scores are {human_scores.shape} but metric scores are {metric_scores.shape}."
        )
    weight_matrix = _expand_weights_to_outputs(weights, human_scores.shape)
    is_scored = ~np.isnan(human_scores) & ~np.isnan(metric_scores) & (weight_matrix > 0)
    _check_every_system_has_scores(is_scored)
    systems, segments = np.nonzero(is_scored)
    segment_count = human_scores.shape[1]
    if clusters is None:
        segment_clusters: NDArray[np.generic] = np.arange(segment_count)
    else:
        segment_clusters = _check_cluster_labels(clusters, segment_count)
    return ScoredOutputs(
        # adding 0.0 turns -0.0 into 0.0, so that both are one score
        human_scores=human_scores[is_scored] + 0.0,
        metric_scores=metric_scores[is_scored] + 0.0,
        weights=weight_matrix[is_scored],
        groups=systems.astype(np.int64),
        systems=systems.astype(np.int64),
        items=convert_labels_to_integers(segments),
        clusters=convert_labels_to_integers(segment_clusters[segments]),
        group_names=tuple(str(system) for system in range(len(human_scores))),
    )


def _check_score_matrix(scores: ArrayLike, score_kind: str) -> FloatArray:
    """Convert scores to a matrix of floats. Raise an error if a score is infinite or the shape is wrong."""
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2:
        raise InputError(
            f"{score_kind} scores must be [systems, segments], not an array of {matrix.ndim} axes."
        )
    if np.isinf(matrix).any():
        system, segment = np.argwhere(np.isinf(matrix))[0]
        raise InputError(
            f"{score_kind} score of system {system}, segment {segment} is infinite.",
            remedy="A missing score is NaN.",
        )
    return matrix


def _expand_weights_to_outputs(weights: ArrayLike | None, shape: tuple[int, ...]) -> FloatArray:
    """Return one weight for each output.

    Weights may be given per segment or per output; without weights, all are 1.
    """
    if weights is None:
        return np.ones(shape)
    weight_array = np.asarray(weights, dtype=np.float64)
    if weight_array.shape not in {shape, shape[1:]}:
        raise InputError(f"weights are {weight_array.shape}; expected {shape[1:]} (segments) or {shape}.")
    if not (np.isfinite(weight_array).all() and (weight_array >= 0).all()):
        raise InputError("weights must be finite and not negative.")
    return np.broadcast_to(weight_array, shape)


def _check_cluster_labels(clusters: ArrayLike, segment_count: int) -> NDArray[np.generic]:
    """Return cluster labels as an array. Raise an error unless there is one label per segment."""
    labels: NDArray[np.generic] = np.asarray(clusters)
    if labels.shape != (segment_count,):
        raise InputError(f"clusters must give one label per segment: {segment_count}, not {labels.shape}.")
    return labels


def _check_every_system_has_scores(is_scored: NDArray[np.bool_]) -> None:
    """Raise an error unless there are two or more systems, each with a human and a metric score.

    Both scores must belong to the same output.
    """
    if len(is_scored) < 2:
        raise InputError("system dependence compares systems: at least two are needed.")
    unscored_systems = np.flatnonzero(~is_scored.any(axis=1))
    if len(unscored_systems):
        raise InputError(f"system {unscored_systems[0]} has no output with both a human and a metric score.")
