"""Pairwise accuracy (PA): the share of system pairs that a metric orders as people do (Kocmi et al., 2021).

    PA = mean over pairs i < j of [sign(mean h_i - mean h_j) = sign(mean m_i - mean m_j)]

Without ties, Kendall's tau is 2 PA - 1. A metric that is constant has PA 0 where people see differences.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.array_inputs import drop_incomplete_items
from metassay.meta.people.meta_metrics.base import MetaMetric, WeightedValues
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.system_means import (
    build_function_comparing_exchanged_system_means,
    build_function_resampling_system_means,
)
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.score_exchanges import ExchangeStatistic
from metassay.stats.sign_flip import TIE_TOLERANCE, find_better_system_of_each_pair


def pairwise_accuracy(human: ArrayLike, metric: ArrayLike) -> float:
    """Compute the share of pairs of systems that a metric orders as people do, from scores `[systems,
    items]` where higher is better.

    Items with NaN in either are dropped for both.

    >>> pairwise_accuracy([[1, 2, 3, 4], [0, 1, 2, 2]], [[2, 3, 3, 5], [1, 1, 2, 3]])
    1.0
    """
    human, metric = drop_incomplete_items(human, metric)
    human_signs, metric_signs = find_better_system_of_each_pair(np.stack([human, metric]))
    return float((human_signs == metric_signs).mean())


class PairwiseAccuracy(MetaMetric):
    """Meta-metric `pa`, pairwise accuracy: the share of pairs of systems that a metric orders as people
    do.
    """

    name = "pa"
    label = "PA"
    summary = "share of system pairs that the metric orders as people do"

    def evaluate_metrics(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute the pairwise accuracy of each metric."""
        del settings
        return np.asarray(_find_pairs_ordered_like_humans(scores).mean(axis=-1), dtype=np.float64)

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues:
        """Build a function that computes pairwise accuracy on bootstrap resamples, given as weights of
        clusters of items.
        """
        return build_function_resampling_system_means(self.name, scores)

    def build_exchanged_difference_function(
        self, scores: ScoreArrays, settings: ComparisonSettings
    ) -> ExchangeStatistic:
        """Build a function that exchanges scores between metrics and compares their pairwise accuracies."""
        del settings
        return build_function_comparing_exchanged_system_means(self.name, scores)

    def evaluate_on_system_subsets(self, scores: ScoreArrays, system_subsets: LongArray) -> FloatArray:
        """Compute the pairwise accuracy of each metric on each of several subsets of the systems.

        The order of two systems does not depend on other systems.
        """
        return average_over_pairs_within_subsets(
            _find_pairs_ordered_like_humans(scores).astype(np.float64), system_subsets, len(scores.human)
        )

    def evaluate_with_missing_scores(
        self, score_differences: FloatArray, item_weights: FloatArray
    ) -> FloatArray:
        """Compute pairwise accuracy from incomplete scores. Two systems are compared on the items that
        both have.
        """
        signs = []
        for pair_differences in score_differences:
            sums = item_weights @ pair_differences.T
            squares = item_weights @ (pair_differences * pair_differences).T
            tolerance = TIE_TOLERANCE * np.sqrt(item_weights.sum(axis=1)[:, None] * squares)
            signs.append(np.where(np.abs(sums) <= tolerance, 0.0, np.sign(sums)))
        accuracy: FloatArray = (signs[0] == signs[1]).mean(axis=1)
        return accuracy

    def pool_values_over_datasets(self, dataset_values: FloatArray, pair_counts: FloatArray) -> FloatArray:
        """Compute pairwise accuracy over the system pairs of all data sets, as WMT21 to WMT23 did."""
        pooled = []
        for metric in range(dataset_values.shape[1]):
            pooled.append(pair_counts @ dataset_values[:, metric] / pair_counts.sum())
        return np.array(pooled, dtype=np.float64)


def average_over_pairs_within_subsets(
    pair_values: FloatArray, system_subsets: LongArray, system_count: int
) -> FloatArray:
    """Average values of pairs of systems over the pairs within a subset of the systems, for each subset.

    `system_subsets` holds indices `[subsets, systems in each]`. Returns `[metrics, subsets]`.
    """
    is_inside = np.zeros((len(system_subsets), system_count), dtype=np.bool_)
    np.put_along_axis(is_inside, system_subsets, values=True, axis=1)
    first, second = np.triu_indices(system_count, 1)
    pair_is_inside = (is_inside[:, first] & is_inside[:, second]).astype(np.float64)
    means: FloatArray = pair_values @ pair_is_inside.T / pair_is_inside.sum(axis=1)
    return means


def _find_pairs_ordered_like_humans(scores: ScoreArrays) -> NDArray[np.bool_]:
    """Return a Boolean matrix of metrics and pairs of systems: true where the metric orders the pair as
    people do.
    """
    signs = find_better_system_of_each_pair(np.concatenate([scores.human[None], scores.metrics]))
    return np.asarray(signs[1:] == signs[0])
