"""What `metassay check` prints: what was recognised, left out and missing, and what an assay would cost."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metassay.reporting.check_questions import DATA
from metassay.reporting.data_summary import describe_ignored_columns
from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import (
    Block,
    Line,
    Row,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
)
from metassay.results.check import CheckContent, CheckedPerturbation

_MOST_LISTED_COLUMNS = 8


def describe_check_result(check_result: CheckContent, data_arguments: str = DATA) -> list[Block]:
    """Describe for the terminal what a data set holds, how long an assay would take, and what to ask next.

    `data_arguments` are the files and reading options of the command, for the commands that are suggested.
    """
    outputs = (
        f"{check_result.outputs} outputs of {len(check_result.systems)} systems for {check_result.items}"
        " items"
    )
    systems = [msgspec.structs.asdict(system) for system in check_result.systems]
    blocks: list[Block] = [Line(f"Task {check_result.task}: {outputs}."), Table(systems)]
    blocks.append(Table(_list_dataset_properties(check_result)))
    if check_result.perturbations:
        blocks.append(Table([_build_perturbation_row(row) for row in check_result.perturbations]))
    estimate = check_result.estimate
    blocks.append(
        Line(f"An assay would score {estimate.rows} texts per metric: about {estimate.seconds:g} s here.")
    )
    return [
        *blocks,
        *convert_sentences_to_notes([*describe_ignored_columns(check_result.data), *check_result.notes]),
        *_list_questions_with_commands(check_result, data_arguments),
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
        "columns of metric scores": _join_first_names(check_result.metric_columns) or "none",
        "missing values": _join_first_names(_name_missing_values(check_result)) or "none",
        "empty outputs": str(check_result.empty_outputs),
        "left out": _join_names_with_counts(check_result.left_out) or "nothing",
        "systems that are the reference": ", ".join(check_result.reference_systems) or "none",
        "text normalisation": check_result.normalize,
        "metrics": ", ".join(MetricLabels(metrics).label_all(metrics)),
    }
    return [{"property": name, "value": value} for name, value in properties.items()]


def _name_missing_values(check_result: CheckContent) -> list[str]:
    return [f"{name} ({count})" for name, count in check_result.missing.items()]


def _join_first_names(names: list[str]) -> str:
    """Join the first few names of a list, and say how many more there are."""
    if len(names) <= _MOST_LISTED_COLUMNS:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_LISTED_COLUMNS])} and {len(names) - _MOST_LISTED_COLUMNS} more"


def _join_names_with_counts(counts: Mapping[str, object]) -> str:
    """Join names and counts: `news (10), social (5)`."""
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def _build_perturbation_row(perturbation: CheckedPerturbation) -> Row:
    """Build a table row with the number of outputs that a perturbation applies to, and why not to all."""
    return {
        "perturbation": perturbation.perturbation,
        "applies to": f"{perturbation.outputs} of {perturbation.tried}",
        "why not to others": perturbation.why or "",
    }
