"""What people say beside pairs made by rule: sentences for every first screen, and tables.

The words never mix: *pairs made worse by rule* are one thing, *pairs judged by people* another, and SPA,
which is about ranking systems, a third.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.findings import Findings, brief, estimate
from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import (
    Sentence,
    digits_for,
    interval,
    joined,
    listing,
    named,
    number,
    percent,
    sentence,
)

People = Mapping[str, Any]
"""The section `people` of a result, metrics by their labels."""

_QUESTIONS = (
    "Pairs made worse by rule tell how well metrics see such errors in a segment; alone they say nothing "
    "dependable about ranking systems, which SPA is about."
)


_FIELDS = (
    Field("metric", "metric", "name"),
    Field("people", "pairs judged by people", "percent", "told right, with its 95\u202f% interval"),
    Field("rank", "place", "count", "by pairs judged by people"),
    Field("spa", "SPA", "number", "soft pairwise accuracy: agreement with people on pairs of systems"),
    Field("spa_low", "95\u202f% from", "number"),
    Field("spa_high", "to", "number"),
    Field("rank_spa", "place by SPA", "count"),
    Field("rule", "pairs made worse by rule", "percent", "told right, with its 95\u202f% interval"),
    Field("ties", "ties", "percent", "pairs judged by people to which the metric gives equal scores"),
    Field("pairs", "people’s pairs", "count"),
)
_TAU_FIELDS = (
    Field("tau", "τ", "number", "Kendall’s tau-b of the order by rule with that by people, over the metrics"),
    Field("low", "95\u202f% from", "number"),
    Field("high", "to", "number"),
    Field("ceiling", "people again", "number", "tau that as many judgements of people again would reach"),
    Field("items", "items", "count"),
    Field("pairs", "people’s pairs", "count"),
)


def people_lead(people: People, tells: str) -> Sentence:
    """The first sentence where people are followed."""
    rows = _rows(people)
    best, rule = people["by_people"]["metric"], people["by_rule"]["metric"]
    row = rows[best]
    digits = digits_for(row["low"], row["high"])
    ends = interval(row["low"], row["high"], digits=digits)
    return sentence(
        "{best:metric} {tells} in {share:figure} of pairs judged by people{note:note} ({human:column}"
        "{range}), ahead of {rule:metric}, the choice by rule, with {other:figure}: people are followed."
        "{equals}",
        best=best,
        tells=tells,
        share=percent(row["accuracy"], digits=digits),
        note="people",
        human=people["human"],
        range="" if row["low"] is None else f"; 95\u202f% interval {ends}",
        rule=rule,
        other=brief(estimate(rows[rule])),
        equals=_equals(people["by_people"], " {equals} cannot be told apart from it."),
    )


def side(people: People) -> Sentence:
    """What pairs judged by people say of the choice by rule."""
    rows = _rows(people)
    best, rule = people["by_people"]["metric"], people["by_rule"]["metric"]
    opening = sentence(
        "On pairs judged by people{note:note} ({human:column})", note="people", human=people["human"]
    )
    if rows[best]["accuracy"] is None:
        return sentence("{opening} no metric has a score.", opening=opening)
    if rows[rule]["accuracy"] is None:
        pattern = (
            "{opening} {best:metric} is right most often, in {share:figure}; {rule:metric}, the choice by "
            "rule, has no score there."
        )
        return sentence(pattern, opening=opening, best=best, share=_brief(rows, best), rule=rule)
    if best == rule:
        pattern = "{opening}, too, {best:metric} is right most often, in {share:figure}{equals}."
        equals = _equals(people["by_people"], "; {equals} cannot be told apart from it")
        return sentence(pattern, opening=opening, best=best, share=_brief(rows, best), equals=equals)
    verdict = (
        "that is more than chance, and people are followed"
        if people["followed"]
        else "too close to tell apart"
    )
    return sentence(
        "{opening} {best:metric} is right most often, in {share:figure} against {other:figure} of "
        "{rule:metric}, the choice by rule: {verdict}.",
        opening=opening,
        best=best,
        share=_brief(rows, best),
        other=_brief(rows, rule),
        rule=rule,
        verdict=verdict,
    )


def people_sentences(people: People) -> list[Sentence]:
    """Who ranks systems as people do, how far rules agree with people, and which question each answers."""
    found = [_systems(people), _agreement(people), _by_context(people)]
    return [said for said in [*found, sentence(_QUESTIONS)] if said is not None]


def _systems(people: People) -> Sentence | None:
    chosen, rows = people.get("by_spa"), _rows(people)
    if not chosen:
        return None
    row = rows[chosen["metric"]]
    return sentence(
        "For ranking these {systems} systems {best:metric} agrees best with people: SPA {spa:figure}{range}.",
        best=chosen["metric"],
        spa=number(row["spa"]),
        range=_range({"low": row["spa_low"], "high": row["spa_high"]}, "95\u202f% interval "),
        systems=people["systems"],
    )


def _agreement(people: People) -> Sentence | None:
    """How far the order by rule agrees with people's orders, and these with a second sample of theirs."""
    found, ceiling = people["agreement"], people["ceiling"]
    known = [
        (key, what)
        for key, what in (("pairs", "pairs judged by people"), ("spa", "SPA"))
        if found[f"rule_{key}"]["tau"] is not None
    ]
    if not known:
        return None
    words = ["95\u202f% interval ", ""]
    parts = [
        sentence("{tau:figure}{range} by {what}", tau=number(tau["tau"]), range=_range(tau, first), what=what)
        for (key, what), first in zip(known, words)
        for tau in [found[f"rule_{key}"]]
    ]
    limits = [number(ceiling[key]) for key, _ in known if ceiling[key] is not None]
    again = f"; from as many judgements again people would agree with themselves at about {listing(limits)}"
    return sentence(
        "Between the order of the metrics by rule and people’s, Kendall’s τ is {parts}{again}.",
        parts=joined(parts, last=", and "),
        again=again if len(limits) == len(known) else "",
    )


def _by_context(people: People) -> Sentence | None:
    """Between which values tau runs over the contexts that are large enough."""
    said = []
    for column, contexts in people["contexts"].items():
        known = [row for row in contexts if row["tau"] is not None]
        if len(known) < 2:
            continue
        low, high = (pick(known, key=lambda row: row["tau"]) for pick in (min, max))
        said.append(
            sentence(
                "by {column:column} from {low:figure}{range} on {worst:context} to {high:figure}{other} on "
                "{best:context}",
                column=column,
                low=number(low["tau"]),
                range=_range(low),
                worst=low["context"],
                high=number(high["tau"]),
                other=_range(high),
                best=high["context"],
            )
        )
    if not said:
        return None
    return sentence("By pairs judged by people τ runs {said}.", said=joined(said))


def _rows(people: People) -> dict[str, Mapping[str, Any]]:
    return {str(row["metric"]): row for row in people["metrics"]}


def _brief(rows: Mapping[str, Mapping[str, Any]], metric: str) -> str:
    return brief(estimate(rows[metric]))


def _equals(chosen: Mapping[str, Any], pattern: str) -> Sentence:
    others = [str(name) for name in chosen["top_group"] if name != chosen["metric"]]
    return sentence(pattern, equals=named(others, "metric")) if others else sentence("")


def _range(ends: Mapping[str, Any], words: str = "") -> str:
    if ends["low"] is None or ends["high"] is None:
        return ""
    return f" ({words}{number(ends['low'])} to {number(ends['high'])})"


def people_grids(findings: Findings) -> list[Grid]:
    """Both sides of every metric, and tau in every context that is large enough; none without people."""
    people = findings.people
    if people is None:
        return []
    rows = [
        {**row, "people": estimate(row), "rule": findings.overall.get(str(row["metric"]))}
        for row in people["metrics"]
    ]
    first = grid("people", f"By rule and by people ({people['human']})", _FIELDS, rows)
    return [first, *(_context_grid(column, rows) for column, rows in people["contexts"].items() if rows)]


def _context_grid(column: str, contexts: Sequence[Mapping[str, Any]]) -> Grid:
    """Contexts down: agreement of both orders there, and the accuracy of each metric on people's pairs."""
    metrics = [str(row["metric"]) for row in contexts[0]["metrics"]]
    keys = {name: f"metric {n}" for n, name in enumerate(metrics)}
    fields = [Field("context", column, "name"), *_TAU_FIELDS]
    fields += [Field(keys[name], name, "percent") for name in metrics]
    rows = [
        {**row, **{keys[str(own["metric"])]: estimate(own) for own in row["metrics"]}} for row in contexts
    ]
    caption = f"Pairs judged by people, and agreement of their order with that by rule, by {column}"
    return grid(f"people-{column}", caption, fields, rows, at_most=500)
