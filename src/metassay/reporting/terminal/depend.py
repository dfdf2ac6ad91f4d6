"""What `metassay depend` prints: which systems each metric favours."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from metassay.reporting.labels import MetricLabels
from metassay.reporting.sections.depend import (
    CORRECTION_COLUMNS,
    build_dependence_row,
    describe_corrections,
    explain_dependence_terms,
    explain_deviation,
    list_detail_rows,
)
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Line,
    Row,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    select_columns,
    summarize_data_in_note,
)
from metassay.results.depend import Correction, DependContent, MetricDependence

# Metrics that are printed without `--verbose`.
MOST_METRICS = 10
MOST_IMPORTANT = (
    *("metric", "sysdep", "low", "high", "p_equal", "p_fair"),
    *("favoured", "disadvantaged", "residual"),
)


def describe_dependence(depend_result: DependContent) -> list[Block]:
    """Describe the system dependence of each metric, data set by data set, and explain the terms."""
    labels = MetricLabels(entry.metric for entry in depend_result.metrics)
    blocks: list[Block] = [*convert_sentences_to_lines(claim.sentence for claim in depend_result.verdict)]
    for dataset in dict.fromkeys(entry.dataset for entry in depend_result.metrics):
        entries = [entry for entry in depend_result.metrics if entry.dataset == dataset]
        scores = f"{dataset}, against {depend_result.human}"
        title = f"Dependence on {depend_result.by}, {scores} (least dependent first)"
        rows = [_build_dependence_row(entry, labels) for entry in entries]
        blocks.append(
            Table(rows, title=title, most_important=MOST_IMPORTANT, most_rows=MOST_METRICS, digits=2)
        )
        local_rows, sensitivity_rows = list_detail_rows(entries, labels)
        blocks.append(
            Details(
                [
                    Table(local_rows, title="Within contexts"),
                    Table(sensitivity_rows, title="SysDep with other resamples, sample sizes and systems"),
                ]
            )
        )
        corrections = [row for row in depend_result.corrections if row.dataset == dataset]
        if corrections:
            blocks += convert_sentences_to_lines(
                describe_corrections(corrections, depend_result.human, labels)
            )
            blocks.append(Details([_build_corrections_table(corrections, labels)]))
    return [
        *blocks,
        Line(explain_deviation(depend_result.by, depend_result.human)),
        Details(convert_sentences_to_lines(explain_dependence_terms(depend_result.by, depend_result.human))),
        *summarize_data_in_note(depend_result.data),
        *convert_sentences_to_notes(depend_result.notes),
    ]


def _build_dependence_row(dependence: MetricDependence, metric_labels: MetricLabels) -> Row:
    row = build_dependence_row(dependence, metric_labels)
    del row["explained"]
    worst_inversion = next(iter(dependence.inversions), None)
    worst = None if worst_inversion is None else f"{worst_inversion.better} > {worst_inversion.worse}"
    return row | {"worst": worst}


def _build_corrections_table(corrections: Sequence[Correction], metric_labels: MetricLabels) -> Table:
    rows = [{**asdict(row), "metric": metric_labels[row.metric]} for row in corrections]
    title = "Agreement with human scores on segments that were not used for fitting"
    return Table(select_columns(rows, CORRECTION_COLUMNS), title=title)
