"""Resampling and exchanging of meta-metrics that depend on the mean score of each system only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import WeightedValues
from metassay.stats.arrays import FloatArray
from metassay.stats.correlation import (
    compute_system_correlation_differences,
    correlate_system_scores,
)
from metassay.stats.score_exchanges import ExchangeStatistic, ScoreExchanges, standardize_metrics


def build_function_resampling_system_means(statistic: str, scores: ScoreArrays) -> WeightedValues:
    """Build a function that computes a statistic of the mean scores of systems on bootstrap resamples,
    given as weights of clusters of items.
    """
    human = scores.sum_over_clusters(scores.human)
    metrics = scores.sum_over_clusters(scores.metrics)

    def evaluate_with_cluster_weights(cluster_weights: FloatArray) -> FloatArray:
        # the statistics do not depend on scale, so weighted sums serve as means
        return correlate_system_scores(
            statistic, cluster_weights @ human.T, cluster_weights @ metrics.swapaxes(1, 2)
        )

    return evaluate_with_cluster_weights


def build_function_comparing_exchanged_system_means(statistic: str, scores: ScoreArrays) -> ExchangeStatistic:
    """Build a function that exchanges scores between metrics and compares them by a statistic of the mean
    scores of systems.
    """
    human_means = scores.human.mean(axis=-1)
    cluster_sums = scores.sum_over_clusters(standardize_metrics(scores.metrics))

    def compare_exchanged_metrics(exchanges: ScoreExchanges) -> NDArray[np.float32]:
        return compute_system_correlation_differences(statistic, human_means, cluster_sums, exchanges)

    return compare_exchanged_metrics
