"""Self-preference: how much a judge favours the systems of one family over those of others.

With human scores, the expected deviation of a system (von Däniken, Deriu and Cieliebak, 2024) is how much too
high its human score is when it is predicted from the judge. f is the isotonic regression of the human score
on the judge's score over all outputs; it keeps means, so that one fit is enough:

    ED(k) = mean over the outputs of k of f(score)  −  mean human score of k

Without human scores, the other judges are the yardstick. With z the system means of a judge, standardised
over systems:

    ED(k) = z(k)  −  mean over the other judges of their z(k)

The deviation of a family is the mean ED of its systems minus the mean ED of all other systems. Items are
resampled; interval and p-value come from the standard deviation of the resampled deviations and Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import Counts, fit_resamples_by_group, fit_values_by_group
from metassay.stats.sorted_scores import sort_scores

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class SystemDeviations:
    """Expected deviation of each system, observed and on each resample; NaN for a system without outputs."""

    observed: FloatArray
    resampled: FloatArray
    """`[resamples, systems]`."""
    item_count: int


@dataclass(frozen=True)
class FamilyPreference:
    """Deviation of a family from all others, with its 95 % interval and two-sided p-value."""

    deviation: float
    low: float
    high: float
    p: float


def deviations_from_humans(
    scores: FloatArray, human: FloatArray, resample_counts: Counts
) -> SystemDeviations:
    """Human score of each system as predicted from a judge, minus its actual human score.

    Both scores are `[systems, items]`; `resample_counts` is `[resamples, items]`.
    """
    system_count, item_count = scores.shape
    is_scored = ~(np.isnan(scores) | np.isnan(human))
    if not is_scored.any():
        undefined = np.full((len(resample_counts), system_count), np.nan)
        return SystemDeviations(np.full(system_count, np.nan), undefined, 0)
    systems, items = np.nonzero(is_scored)
    human_scores = human[is_scored]
    sorted_scores = sort_scores(scores[is_scored])
    weights = np.ones(len(human_scores))
    predicted_means = fit_values_by_group(sorted_scores, human_scores[None], weights, systems, system_count)[
        0
    ]
    _, resampled_means = fit_resamples_by_group(
        sorted_scores, human_scores, weights, systems, system_count, items, resample_counts
    )
    scored_human = np.where(is_scored, human, np.nan)
    every_item = np.ones((1, item_count), dtype=np.uint32)
    return SystemDeviations(
        observed=predicted_means - _average_items(scored_human, every_item)[0],
        resampled=resampled_means - _average_items(scored_human, resample_counts),
        item_count=len(np.unique(items)),
    )


def deviations_from_panel(scores: FloatArray, judge: int, resample_counts: Counts) -> SystemDeviations:
    """Standardised mean score of each system by one judge, minus the mean over the other judges.

    `scores` are `[judges, systems, items]`. A judge that gives all systems the same mean has no z and is not
    part of the panel.
    """
    every_item = np.ones((1, scores.shape[2]), dtype=np.uint32)
    return SystemDeviations(
        observed=_subtract_panel(scores, judge, every_item)[0],
        resampled=_subtract_panel(scores, judge, resample_counts),
        item_count=int((~np.isnan(scores[judge])).any(axis=0).sum()),
    )


def estimate_family_preference(deviations: SystemDeviations, in_family: BoolArray) -> FamilyPreference:
    """Estimate how much a judge favours the systems of a family; NaN if there are no other systems."""
    observed = float(_contrast_family(deviations.observed[None], in_family)[0])
    resampled = _contrast_family(deviations.resampled, in_family)
    resampled = resampled[~np.isnan(resampled)]
    if np.isnan(observed) or len(resampled) < 2 or deviations.item_count < 2:
        return FamilyPreference(observed, np.nan, np.nan, np.nan)
    sd = float(resampled.std(ddof=1))
    degrees_of_freedom = deviations.item_count - 1.0
    if sd == 0:
        return FamilyPreference(observed, observed, observed, float(observed == 0))
    half_width = float(stdtrit(degrees_of_freedom, 0.975)) * sd
    p = 2 * float(stdtr(degrees_of_freedom, -abs(observed) / sd))
    return FamilyPreference(observed, observed - half_width, observed + half_width, p)


def _subtract_panel(scores: FloatArray, judge: int, resample_counts: Counts) -> FloatArray:
    """Return z of one judge minus the mean z of the others, `[resamples, systems]`."""
    z = np.stack([_standardize_system_means(judge_scores, resample_counts) for judge_scores in scores])
    others = np.delete(z, judge, axis=0)
    return np.asarray(z[judge] - _average_defined(others, axis=0))


def _standardize_system_means(scores: FloatArray, resample_counts: Counts) -> FloatArray:
    """Standardise system means over systems on each resample, `[resamples, systems]`.

    The unit is the standard deviation of the observed means, also on resamples: where systems hardly differ,
    the standard deviation on a resample is mostly noise, and tests with it reject too often (.13 instead of
    .05).
    """
    every_item = np.ones((1, scores.shape[1]), dtype=np.uint32)
    observed_means = _average_items(scores, every_item)
    sd = 0.0
    if (~np.isnan(observed_means)).any():
        sd = float(np.sqrt(np.nanmean(_center(observed_means) ** 2)))
    centred = _center(_average_items(scores, resample_counts))
    return centred / sd if sd > 1e-12 else np.full_like(centred, np.nan)


def _center(means: FloatArray) -> FloatArray:
    """Subtract the mean over systems on each resample."""
    counts = np.maximum((~np.isnan(means)).sum(axis=1, keepdims=True), 1)
    return np.asarray(means - np.nansum(means, axis=1, keepdims=True) / counts)


def _average_items(scores: FloatArray, resample_counts: Counts) -> FloatArray:
    """Average scores `[systems, items]` over the items of each resample, `[resamples, systems]`."""
    is_scored = ~np.isnan(scores)
    weights = resample_counts.astype(np.float64)
    sums = weights @ np.where(is_scored, scores, 0.0).T
    totals = weights @ is_scored.T.astype(np.float64)
    return np.asarray(np.divide(sums, totals, out=np.full_like(sums, np.nan), where=totals > 0))


def _contrast_family(deviations: FloatArray, in_family: BoolArray) -> FloatArray:
    """Return the mean over the systems of a family minus that over the others, `[resamples]`."""
    family_mean = _average_defined(deviations[:, in_family], axis=1)
    other_mean = _average_defined(deviations[:, ~in_family], axis=1)
    return np.asarray(family_mean - other_mean)


def _average_defined(values: FloatArray, axis: int) -> FloatArray:
    """Average the values that are not NaN; NaN where there are none."""
    counts = (~np.isnan(values)).sum(axis=axis)
    sums = np.nansum(values, axis=axis)
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))
