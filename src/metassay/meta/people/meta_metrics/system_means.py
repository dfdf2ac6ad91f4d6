"""Resampling and swapping of meta-metrics that depend on the mean score of each system only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import WeightedValues
from metassay.stats.arrays import FloatArray
from metassay.stats.correlation import correlate_systems, swap_system_correlations
from metassay.stats.swaps import Swaps, SwapStatistic, standardize_metrics


def resample_system_means(statistic: str, scores: ScoreArrays) -> WeightedValues:
    """Return a function that computes a statistic of system means under weights of the clusters."""
    human = scores.sum_over_clusters(scores.human)
    metrics = scores.sum_over_clusters(scores.metrics)

    def compute_weighted(weights: FloatArray) -> FloatArray:
        # the statistics do not depend on scale, so weighted sums serve as means
        return correlate_systems(statistic, weights @ human.T, weights @ metrics.swapaxes(1, 2))

    return compute_weighted


def swap_system_means(statistic: str, scores: ScoreArrays) -> SwapStatistic:
    """Return a function that compares metrics by a statistic of the means of swapped scores."""
    human_means = scores.human.mean(axis=-1)
    cluster_sums = scores.sum_over_clusters(standardize_metrics(scores.metrics))

    def compute_swapped(swaps: Swaps) -> NDArray[np.float32]:
        return swap_system_correlations(statistic, human_means, cluster_sums, swaps)

    return compute_swapped
