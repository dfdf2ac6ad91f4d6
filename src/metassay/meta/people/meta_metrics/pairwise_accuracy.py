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
from metassay.meta.people.meta_metrics.system_means import resample_system_means, swap_system_means
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.sign_flip import TIE_TOLERANCE, find_difference_signs
from metassay.stats.swaps import SwapStatistic


def pairwise_accuracy(human: ArrayLike, metric: ArrayLike) -> float:
    """Compute PA of one metric from `[systems, items]` scores, higher is better.

    Items with NaN in either are dropped for both.

    >>> pairwise_accuracy([[1, 2, 3, 4], [0, 1, 2, 2]], [[2, 3, 3, 5], [1, 1, 2, 3]])
    1.0
    """
    human, metric = drop_incomplete_items(human, metric)
    human_signs, metric_signs = find_difference_signs(np.stack([human, metric]))
    return float((human_signs == metric_signs).mean())


class PairwiseAccuracy(MetaMetric):
    """`pa`: the share of system pairs that a metric orders as people do."""

    name = "pa"
    label = "PA"
    summary = "share of system pairs that the metric orders as people do"

    def compute(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute PA of each metric."""
        del settings
        return np.asarray(_same_order(scores).mean(axis=-1), dtype=np.float64)

    def prepare_resampling(self, scores: ScoreArrays) -> WeightedValues:
        """Return a function that computes PA from weighted sums of scores."""
        return resample_system_means(self.name, scores)

    def prepare_swaps(self, scores: ScoreArrays, settings: ComparisonSettings) -> SwapStatistic:
        """Return a function that compares metrics by PA of the means of swapped scores."""
        del settings
        return swap_system_means(self.name, scores)

    def compute_on_system_subsets(self, scores: ScoreArrays, subsets: LongArray) -> FloatArray:
        """Average over the pairs within each subset; the order of a pair does not depend on other systems."""
        return average_over_subset_pairs(_same_order(scores).astype(np.float64), subsets, len(scores.human))

    def compute_with_gaps(self, differences: FloatArray, weights: FloatArray) -> FloatArray:
        """Compute PA with each pair of systems on the items that both have."""
        signs = []
        for pair_differences in differences:
            sums = weights @ pair_differences.T
            squares = weights @ (pair_differences * pair_differences).T
            tolerance = TIE_TOLERANCE * np.sqrt(weights.sum(axis=1)[:, None] * squares)
            signs.append(np.where(np.abs(sums) <= tolerance, 0.0, np.sign(sums)))
        accuracy: FloatArray = (signs[0] == signs[1]).mean(axis=1)
        return accuracy

    def pool_datasets(self, values: FloatArray, pair_counts: FloatArray) -> FloatArray:
        """Compute PA over the system pairs of all data sets together, as WMT21 to WMT23 did."""
        pooled = [pair_counts @ values[:, metric] / pair_counts.sum() for metric in range(values.shape[1])]
        return np.array(pooled, dtype=np.float64)


def average_over_subset_pairs(pair_values: FloatArray, subsets: LongArray, systems: int) -> FloatArray:
    """Average values of system pairs `[metrics, pairs]` over the pairs within each subset of systems.

    `subsets` holds indices `[subsets, systems in each]`. Returns `[metrics, subsets]`.
    """
    is_inside = np.zeros((len(subsets), systems), dtype=np.bool_)
    np.put_along_axis(is_inside, subsets, values=True, axis=1)
    first, second = np.triu_indices(systems, 1)
    pair_is_inside = (is_inside[:, first] & is_inside[:, second]).astype(np.float64)
    means: FloatArray = pair_values @ pair_is_inside.T / pair_is_inside.sum(axis=1)
    return means


def _same_order(scores: ScoreArrays) -> NDArray[np.bool_]:
    """Return whether each metric orders each pair of systems as people do, `[metrics, pairs]`."""
    signs = find_difference_signs(np.concatenate([scores.human[None], scores.metrics]))
    return np.asarray(signs[1:] == signs[0])
