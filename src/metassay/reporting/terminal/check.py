"""What `metassay check` prints: what was recognised, left out and missing, and what an assay would cost."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metassay.reporting.check_questions import DATA
from metassay.reporting.data_summary import describe_columns
from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import Block, Line, Row, Table, make_lines, make_notes
from metassay.results.check import CheckContent, CheckedPerturbation

_MOST_LISTED_COLUMNS = 8


def describe_check_result(result: CheckContent, data_arguments: str = DATA) -> list[Block]:
    """Describe for the terminal what a data set holds, how long an assay would take, and what to ask next.

    `data_arguments` are the files and reading options of the command, for the commands that are suggested.
    """
    outputs = f"{result.outputs} outputs of {len(result.systems)} systems for {result.items} items"
    systems = [msgspec.structs.asdict(system) for system in result.systems]
    blocks: list[Block] = [Line(f"Task {result.task}: {outputs}."), Table(systems)]
    blocks.append(Table(_list_properties(result)))
    if result.perturbations:
        blocks.append(Table([_build_perturbation_row(row) for row in result.perturbations]))
    estimate = result.estimate
    blocks.append(
        Line(f"An assay would score {estimate.rows} texts per metric: about {estimate.seconds:g} s here.")
    )
    return [
        *blocks,
        *make_notes([*describe_columns(result.data), *result.notes]),
        *_list_questions(result, data_arguments),
    ]


def _list_questions(result: CheckContent, data_arguments: str) -> list[Block]:
    """List the questions that the data can answer with their commands, then what the others need."""
    answerable = [question for question in result.questions if question.missing is None]
    width = max((len(question.question) for question in answerable), default=0)
    texts = ["You can ask:"] if answerable else []
    for question in answerable:
        command = question.command.replace(DATA, data_arguments)
        texts.append(f"  {question.question:<{width}}  {command}")
    unanswerable = [question for question in result.questions if question.missing is not None]
    texts += [f"Not yet: {question.question.rstrip('?')} ({question.missing})." for question in unanswerable]
    return [Line(), *make_lines(texts)]


def _list_properties(result: CheckContent) -> list[Row]:
    """List the properties of a data set as rows of a table."""
    rated = {name: f"{count} rated" for name, count in result.human.items()}
    metrics = [metric.metric for metric in result.metrics]
    properties = {
        "languages": _list_with_counts(result.languages),
        "references per output": _list_with_counts(result.references) or "none",
        "human scores": _list_with_counts(rated) or "none",
        "possible contexts": _list_with_counts(result.contexts),
        "columns of metric scores": _shorten_list(result.metric_columns) or "none",
        "missing values": _shorten_list(_name_missing_values(result)) or "none",
        "empty outputs": str(result.empty_outputs),
        "left out": _list_with_counts(result.left_out) or "nothing",
        "systems that are the reference": ", ".join(result.reference_systems) or "none",
        "text normalisation": result.normalize,
        "metrics": ", ".join(MetricLabels(metrics).label_all(metrics)),
    }
    return [{"property": name, "value": value} for name, value in properties.items()]


def _name_missing_values(result: CheckContent) -> list[str]:
    return [f"{name} ({count})" for name, count in result.missing.items()]


def _shorten_list(names: list[str]) -> str:
    """Join names; of many the first, and how many more."""
    if len(names) <= _MOST_LISTED_COLUMNS:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_LISTED_COLUMNS])} and {len(names) - _MOST_LISTED_COLUMNS} more"


def _list_with_counts(counts: Mapping[str, object]) -> str:
    """Join names and counts: `news (10), social (5)`."""
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def _build_perturbation_row(row: CheckedPerturbation) -> Row:
    """Return a row with the number of outputs that a perturbation applies to, and why not to all."""
    return {
        "perturbation": row.perturbation,
        "applies to": f"{row.outputs} of {row.tried}",
        "why not to others": row.why or "",
    }
