"""What `metassay check` prints: a summary of the data and the questions that it can answer, and as details
all properties.
"""

from __future__ import annotations

import msgspec

from metassay.reporting.check_summary import join_names_with_counts
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
from metassay.reporting.wording import format_count, format_plural, join_first_names
from metassay.results.check import DATA, SCORES, VERDICTS, CheckContent, CostEstimate

_MOST_LISTED_COLUMNS = 8
# The other properties are those of outputs.
_PROPERTIES_WITHOUT_OUTPUTS = ("human scores", "possible contexts", "missing values", "left out")
# Longer durations are written in minutes.
_LONGEST_IN_SECONDS = 120


def describe_check_result(check_result: CheckContent, data_arguments: str = DATA) -> list[Block]:
    """Describe for the terminal what a data set contains, which questions it can answer, and how long an
    assay would take.

    `data_arguments` are the files and reading options of the command, for the commands that are suggested.
    """
    return [
        *convert_sentences_to_lines(claim.sentence for claim in check_result.verdict),
        *_list_questions_with_commands(check_result, data_arguments),
        Line(),
        Line(_describe_assay_cost(check_result.estimate)),
        *convert_sentences_to_notes(check_result.notes),
        Details(_describe_properties(check_result)),
    ]


def _describe_assay_cost(cost_estimate: CostEstimate | None) -> str:
    details = "All properties of the data: --verbose"
    if cost_estimate is None:
        return details
    seconds = round(cost_estimate.seconds)
    if seconds < 1:
        duration = "less than a second"
    elif seconds < _LONGEST_IN_SECONDS:
        duration = f"about {format_plural(seconds, 'second')}"
    else:
        duration = f"about {format_plural(round(seconds / 60), 'minute')}"
    return f"Scoring for an assay would take {duration} here. {details}"


def _describe_properties(check_result: CheckContent) -> list[Line | Table | Note]:
    """Describe the systems and properties of a data set, and to how many outputs each perturbation (a rule
    that makes outputs worse) can be applied.
    """
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
    judges = [] if check_result.verdicts is None else check_result.verdicts.judges
    scores = [] if check_result.data is None or check_result.kind != SCORES else check_result.data.scores
    score_rows = [
        {
            "score": score.score,
            "kind": score.kind,
            "better": score.better,
            "because": score.why,
            "outputs": score.outputs,
        }
        for score in scores
    ]
    return [
        Table(systems, title="Systems"),
        Table([msgspec.structs.asdict(judge) for judge in judges], title="Judges"),
        Table(score_rows, title="Scores"),
        Table(_list_dataset_properties(check_result), title="Properties"),
        Table(perturbations, title=title),
        *convert_sentences_to_notes(describe_ignored_columns(check_result.data)),
    ]


def _list_questions_with_commands(check_result: CheckContent, data_arguments: str) -> list[Block]:
    """List the questions that the data can answer, with their commands, and then what is missing for other
    questions.
    """
    answerable = [question for question in check_result.questions if question.missing is None]
    width = max((len(question.question) for question in answerable), default=0)
    lines = [Line(), Line("You can ask:")] if answerable else [Line()]
    for question in answerable:
        command = question.command.replace(DATA, data_arguments)
        # A command that is broken over two lines could not be copied.
        lines.append(Line(f"  {question.question:<{width}}  {command}", wrap=False))
    unanswerable: dict[str, list[str]] = {}
    for question in check_result.questions:
        if question.missing is not None:
            unanswerable.setdefault(question.missing, []).append(question.question.rstrip("?"))
    for missing, questions in unanswerable.items():
        reason = missing.replace(DATA, data_arguments)
        lines.append(Line(f"Not yet: {'; '.join(questions)} ({reason})."))
    return [*lines]


def _list_dataset_properties(check_result: CheckContent) -> list[Row]:
    """List the properties of a data set as rows of a table."""
    rated = {name: f"{count} rated" for name, count in check_result.human.items()}
    metrics = [metric.metric for metric in check_result.metrics]
    properties = {
        "languages": join_names_with_counts(check_result.languages),
        "references per output": join_names_with_counts(check_result.references) or "none",
        "human scores": join_names_with_counts(rated) or "none",
        "possible contexts": join_names_with_counts(check_result.contexts) or "none",
        "columns of metric scores": join_first_names(check_result.metric_columns, _MOST_LISTED_COLUMNS)
        or "none",
        "missing values": join_first_names(
            [f"{name} ({count})" for name, count in check_result.missing.items()], _MOST_LISTED_COLUMNS
        )
        or "none",
        "empty outputs": str(check_result.empty_outputs),
        "left out": join_names_with_counts(check_result.left_out) or "nothing",
        "systems that are the reference": ", ".join(check_result.reference_systems) or "none",
        "text normalisation": check_result.normalize or "none",
        "metrics": ", ".join(MetricLabels(metrics).list_labels_of_metrics(metrics)),
    }
    if check_result.kind in (SCORES, VERDICTS):
        properties = {name: properties[name] for name in _PROPERTIES_WITHOUT_OUTPUTS}
    return [{"property": name, "value": value} for name, value in properties.items()]
