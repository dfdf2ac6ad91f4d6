"""What `metassay depend` prints: which systems each metric favours."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from metassay.reporting.depend_page import build_depend_verdict, prepare_depend_report
from metassay.reporting.labels import MetricLabels
from metassay.reporting.sections.depend_corrections import COLUMNS, describe_corrections
from metassay.reporting.sections.depend_method import explain_dependence_terms, explain_deviation
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


def describe_dependence(result: DependContent) -> list[Block]:
    """Describe the system dependence of each metric, data set by data set, and explain the terms."""
    labels = MetricLabels(entry.metric for entry in result.metrics)
    verdict = result.verdict or build_depend_verdict(prepare_depend_report(result))
    blocks: list[Block] = [*convert_sentences_to_lines(claim.sentence for claim in verdict)]
    for dataset in dict.fromkeys(entry.dataset for entry in result.metrics):
        entries = [entry for entry in result.metrics if entry.dataset == dataset]
        title = f"Dependence on {result.by}, {dataset}, against {result.human} (least dependent first)"
        rows = [_build_dependence_row(entry, labels) for entry in entries]
        blocks.append(
            Table(rows, title=title, most_important=MOST_IMPORTANT, most_rows=MOST_METRICS, digits=2)
        )
        blocks.append(Details(_build_detail_tables(entries, labels)))
        corrections = [row for row in result.corrections if row.dataset == dataset]
        if corrections:
            blocks += convert_sentences_to_lines(describe_corrections(corrections, result.human, labels))
            blocks.append(Details([_build_corrections_table(corrections, labels)]))
    return [
        *blocks,
        Line(explain_deviation(result.by, result.human)),
        Details(convert_sentences_to_lines(explain_dependence_terms(result.by, result.human))),
        *summarize_data_in_note(result.data),
        *convert_sentences_to_notes(result.notes),
    ]


def _build_dependence_row(entry: MetricDependence, labels: MetricLabels) -> Row:
    worst_inversion = None
    if entry.inversions:
        worst_inversion = f"{entry.inversions[0].better} > {entry.inversions[0].worse}"
    return {
        "metric": labels[entry.metric],
        "sysdep": entry.sysdep,
        "low": entry.low,
        "high": entry.high,
        "constant": entry.constant,
        "ratio": entry.ratio,
        "residual": entry.residual_range,
        "p_equal": entry.p_equal,
        "p_fair": entry.p_fair,
        "favoured": entry.most_favoured,
        "disadvantaged": entry.most_disadvantaged,
        "inverted": len(entry.inversions),
        "worst": worst_inversion,
    }


def _build_detail_tables(entries: Sequence[MetricDependence], labels: MetricLabels) -> list[Table]:
    local_rows: list[Row] = []
    sensitivity_rows: list[Row] = []
    for entry in entries:
        label = labels[entry.metric]
        local_rows += [{"metric": label, **asdict(row)} for row in entry.local]
        sensitivity_rows += [{"metric": label, **asdict(row)} for row in entry.sensitivity]
    return [
        Table(local_rows, title="Within contexts"),
        Table(sensitivity_rows, title="SysDep with other resamples, sample sizes and systems"),
    ]


def _build_corrections_table(corrections: Sequence[Correction], labels: MetricLabels) -> Table:
    rows = [{**asdict(row), "metric": labels[row.metric]} for row in corrections]
    title = "Agreement with human scores on segments that were not used for fitting"
    return Table(select_columns(rows, COLUMNS), title=title)
