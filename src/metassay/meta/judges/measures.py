"""Everything measured of one judge, from its askings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
from metassay.meta.judges.alternative import Corrected, corrected_share
from metassay.stats.arrays import FloatArray
from metassay.stats.bootstrap import ClusterBootstrap

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
