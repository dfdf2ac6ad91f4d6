"""Self-preference: how much a judge favours the systems of one family over those of others.

A fair judge's score depends on the human score and on noise, not on who made the output. Any noisy judge
predicts the human scores of good systems too low and of bad ones too high (shrinkage to the mean, see
`meta.dependence.shrinkage`), so that outputs must be compared that have the same human score. The model of
the judge's score of output i is

    score(i) = g(human(i))  +  deviation · in_family(i)  +  error(i)

g is a step per value if there are few human scores, else a linear spline. Both scores are normal scores: only
their order matters, and the deviation is in standard deviations of the judge's scores. Its standard error
allows for errors that are correlated within items and of unequal size (MacKinnon and White, 1985, HC3).

Without human scores, the other judges are the yardstick. With z the system means of a judge, standardised
over systems, the deviation of a system is z − mean over the other judges of their z, and that of a family the
mean over its systems minus the mean over all other systems. Items are resampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from metassay.stats.arrays import BoolArray, FloatArray, divide_or_nan, mean_ignoring_nan
from metassay.stats.isotonic import Counts

# Up to this number of distinct human scores, each has its own step.
FEW_VALUES = 10
# Inner knots at quantiles of the human scores.
SPLINE_KNOTS = 4
# Smaller sums of squares are 0 up to rounding: the human score explains everything.
_ROUNDING = 1e-9
_LEAST_FREEDOM = 0.1  # an output that determines its own fit still counts with a finite error


@dataclass(frozen=True)
class FamilyPreference:
    """How much higher a judge rates one family of systems than others, with an interval and a p-value."""

    deviation: float
    low: float
    high: float
    p: float


UNDEFINED = FamilyPreference(np.nan, np.nan, np.nan, np.nan)


def estimate_judge_bias_for_model_family(
    judge_scores: FloatArray, human_scores: FloatArray, is_in_family: BoolArray
) -> FamilyPreference:
    """Estimate how much higher a judge rates one family of systems than other systems with the same human
    scores.

    Both scores are `[systems, items]`, `is_in_family` is per system. Undefined where no human score occurs
    both inside and outside the family.
    """
    is_scored = ~(np.isnan(judge_scores) | np.isnan(human_scores))
    systems, items = np.nonzero(is_scored)
    is_member = is_in_family[systems].astype(np.float64)
    if len(np.unique(is_member)) < 2 or len(np.unique(items)) < 2:
        return UNDEFINED
    normal_scores = _replace_scores_by_normal_quantiles(judge_scores[is_scored])
    basis = _build_orthonormal_spline_basis(human_scores[is_scored])
    membership = _subtract_projection_on_basis(is_member, basis)
    sum_of_squares = float(membership @ membership)
    if sum_of_squares <= _ROUNDING * len(membership):
        return UNDEFINED
    deviation = float(membership @ normal_scores) / sum_of_squares
    errors = _subtract_projection_on_basis(normal_scores, basis) - deviation * membership
    leverages = (basis**2).sum(axis=1) + membership**2 / sum_of_squares
    scaled_errors = errors / np.maximum(1 - leverages, _LEAST_FREEDOM)
    item_errors = np.bincount(items, membership * scaled_errors)
    item_count = len(np.unique(items))
    variance = item_errors @ item_errors / sum_of_squares**2 * item_count / (item_count - 1)
    # few items carry the comparison where families hardly overlap in human scores
    item_weights = np.bincount(items, membership**2)
    effective_items = sum_of_squares**2 / float(item_weights @ item_weights)
    return _compute_t_interval_and_p_value(deviation, float(np.sqrt(variance)), max(effective_items - 1, 1.0))


def estimate_judge_bias_relative_to_other_judges(
    scores_by_judge: FloatArray, judge_index: int, is_in_family: BoolArray, resample_counts: Counts
) -> FamilyPreference:
    """Estimate how much higher a judge rates one family of systems than other judges do.

    `scores_by_judge` are `[judges, systems, items]`, `resample_counts` `[resamples, items]`. A judge that
    gives all systems the same mean cannot be standardised and is not part of the panel.
    """
    every_item = np.ones((1, scores_by_judge.shape[2]), dtype=np.uint32)
    deviation = float(
        _compare_model_family_with_other_systems(
            _subtract_mean_of_other_judges(scores_by_judge, judge_index, every_item), is_in_family
        )[0]
    )
    resampled = _compare_model_family_with_other_systems(
        _subtract_mean_of_other_judges(scores_by_judge, judge_index, resample_counts), is_in_family
    )
    resampled = resampled[~np.isnan(resampled)]
    item_count = int((~np.isnan(scores_by_judge[judge_index])).any(axis=0).sum())
    if np.isnan(deviation) or len(resampled) < 2 or item_count < 2:
        return FamilyPreference(deviation, np.nan, np.nan, np.nan)
    return _compute_t_interval_and_p_value(deviation, float(resampled.std(ddof=1)), item_count - 1.0)


def _compute_t_interval_and_p_value(
    estimate: float, standard_error: float, degrees_of_freedom: float
) -> FamilyPreference:
    """Compute the interval and p-value of an estimate by Student's t distribution."""
    if standard_error <= _ROUNDING:
        # a judge without any error, for instance one that repeats the human scores
        return FamilyPreference(estimate, estimate, estimate, float(abs(estimate) <= _ROUNDING))
    half_width = float(stdtrit(degrees_of_freedom, 0.975)) * standard_error
    p = 2 * float(stdtr(degrees_of_freedom, -abs(estimate) / standard_error))
    return FamilyPreference(estimate, estimate - half_width, estimate + half_width, p)


def _build_orthonormal_spline_basis(human_scores: FloatArray) -> FloatArray:
    """Build an orthonormal basis of spline functions of the human score, one function per column."""
    values, positions = np.unique(human_scores, return_inverse=True)
    if len(values) <= FEW_VALUES:
        steps = np.eye(len(values))[positions]
        return np.asarray(steps / np.sqrt(steps.sum(axis=0)))
    normal_scores = _replace_scores_by_normal_quantiles(human_scores)
    shares = np.linspace(0, 1, SPLINE_KNOTS + 2)[1:-1]
    knots = np.unique(np.quantile(normal_scores, shares))
    bends = np.maximum(normal_scores[:, None] - knots, 0)
    functions = np.column_stack([np.ones(len(normal_scores)), normal_scores, bends])
    # singular vectors instead of QR: a knot at the lowest score repeats the line
    left, sizes, _ = np.linalg.svd(functions, full_matrices=False)
    return np.asarray(left[:, sizes > _ROUNDING * sizes[0]])


def _subtract_projection_on_basis(values: FloatArray, orthonormal_basis: FloatArray) -> FloatArray:
    """Subtract from a vector its projection on the given orthonormal basis."""
    return np.asarray(values - orthonormal_basis @ (orthonormal_basis.T @ values))


def _replace_scores_by_normal_quantiles(scores: FloatArray) -> FloatArray:
    """Replace each score by the quantile of the normal distribution for its rank.

    Equal scores stay equal.
    """
    _, positions, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle_ranks = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(ndtri((middle_ranks - 0.5) / len(scores))[positions])


def _subtract_mean_of_other_judges(
    scores_by_judge: FloatArray, judge: int, resample_counts: Counts
) -> FloatArray:
    """Compute how much higher one judge rates each system than the other judges do.

    Returns one row for each resample of the items. The mean scores of each judge are standardised over
    systems first.
    """
    z = np.stack(
        [
            _compute_standardized_system_means_on_resamples(judge_scores, resample_counts)
            for judge_scores in scores_by_judge
        ]
    )
    others = np.delete(z, judge, axis=0)
    return np.asarray(z[judge] - mean_ignoring_nan(others, axis=0))


def _compute_standardized_system_means_on_resamples(
    judge_scores: FloatArray, resample_counts: Counts
) -> FloatArray:
    """Compute the mean score of each system on each resample of the items, standardised over systems.

    The mean over systems is 0. The unit is the standard deviation of the observed means, also on resamples:
    where systems hardly differ, the standard deviation on a resample is mostly noise, and tests with it
    reject too often (.13 instead of .05).
    """
    every_item = np.ones((1, judge_scores.shape[1]), dtype=np.uint32)
    observed_means = _average_system_scores_on_resamples(judge_scores, every_item)
    sd = 0.0
    if (~np.isnan(observed_means)).any():
        sd = float(np.sqrt(np.nanmean(_subtract_mean_over_systems(observed_means) ** 2)))
    centred = _subtract_mean_over_systems(_average_system_scores_on_resamples(judge_scores, resample_counts))
    return centred / sd if sd > 1e-12 else np.full_like(centred, np.nan)


def _subtract_mean_over_systems(system_means: FloatArray) -> FloatArray:
    """Subtract the mean over systems from the score of each system, separately for each resample."""
    counts = np.maximum((~np.isnan(system_means)).sum(axis=1, keepdims=True), 1)
    return np.asarray(system_means - np.nansum(system_means, axis=1, keepdims=True) / counts)


def _average_system_scores_on_resamples(judge_scores: FloatArray, resample_counts: Counts) -> FloatArray:
    """Compute the mean score of each system on each bootstrap resample of the items."""
    is_scored = ~np.isnan(judge_scores)
    weights = resample_counts.astype(np.float64)
    sums = weights @ np.where(is_scored, judge_scores, 0.0).T
    totals = weights @ is_scored.T.astype(np.float64)
    return divide_or_nan(sums, totals)


def _compare_model_family_with_other_systems(
    system_deviations: FloatArray, is_in_family: BoolArray
) -> FloatArray:
    """Compute the mean over the systems of a family minus the mean over all other systems.

    There is one value for each resample.
    """
    family_mean = mean_ignoring_nan(system_deviations[:, is_in_family], axis=1)
    other_mean = mean_ignoring_nan(system_deviations[:, ~is_in_family], axis=1)
    return np.asarray(family_mean - other_mean)
