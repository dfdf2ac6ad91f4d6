"""The answer in a few sentences: which metric to trust, how sure that is, and where it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from metassay.reporting.findings import GLOBAL, Choice, Column, Estimate, Findings, brief, share
from metassay.reporting.people import people_lead, people_sentences, side
from metassay.reporting.wording import (
    Sentence,
    about,
    joined,
    named,
    percent,
    plural,
    sentence,
)

_NOT_SHOWN = "For no {column:column} is another metric shown to be more accurate; {it} runs {range}."


def answer(findings: Findings) -> list[Sentence]:
    """The sentences at the top of a report, most important first."""
    best = findings.best
    if best is None:
        return [sentence("No pair could be scored, so there is no metric to recommend here.")]
    places = [place for column in findings.columns if (place := _where(findings, column, best.metric))]
    people = findings.people
    if people is None:
        return [_verdict(findings, best), *places]
    opening = [_verdict(findings, best), side(people)]
    if people["followed"]:
        opening = [people_lead(people, tells(findings.task)), _by_rule(findings, people, best)]
    rules = [_on(findings.pairs, place) for place in places]
    return [*opening, *people_sentences(people), *rules]


def _on(pairs: str, said: Sentence) -> Sentence:
    """A sentence that says of which pairs it speaks: `On pairs made worse by rule, for no domain …`."""
    first, *rest = said.spans
    return sentence(
        "On {pairs}, {said}", pairs=pairs, said=Sentence((replace(first, text=_small(first.text)), *rest))
    )


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _by_rule(findings: Findings, people: Mapping[str, Any], best: Estimate) -> Sentence:
    """What rules say where people are followed: their own choice, and how the followed one does there."""
    chosen = findings.overall[people["by_rule"]["metric"]]
    return sentence(
        "{chosen:metric} {tells} in {share}, {best:metric} in {own:figure}.",
        chosen=chosen.metric,
        tells=tells(findings.task),
        share=share(chosen, findings.pairs),
        best=best.metric,
        own=brief(best),
    )


def answer_lines(recommended: Mapping[str, Any]) -> list[str]:
    """The answer of a run as `recommend` has it, in labels: the metric to use, and every exception."""
    settled = recommended.get("answer")
    if not settled:
        return []
    others = [name for name in settled["top_group"] if name != settled["metric"]]
    alike = f"; {named(others, 'metric')} cannot be told apart from it" if others else ""
    lines = [f"Use {settled['metric']}{alike}."]
    lines += [
        f"On {row['context']} ({row['column']}) use {row['metric']}." for row in settled["exceptions"][:5]
    ]
    more = len(settled["exceptions"]) - 5
    lines += [f"{plural(more, 'more exception')} in the tables below."] if more > 0 else []
    people = recommended.get("people")
    return [*lines, *map(str, [side(people), *people_sentences(people)])] if people else lines


def tells(task: str) -> str:
    """What a good metric does, for the task: `tells a better translation from a worse one`."""
    known = about(task)
    return f"tells a better {known.output_noun if known else 'output'} from a worse one"


def _verdict(findings: Findings, best: Estimate) -> Sentence:
    equals = _equals(findings, best)
    aside = {best.metric, *equals, *findings.uninformed}
    rivals = [name for name in findings.metrics if name not in aside]
    runner_up = findings.overall[rivals[0]] if rivals else None
    opening = sentence(
        "{best:metric} {tells} in {share}",
        best=best.metric,
        tells=tells(findings.task),
        share=share(best, findings.pairs),
    )
    if equals:
        tail = sentence("; {equals} cannot be told apart from it.", equals=named(equals, "metric"))
    elif runner_up is not None and runner_up.accuracy is not None:
        tail = sentence(
            ", ahead of {next:metric} with {share:figure}.", next=runner_up.metric, share=brief(runner_up)
        )
    else:
        tail = sentence(".")
    return sentence("{opening}{tail}", opening=opening, tail=tail)


def _equals(findings: Findings, best: Estimate) -> list[str]:
    """The metrics that are not shown to be behind the best over all outputs, if the assay says so."""
    settled = (findings.result.get("answer") or {}).get("top_group")
    if settled is not None:
        return [name for name in map(str, settled) if name != best.metric and name in findings.overall]
    ahead = findings.claimed("lead", column=None, better=best.metric)
    if ahead is not None:
        behind = {str(row["worse"]) for row in ahead}
        others = [findings.overall[name] for name in findings.metrics if name not in {best.metric, *behind}]
        return [other.metric for other in others if other.accuracy is not None]
    for column in findings.columns:
        choice = column.choices.get(GLOBAL)
        if choice and best.metric in choice.top_group:
            return [
                name
                for name in choice.top_group
                if name != best.metric and name not in findings.sentinels and name in findings.overall
            ]
    return []


def _where(findings: Findings, column: Column, best: str) -> Sentence | None:
    """Where in one column the globally best metric holds, and what to use elsewhere."""
    people = findings.people
    it = sentence("it") if people is None else sentence("{best:metric}", best=best)
    estimates = column.of(best)
    if not estimates:
        return None
    if len(column.contexts) == 1:
        return sentence(
            "There is one {column:column} only, {only:context}, so nothing can change there.",
            column=column.name,
            only=column.contexts[0],
        )
    aside = (findings.result.get("claims") or {}).get("set_aside", {}).get(column.name, ())
    aside = {*aside, *(item.context for item in estimates if column.alone(item.context, best))}
    estimates = [item for item in estimates if item.context not in aside]
    if not estimates:
        return sentence(
            "Every {column:column} is too small for a claim of its own.",
            column=column.name,
        )
    changes = [change for item in estimates if (change := _replacement(findings, column, item))]
    if changes and len(findings.metrics) > 1:
        return _changed(column, estimates, changes, it)
    pattern = "By {column:column} {it} runs {range}."
    if len(findings.metrics) > 1 and not (people and people["followed"]):
        said = findings.claimed("lead") is not None
        pattern = _NOT_SHOWN if said else "It stays in the top group for every {column:column}, {range}."
    return sentence(pattern, column=column.name, it=it, range=_range(estimates))


def _changed(
    column: Column, estimates: list[Estimate], changes: list[tuple[Estimate, Estimate]], it: Sentence
) -> Sentence:
    advice = [
        sentence(
            "on {context:context} trust {other:metric}, right in {new:figure} against {old:figure}",
            context=old.context,
            other=new.metric,
            new=brief(new),
            old=brief(old),
        )
        for old, new in changes[:2]
    ]
    kept = len(estimates) - len(changes)
    more = f" (and {plural(len(changes) - 2, 'more context')} below)" if len(changes) > 2 else ""
    return sentence(
        "By {column:column} nothing speaks against {it} in {kept} of {total}; {advice}{more}.",
        column=column.name,
        it=it,
        kept=kept,
        total=len(estimates),
        advice=joined(advice),
        more=more,
    )


def _replacement(findings: Findings, column: Column, old: Estimate) -> tuple[Estimate, Estimate] | None:
    """The metric to use instead of `old` in its context, where `old` is not good enough there."""
    if findings.exceptions is not None:
        other = column.estimates.get((old.context, findings.exceptions.get((column.name, old.context), "")))
        return None if other is None or other.accuracy is None else (old, other)
    choice = column.choices.get(old.context)
    leads = findings.claimed("lead", column=column.name, context=old.context, worse=old.metric)
    if leads is not None:
        names = _leaders(column, old, {str(row["better"]) for row in leads})
    else:
        names = list(_preferred(choice, old.metric)) if choice else _clearly_better(findings, column, old)
    for name in names:
        new = column.estimates.get((old.context, name))
        if name not in findings.sentinels and new is not None and new.accuracy is not None:
            return old, new
    return None


def _leaders(column: Column, old: Estimate, ahead: set[str]) -> list[str]:
    """Those shown to be ahead of `old` in its context: the one recommended there, then by accuracy."""
    choice = column.choices.get(old.context)

    def rank(name: str) -> tuple[bool, float, str]:
        estimate = column.estimates.get((old.context, name))
        accuracy = None if estimate is None else estimate.accuracy
        return choice is None or name != choice.use, -(accuracy or 0.0), name

    return sorted(ahead, key=rank)


def _preferred(choice: Choice, metric: str) -> tuple[str, ...]:
    if metric in choice.top_group or choice.use is None:
        return ()
    return (choice.use, *choice.top_group)


def _clearly_better(findings: Findings, column: Column, old: Estimate) -> list[str]:
    """Without a recommendation: metrics whose whole interval lies above that of `old`."""
    rivals = [column.estimates.get((old.context, name)) for name in findings.metrics]
    clear = [
        rival
        for rival in rivals
        if rival is not None and rival.low is not None and old.high is not None and rival.low > old.high
    ]
    return [rival.metric for rival in sorted(clear, key=lambda rival: -(rival.accuracy or 0.0))]


def _range(estimates: list[Estimate]) -> Sentence:
    lowest = min(estimates, key=lambda estimate: estimate.accuracy or 0.0)
    highest = max(estimates, key=lambda estimate: estimate.accuracy or 0.0)
    if len(estimates) == 1:
        return sentence("at {low:figure} on {worst:context}", low=brief(lowest), worst=lowest.context)
    if lowest.accuracy == highest.accuracy:
        return sentence("at {low:figure} everywhere", low=percent(lowest.accuracy))
    return sentence(
        "from {low:figure} on {worst:context} to {high:figure} on {best:context}",
        low=brief(lowest),
        worst=lowest.context,
        high=brief(highest),
        best=highest.context,
    )
