"""Why a metric is chosen, what confounds it, what changed since the last run, and what to be warned of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from metassay.meta.contexts.assay import ContextualResult
from metassay.meta.contexts.choice import Evidence, cost_rank, in_steps
from metassay.meta.contexts.claims import Followed
from metassay.meta.contexts.pair_outcomes import GLOBAL
from metassay.meta.contexts.run_comparison import holds

Row = dict[str, Any]
_FEW_MOVABLE = 0.1  # a permutation test that moves less than this has next to no power


def worded(result: Row, found: ContextualResult) -> Row:
    """The plain values of a contextual result with the sentences that belong to them."""
    recommendation = {
        column: with_reasons(entries, found.settled_evidence[column])
        for column, entries in result["recommendation"].items()
    }
    confounding = [
        {name: value for name, value in row.items() if name != "sentinel"}
        | {"sentence": confounding_sentence(row) if row["flag"] else "", "sentinel": row["sentinel"]}
        for row in result["confounding"]
    ]
    return result | {
        "confounding": confounding,
        "recommendation": recommendation,
        "warnings": warnings_of(found),
    }


def with_reasons(entries: Mapping[str, Mapping[str, Any]], evidence: Evidence) -> Row:
    """The recommendation for every context, with why."""
    said = {}
    for context, entry in entries.items():
        reasons = {"why": _why(evidence, context, entry)}
        rest = {name: entry[name] for name in ("robust_choice",) if name in entry}
        said[context] = {name: value for name, value in entry.items() if name not in rest} | reasons | rest
    return said


def _why(evidence: Evidence, context: str, entry: Mapping[str, Any]) -> str:
    if entry["choice"] is None:
        return "No metric scored any pair here."
    column, place = evidence.contexts.index(context), evidence.metrics.index
    choice = place(entry["choice"])
    if evidence.settled is not None and evidence.settled.people is not None:
        scored = not np.isnan(evidence.accuracy[choice, column])
        told = f"{_right_in(evidence, column, choice)} " if scored else ""
        return told + followed_sentence(evidence.settled.people)
    by_accuracy, top = (
        [place(name) for name in entry["metrics"]],
        [place(name) for name in entry["top_group"]],
    )
    return f"{_right_in(evidence, column, choice)} {_rests_on(evidence, column, choice, by_accuracy, top)}"


def _right_in(evidence: Evidence, column: int, choice: int) -> str:
    context = evidence.contexts[column]
    place = "over all contexts" if context == GLOBAL else f"on {context}"
    return (
        f"{evidence.metrics[choice]} tells a better output from a worse one in "
        f"{_percent(evidence.accuracy[choice, column])} % of {evidence.pairs} {place}"
        f"{_interval(evidence, choice, column)}."
    )


def followed_sentence(why: Followed) -> str:
    """Why the choice is people's."""
    own, other = (
        f"{_percent(share)} %" + ("" if np.isnan(low) else f" ({_percent(low)}–{_percent(high)})")
        for share, low, high in (why.accuracy, why.accuracy_of_rule)
    )
    return (
        f"People are followed over all outputs: of pairs judged by people ({why.human}) it tells {own} "
        f"right, {why.rule}, the choice by rule, {other}."
    )


def _rests_on(evidence: Evidence, column: int, choice: int, by_accuracy: list[int], top: list[int]) -> str:
    """A sentence on what the choice rests on."""
    settled, context = evidence.settled, evidence.contexts[column]
    name = evidence.metrics[choice]
    if settled is not None and context != GLOBAL:
        return _why_here(evidence, column, name)
    others = _distinct(evidence, choice, top)
    if not others:
        level = [] if settled is None else [evidence.metrics.index(metric) for metric in settled.equals]
        if equals := _listed([evidence.metrics[row] for row in _distinct(evidence, choice, level)]):
            return (
                "By itself it is the only metric in the top group; with all that this run claims held to one "
                f"error rate, {equals} cannot be told apart from it."
            )
        return f"It is the only metric in the top group{_runner_up(evidence, column, choice, by_accuracy)}."
    leader = by_accuracy[0]
    reason = _reason(evidence, column, choice, others)
    higher = evidence.accuracy[leader, column] > evidence.accuracy[choice, column]
    ahead = f", though {evidence.metrics[leader]} has the higher estimate" if higher else ""
    listed = _listed([evidence.metrics[row] for row in others])
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
    spread = in_steps(evidence.spread)
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


def _listed(names: list[str]) -> str:
    return "".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"


def confounding_sentence(row: Mapping[str, Any]) -> str:
    """Under which methods a metric is right more or less often than under the others."""
    by_method, responsible = row["by_method"], row["responsible"]
    swing = _listed([f"{100 * by_method[method]:.0f} % under {method}" for method in responsible])
    rest = [right for method, right in by_method.items() if method not in responsible and right is not None]
    compared = f", against {100 * np.mean(rest):.0f} % on average under the other methods" if rest else ""
    return (
        f"{row['metric']} is confounded with how the worse output is made: it is right in {swing}"
        f"{compared}; the method alone decides {100 * row['share']:.0f} % of whether it is right."
    )


def with_sentences(comparison: Row) -> Row:
    """What changed between two runs, with a sentence for each change."""
    moved, choices, orders = (comparison[name] for name in ("accuracies", "recommendation", "orders"))
    sentences = [*_moved_sentences(moved), *_choice_sentences(choices), *_order_sentences(orders)]
    return comparison | {"sentences": sentences}


def _place(row: Row) -> str:
    return "over all contexts" if row["context"] == GLOBAL else f"on {row['column']} {row['context']}"


def _moved_sentences(rows: Sequence[Row]) -> list[str]:
    return [
        f"{row['metric']} {'gained' if row['difference'] > 0 else 'lost'} accuracy {_place(row)}: "
        f"{100 * row['before']:.0f} % before, {100 * row['after']:.0f} % now."
        for row in rows
        if row["moved"]
    ]


def _choice_sentences(rows: Sequence[Row]) -> list[str]:
    return [
        f"The recommended metric {_place(row)} is {row['after']} now; it was {row['before']}."
        for row in rows
        if row["changed"]
    ]


def _order_sentences(rows: Sequence[Row]) -> list[str]:
    return [
        f"{swap['better_after']} is more accurate than {swap['better_before']} {_place(row)} now; "
        "it was the other way round."
        for row in rows
        for swap in row["swapped"]
        if holds(swap)
    ]


def warnings_of(found: ContextualResult) -> list[str]:
    """What a reader should know before using the findings."""
    warnings, ranked, minimum_items = [], list(found.ranked), found.minimum_items
    for name, column in found.columns.items():
        values, estimates = column.contexts.values, column.estimates
        if len(values) < 2:
            warnings.append(f"{name} has one value only: there are no contexts to compare.")
        clusters, items = estimates.clusters[ranked].max(axis=0), estimates.tally.items()[ranked].max(axis=0)
        alone = [value for value, count in zip(values, clusters) if count < 2]
        small = [value for value, count in zip(values, items) if count < minimum_items]
        if alone:
            warnings.append(f"{name}: no interval where there is a single cluster ({_some(alone)}).")
        if small:
            warnings.append(
                f"{name}: fewer than {minimum_items} items in {_some(small)}, so nothing is claimed there."
            )
        if column.h1 is not None and column.large.sum() < 2:
            warnings.append(
                f"{name}: fewer than two of its values are large enough, so H1 has no p."
                " Group them into larger ones, or lower --min-items."
            )
        elif column.h1 is not None and not column.h1.exchanges:
            warnings.append(
                f"{name}: no two of its values hold two independent units each, so luck cannot be told from a"
                " difference and H1 has no p. Compare values that several units share (a group, a site), or"
                " name a smaller unit with --cluster."
            )
        elif column.h1 is not None and column.h1.movable < _FEW_MOVABLE:
            share = f"{100 * column.h1.movable:.0f} %"
            warnings.append(f"{name}: only {share} of its outputs could change places in the test of H1.")
    if len(ranked) < 2:
        warnings.append("One metric has no order: H2 needs at least two.")
    return warnings


def _some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
