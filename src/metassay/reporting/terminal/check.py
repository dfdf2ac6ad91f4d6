"""What `metassay check` prints: a summary of the data and what it can answer; details are all properties."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metassay.reporting.check_questions import DATA
from metassay.reporting.data_summary import describe_ignored_columns
from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Line,
    Note,
    Row,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
)
from metassay.reporting.wording import find_task, format_count, format_plural, join_first_names, join_names
from metassay.results.check import CheckContent, CostEstimate

_MOST_LISTED_COLUMNS = 8
# Longer durations are written in minutes.
_LONGEST_IN_SECONDS = 120


def describe_check_result(check_result: CheckContent, data_arguments: str = DATA) -> list[Block]:
    """Describe for the terminal what a data set holds, what to ask next, and how long an assay would take.

    `data_arguments` are the files and reading options of the command, for the commands that are suggested.
    """
    return [
        *convert_sentences_to_lines(_summarize_data(check_result)),
        *_list_questions_with_commands(check_result, data_arguments),
        Line(),
        Line(_describe_assay_cost(check_result.estimate)),
        *convert_sentences_to_notes(check_result.notes),
        Details(_describe_properties(check_result)),
    ]


def _summarize_data(check_result: CheckContent) -> list[str]:
    """Describe systems, items, references, languages and human scores in one line, then what is left out."""
    task = find_task(check_result.task)
    title = check_result.task if task is None else task.title
    facts = [format_plural(len(check_result.systems), "system"), format_plural(check_result.items, "item")]
    if task is None or not task.is_ranking:
        facts.append(f"{_format_number_of_references(check_result)} per item")
    languages = [name for name in check_result.languages if name != "unknown"]
    if languages:
        facts.append(f"target {'language' if len(languages) == 1 else 'languages'} {join_names(languages)}")
    human_scores = [
        f"{name} ({format_plural(items, 'item')})" for name, items in check_result.rated_items.items()
    ]
    facts.append(f"human scores {join_names(human_scores)}" if human_scores else "no human scores")
    lines = [f"{title[:1].upper()}{title[1:]}: {', '.join(facts)}."]
    if check_result.left_out:
        lines.append(f"Rows left out: {_join_names_with_counts(check_result.left_out)}.")
    if check_result.reference_systems:
        names = join_names(check_result.reference_systems)
        lines.append(f"Systems whose outputs are the reference: {names}.")
    if check_result.empty_outputs:
        lines.append(f"{format_plural(check_result.empty_outputs, 'output')} without text.")
    return lines


def _format_number_of_references(check_result: CheckContent) -> str:
    """Write how many references an output has: `1 reference`, or `1 to 3 references`."""
    counts = sorted(int(number) for number in check_result.references)
    if not counts:
        return "no reference"
    if len(counts) == 1:
        return format_plural(counts[0], "reference")
    return f"{counts[0]} to {format_plural(counts[-1], 'reference')}"


def _describe_assay_cost(cost_estimate: CostEstimate) -> str:
    seconds = round(cost_estimate.seconds)
    if seconds < 1:
        duration = "less than a second"
    elif seconds < _LONGEST_IN_SECONDS:
        duration = f"about {format_plural(seconds, 'second')}"
    else:
        duration = f"about {format_plural(round(seconds / 60), 'minute')}"
    return f"Scoring for an assay would take {duration} here. All properties of the data: --verbose"


def _describe_properties(check_result: CheckContent) -> list[Line | Table | Note]:
    """Describe systems, properties, and the number of outputs that each perturbation applies to."""
    systems = [msgspec.structs.asdict(system) for system in check_result.systems]
    perturbations = [
        {
            "perturbation": row.perturbation,
            "applies to": f"{row.outputs} of {row.tried}",
            "why not to others": row.why or "",
        }
        for row in check_result.perturbations
    ]
    tried = max((row.tried for row in check_result.perturbations), default=0)
    title = "Perturbations"
    if tried < check_result.outputs:
        title = f"Perturbations, tried on a sample of at most {format_count(tried)} outputs"
    return [
        Table(systems, title="Systems"),
        Table(_list_dataset_properties(check_result), title="Properties"),
        Table(perturbations, title=title),
        *convert_sentences_to_notes(describe_ignored_columns(check_result.data)),
    ]


def _list_questions_with_commands(check_result: CheckContent, data_arguments: str) -> list[Block]:
    """List the questions that the data can answer with their commands, then what the others need."""
    answerable = [question for question in check_result.questions if question.missing is None]
    width = max((len(question.question) for question in answerable), default=0)
    texts = ["You can ask:"] if answerable else []
    for question in answerable:
        command = question.command.replace(DATA, data_arguments)
        texts.append(f"  {question.question:<{width}}  {command}")
    unanswerable = [question for question in check_result.questions if question.missing is not None]
    texts += [f"Not yet: {question.question.rstrip('?')} ({question.missing})." for question in unanswerable]
    return [Line(), *convert_sentences_to_lines(texts)]


def _list_dataset_properties(check_result: CheckContent) -> list[Row]:
    """List the properties of a data set as rows of a table."""
    rated = {name: f"{count} rated" for name, count in check_result.human.items()}
    metrics = [metric.metric for metric in check_result.metrics]
    properties = {
        "languages": _join_names_with_counts(check_result.languages),
        "references per output": _join_names_with_counts(check_result.references) or "none",
        "human scores": _join_names_with_counts(rated) or "none",
        "possible contexts": _join_names_with_counts(check_result.contexts),
        "columns of metric scores": join_first_names(check_result.metric_columns, _MOST_LISTED_COLUMNS)
        or "none",
        "missing values": join_first_names(
            [f"{name} ({count})" for name, count in check_result.missing.items()], _MOST_LISTED_COLUMNS
        )
        or "none",
        "empty outputs": str(check_result.empty_outputs),
        "left out": _join_names_with_counts(check_result.left_out) or "nothing",
        "systems that are the reference": ", ".join(check_result.reference_systems) or "none",
        "text normalisation": check_result.normalize,
        "metrics": ", ".join(MetricLabels(metrics).label_all(metrics)),
    }
    return [{"property": name, "value": value} for name, value in properties.items()]


def _join_names_with_counts(counts: Mapping[str, object]) -> str:
    """Join names and counts: `news (10), social (5)`."""
    return ", ".join(f"{name} ({count})" for name, count in counts.items())
