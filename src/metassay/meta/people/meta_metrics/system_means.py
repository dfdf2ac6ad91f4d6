"""Resampling and swapping of meta-metrics that depend on the mean score of each system only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import WeightedValues
from metassay.stats.arrays import FloatArray
from metassay.stats.correlation import compare_correlations_after_swaps, correlate_system_scores
from metassay.stats.swaps import Swaps, SwapStatistic, standardize_metrics


def build_mean_resampling_function(statistic: str, scores: ScoreArrays) -> WeightedValues:
    """Return a function that computes a statistic of system means from weights of the clusters."""
    human = scores.sum_over_clusters(scores.human)
    metrics = scores.sum_over_clusters(scores.metrics)

    def evaluate_resamples(cluster_weights: FloatArray) -> FloatArray:
        # the statistics do not depend on scale, so weighted sums serve as means
        return correlate_system_scores(
            statistic, cluster_weights @ human.T, cluster_weights @ metrics.swapaxes(1, 2)
        )

    return evaluate_resamples


def build_mean_swap_function(statistic: str, scores: ScoreArrays) -> SwapStatistic:
    """Return a function that compares metrics by a statistic of the means of swapped scores."""
    human_means = scores.human.mean(axis=-1)
    cluster_sums = scores.sum_over_clusters(standardize_metrics(scores.metrics))

    def compare_swapped_metrics(swaps: Swaps) -> NDArray[np.float32]:
        return compare_correlations_after_swaps(statistic, human_means, cluster_sums, swaps)

    return compare_swapped_metrics
