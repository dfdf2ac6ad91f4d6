"""What people say beside what rules say: the same metrics on pairs that people judged, and on their systems.

Pairs made worse by rule ask whether a metric sees errors that are known to be there. Two questions that only
people answer stand beside them:

*segments*: of two systems' outputs for one item, does the metric prefer the one that people scored higher?
The accuracy is that of all pairs (`accuracy`), units and ties as for pairs made by rule;

*systems*: does the metric compare systems as people do? Soft pairwise accuracy (Thompson et al., 2024), the
mean over pairs of systems of 1 - |p_human - p_metric|, p the sign-flip p-value that the first is better by
chance; with several test sets the mean over them.

Each gives an order of the metrics. How far two orders agree is Kendall's tau-b; all three are resampled with
the same weights of clusters, so its interval knows that they rest on the same items. A ceiling says how far
people's order would agree with that of a second sample of people's judgements as large as this one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.score_arrays import ScoreArrays
from metassay.meta.contexts.accuracy import sort_pairs, tally, whole
from metassay.meta.contexts.claims import Family, Followed, Settled, lead_p_values
from metassay.meta.contexts.column_analysis import Column, Estimates, Method, Whole, resample, study_whole
from metassay.meta.contexts.h2 import paired_agreement, split_half
from metassay.meta.contexts.pair_outcomes import GLOBAL, Contexts, Judgements
from metassay.meta.contexts.soft_pairwise_accuracy import KENDALL, SoftAccuracy
from metassay.stats.arrays import FloatArray, LongArray, to_json_values
from metassay.stats.intervals import proportion_interval

PEOPLE = "people"
Row = dict[str, Any]
Order = tuple[FloatArray, FloatArray | None]
"""Values [metrics] that order the metrics, and their resamples [metrics, resamples] where they were kept."""
Tau = tuple[float, float, float]
"""Kendall's tau-b, or an accuracy, and the ends of its interval."""


@dataclass(frozen=True)
class PeopleSide:
    """What people said of the outputs of an assay: pairs they tell apart, and test sets of systems."""

    human: str
    pairs: Judgements
    contexts: Sequence[Contexts]
    systems: Sequence[ScoreArrays]


@dataclass(frozen=True)
class ContextBeside:
    """One context: accuracy on pairs judged by people with its interval [metrics], and tau with the rules."""

    context: str
    estimates: Estimates
    place: int
    low: FloatArray
    high: FloatArray
    tau: Tau
    ceiling: float


@dataclass(frozen=True)
class People:
    """People's side of an assay: by pairs, by systems, and how far either agrees with pairs made by rule."""

    human: str
    metrics: tuple[str, ...]
    ranked: LongArray
    whole: Whole
    soft: SoftAccuracy | None
    taus: Mapping[str, Tau]
    contexts: Mapping[str, Sequence[ContextBeside]]
    best: int
    """The place among the ranked metrics of the one most often right on people's pairs."""

    def family(self) -> Family:
        """Leads of the best metric by people over the others on pairs that people judged."""
        p = lead_p_values([self.whole.finding.leads])[0][self.best]
        names = [self.metrics[m] for m in self.ranked]
        best = names[self.best]
        rows = [{"column": None, "context": GLOBAL, "better": best, "worse": worse} for worse in names]
        known = np.flatnonzero(~np.isnan(p))
        return Family(PEOPLE, [rows[j] for j in known], p[known])

    def _best_by_spa(self, informed: Sequence[str]) -> int | None:
        """The place among the ranked metrics of the one with the highest SPA; None where none has one."""
        if self.soft is None:
            return None
        allowed = [self.metrics[m] in informed for m in self.ranked]
        values = np.where(allowed, self.soft.values, np.nan)
        return None if np.isnan(values).all() else int(np.nanargmax(values))

    def followed(self, claims: Row, first: str, informed: Sequence[str]) -> Settled | None:
        """The choice by people, where the best metric by them is shown to be ahead of `first`; else None."""
        if not any(row["worse"] == first for row in claims[PEOPLE]):
            return None
        place = next(row for row, m in enumerate(self.ranked) if self.metrics[m] == first)
        why = Followed(self.human, first, self._estimate(self.best), self._estimate(place))
        best = self.metrics[self.ranked[self.best]]
        return Settled(best, people=why, top_group=self.top_group(claims, informed))

    def _estimate(self, row: int) -> Tau:
        m, found = self.ranked[row], self.whole.finding
        return float(self._accuracy()[row]), float(found.low[m]), float(found.high[m])

    def top_group(self, claims: Row, informed: Sequence[str]) -> list[str]:
        """The best metric by people, and those not shown to be behind it, best first."""
        behind = {row["worse"] for row in claims[PEOPLE]}
        best = self.metrics[self.ranked[self.best]]
        rest = [row["metric"] for row in self.rows() if row["accuracy"] is not None]
        return [best, *(name for name in rest if name in informed and name not in {best, *behind})]

    def by_spa(self, informed: Sequence[str]) -> Row | None:
        """The metric with the highest SPA; None where none has one."""
        best = self._best_by_spa(informed)
        return None if best is None else {"metric": self.metrics[self.ranked[best]]}

    def rows(self) -> list[Row]:
        """One entry per metric, best on people's pairs first; equal values share a place."""
        accuracy, ranked, found = self._accuracy(), self.ranked, self.whole.finding
        soft = self.soft
        ties, pairs = self.whole.estimates.tally.tie_share()[:, 0], self.whole.estimates.pairs[:, 0]
        rows = [
            {
                "metric": self.metrics[m],
                "accuracy": accuracy[row],
                "low": found.low[m],
                "high": found.high[m],
                "ties": ties[m],
                "pairs": int(pairs[m]),
                "rank": _rank(accuracy, row),
                "spa": np.nan if soft is None else soft.values[row],
                "spa_low": np.nan if soft is None else soft.low[row],
                "spa_high": np.nan if soft is None else soft.high[row],
                "rank_spa": None if soft is None else _rank(soft.values, row),
            }
            for row, m in enumerate(ranked)
        ]
        rows = to_json_values(rows)
        return sorted(rows, key=lambda row: row["rank"] or len(rows) + 1)

    def _accuracy(self) -> FloatArray:
        return np.asarray(self.whole.estimates.accuracy[self.ranked, 0])


def beside_people(
    side: PeopleSide, rules: Whole, columns: Mapping[str, Column], method: Method, soft: SoftAccuracy | None
) -> People:
    """Judge the metrics by people, and hold their order against that of `rules` and of its `columns`.

    `soft` is how well they tell systems apart, where people scored several.
    Contexts below the smallest size on either side are left out.
    """
    method = replace(method, agreement=KENDALL)
    pairs, contexts = sort_pairs(side.pairs, [each.occupied() for each in side.contexts])
    found = study_whole(pairs, whole(pairs), method)
    ranked = method.ranked
    accuracy = found.estimates.accuracy[ranked, 0]
    by_rule = rules.estimates.accuracy[ranked, 0], rules.resamples[ranked]
    by_pairs = accuracy, found.resamples[ranked]
    by_spa = None if soft is None else (soft.values, soft.resamples)
    last = np.zeros(len(ranked), dtype=np.bool_) if method.uninformed is None else method.uninformed
    return People(
        human=side.human,
        metrics=pairs.metrics,
        ranked=ranked,
        whole=found,
        soft=soft,
        taus={
            "rule_pairs": _tau(by_rule, by_pairs),
            "rule_spa": _tau(by_rule, by_spa),
            "pairs_spa": _tau(by_pairs, by_spa),
        },
        contexts={
            each.name: _beside(pairs, each, columns[each.name], method)
            for each in contexts
            if each.name in columns and len(columns[each.name].contexts.values) > 1
        },
        best=int(np.argmax(np.where(last, -1, np.nan_to_num(np.round(accuracy, 12), nan=-2)))),
    )


def _beside(pairs: Judgements, contexts: Contexts, rules: Column, method: Method) -> list[ContextBeside]:
    """Every context that is large enough on both sides."""
    estimates = Estimates.of(tally(pairs, contexts, ties=method.ties))
    ranked, items = method.ranked, estimates.tally.items()[method.ranked].max(axis=0, initial=0)
    place = {value: c for c, value in enumerate(contexts.values)}
    found = []
    for c, value in enumerate(rules.contexts.values):
        own = place.get(value)
        if own is None or not rules.large[c] or items[own] < method.minimum_items:
            continue
        drawn, rule_drawn = resample(estimates.tally, own, method), rules.findings[c].resamples
        low, high = proportion_interval(estimates.of_context(own), drawn)
        by_rule, by_pairs = rules.estimates.accuracy[ranked, c], estimates.accuracy[ranked, own]
        ceiling = split_half(estimates.tally, ranked, own, method.halves, KENDALL)
        found.append(
            ContextBeside(
                value,
                estimates,
                own,
                low,
                high,
                _tau((by_rule, rule_drawn), (by_pairs, drawn[ranked])),
                ceiling,
            )
        )
    return found


def _tau(one: Order, other: Order | None) -> Tau:
    """Agreement of two orders; without resamples of both there is no interval."""
    if other is None:
        return (np.nan,) * 3
    if one[1] is not None and other[1] is not None:
        return paired_agreement(one[0], one[1], other[0], other[1], KENDALL)
    return paired_agreement(one[0], one[0][:, None], other[0], other[0][:, None], KENDALL)[0], np.nan, np.nan


def _rank(values: FloatArray, row: int) -> int | None:
    """From 1; equal values share the best place, an undefined one has none."""
    rounded = np.round(values, 12)
    return None if np.isnan(rounded[row]) else 1 + int((rounded > rounded[row]).sum())


def differences_by_method(frame: pl.DataFrame, dataset: Dataset) -> Mapping[str, list[float]]:
    """By method, human score of y minus human score of y′, for every pair where both are known."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    if not dataset.human or dataset.task_definition.is_ranking:
        return found
    scored = dataset.outputs.select("item", "output", score=pl.mean_horizontal(dataset.human)).drop_nulls(
        "score"
    )
    means = scored.group_by("item", "output", maintain_order=True).agg(pl.col("score").mean())
    judged = frame.join(means, on=["item", "output"]).join(
        means.rename({"output": "worse", "score": "worse_score"}), on=["item", "worse"]
    )
    for method, better, worse in judged.select("perturbation", "score", "worse_score").iter_rows():
        found[method].append(better - worse)
    return found
