"""What a choice of metric rests on: accuracies in every context, how they hold up, costs, what is settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.meta.contexts.accuracy import net_spread, robust_accuracy
from metassay.metrics.base import COST_CLASSES
from metassay.stats.arrays import FloatArray

GLOBAL = "global"
PAIRS = {
    "rule": "pairs made worse by rule",
    "model": "pairs made worse by rule or by a language model",
    "people": "pairs judged by people",
}
"""What the pairs of an assay are, by where they come from."""


@dataclass(frozen=True)
class Followed:
    """Why people are followed: by which score, and what their pairs say of their choice and the rules'.

    Accuracies come with their low and high ends.
    """

    human: str
    rule: str
    accuracy: tuple[float, float, float]
    accuracy_of_rule: tuple[float, float, float]


@dataclass(frozen=True)
class Settled:
    """The one choice of a run: `first` everywhere, but where others are shown to be `ahead` of it.

    `aside` are the contexts that are too small for a choice of their own. Where people are followed,
    `people` says why and `top_group` are the metrics that they do not put behind it.
    """

    first: str
    ahead: Mapping[str, Sequence[str]] = field(default_factory=dict)
    aside: frozenset[str] = frozenset()
    people: Followed | None = None
    top_group: Sequence[str] = ()


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
