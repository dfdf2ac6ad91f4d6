"""Choosing a metric: one for all contexts, another only where it is shown to be more accurate.

Without such a settled choice (a table of accuracies, a user's own criteria) each context has its own: among
the most accurate metrics there the most stable, then the cheapest. What a choice rests on: accuracies in
every context, how they hold up, costs, what is settled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.meta.contexts.agreement_prediction import net_spread, robust_accuracy
from metassay.meta.contexts.claims import Settled
from metassay.meta.contexts.pair_outcomes import GLOBAL
from metassay.metrics.base import COST_CLASSES
from metassay.stats.arrays import FloatArray

PAIRS = {
    "rule": "pairs made worse by rule",
    "model": "pairs made worse by rule or by a language model",
    "people": "pairs judged by people",
}
"""What the pairs of an assay are, by where they come from."""


@dataclass(frozen=True)
class Evidence:
    """What a choice rests on: accuracies [metrics, contexts], the whole ("global") first.

    `top` marks the metrics that may be the best in a context, `behind` those that are clearly less accurate
    there than another of them; `spread` is how much a metric's true accuracy
    varies between contexts; `robust` and `worst_case` are its accuracy under the least favourable mix of
    contexts and in the least favourable one. `cost` is the class of each metric (`COST_CLASSES`); `criteria`
    are the user's own, higher is better, in order of importance. `pairs` says what the pairs are, in words.
    `same` are groups of metrics that decided every pair alike, which are one opinion. `settled` is the choice
    of the run, where there is one.
    """

    metrics: tuple[str, ...]
    contexts: tuple[str, ...]
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    top: NDArray[np.bool_]
    behind: NDArray[np.bool_]
    spread: FloatArray
    robust: FloatArray
    worst_case: FloatArray
    cost: Mapping[str, str] = field(default_factory=dict)
    criteria: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pairs: str = "pairs"
    same: Sequence[Sequence[str]] = ()
    settled: Settled | None = None


def cost_rank(cost: str | None) -> float:
    """The place of a class of cost, 0 the cheapest; infinity where it is not known."""
    return COST_CLASSES.index(cost) if cost in COST_CLASSES else np.inf


def table_evidence(
    metrics: Sequence[str],
    contexts: Sequence[str],
    accuracy: FloatArray,
    shares: FloatArray | None = None,
    **preferences: Mapping[str, str] | Mapping[str, Mapping[str, float]],
) -> Evidence:
    """Evidence from accuracies that are known exactly, [metrics, contexts]; the whole is their mean.

    `shares` weighs the contexts; `preferences` are `cost` and `criteria`.
    """
    accuracy = np.asarray(accuracy, dtype=np.float64)
    weights = np.full(len(contexts), 1.0) if shares is None else np.asarray(shares, dtype=np.float64)
    overall = np.round(accuracy @ (weights / weights.sum()), 12)
    table = np.column_stack([overall, accuracy])
    return Evidence(
        metrics=tuple(metrics),
        contexts=(GLOBAL, *contexts),
        accuracy=table,
        low=table,
        high=table,
        top=table >= table.max(axis=0),
        behind=np.zeros(table.shape, dtype=np.bool_),
        spread=net_spread(accuracy, np.zeros_like(accuracy)),
        robust=robust_accuracy(accuracy, weights),
        worst_case=accuracy.min(axis=1),
        **preferences,  # type: ignore[arg-type]
    )


def stored_evidence(
    result: Mapping[str, Any],
    column: str,
    *,
    criteria: Mapping[str, Mapping[str, float]] | None = None,
) -> Evidence:
    """Evidence from a stored result (`ContextualResult.to_dict`), for preferences to be weighed later."""
    metrics = tuple(row["metric"] for row in result[GLOBAL])
    part = result["contexts"][column]
    contexts = (GLOBAL, *dict.fromkeys(row["context"] for row in part["local_accuracy"]))
    rows = {(row.get("context", GLOBAL), row["metric"]): row for row in part["local_accuracy"]}
    rows |= {(GLOBAL, row["metric"]): row for row in result[GLOBAL]}
    robustness = {row["metric"]: row for row in part["robustness"]}
    tops = {context: result["recommendation"][column][context]["top_group"] for context in contexts}

    def table(name: str) -> NDArray[np.float64]:
        return np.array([[_number(rows[c, m][name]) for c in contexts] for m in metrics])

    def per_metric(name: str) -> NDArray[np.float64]:
        return np.array([_number(robustness.get(metric, {}).get(name)) for metric in metrics])

    behind = {context: result["recommendation"][column][context].get("behind", ()) for context in contexts}
    return Evidence(
        metrics=metrics,
        contexts=contexts,
        accuracy=table("accuracy"),
        low=table("low"),
        high=table("high"),
        top=np.array([[metric in tops[context] for context in contexts] for metric in metrics]),
        behind=np.array([[metric in behind[context] for context in contexts] for metric in metrics]),
        spread=per_metric("stability"),
        robust=per_metric("robust_accuracy"),
        worst_case=per_metric("worst_case"),
        cost=result.get("cost_class") or {},
        criteria=criteria or {},
        pairs=PAIRS.get(result.get("pairs_from", ""), "pairs"),
        same=result.get("same_decisions") or (),
    )


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


STABILITY_STEP = 0.01
"""Spreads between contexts that differ by less are equally stable."""


@dataclass(frozen=True)
class Recommendation:
    """The answer for one context."""

    metrics: tuple[str, ...]
    top_group: tuple[str, ...]
    behind: tuple[str, ...]
    choice: str | None


def first_choice(
    accuracy: FloatArray,
    top: NDArray[np.bool_],
    behind: NDArray[np.bool_],
    cost: FloatArray,
    uninformed: NDArray[np.bool_] | None = None,
) -> int:
    """The metric to use over all contexts: of those that may be best the cheapest, then the most accurate.

    Those `behind` another of them come last, and before nobody those `uninformed` of quality. `cost` are
    places of classes, so that only classes break ties.
    """
    known = np.nan_to_num(np.round(accuracy, 12), nan=-1).tolist()
    last = np.zeros(len(known), dtype=np.bool_) if uninformed is None else uninformed

    def rank(row: int) -> tuple[bool, bool, bool, float, float, int]:
        price = float(cost[row]) if top[row] else 0.0
        return bool(last[row]), not top[row], bool(behind[row]), price, -known[row], row

    return min(range(len(known)), key=rank)


def recommend(evidence: Evidence) -> dict[str, Recommendation]:
    """A recommendation for every context.

    `metrics` are ordered by accuracy, equal ones by preference: stability (standard deviation between
    contexts, to the nearest hundredth), class of cost, the user's criteria, robust accuracy. In `top_group`
    accuracy decides where it is clear (those `behind` come last), preference where it is not. The choice is
    the settled one, which then comes first in its top groups; else the first of the top group.
    """
    preference = _preference(evidence)
    return {name: _for_context(evidence, column, preference) for column, name in enumerate(evidence.contexts)}


def robust_choice(evidence: Evidence) -> str | None:
    """The metric to use when the context is not known: highest robust accuracy, then worst case."""
    robust, worst = np.round(evidence.robust, 12).tolist(), evidence.worst_case.tolist()
    known = [row for row in range(len(evidence.metrics)) if not np.isnan(robust[row])]
    if not known:
        return None
    return evidence.metrics[max(known, key=lambda row: (robust[row], _or_last(worst[row]), -row))]


def _preference(evidence: Evidence) -> list[tuple[float, ...]]:
    """A sort key per metric, smaller preferred; what is unknown comes last."""
    criteria = list(evidence.criteria.values())
    spread, robust = in_steps(evidence.spread).tolist(), np.round(evidence.robust, 12).tolist()
    return [
        (
            _or_last(spread[row]),
            cost_rank(evidence.cost.get(metric)),
            *(-criterion.get(metric, -np.inf) for criterion in criteria),
            _or_last(-robust[row]),
        )
        for row, metric in enumerate(evidence.metrics)
    ]


def _for_context(evidence: Evidence, column: int, preference: list[tuple[float, ...]]) -> Recommendation:
    accuracy = np.round(evidence.accuracy[:, column], 12).tolist()
    rows = range(len(evidence.metrics))
    by_accuracy = sorted(rows, key=lambda row: (_or_last(-accuracy[row]), preference[row], row))
    settled = _settled(evidence, column, by_accuracy)
    top = sorted(
        (row for row in rows if evidence.top[row, column]),
        key=lambda row: (row != settled, evidence.behind[row, column], preference[row], -accuracy[row], row),
    )
    choice = settled if settled is not None else next(iter(top), None)
    if evidence.settled is not None and evidence.settled.people is not None:
        return _followed(evidence, evidence.settled, by_accuracy)
    return Recommendation(
        metrics=tuple(evidence.metrics[row] for row in by_accuracy),
        top_group=tuple(evidence.metrics[row] for row in top),
        behind=tuple(evidence.metrics[row] for row in top if evidence.behind[row, column]),
        choice=None if choice is None else evidence.metrics[choice],
    )


def _followed(evidence: Evidence, choice: Settled, by_accuracy: list[int]) -> Recommendation:
    """People's choice, which is the same in every context."""
    names = tuple(evidence.metrics[row] for row in by_accuracy)
    return Recommendation(metrics=names, top_group=tuple(choice.top_group), behind=(), choice=choice.first)


def _settled(evidence: Evidence, column: int, by_accuracy: list[int]) -> int | None:
    """The settled choice of a context: the most accurate of those ahead of the first, else the first.

    None where nothing is settled, or the first scored no pair.
    """
    if evidence.settled is None:
        return None
    ahead = evidence.settled.ahead.get(evidence.contexts[column], ())
    wanted = [row for row in by_accuracy if evidence.metrics[row] in ahead]
    wanted += [row for row in by_accuracy if evidence.metrics[row] == evidence.settled.first]
    return next((row for row in wanted if not np.isnan(evidence.accuracy[row, column])), None)


def in_steps(spread: FloatArray) -> FloatArray:
    """Spreads between contexts as numbers of steps, so that nearly equal ones are equal."""
    return np.asarray(np.round(spread / STABILITY_STEP))


def _or_last(value: float) -> float:
    return float("inf") if np.isnan(value) else float(value)
