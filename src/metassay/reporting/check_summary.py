"""Sentences with which the command `check` summarises a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metassay.data.verdicts import ONLY_JUDGE
from metassay.reporting.wording import (
    find_installed_task,
    format_count,
    format_plural,
    join_first_names,
    join_names,
)
from metassay.results.check import PAIRS, SCORES, VERDICTS, CheckContent, CheckedVerdicts
from metassay.results.data_summary import HIGHER, LOWER, ScoreSummary
from metassay.results.verdict import Claim

_MOST_NAMES = 6
_VERDICT_WORDS = {
    "pairwise": ("verdict", "pair of outputs", "pairs of outputs"),
    "label": ("label", "output", "outputs"),
    "grade": ("grade", "output", "outputs"),
}


def build_check_verdict(check_result: CheckContent) -> list[Claim]:
    """Write the sentences at the top of the output of `check`: what the data set contains, whether higher
    scores are better, and what was left out.
    """
    if check_result.kind == SCORES:
        lines = _summarize_dataset_of_scores(check_result)
    elif check_result.kind == VERDICTS and check_result.verdicts is not None:
        lines = _summarize_dataset_of_judge_verdicts(check_result, check_result.verdicts)
    else:
        lines = _summarize_dataset_of_outputs(check_result)
    if check_result.left_out:
        lines.append(f"Rows left out: {join_names_with_counts(check_result.left_out)}.")
    if check_result.reference_systems:
        names = join_names(check_result.reference_systems)
        lines.append(f"Systems whose outputs are the reference: {names}.")
    if check_result.empty_outputs:
        lines.append(f"{format_plural(check_result.empty_outputs, 'output')} without text.")
    return [Claim(kind="data", sentence=line) for line in lines]


def join_names_with_counts(counts: Mapping[str, object]) -> str:
    """Join names and counts: `news (10), social (5)`."""
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def _summarize_dataset_of_outputs(check_result: CheckContent) -> list[str]:
    """Summarise a data set of outputs or pairs: systems, items, references, languages and human scores."""
    task = find_installed_task(check_result.task)
    title = str(check_result.task) if task is None else task.title
    facts = [format_plural(len(check_result.systems), "system"), format_plural(check_result.items, "item")]
    if check_result.kind == PAIRS:
        title = f"pairs of an output and a worse output ({title})"
        pairs = format_plural(check_result.outputs, "pair")
        facts = [pairs, format_plural(check_result.items, "item")]
    if task is None or not task.is_ranking:
        facts.append(f"{_format_number_of_references(check_result)} per item")
    languages = [name for name in check_result.languages if name != "unknown"]
    if languages:
        facts.append(f"target {'language' if len(languages) == 1 else 'languages'} {join_names(languages)}")
    if check_result.kind != PAIRS:
        facts.append(_describe_human_scores(check_result))
    if len(check_result.metric_columns) > 1:
        facts.append(f"{len(check_result.metric_columns)} columns of metric scores")
    return [f"{title[:1].upper()}{title[1:]}: {', '.join(facts)}."]


def _summarize_dataset_of_scores(check_result: CheckContent) -> list[str]:
    """Summarise a data set of scores: systems, items, metrics, human scores, and whether higher scores are
    better.
    """
    title = "Human scores without outputs and metrics"
    facts = [
        format_plural(len(check_result.systems), "system"),
        format_plural(check_result.items, "item"),
    ]
    if check_result.metric_columns:
        title = "Metric scores without outputs"
        names = join_first_names(check_result.metric_columns, _MOST_NAMES)
        facts.append(f"{format_plural(len(check_result.metric_columns), 'metric')} ({names})")
    if check_result.test_sets:
        test_sets = ["/".join(test_set.columns.values()) for test_set in check_result.test_sets]
        facts.append(f"{len(test_sets)} test sets ({join_first_names(test_sets, _MOST_NAMES)})")
    facts.append(_describe_human_scores(check_result))
    lines = [f"{title}: {', '.join(facts)}."]
    scores = [] if check_result.data is None else check_result.data.scores
    if scores:
        lines.append(_describe_whether_higher_is_better(scores))
    return lines


def _describe_whether_higher_is_better(scores: Sequence[ScoreSummary]) -> str:
    """Say for which scores lower is better, or that higher is better for all."""
    lower = [score.score for score in scores if score.better == LOWER]
    if not lower:
        return "Higher is better for all scores. To change this, add --lower-is-better NAMES to a command."
    has_higher = any(score.better == HIGHER for score in scores)
    others = "; higher is better for the others" if has_higher else ""
    return (
        f"Lower is better for {join_first_names(lower, _MOST_NAMES)}{others}."
        " To change this, add --lower-is-better NAMES or --higher-is-better NAMES to a command."
    )


def _describe_human_scores(check_result: CheckContent) -> str:
    names = [f"{name} ({format_plural(items, 'item')})" for name, items in check_result.rated_items.items()]
    return f"human scores {join_names(names)}" if names else "no human scores"


def _summarize_dataset_of_judge_verdicts(check_result: CheckContent, verdicts: CheckedVerdicts) -> list[str]:
    """Summarise a data set of verdicts by judges: how many there are, who the judges are, and which human
    labels exist.
    """
    noun, unit, units = _VERDICT_WORDS[verdicts.kind]
    questions = f"{format_count(verdicts.questions)} {unit if verdicts.questions == 1 else units}"
    if not verdicts.judges:
        return [f"Pairs of outputs, not yet judged: {questions}, the better one in column {verdicts.human}."]
    counted = format_plural(sum(judge.verdicts for judge in verdicts.judges), noun)
    judges = [judge.judge for judge in verdicts.judges]
    facts = [f"{counted} on {questions}"]
    if verdicts.kind == "pairwise" and verdicts.has_both_orders:
        facts[0] += ", shown in both orders"
    names = "no column of judges" if judges == [ONLY_JUDGE] else join_first_names(judges, _MOST_NAMES)
    facts.append(f"{format_plural(len(judges), 'judge')} ({names})")
    if check_result.systems:
        facts.append(format_plural(len(check_result.systems), "system"))
    facts.append(_describe_human_labels(verdicts))
    lines = [f"{noun.capitalize()}s of judges: {', '.join(facts)}."]
    missing = sum(judge.missing for judge in verdicts.judges)
    if missing:
        lines.append(
            f"{format_plural(missing, noun)} could not be read or {'is' if missing == 1 else 'are'} missing."
        )
    return lines


def _describe_human_labels(verdicts: CheckedVerdicts) -> str:
    if verdicts.human is None:
        return "no human labels"
    if verdicts.labelled == verdicts.questions:
        return f"human labels on all ({verdicts.human})"
    return f"human labels on {format_count(verdicts.labelled)} ({verdicts.human})"


def _format_number_of_references(check_result: CheckContent) -> str:
    """Write how many references the outputs have: `1 reference`, or `1 to 3 references`."""
    counts = sorted(int(number) for number in check_result.references)
    if not counts:
        return "no reference"
    if len(counts) == 1:
        return format_plural(counts[0], "reference")
    return f"{counts[0]} to {format_plural(counts[-1], 'reference')}"
