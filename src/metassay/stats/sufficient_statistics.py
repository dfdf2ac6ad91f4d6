"""Resampling and comparing systems by sufficient statistics: no text is scored twice.

Statistics are [systems, segments, s]; a score is a function of their sum over segments. Resamples are counts
[draws, segments], so that all resampled sums are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from metassay.stats.arrays import BoolArray, FloatArray, LongArray
from metassay.stats.resampling import draw_bootstrap_counts

# Function from sums of statistics [..., s] to scores [...].
FromStatistics = Callable[[FloatArray], FloatArray]
# Counts that are in memory at a time.
_COUNTS_PER_BLOCK = 4_000_000
# A resampled difference that equals the observed one must count, although it was summed in another order.
_ROUNDING_ERROR = 1e-12


class SystemComparisons(NamedTuple):
    """Score differences of all pairs of systems with two-sided p-values, as square matrices.

    `differences[i, j]` is the score of system i minus that of system j.
    """

    differences: FloatArray
    p: FloatArray


def convert_scores_to_sums_and_counts(scores: FloatArray) -> FloatArray:
    """Turn each score into two numbers whose sums give a mean: the score and 1, or two zeros for NaN."""
    defined = ~np.isnan(scores)
    return np.stack([np.where(defined, scores, 0.0), defined.astype(np.float64)], axis=-1)


def compute_means_from_sums_and_counts(statistics: FloatArray) -> FloatArray:
    """Compute means from sums of scores and their counts. The mean is NaN where the count is 0."""
    total, weight = np.moveaxis(statistics, -1, 0)
    return np.where(weight > 0, total / np.maximum(weight, 1), np.nan)


def sum_statistics_within_clusters(statistics: FloatArray, cluster_numbers: LongArray) -> FloatArray:
    """Sum the sufficient statistics of each system over the segments of each cluster.

    Clusters are in the order of their numbers. Returns [systems, clusters, s]. Resampling the sums is the
    same as resampling whole clusters.
    """
    _, clusters = np.unique(cluster_numbers, return_inverse=True)
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    sums: FloatArray = np.add.reduceat(statistics[:, order], starts, axis=1)
    return sums


def sum_statistics_of_resamples(statistics: FloatArray, resample_counts: FloatArray) -> FloatArray:
    """Sum the sufficient statistics of each system over the segments of every resample.

    Returns [systems, draws, statistics].
    """
    systems, segments, width = statistics.shape
    by_segment = np.ascontiguousarray(statistics.transpose(1, 0, 2)).reshape(segments, systems * width)
    return (resample_counts @ by_segment).reshape(len(resample_counts), systems, width).transpose(1, 0, 2)


def compute_scores_of_resamples(
    statistics: FloatArray, resample_counts: FloatArray, compute_score: FromStatistics
) -> FloatArray:
    """Compute the score of each system on each resample from sums of sufficient statistics.

    Returns [systems, draws].
    """
    return compute_score(np.ascontiguousarray(sum_statistics_of_resamples(statistics, resample_counts)))


def draw_bootstrap_scores(
    statistics: FloatArray,
    compute_score: FromStatistics,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
    size: int | None = None,
) -> FloatArray:
    """Draw bootstrap resamples of the segments, and compute the score of each system on each of them.

    Returns [systems, draws]. Systems share the resamples, which are drawn in blocks to bound memory.
    """
    segments = statistics.shape[1]
    draws_per_block = max(1, _COUNTS_PER_BLOCK // segments)
    blocks = []
    for start in range(0, draws, draws_per_block):
        block_draws = min(draws_per_block, draws - start)
        counts = draw_bootstrap_counts(segments, size or segments, block_draws, rng)
        blocks.append(compute_scores_of_resamples(statistics, counts, compute_score))
    return np.concatenate(blocks, axis=-1)


def paired_bootstrap(
    statistics: FloatArray,
    compute_score: FromStatistics,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
) -> SystemComparisons:
    """Compare the scores of all pairs of systems by a paired bootstrap over segments (Koehn, 2004).

    The null hypothesis is that the true difference is 0. With d the observed and d* the resampled difference,

        p = (1 + #{|d* - mean d*| ≥ |d|}) / (draws + 1),

    so the resampled differences are shifted to where the hypothesis expects them (Riezler and Maxwell, 2005).
    """
    scores = draw_bootstrap_scores(statistics, compute_score, rng, draws=draws)
    observed = compute_score(statistics.sum(axis=1))
    differences = observed[:, None] - observed[None, :]
    p = np.ones_like(differences)
    for i in range(len(scores)):
        for j in range(i):
            resampled = scores[i] - scores[j]
            extreme = _are_at_least_observed_difference(
                np.abs(resampled - resampled.mean()), differences[i, j]
            ).sum()
            p[i, j] = p[j, i] = (extreme + 1) / (len(resampled) + 1)
    return SystemComparisons(differences, p)


def approximate_randomization(
    statistics: FloatArray,
    compute_score: FromStatistics,
    rng: np.random.Generator,
    *,
    draws: int = 10_000,
) -> SystemComparisons:
    """Compare the scores of all pairs of systems by exchanging their outputs at random (Noreen, 1989).

    The null hypothesis is that the outputs of the two systems are exchangeable: each segment's outputs are
    exchanged with probability 1/2, and

        p = (1 + #{|d*| ≥ |d|}) / (draws + 1).

    All pairs share the draws. With P the sums over the exchanged segments and T over all, the first system
    of an exchanged pair has the sums P_i + T_j - P_j, so the cost of the sums is linear in the number of
    systems.
    """
    systems, segments, _ = statistics.shape
    observed = compute_score(statistics.sum(axis=1))
    differences = observed[:, None] - observed[None, :]
    extreme = np.zeros((systems, systems))
    total = statistics.sum(axis=1)[:, None]
    draws_per_block = max(1, _COUNTS_PER_BLOCK // segments)
    for start in range(0, draws, draws_per_block):
        block_draws = min(draws_per_block, draws - start)
        chosen = rng.integers(2, size=(block_draws, segments), dtype=bool).astype(np.float64)
        chosen_sums = sum_statistics_of_resamples(statistics, chosen)
        other_sums = total - chosen_sums
        for i in range(systems):
            for j in range(i):
                exchanged = np.stack([chosen_sums[i] + other_sums[j], chosen_sums[j] + other_sums[i]])
                first, second = compute_score(exchanged)
                extreme[i, j] += _are_at_least_observed_difference(
                    np.abs(first - second), differences[i, j]
                ).sum()
    extreme += extreme.T + draws * np.eye(systems)
    return SystemComparisons(differences, (extreme + 1) / (draws + 1))


def _are_at_least_observed_difference(absolute_differences: FloatArray, observed: float) -> BoolArray:
    """Return which absolute differences are at least as large as the observed difference, up to rounding."""
    threshold = abs(observed)
    reached: BoolArray = absolute_differences >= threshold - _ROUNDING_ERROR * max(1.0, threshold)
    return reached
