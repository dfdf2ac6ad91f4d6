"""Everything measured of one judge, from its askings.

Self-preference: by how much a judge favours the systems of one family over what others think of them.

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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from metassay.meta.judges.agreement import (
    BoolArray,
    Estimate,
    IntArray,
    base_rate,
    credit_of,
    difference_over_items,
    in_both_orders,
    mean_over_items,
    pair_credits,
    position_bias,
    repeats_same,
)
from metassay.meta.judges.alternative_annotator_test import Corrected, corrected_share
from metassay.stats.arrays import FloatArray
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.isotonic import Counts, fit_resamples_by_group, fit_values_by_group
from metassay.stats.score_order import sort_scores

NOTHING = Estimate(np.nan, np.nan, np.nan, 0)


@dataclass(frozen=True)
class Askings:
    """What one judge was asked and said, an entry per asking; NaN where nothing could be read or is known.

    `unit` groups the two orders of one question, `question` the repetitions of one asking, `item` names the
    cluster. `longer` is 1 where the first output is the longer one, 0 where the second is.
    """

    value: FloatArray
    gold: FloatArray
    item: IntArray
    unit: IntArray
    question: IntArray
    swapped: BoolArray
    longer: FloatArray

    @property
    def missing(self) -> int:
        """Askings without a readable answer."""
        return int(np.isnan(self.value).sum())

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The first asking of each unit."""
        return np.unique(self.unit, return_index=True)[1]

    def repeated(self, bootstrap: ClusterBootstrap) -> Estimate:
        """How often two answers to the same question are equal."""
        _, first = np.unique(self.question, return_index=True)
        return mean_over_items(repeats_same(self.value, self.question), self.item[first], bootstrap)


@dataclass(frozen=True)
class Evidence:
    """What the accuracy of a judge rests on: credits with their items, and where each was earned.

    `place` is the asking, or the item, whose labels say which context a credit belongs to.
    """

    credit: FloatArray
    item: IntArray
    place: NDArray[np.int64]

    def accuracy(self, bootstrap: ClusterBootstrap, where: BoolArray | None = None) -> Estimate:
        """Accuracy, in all or in the entries chosen."""
        chosen = slice(None) if where is None else where
        return mean_over_items(self.credit[chosen], self.item[chosen], bootstrap)


@dataclass(frozen=True)
class Measures:
    """Accuracy beside what base rates give, consistency and biases of one judge."""

    evidence: Evidence
    accuracy: Estimate
    base_rate: float
    both_orders_same: Estimate = NOTHING
    position_bias: Estimate = NOTHING
    length_bias: Estimate = NOTHING
    repeats_same: Estimate = NOTHING
    corrected: Corrected | None = None
    missing: int = 0


def measure_pairs(askings: Askings, bootstrap: ClusterBootstrap, *, ties: str = "half") -> Measures:
    """Measures of preferences, asked in one order or both."""
    verdict, same = in_both_orders(askings.value, askings.unit, askings.swapped)
    first = askings.first
    gold, item, longer = askings.gold[first], askings.item[first], askings.longer[first]
    evidence = Evidence(credit_of(verdict, gold, ties=ties), item, first)
    better_is_longer = np.where(np.isnan(longer) | ~np.isin(gold, (0.0, 1.0)), np.nan, gold == longer)
    here, there = (np.where(better_is_longer == side, evidence.credit, np.nan) for side in (1, 0))
    named_first = position_bias(askings.value, askings.swapped, askings.unit)
    return Measures(
        evidence,
        evidence.accuracy(bootstrap),
        base_rate(verdict, gold, ties=ties),
        mean_over_items(same, item, bootstrap),
        _shifted(mean_over_items(named_first + 0.5, askings.item, bootstrap), -0.5),
        difference_over_items(here, there, item, bootstrap),
        askings.repeated(bootstrap),
        corrected_share(verdict, gold, item, bootstrap),
        askings.missing,
    )


def measure_labels(askings: Askings, bootstrap: ClusterBootstrap) -> Measures:
    """Measures of verdicts good (1) or bad (0) on single outputs."""
    evidence = Evidence(
        credit_of(askings.value, askings.gold, ties="strict"), askings.item, np.arange(len(askings.value))
    )
    return Measures(
        evidence,
        evidence.accuracy(bootstrap),
        base_rate(askings.value, askings.gold, ties="strict"),
        repeats_same=askings.repeated(bootstrap),
        corrected=corrected_share(askings.value, askings.gold, askings.item, bootstrap),
        missing=askings.missing,
    )


def measure_scores(
    score: FloatArray, human: FloatArray, askings: Askings, bootstrap: ClusterBootstrap
) -> Measures:
    """Measures of scores [systems, items]: accuracy over every two outputs of an item that people tell apart.

    Either order is as likely as the other where nothing is known, so base rates alone give ½.
    """
    credit, item = pair_credits(score, human)
    evidence = Evidence(credit, item, item.astype(np.int64))
    return Measures(
        evidence,
        evidence.accuracy(bootstrap),
        0.5 if len(credit) else np.nan,
        repeats_same=askings.repeated(bootstrap),
        missing=askings.missing,
    )


def change(before: Evidence, after: Evidence, bootstrap: ClusterBootstrap) -> Estimate:
    """Accuracy after less accuracy before, on items that are resampled together."""
    gaps = [np.full(len(part.credit), np.nan) for part in (before, after)]
    here, there = np.concatenate([gaps[0], after.credit]), np.concatenate([before.credit, gaps[1]])
    return difference_over_items(here, there, np.concatenate([before.item, after.item]), bootstrap)


def in_contexts(
    evidence: Evidence, labels: Sequence[str | None], bootstrap: ClusterBootstrap
) -> dict[str, Estimate]:
    """Accuracy in each context; `labels` are per asking or item, as the evidence's places are."""
    own = np.array([labels[place] for place in evidence.place], dtype=object)
    values = sorted({value for value in own.tolist() if value is not None})
    return {value: evidence.accuracy(bootstrap, own == value) for value in values}


def _shifted(found: Estimate, by: float) -> Estimate:
    return Estimate(found.value + by, found.low + by, found.high + by, found.pairs)


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
    means = fit_values_by_group(order, h[None], weight, group, systems)[0]
    _, resampled = fit_resamples_by_group(order, h, weight, group, systems, item, counts)
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
