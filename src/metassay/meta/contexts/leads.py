"""Leads: whether one metric is more accurate than another in a context.

For metrics i and j let d_k be the part that cluster k has in the difference of their accuracies. If both are
equally good, d_k is negative as often as positive. So with random signs e_k,

    T = Σ d_k / √Σ d_k²     is compared with     max of Σ e_k d_k / √Σ d_k²

over all contexts, columns and pairs of metrics at once, one sign per cluster (Westfall and Young, 1993). T is
at most √clusters, so a handful of clusters never suffices for a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from metassay.meta.contexts.accuracy import AccuracySums
from metassay.stats.arrays import BoolArray, FloatArray, LongArray, divide_or_nan
from metassay.stats.bootstrap import ClusterHalves

# Differences that are equal up to rounding count as equal, so that identical metrics get no p-value.
_ROUNDING = 1e-9
_CLEAR = float(ndtri(0.975))


@dataclass(frozen=True)
class MetricDifferenceStatistics:
    """Test statistics for the difference in accuracy between every two metrics in one context.

    A statistic is NaN where two metrics never differ. `tested` marks the differences that may be claimed:
    those against the order of the metrics over all outputs. `largest_by_chance` is the largest of their
    statistics under each draw of random signs.
    """

    statistics: FloatArray
    tested: BoolArray
    largest_by_chance: FloatArray

    def are_metrics_worse_than_some_candidate(self, is_candidate: BoolArray) -> BoolArray:
        """Return a Boolean mask of the metrics that are significantly less accurate than at least one of the
        candidate metrics.
        """
        is_clear = np.nan_to_num(self.statistics) >= _CLEAR
        return np.asarray(is_clear[is_candidate].any(axis=0))


def compare_metrics_in_context(
    accuracy_sums: AccuracySums,
    context_position: int,
    metric_positions: LongArray,
    expected_order: FloatArray | None,
    random_signs: ClusterHalves,
) -> MetricDifferenceStatistics:
    """Compute test statistics for the difference in accuracy between every two metrics in one context.

    Leads that agree with `expected_order` (one number per metric, higher first) are not tested; with None all
    are. `random_signs` draws which half of the clusters keeps its sign.
    """
    cells = accuracy_sums.get_cluster_slice_of_context(context_position)
    weight = np.broadcast_to(accuracy_sums.weight[:, cells], accuracy_sums.weighted_accuracy[:, cells].shape)[
        metric_positions
    ]
    shares = divide_or_nan(
        accuracy_sums.weighted_accuracy[metric_positions, cells], weight.sum(axis=1, keepdims=True)
    )
    is_known: BoolArray = np.asarray(~np.isnan(shares).any(axis=1) & (shares.shape[1] > 0))
    shares = np.where(is_known[:, None], shares, 0)
    products = shares @ shares.T
    norms = np.diag(products)
    # ‖a − b‖² of every two metrics at once, without an array of differences.
    squared_differences = norms[:, None] + norms - 2 * products
    both_known: BoolArray = is_known[:, None] & is_known
    differ: BoolArray = both_known & (squared_differences > _ROUNDING * np.maximum(norms[:, None], norms))
    np.fill_diagonal(differ, val=False)
    tested = differ
    if expected_order is not None:
        tested = differ & (expected_order[:, None] <= expected_order)
    scale = np.where(differ, 1 / np.sqrt(np.where(differ, squared_differences, 1)), 0)
    accuracy = shares.sum(axis=1)
    # The sum of differences over clusters, divided by the root of the sum of their squares.
    statistics = np.where(differ, (accuracy[:, None] - accuracy) * scale, np.nan)
    # Twice the sum over one half, less the sum over all, is the sum with the other half negated.
    with_random_signs = (
        2 * random_signs.compute_sums_on_resamples(shares, accuracy_sums.clusters[cells]) - accuracy[:, None]
    )
    largest = _find_largest_scaled_difference_per_draw(with_random_signs, np.where(tested, scale, 0))
    return MetricDifferenceStatistics(statistics, tested, largest)


def _find_largest_scaled_difference_per_draw(values: FloatArray, scale: FloatArray) -> FloatArray:
    """Return for each random draw the largest difference between two metrics, multiplied by the scale of the
    two. It is at least 0.
    """
    largest = np.zeros(values.shape[1])
    for i, j in np.argwhere(scale > 0).tolist():
        np.maximum(largest, (values[i] - values[j]) * scale[i, j], out=largest)
    return largest


def compute_p_values_of_accuracy_differences(
    statistics_by_context: Sequence[MetricDifferenceStatistics],
) -> list[FloatArray]:
    """Test for every two metrics and each context whether the first metric is more accurate. Returns
    p-values, which are adjusted for all contexts together.
    """
    if not statistics_by_context:
        return []
    largest_of_all = np.sort(
        np.stack([leads.largest_by_chance for leads in statistics_by_context]).max(axis=0)
    )
    draws = len(largest_of_all)
    p_values = []
    for leads in statistics_by_context:
        reached = draws - np.searchsorted(largest_of_all, leads.statistics - _ROUNDING)
        p_values.append(np.where(leads.tested, (1 + reached) / (1 + draws), np.nan))
    return p_values
