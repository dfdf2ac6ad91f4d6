"""How often a judge agrees with people, with itself in the other order, and with itself asked again.

A verdict on two outputs is 1 where the first is called better, 0 for the second, ½ for a tie and NaN where no
verdict could be read. Its credit against what people say is 1 less the distance between the two:

    half:    credit = 1 − |verdict − gold|        strict:  credit = 1[verdict = gold]

so a tie that people do not see is half right, or wrong. Means are taken within items, then over items, and
intervals come from a bootstrap over items: all verdicts on an item stand or fall together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import (
    ClusteredProportions,
    percentile_interval,
    proportion_interval,
    small_sample_factor,
)

IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

TIES = ("half", "strict")


@dataclass(frozen=True)
class Estimate:
    """A mean over items with its 95 % interval, NaN where nothing can be said; it rests on `pairs`."""

    value: float
    low: float
    high: float
    pairs: int


def credit_of(verdict: FloatArray, gold: FloatArray, *, ties: str = "half") -> FloatArray:
    """How right each verdict is, in [0, 1]; NaN where verdict or gold is missing."""
    if ties not in TIES:
        raise InputError(f"unknown treatment of ties {ties!r}.", remedy="Known: half, strict.")
    distance = np.abs(verdict - gold)
    return 1 - distance if ties == "half" else np.where(np.isnan(distance), np.nan, distance == 0)


def base_rate(verdict: FloatArray, gold: FloatArray, *, ties: str = "half") -> float:
    """The mean credit that the same verdicts would earn if dealt out at random: Cohen's expected agreement.

    The mean of `credit_of` over all pairs of a verdict and a gold label, each from any item.
    """
    known = ~(np.isnan(verdict) | np.isnan(gold))
    said, shares = np.unique(verdict[known], return_counts=True)
    true, weights = np.unique(gold[known], return_counts=True)
    if not len(said):
        return float("nan")
    table = credit_of(said[:, None], true[None, :], ties=ties)
    return float(shares @ table @ weights / (shares.sum() * weights.sum()))


def in_both_orders(verdict: FloatArray, unit: IntArray, swapped: BoolArray) -> tuple[FloatArray, FloatArray]:
    """One verdict per unit (a pair asked about once or in both orders), and whether both orders agree.

    A verdict counts if it names the same output in both orders, else it is a tie. A unit with an order that
    could not be read has no verdict. The second array is 1 or 0, NaN where only one order was asked or read.
    """
    units = int(unit.max(initial=-1)) + 1
    first, second = (_only(verdict, unit, order, units) for order in (~swapped, swapped))
    asked_first, asked_second = (np.bincount(unit[o], minlength=units) > 0 for o in (~swapped, swapped))
    both = asked_first & asked_second
    same = np.where(both & ~np.isnan(first + second), first == second, np.nan)
    single = np.where(asked_first, first, second)
    joint = np.where(np.isnan(same), np.nan, np.where(same == 1, first, 0.5))
    return np.where(both, joint, single), same


def position_bias(verdict: FloatArray, swapped: BoolArray, unit: IntArray) -> FloatArray:
    """For each asking in a unit asked in both orders, 1 if the output shown first is named, less ½.

    The mean is P(first named) − ½, to which the outputs themselves add nothing: each stands first once.
    NaN for units with one order only, in which position and quality cannot be told apart.
    """
    _, same = in_both_orders(verdict, unit, swapped)
    first = np.where(swapped, 1 - verdict, verdict) - 0.5
    return np.where(np.isnan(same[unit]), np.nan, first)


def repeats_same(value: FloatArray, unit: IntArray) -> FloatArray:
    """Per unit (one question asked several times), the share of pairs of answers that are equal.

    NaN for a unit with fewer than two readable answers.
    """
    known = ~np.isnan(value)
    units = int(unit.max(initial=-1)) + 1
    asked = np.bincount(unit[known], minlength=units).astype(np.float64)
    cells, counts = np.unique(np.stack([unit[known], value[known]]), axis=1, return_counts=True)
    equal = np.bincount(cells[0].astype(np.int64), weights=counts * (counts - 1.0), minlength=units)
    shares: FloatArray = np.divide(equal, asked * (asked - 1), out=np.full(units, np.nan), where=asked > 1)
    return shares


def pair_credits(score: FloatArray, human: FloatArray) -> tuple[FloatArray, IntArray]:
    """Credits of a judge's scores [systems, items] over every two outputs of an item that people tell apart.

    1 where the judge puts them in people's order, ½ where it gives both the same score, else 0; with the item
    of each. Pairs that lack a score are left out.
    """
    found, items = [], []
    for i in range(len(score)):
        for j in range(i):
            order, wanted = np.sign(score[i] - score[j]), np.sign(human[i] - human[j])
            known = np.flatnonzero(~np.isnan(order) & (np.abs(wanted) == 1))
            found.append(1 - np.abs(order[known] - wanted[known]) / 2)
            items.append(known)
    if not found:
        return np.empty(0), np.empty(0, dtype=np.int32)
    return np.concatenate(found), np.concatenate(items).astype(np.int32)


def mean_over_items(values: FloatArray, item: IntArray, bootstrap: ClusterBootstrap) -> Estimate:
    """The mean within items, then over items, of values in [0, 1] that are not NaN, with its interval."""
    means, items = _item_means(values, item)
    pairs = int((~np.isnan(values)).sum())
    if not len(means):
        return Estimate(np.nan, np.nan, np.nan, pairs)
    estimate = means.mean()
    if len(means) < 2:
        return Estimate(float(estimate), np.nan, np.nan, pairs)
    found = ClusteredProportions(
        np.array([estimate]),
        np.array([means.var(ddof=1) / len(means)]),
        np.array([len(means)]),
        np.array([len(means)]),
    )
    resamples = bootstrap.resample_ratios(means[None], np.ones((1, len(means))), items)
    low, high = proportion_interval(found, resamples)
    return Estimate(float(estimate), float(low[0]), float(high[0]), pairs)


def difference_over_items(
    here: FloatArray, there: FloatArray, item: IntArray, bootstrap: ClusterBootstrap
) -> Estimate:
    """Mean of `here` less that of `there` (arrays beside each other, NaN where a value is in neither)."""
    sides = [_item_means(values, item) for values in (here, there)]
    pairs = int((~np.isnan(here) | ~np.isnan(there)).sum())
    if any(len(means) == 0 for means, _ in sides):
        return Estimate(np.nan, np.nan, np.nan, pairs)
    estimate = float(sides[0][0].mean() - sides[1][0].mean())
    few = min(len(means) for means, _ in sides)
    if few < 2:
        return Estimate(estimate, np.nan, np.nan, pairs)
    drawn = [
        bootstrap.resample_ratios(means[None], np.ones((1, len(means))), items) for means, items in sides
    ]
    low, high = percentile_interval(drawn[0] - drawn[1])
    stretch = small_sample_factor(np.array([few]))[0]
    return Estimate(
        estimate,
        estimate + float(low[0] - estimate) * stretch,
        estimate + float(high[0] - estimate) * stretch,
        pairs,
    )


def _item_means(values: FloatArray, item: IntArray) -> tuple[FloatArray, IntArray]:
    known = ~np.isnan(values)
    items, place = np.unique(item[known], return_inverse=True)
    sums, counts = np.bincount(place, weights=values[known]), np.bincount(place)
    return sums / np.maximum(counts, 1), items.astype(np.int32)


def _only(verdict: FloatArray, unit: IntArray, chosen: BoolArray, units: int) -> FloatArray:
    """The verdict of each unit among the chosen askings; NaN where there is none."""
    found = np.full(units, np.nan)
    found[unit[chosen]] = verdict[chosen]
    return found
