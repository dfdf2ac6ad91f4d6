"""Soft pairwise accuracy: agreement in p-values of all pairs of systems (Thompson et al., 2024)."""

from __future__ import annotations

import numpy as np

from metassay.stats.arrays import FloatArray, IntArray
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.sign_flip import (
    compute_normal_p_values,
    compute_normal_p_values_from_sums,
    compute_sign_flip_p_values,
    estimate_normal_p_value_errors,
)

# Mean error per pair of systems up to which the normal p-values are used: twice the noise of 1,000 flips.
MAX_NORMAL_ERROR = 0.003
# Sign flips per p-value: the number that Thompson et al. (2024) use.
FLIPS = 1000


def soft_accuracy(human_p_values: FloatArray, metric_p_values: FloatArray) -> FloatArray:
    """Compute how well a metric agrees with people on which system is better, and how certain that is.

    For each pair of systems, the p-value of their difference in metric scores is compared with the p-value of
    their difference in human scores.
    Soft pairwise accuracy is 1 - |human_p_values - metric_p_values|, averaged over the last axis.
    """
    accuracy: FloatArray = 1.0 - np.abs(human_p_values - metric_p_values).mean(axis=-1)
    return accuracy


def estimate_soft_pairwise_accuracies(
    human_scores: FloatArray, metric_scores: FloatArray, seed: int = 0
) -> FloatArray:
    """Estimate the soft pairwise accuracy (SPA) of each metric with human scores.

    SPA is the agreement of p-values for all pairs of systems. `human_scores` is [systems, segments],
    `metric_scores` [metrics, systems, segments]. p-values are normal ones, or from random flips for the
    metrics whose normal ones would be off by more than `MAX_NORMAL_ERROR`. The value of a metric does not
    depend on the other metrics.
    """
    is_inaccurate = average_normal_p_value_errors(human_scores, metric_scores) > MAX_NORMAL_ERROR
    values = np.empty(len(metric_scores))
    if not is_inaccurate.all():
        p_values = compute_normal_p_values(
            np.concatenate([human_scores[None], metric_scores[~is_inaccurate]])
        )
        values[~is_inaccurate] = soft_accuracy(p_values[0], p_values[1:])
    if is_inaccurate.any():
        scores = np.concatenate([human_scores[None], metric_scores[is_inaccurate]])
        p_values = compute_sign_flip_p_values(scores, np.random.default_rng(seed), FLIPS)
        values[is_inaccurate] = soft_accuracy(p_values[0], p_values[1:])
    return values


def average_normal_p_value_errors(human_scores: FloatArray, metric_scores: FloatArray) -> FloatArray:
    """Estimate the error of the normal p-values of each metric, averaged over pairs of systems.

    It is the larger one of the error for the metric and that for the human scores.
    """
    scores = np.concatenate([human_scores[None], metric_scores])
    mean_errors = np.abs(estimate_normal_p_value_errors(scores)).mean(axis=-1)
    return np.asarray(np.maximum(mean_errors[0], mean_errors[1:]))


def resample_soft_pairwise_accuracies(
    human_scores: FloatArray,
    metric_scores: FloatArray,
    bootstrap: ClusterBootstrap,
    clusters: IntArray,
    *,
    complement: bool = False,
) -> FloatArray:
    """Compute the soft pairwise accuracy of each metric on every bootstrap resample.

    Returns [metrics, resamples]. `clusters` has the cluster of each segment. With `complement`, the weights
    are 1 minus those of `bootstrap`: for random halves, the other half.
    """
    first, second = np.triu_indices(len(human_scores), 1)
    pairs = len(first)

    def compute_system_pair_p_values_on_resamples(scores: FloatArray) -> FloatArray:
        differences = scores[first] - scores[second]
        columns = np.concatenate([differences, differences**2])
        sums = bootstrap.compute_sums_on_resamples(columns, clusters)
        if complement:
            sums = columns.sum(axis=1, keepdims=True) - sums
        return compute_normal_p_values_from_sums(sums[:pairs].T, np.maximum(sums[pairs:].T, 0))

    human_p_values = compute_system_pair_p_values_on_resamples(human_scores)
    # One metric at a time, so that memory holds pairs of systems times resamples.
    return np.array(
        [
            soft_accuracy(human_p_values, compute_system_pair_p_values_on_resamples(scores))
            for scores in metric_scores
        ]
    )
