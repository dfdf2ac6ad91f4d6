"""Labels saved: the share of human labels that a metric makes unnecessary.

People rated n items, and a metric scored all N. With λ = Cov(h, m) / Var(m), the estimate

    mean(h) + λ (mean(m over all items) − mean(m over rated items))

has (1 − ρ²) times the variance of mean(h) where n is much smaller than N. It is as precise as
n / (1 − ρ²) labels without the metric, so the metric saves the share ρ² of the labels (control variates:
Chaganty, Mussmann and Liang, 2018).

There are two targets. For *the mean of a system*, ρ is the correlation of human and metric scores over the
items of one system, and the shares are averaged over systems. For *the difference of two systems*, ρ is the
correlation of paired differences, and the shares are averaged over pairs of systems.

The squared sample correlation is positive by chance for a useless metric. The estimate here is cross-fitted
over clusters of items: with C_c the part of the covariance that cluster c contributes,

    ρ² = Σ_c C_c (Σ_d≠c C_d) / (n² Var(h) Var(m)),

so that the covariance on one cluster is multiplied with that on the others, never with itself. Its
expectation is 0 for a metric that is independent of the human scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.intervals import IntervalEstimate
from metassay.stats.levels import CONFIDENCE_LEVEL

_BLOCK_SIZE = 2**18  # series times clusters in memory at once; about 25 arrays of this size


@dataclass(frozen=True)
class JackknifedShare:
    """Estimated share of human labels that a metric saves, with jackknife pseudo-values for its interval."""

    value: float
    pseudo_values: FloatArray

    def compute_confidence_interval(self) -> IntervalEstimate:
        """Return the share with its 95 % confidence interval, computed from the jackknife pseudo-values."""
        cluster_count = len(self.pseudo_values)
        if cluster_count < 2:
            return IntervalEstimate(self.value, np.nan, np.nan)
        standard_error = float(np.sqrt(self.pseudo_values.var(ddof=1) / cluster_count))
        margin = float(stdtrit(cluster_count - 1, (1 + CONFIDENCE_LEVEL) / 2)) * standard_error
        return IntervalEstimate(self.value, self.value - margin, self.value + margin)


def estimate_labels_saved(
    human_scores: FloatArray, metric_scores: FloatArray, clusters: LongArray
) -> IntervalEstimate:
    """Estimate the share of human labels that a metric makes unnecessary, with its 95 % interval.

    The shares of all rows of scores are averaged. `human_scores` and `metric_scores` are `[series, items]`:
    scores of systems for the mean of a system, differences of pairs of systems (`compute_system_differences`)
    for a difference. Missing scores are NaN. `clusters` numbers the cluster of each item from 0. The interval
    comes from a jackknife over clusters.
    """
    return jackknife_labels_saved(human_scores, metric_scores, clusters).compute_confidence_interval()


def jackknife_labels_saved(
    human_scores: FloatArray, metric_scores: FloatArray, clusters: LongArray
) -> JackknifedShare:
    """Estimate the share of human labels that a metric saves, with the contribution of each cluster of items.

    Differences of the pseudo-values of two metrics test whether one saves more labels than the other.
    """
    cluster_count = len(np.unique(clusters))  # numbers may have gaps, where items without labels are left out
    # In blocks to bound memory: there is one share for each series and each cluster that is left out.
    series_per_block = max(1, _BLOCK_SIZE // cluster_count)
    share_sum = np.zeros(cluster_count + 1)
    defined_count = np.zeros(cluster_count + 1)
    for start in range(0, len(human_scores), series_per_block):
        block = slice(start, start + series_per_block)
        shares = _compute_leave_one_out_shares(human_scores[block], metric_scores[block], clusters)
        defined = ~np.isnan(shares)
        share_sum += np.where(defined, shares, 0.0).sum(axis=0)
        defined_count += defined.sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean_shares = share_sum / defined_count
    value = float(mean_shares[0])
    if cluster_count < 2:
        return JackknifedShare(value, np.full(cluster_count, np.nan))
    # The pseudo-value of a cluster: n · (share with all) − (n − 1) · (share without it).
    return JackknifedShare(value, cluster_count * value - (cluster_count - 1) * mean_shares[1:])


def _compute_leave_one_out_shares(
    human_scores: FloatArray, metric_scores: FloatArray, clusters: LongArray
) -> FloatArray:
    """Compute the share of human labels saved with all clusters of items, and with each cluster left out.

    There is one row of shares for each row of scores. Returns [series, 1 + clusters].
    """
    sums = _sum_score_products_by_cluster(human_scores, metric_scores, clusters)
    every_cluster = sums.sum(axis=-1)[..., None]
    terms = sums[_PRODUCT_TERMS]
    grams = np.einsum("asc,bsc->abs", terms, terms)[..., None]
    with_all = _compute_squared_correlation_across_clusters(every_cluster, grams)
    without_one = _compute_squared_correlation_across_clusters(
        every_cluster - sums, grams - terms[:, None] * terms[None, :]
    )
    return np.concatenate([with_all, without_one], axis=1)


def compute_system_differences(scores: FloatArray) -> FloatArray:
    """Return the score differences of all pairs of systems for each item, with one row per pair.

    `scores` is [systems, items].
    """
    first, second = np.triu_indices(len(scores), 1)
    return np.asarray(scores[first] - scores[second])


# Rows of the sums: 1, h, m, h², m², hm. The covariance that a cluster contributes around the means a of h and
# b of m is Σhm − a Σm − b Σh + ab Σ1, a combination of four of them.
_COUNT, _HUMAN, _METRIC, _HUMAN_SQUARED, _METRIC_SQUARED, _PRODUCT = range(6)
_PRODUCT_TERMS = [_PRODUCT, _METRIC, _HUMAN, _COUNT]


def _sum_score_products_by_cluster(
    human_scores: FloatArray, metric_scores: FloatArray, clusters: LongArray
) -> FloatArray:
    """Sum human scores, metric scores, their squares and their products over the items of each cluster.

    Scores are centred first, because sums of squares of uncentred scores lose digits.
    """
    scored = ~np.isnan(human_scores + metric_scores)
    counts = np.maximum(scored.sum(axis=1, keepdims=True), 1)
    centred_human = human_scores - np.where(scored, human_scores, 0.0).sum(axis=1, keepdims=True) / counts
    centred_metric = metric_scores - np.where(scored, metric_scores, 0.0).sum(axis=1, keepdims=True) / counts
    terms = np.stack(
        [
            np.ones_like(centred_human),
            centred_human,
            centred_metric,
            centred_human**2,
            centred_metric**2,
            centred_human * centred_metric,
        ]
    )
    terms = np.where(scored, terms, 0.0)
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    return np.asarray(np.add.reduceat(terms[..., order], starts, axis=-1))


def _compute_squared_correlation_across_clusters(
    moment_sums: FloatArray, product_sums: FloatArray
) -> FloatArray:
    """Estimate the squared correlation of human and metric scores. For a useless metric it is 0 on average.

    Only covariances of different clusters are multiplied. `moment_sums` are totals over a subset of clusters,
    `[6, series, subsets]`, and `product_sums` the sums over these clusters of products of the four terms of
    the covariance, `[4, 4, series, subsets]`.
    """
    count = moment_sums[_COUNT]
    with np.errstate(divide="ignore", invalid="ignore"):
        human_mean = moment_sums[_HUMAN] / count
        metric_mean = moment_sums[_METRIC] / count
        human_variance = moment_sums[_HUMAN_SQUARED] / count - human_mean**2
        metric_variance = moment_sums[_METRIC_SQUARED] / count - metric_mean**2
        coefficients = np.stack([np.ones_like(count), -human_mean, -metric_mean, human_mean * metric_mean])
        covariance_sum = np.einsum("ast,ast->st", coefficients, moment_sums[_PRODUCT_TERMS])
        own_squares = np.einsum("ast,abst,bst->st", coefficients, product_sums, coefficients)
        shares = (covariance_sum**2 - own_squares) / (count**2 * human_variance * metric_variance)
    # The tolerance is for rounding: the variance of a constant metric is not exactly 0.
    tolerance = 1e-12
    shares[
        metric_variance
        <= tolerance * np.maximum(moment_sums[_METRIC_SQUARED] / np.maximum(count, 1), tolerance)
    ] = 0
    shares[~(human_variance > 0)] = np.nan
    return np.asarray(shares)
