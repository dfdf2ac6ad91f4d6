"""Several tests or candidates at once: adjusted p-values, and the subset that contains the best."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from metassay.stats.arrays import BoolArray, FloatArray
from metassay.stats.intervals import compute_interval_widening_factor
from metassay.stats.levels import CONFIDENCE_LEVEL

# The standard deviation of a difference is at least that of this many observations.
_MIN_OBSERVATIONS = 0.5


def count_fewest_draws(test_count: int, error_rate: float) -> int:
    """Count the random draws with which the smallest p-value, 1 / (draws + 1), is significant after it is
    multiplied by the number of tests.

    >>> count_fewest_draws(25, 0.05)
    499
    """
    return math.ceil(test_count / error_rate) - 1


def adjust_p_values_by_holm(p_values: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """Adjust p-values by Holm's step-down method (1979), which controls the family-wise error rate.

    The i-th smallest of n is multiplied by n - i + 1; the results do not decrease in that order and are at
    most 1. NaN marks a test that was not made: it stays NaN and is not counted. With positive `weights`,
    tests are ordered by p / weight and multiplied by the weight of all tests that remain: a test of more
    weight is easier to pass.

    >>> adjust_p_values_by_holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    >>> adjust_p_values_by_holm([0.01, 0.04], weights=[3, 1]).round(4).tolist()
    [0.0133, 0.04]
    """
    p = np.asarray(p_values, dtype=np.float64)
    weight = np.ones(p.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested] / weight[tested], kind="stable")]
    remaining_weight = np.cumsum(weight[order][::-1])[::-1]
    scaled = p[order] / weight[order] * remaining_weight
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1)
    return adjusted


def adjust_p_values_by_benjamini_yekutieli(p_values: ArrayLike) -> FloatArray:
    """Adjust p-values by Benjamini and Yekutieli's method (2001), which controls the false discovery rate.

    This holds however the tests depend on each other. The i-th smallest of n is multiplied by
    (1 + 1/2 + … + 1/n) n / i; the results do not decrease in that order and are at most 1. NaN marks a test
    that was not made: it stays NaN and is not counted.

    >>> adjust_p_values_by_benjamini_yekutieli([0.01, 0.04]).tolist()
    [0.03, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    ranks = np.arange(1, len(order) + 1)
    scaled = p[order] * (1 / ranks).sum() * len(order) / ranks
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return adjusted


def select_candidates_that_may_be_best(
    estimates: FloatArray, resamples: FloatArray, cluster_count: int
) -> tuple[BoolArray, FloatArray]:
    """Select the candidates that are not significantly worse than another. Also returns their p-values.

    The p-value of a candidate is for the hypothesis that it is the best. For candidate m the largest
    standardised lead over it,

        T = max over j of (a_j - a_m) / s_jm,

    is compared with the distribution of the same maximum around the truth in the paired resamples
    [candidates, resamples]. If m were the best, no true lead would be positive, so the best candidate is
    dropped in at most 5 % of cases (Gupta, 1965; Hsu, 1981). Resamples are widened for few clusters. A
    candidate without estimate (NaN) is not selected; with a single cluster all others are.
    """
    p = np.zeros(len(estimates))
    defined = ~np.isnan(estimates)
    if cluster_count < 2:
        p[defined] = 1.0
        return defined, p
    estimates = estimates[defined]
    draws = resamples[defined]
    deviations = draws[:, ~np.isnan(draws).any(axis=0)] - estimates[:, None]
    deviations *= float(compute_interval_widening_factor(np.array(cluster_count)))
    spreads = _compute_standard_errors_of_row_differences(deviations, _MIN_OBSERVATIONS / cluster_count)
    p[defined] = _compute_p_values_of_being_best(estimates, deviations, spreads)
    return defined & (p > 1 - CONFIDENCE_LEVEL), p


def _compute_standard_errors_of_row_differences(
    resample_deviations: FloatArray, smallest_standard_error: float
) -> FloatArray:
    """Compute the standard error of the difference between every two rows.

    It is at least `smallest_standard_error`. A smaller one comes from two candidates that happen never to
    differ.
    """
    centred = resample_deviations - resample_deviations.mean(axis=1, keepdims=True)
    covariances = centred @ centred.T / max(resample_deviations.shape[1], 1)
    variances = np.diag(covariances)
    # Rounding can make the variance of a difference slightly negative.
    difference_variances = np.maximum(variances[:, None] + variances - 2 * covariances, 0)
    return np.asarray(np.maximum(np.sqrt(difference_variances), smallest_standard_error))


def _compute_p_values_of_being_best(
    estimates: FloatArray, deviations: FloatArray, spreads: FloatArray
) -> FloatArray:
    """Compute for each candidate the p-value of the hypothesis that no other candidate is better."""
    p = np.ones(len(estimates))
    for m in range(len(estimates)):
        observed = ((estimates - estimates[m]) / spreads[:, m]).max()
        if observed > 0:
            scale = 1 / spreads[:, m]
            leads = ((deviations - deviations[m]) * scale[:, None]).max(axis=0, initial=0.0)
            p[m] = (1 + np.count_nonzero(leads >= observed)) / (1 + len(leads))
    return p
