"""What every cluster contributes to the accuracies of a run, so that a later run can be compared with it.

Two assays of the same outputs agree in most pairs. Tested cluster by cluster, the noise that both share
cancels, and a change is found that two independent intervals would hide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from metassay.meta.contexts.accuracy import (
    count_correct_pairs_in_batches,
    repeat_pairs_that_span_two_contexts,
)
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.stats.arrays import BoolArray, FloatArray, IntArray

# Smaller changes come from summing in another order, not from other outcomes.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ClusterAccuracySums:
    """For each metric and each cluster of items (such as a document) in one context: the sum of the
    accuracies on the items, and the sum of the weights of the items. The accuracy of a metric is the ratio of
    the totals.

    `clusters` are names, or codes of names that the caller keeps. `accuracies` and `weights` are the sums of
    each metric, one number per cluster.
    """

    clusters: NDArray[np.str_] | IntArray
    accuracies: Mapping[str, FloatArray]
    weights: Mapping[str, FloatArray]


@dataclass(frozen=True)
class AccuracyChangeEstimate:
    """Estimated change of an accuracy, or of the difference between two accuracies, from one run to another.

    `low` and `high` are its 95 % interval, None with one cluster; `p` is two-sided. `has_changes` is false
    where every cluster has the same accuracy in both runs.
    """

    difference: float
    low: float | None
    high: float | None
    p: float | None
    has_changes: bool


@dataclass(frozen=True)
class AccuracyChangesByCluster:
    """How much each cluster of items, such as a document, contributes to the change in accuracy between two
    runs. Given for each metric in one context.

    For each metric, `changes` are the contributions of the clusters to the change of its accuracy (after -
    before), which is their sum. `deviations` are the contributions less those expected from the weights of
    the clusters, as in the variance of an accuracy (linearised ratio).
    """

    changes: Mapping[str, FloatArray]
    deviations: Mapping[str, FloatArray]

    def estimate_change_of_accuracy(self, metric: str) -> AccuracyChangeEstimate:
        """Estimate how much the accuracy of a metric changed between two runs, with a 95 % interval and a
        p-value.
        """
        return _test_whether_changes_differ_from_zero(self.changes[metric], self.deviations[metric])

    def estimate_change_of_accuracy_difference(
        self, first_metric: str, second_metric: str
    ) -> AccuracyChangeEstimate:
        """Estimate how much the difference in accuracy between two metrics changed between two runs, with a
        95 % interval and a p-value.
        """
        changes = self.changes[first_metric] - self.changes[second_metric]
        deviations = self.deviations[first_metric] - self.deviations[second_metric]
        return _test_whether_changes_differ_from_zero(changes, deviations)


def sum_accuracies_by_cluster(
    pair_outcomes: PairOutcomes, pair_contexts: PairContexts, *, ties: str
) -> Iterator[tuple[str, ClusterAccuracySums]]:
    """Sum the accuracies on items and the weights of items over each cluster (such as a document), for each
    metric. Yields one context at a time, with the sums.
    """
    pair_outcomes, pair_contexts = repeat_pairs_that_span_two_contexts(pair_outcomes, pair_contexts)
    for accuracy_sums in count_correct_pairs_in_batches(pair_outcomes, pair_contexts, ties=ties):
        for number, context in enumerate(accuracy_sums.contexts):
            cells = accuracy_sums.get_cluster_slice_of_context(number)
            weights = np.broadcast_to(
                accuracy_sums.weight[:, cells], accuracy_sums.weighted_accuracy[:, cells].shape
            )
            yield (
                context,
                ClusterAccuracySums(
                    clusters=accuracy_sums.clusters[cells],
                    accuracies=dict(zip(pair_outcomes.metrics, accuracy_sums.weighted_accuracy[:, cells])),
                    weights=dict(zip(pair_outcomes.metrics, weights)),
                ),
            )


def compute_accuracy_changes_by_cluster(
    sums_before: ClusterAccuracySums, sums_after: ClusterAccuracySums, metrics: Sequence[str]
) -> AccuracyChangesByCluster:
    """Compute how much each cluster of items, such as a document, contributes to the change in accuracy
    between two runs. A cluster that is missing in one run counts as 0 there.
    """
    names, positions = np.unique(
        np.concatenate([sums_before.clusters, sums_after.clusters]), return_inverse=True
    )
    old_positions = positions[: len(sums_before.clusters)]
    new_positions = positions[len(sums_before.clusters) :]
    changes = {}
    deviations = {}
    for metric in metrics:
        old_parts, old_deviations = _compute_accuracy_contribution_of_clusters(
            sums_before, metric, old_positions, len(names)
        )
        new_parts, new_deviations = _compute_accuracy_contribution_of_clusters(
            sums_after, metric, new_positions, len(names)
        )
        changes[metric] = new_parts - old_parts
        deviations[metric] = new_deviations - old_deviations
    return AccuracyChangesByCluster(changes, deviations)


def _compute_accuracy_contribution_of_clusters(
    cluster_sums: ClusterAccuracySums, metric: str, cluster_positions: NDArray[np.intp], cluster_count: int
) -> tuple[FloatArray, FloatArray]:
    """Compute how much each cluster of items contributes to the accuracy of a metric. Also returns the
    difference between each contribution and the one expected from the weight of the cluster.
    """
    total_weight = cluster_sums.weights[metric].sum()
    parts = np.zeros(cluster_count)
    parts[cluster_positions] = cluster_sums.accuracies[metric] / total_weight
    shares = np.zeros(cluster_count)
    shares[cluster_positions] = cluster_sums.weights[metric] / total_weight
    return parts, parts - parts.sum() * shares


def _test_whether_changes_differ_from_zero(
    changes: FloatArray, deviations: FloatArray
) -> AccuracyChangeEstimate:
    """Sum the changes in accuracy over clusters of items, and test whether the sum differs from 0 (Student's
    t). Returns the change with a 95 % interval and a p-value.

    p is at least 2^(1 - clusters that changed): so often would all changes have the same sign by chance.
    Without this bound, four clusters that changed alike among hundreds that did not would seem significant.
    """
    clusters = len(changes)
    difference = float(changes.sum())
    is_changed: BoolArray = np.abs(changes) > _ROUNDING / clusters
    changed = int(is_changed.sum())
    if changed == 0:
        return AccuracyChangeEstimate(0.0, 0.0, 0.0, 1.0, has_changes=False)
    if clusters < 2:
        return AccuracyChangeEstimate(difference, None, None, None, has_changes=True)
    deviation = float(np.sqrt(clusters / (clusters - 1) * (deviations**2).sum()))
    half_width = float(stdtrit(clusters - 1, 0.975)) * deviation
    p = 0.0 if deviation == 0 else float(2 * stdtr(clusters - 1, -abs(difference) / deviation))
    least_p = 2.0 ** (1 - changed)
    return AccuracyChangeEstimate(
        difference, difference - half_width, difference + half_width, max(p, least_p), has_changes=True
    )
