"""Choosing a metric: one for all contexts, another only where it is shown to be more accurate.

Without such a settled choice (a table of accuracies, a user's own criteria) each context has its own: among
the most accurate metrics there the most stable, then the cheapest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.meta.contexts.evidence import GLOBAL, Evidence, cost_rank
from metassay.stats.arrays import FloatArray

STABILITY_STEP = 0.01
"""Spreads between contexts that differ by less are equally stable."""


@dataclass(frozen=True)
class Recommendation:
    """The answer for one context."""

    metrics: tuple[str, ...]
    top_group: tuple[str, ...]
    behind: tuple[str, ...]
    choice: str | None
    why: str


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
    spread, robust = _steps(evidence.spread).tolist(), np.round(evidence.robust, 12).tolist()
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
    return Recommendation(
        metrics=tuple(evidence.metrics[row] for row in by_accuracy),
        top_group=tuple(evidence.metrics[row] for row in top),
        behind=tuple(evidence.metrics[row] for row in top if evidence.behind[row, column]),
        choice=None if choice is None else evidence.metrics[choice],
        why="No metric scored any pair here."
        if choice is None
        else f"{_right_in(evidence, column, choice)} {_why(evidence, column, choice, by_accuracy, top)}",
    )


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


def _right_in(evidence: Evidence, column: int, choice: int) -> str:
    context = evidence.contexts[column]
    place = "over all contexts" if context == GLOBAL else f"on {context}"
    return (
        f"{evidence.metrics[choice]} tells a better output from a worse one in "
        f"{_percent(evidence.accuracy[choice, column])} % of {evidence.pairs} {place}"
        f"{_interval(evidence, choice, column)}."
    )


def _why(evidence: Evidence, column: int, choice: int, by_accuracy: list[int], top: list[int]) -> str:
    """A sentence on what the choice rests on."""
    settled, context = evidence.settled, evidence.contexts[column]
    name = evidence.metrics[choice]
    if settled is not None and context != GLOBAL:
        return _why_here(evidence, column, name)
    others = _distinct(evidence, choice, top)
    if not others:
        return f"It is the only metric in the top group{_runner_up(evidence, column, choice, by_accuracy)}."
    leader = by_accuracy[0]
    reason = _reason(evidence, column, choice, others)
    higher = evidence.accuracy[leader, column] > evidence.accuracy[choice, column]
    ahead = f", though {evidence.metrics[leader]} has the higher estimate" if higher else ""
    listed = in_words([evidence.metrics[row] for row in others])
    return f"{listed} may be as accurate; {name} is preferred {reason}{ahead}."


def _why_here(evidence: Evidence, column: int, name: str) -> str:
    """Why the choice of the run holds in a context, or not."""
    settled, context = evidence.settled, evidence.contexts[column]
    if settled is None:
        return ""
    first = evidence.metrics.index(settled.first)
    if np.isnan(evidence.accuracy[first, column]):
        return f"{settled.first}, the choice over all contexts, scored no pair here."
    if name != settled.first:
        share = f"{_percent(evidence.accuracy[first, column])} %{_interval(evidence, first, column)}"
        return f"It is shown to be ahead here of {settled.first}, the choice over all contexts: {share}."
    if context in settled.aside:
        return "It is the choice over all contexts; too few items are here for another."
    return "It is the choice over all contexts, and none is shown to be more accurate here."


def _distinct(evidence: Evidence, choice: int, rows: list[int]) -> list[int]:
    """The other rows, one for each opinion: none that decided every pair as the choice did."""
    opinion = {metric: group[0] for group in evidence.same for metric in group}
    seen = {opinion.get(evidence.metrics[choice], evidence.metrics[choice])}
    kept = []
    for row in rows:
        name = opinion.get(evidence.metrics[row], evidence.metrics[row])
        if name not in seen:
            kept.append(row)
        seen.add(name)
    return kept


def _runner_up(evidence: Evidence, column: int, choice: int, by_accuracy: list[int]) -> str:
    """Who follows, how far behind, and at what price."""
    others = _distinct(evidence, choice, by_accuracy)
    if not others or np.isnan(evidence.accuracy[others[0], column]):
        return ""
    second = evidence.metrics[others[0]]
    follows = f"; {second} follows with {_percent(evidence.accuracy[others[0], column])} %"
    own, other = evidence.cost.get(evidence.metrics[choice]), evidence.cost.get(second)
    if own == other or np.isinf([cost_rank(own), cost_rank(other)]).any():
        return follows
    more = "more" if cost_rank(other) > cost_rank(own) else "less"
    return f"{follows} and costs {more} ({other} against {own})"


def _reason(evidence: Evidence, column: int, choice: int, others: list[int]) -> str:
    """The first preference in which the choice is ahead of some other of the top group, accuracy first."""
    rest = [row for row in others if not evidence.behind[row, column]]
    if not rest:
        return "because the others are behind when two at a time are compared"
    spread = _steps(evidence.spread)
    if evidence.settled is None and any(spread[row] > spread[choice] for row in rest):
        return "because its accuracy varies less between contexts"
    cost = [cost_rank(evidence.cost.get(metric)) for metric in evidence.metrics]
    if any(cost[row] > cost[choice] for row in rest):
        return "because it costs less"
    if evidence.settled is not None:
        equal = all(evidence.accuracy[row, column] == evidence.accuracy[choice, column] for row in rest)
        return "because it was named first" if equal else "for its higher estimate"
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


def in_words(names: list[str]) -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _steps(spread: FloatArray) -> FloatArray:
    return np.asarray(np.round(spread / STABILITY_STEP))


def _or_last(value: float) -> float:
    return float("inf") if np.isnan(value) else float(value)
