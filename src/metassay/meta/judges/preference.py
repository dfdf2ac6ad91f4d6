"""Self-preference: by how much a judge favours the systems of one family over what others think of them.

With people as yardstick, a system's expected deviation (von Däniken, Deriu and Cieliebak, 2024) says by how
much reading its human score off the judge flatters it; f is the isotonic regression of the human score on the
judge's over all outputs, and pooling keeps means, so one fit is enough:

    ED(k) = mean over k's outputs of f(score)  −  mean human score of k

Without people, the other judges are the panel: z are a judge's system means, standardised over systems, and

    ED(k) = z(k)  −  mean over the other judges of their z(k)

A family's deviation is the mean ED of its systems less the mean ED of all other systems. Items are resampled;
interval and p-value come from the spread of the resampled deviations, by Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import Counts, group_means_by_value, resampled_group_means
from metassay.stats.score_order import sort_scores

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Deviations:
    """ED of each system, and of each system on each resample [resamples, systems]; NaN without outputs."""

    observed: FloatArray
    resampled: FloatArray
    items: int


@dataclass(frozen=True)
class Preference:
    """How far a family is flattered beyond the others, with its 95 % interval and two-sided p-value."""

    deviation: float
    low: float
    high: float
    p: float


def against_people(score: FloatArray, human: FloatArray, counts: Counts) -> Deviations:
    """ED of systems from a judge's and people's scores [systems, items]; `counts` is [resamples, items]."""
    systems, items = score.shape
    group, item = (axis.ravel() for axis in np.indices(score.shape))
    known = ~(np.isnan(score) | np.isnan(human)).ravel()
    group, item = group[known].astype(np.int64), item[known].astype(np.int64)
    m, h = score.ravel()[known], human.ravel()[known]
    empty = np.full((len(counts), systems), np.nan)
    if not len(m):
        return Deviations(np.full(systems, np.nan), empty, 0)
    order, weight = sort_scores(m), np.ones(len(m))
    means = group_means_by_value(order, h[None], weight, group, systems)[0]
    _, resampled = resampled_group_means(order, h, weight, group, systems, item, counts)
    both = np.where(np.isnan(score) | np.isnan(human), np.nan, human)
    ones = np.ones((1, items), dtype=np.uint32)
    return Deviations(
        means - _weighted_means(both, ones)[0],
        resampled - _weighted_means(both, counts),
        len(np.unique(item)),
    )


def against_panel(scores: FloatArray, judge: int, counts: Counts) -> Deviations:
    """ED of systems under one of several judges' scores [judges, systems, items], by the other judges.

    Judges that give every system the same mean have no z and are no part of the panel.
    """
    ones = np.ones((1, scores.shape[2]), dtype=np.uint32)
    items = int((~np.isnan(scores[judge])).any(axis=0).sum())
    return Deviations(_panel_gap(scores, judge, ones)[0], _panel_gap(scores, judge, counts), items)


def preference(deviations: Deviations, of_family: NDArray[np.bool_]) -> Preference:
    """What a judge does to the systems of one family, beside all others; NaN where there are no others."""
    observed = _contrast(deviations.observed[None], of_family)[0]
    resampled = _contrast(deviations.resampled, of_family)
    drawn = resampled[~np.isnan(resampled)]
    if np.isnan(observed) or len(drawn) < 2 or deviations.items < 2:
        return Preference(float(observed), np.nan, np.nan, np.nan)
    spread, freedom = float(drawn.std(ddof=1)), deviations.items - 1.0
    if spread == 0:
        return Preference(float(observed), float(observed), float(observed), float(observed == 0))
    half = float(stdtrit(freedom, 0.975)) * spread
    p = 2 * float(stdtr(freedom, -abs(observed) / spread))
    return Preference(float(observed), float(observed - half), float(observed + half), p)


def _panel_gap(scores: FloatArray, judge: int, counts: Counts) -> FloatArray:
    z = np.stack([_standardised(own, counts) for own in scores])
    others = np.delete(z, judge, axis=0)
    seen = (~np.isnan(others)).sum(axis=0)
    panel = np.divide(np.nansum(others, axis=0), seen, out=np.full(others.shape[1:], np.nan), where=seen > 0)
    return np.asarray(z[judge] - panel)


def _standardised(scores: FloatArray, counts: Counts) -> FloatArray:
    """System means on each resample, [resamples, systems], about their mean and in units of their spread.

    The unit is the spread of the observed means, also on resamples: where systems hardly differ, the spread
    of a resample is mostly noise, and tests in such units would reject too often (.13 instead of .05).
    """
    observed = _weighted_means(scores, np.ones((1, scores.shape[1]), dtype=np.uint32))
    unit = float(np.sqrt(np.nanmean(_centred(observed) ** 2))) if (~np.isnan(observed)).any() else 0.0
    centred = _centred(_weighted_means(scores, counts))
    return centred / unit if unit > 1e-12 else np.full_like(centred, np.nan)


def _centred(means: FloatArray) -> FloatArray:
    known = np.maximum((~np.isnan(means)).sum(axis=1, keepdims=True), 1)
    return np.asarray(means - np.nansum(means, axis=1, keepdims=True) / known)


def _weighted_means(scores: FloatArray, counts: Counts) -> FloatArray:
    """Means over items of [systems, items] on each resample: [resamples, systems]."""
    known = ~np.isnan(scores)
    weight = counts.astype(np.float64)
    sums, sizes = weight @ np.where(known, scores, 0.0).T, weight @ known.T.astype(np.float64)
    return np.asarray(np.divide(sums, sizes, out=np.full_like(sums, np.nan), where=sizes > 0))


def _contrast(deviations: FloatArray, of_family: NDArray[np.bool_]) -> FloatArray:
    """Mean over the family's systems less that over the others, [resamples]; NaN where a side is empty."""
    sides = []
    for chosen in (of_family, ~of_family):
        part = deviations[:, chosen]
        seen = (~np.isnan(part)).sum(axis=1)
        sides.append(np.divide(np.nansum(part, axis=1), seen, out=np.full(len(part), np.nan), where=seen > 0))
    return np.asarray(sides[0] - sides[1])
