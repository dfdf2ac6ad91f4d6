"""Choosing a metric: the most accurate ones in a context, and among them the most stable and the cheapest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.meta.contexts.accuracy import net_spread, robust_accuracy
from metassay.stats.arrays import FloatArray

GLOBAL = "global"
PAIRS = {
    "rule": "pairs made worse by rule",
    "model": "pairs made worse by rule or by a language model",
    "people": "pairs judged by people",
}
"""What the pairs of an assay are, by where they come from."""
STABILITY_STEP = 0.01
"""Spreads between contexts that differ by less are equally stable."""


@dataclass(frozen=True)
class Evidence:
    """What a choice rests on: accuracies [metrics, contexts], the whole ("global") first.

    `top` marks the metrics that may be the best in a context, `behind` those that are clearly less accurate
    there than another of them; `spread` is how much a metric's true accuracy
    varies between contexts; `robust` and `worst_case` are its accuracy under the least favourable mix of
    contexts and in the least favourable one. `cost` is in seconds per 1,000 outputs; `criteria` are the
    user's own, higher is better, in order of importance. `pairs` says what the pairs are, in words.
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
    cost: Mapping[str, float] = field(default_factory=dict)
    criteria: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pairs: str = "pairs"


@dataclass(frozen=True)
class Recommendation:
    """The answer for one context."""

    metrics: tuple[str, ...]
    top_group: tuple[str, ...]
    behind: tuple[str, ...]
    why: str

    @property
    def choice(self) -> str | None:
        """The metric to use: first of the top group."""
        return self.top_group[0] if self.top_group else None


def recommend(evidence: Evidence) -> dict[str, Recommendation]:
    """A recommendation for every context.

    `metrics` are ordered by accuracy, equal ones by preference: stability (standard deviation between
    contexts, to the nearest hundredth), cost, the user's criteria, robust accuracy. In `top_group` accuracy
    decides where it is clear (those `behind` come last), preference where it is not.
    """
    preference = _preference(evidence)
    return {name: _for_context(evidence, column, preference) for column, name in enumerate(evidence.contexts)}


def table_evidence(
    metrics: Sequence[str],
    contexts: Sequence[str],
    accuracy: FloatArray,
    shares: FloatArray | None = None,
    **preferences: Mapping[str, float] | Mapping[str, Mapping[str, float]],
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
    cost: Mapping[str, float] | None = None,
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
        cost=cost or {},
        criteria=criteria or {},
        pairs=PAIRS.get(result.get("pairs_from", ""), "pairs"),
    )


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
    spread, robust = _steps(evidence.spread).tolist(), np.round(evidence.robust, 12).tolist()
    return [
        (
            _or_last(spread[row]),
            evidence.cost.get(metric, np.inf),
            *(-criterion.get(metric, -np.inf) for criterion in criteria),
            _or_last(-robust[row]),
        )
        for row, metric in enumerate(evidence.metrics)
    ]


def _for_context(evidence: Evidence, column: int, preference: list[tuple[float, ...]]) -> Recommendation:
    accuracy = np.round(evidence.accuracy[:, column], 12).tolist()
    rows = range(len(evidence.metrics))
    by_accuracy = sorted(rows, key=lambda row: (_or_last(-accuracy[row]), preference[row], row))
    top = sorted(
        (row for row in rows if evidence.top[row, column]),
        key=lambda row: (evidence.behind[row, column], preference[row], -accuracy[row], row),
    )
    return Recommendation(
        metrics=tuple(evidence.metrics[row] for row in by_accuracy),
        top_group=tuple(evidence.metrics[row] for row in top),
        behind=tuple(evidence.metrics[row] for row in top if evidence.behind[row, column]),
        why=_why(evidence, column, by_accuracy, top),
    )


def _why(evidence: Evidence, column: int, by_accuracy: list[int], top: list[int]) -> str:
    """One or two sentences with the numbers the choice rests on."""
    if not top:
        return "No metric scored any pair here."
    choice, leader = top[0], by_accuracy[0]
    context = evidence.contexts[column]
    place = "over all contexts" if context == GLOBAL else f"on {context}"
    name = evidence.metrics[choice]
    sentence = (
        f"{name} tells a better output from a worse one in {_percent(evidence.accuracy[choice, column])} % "
        f"of {evidence.pairs} {place}{_interval(evidence, choice, column)}."
    )
    if len(top) == 1:
        return (
            f"{sentence} It is the only metric in the top group{_runner_up(evidence, column, by_accuracy)}."
        )
    others = _listed([evidence.metrics[row] for row in top if row != choice])
    reason = _reason(evidence, column, choice, top)
    ahead = "" if choice == leader else f", though {evidence.metrics[leader]} has the higher estimate"
    return f"{sentence} {others} may be as accurate; {name} is preferred {reason}{ahead}."


def _runner_up(evidence: Evidence, column: int, by_accuracy: list[int]) -> str:
    """Who follows, how far behind, and at what price."""
    if len(by_accuracy) < 2 or np.isnan(evidence.accuracy[by_accuracy[1], column]):
        return ""
    choice, second = (evidence.metrics[row] for row in by_accuracy[:2])
    follows = f"; {second} follows with {_percent(evidence.accuracy[by_accuracy[1], column])} %"
    ratio = evidence.cost.get(choice, np.nan) / (evidence.cost.get(second, np.nan) or np.nan)
    if np.isnan(ratio) or 0.5 < ratio < 2:
        return follows
    return f"{follows} and costs {_times(1 / ratio)} as much"


def _times(ratio: float) -> str:
    return f"{ratio:.0f} times" if ratio >= 2 else f"1/{1 / ratio:.0f}"


def _reason(evidence: Evidence, column: int, choice: int, top: list[int]) -> str:
    """The first preference in which the choice is ahead of some member of the top group, accuracy first."""
    rest = [row for row in top if row != choice and not evidence.behind[row, column]]
    if not rest:
        return "because the others are behind when two at a time are compared"
    spread = _steps(evidence.spread)
    if any(spread[row] > spread[choice] for row in rest):
        return "because its accuracy varies less between contexts"
    cost = [evidence.cost.get(metric, np.inf) for metric in evidence.metrics]
    if any(cost[row] > cost[choice] for row in rest):
        return "because it costs less"
    for name, criterion in evidence.criteria.items():
        values = [criterion.get(metric, -np.inf) for metric in evidence.metrics]
        if any(values[row] < values[choice] for row in rest):
            return f"for its {name}"
    return "because it holds up best when the mix of contexts shifts"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _interval(evidence: Evidence, row: int, column: int) -> str:
    low, high = evidence.low[row, column], evidence.high[row, column]
    if np.isnan(low) or low == high:
        return ""
    return f" (95 % interval {_percent(low)}–{_percent(high)})"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _steps(spread: FloatArray) -> FloatArray:
    return np.asarray(np.round(spread / STABILITY_STEP))


def _or_last(value: float) -> float:
    return float("inf") if np.isnan(value) else float(value)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
