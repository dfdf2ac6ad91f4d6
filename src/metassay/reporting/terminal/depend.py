"""What `metassay depend` prints: which systems each metric favours."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from metassay.reporting.depend_page import build_depend_verdict, build_depend_view
from metassay.reporting.labels import MetricLabels
from metassay.reporting.sections.depend_corrections import COLUMNS, describe_corrections
from metassay.reporting.sections.depend_method import explain_dependence_terms
from metassay.reporting.terminal.blocks import (
    Block,
    Row,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    select_columns,
    summarize_data_in_note,
)
from metassay.results.depend import Correction, DependContent, MetricDependence

MOST_IMPORTANT = (
    *("metric", "sysdep", "low", "high", "p_equal", "p_fair"),
    *("favoured", "disadvantaged", "residual"),
)


def describe_dependence(depend_result: DependContent) -> list[Block]:
    """Describe the system dependence of each metric, data set by data set, and explain the terms."""
    labels = MetricLabels(entry.metric for entry in depend_result.metrics)
    verdict = depend_result.verdict or build_depend_verdict(build_depend_view(depend_result))
    blocks: list[Block] = [*convert_sentences_to_lines(claim.sentence for claim in verdict)]
    for dataset in dict.fromkeys(entry.dataset for entry in depend_result.metrics):
        entries = [entry for entry in depend_result.metrics if entry.dataset == dataset]
        title = (
            f"Dependence on {depend_result.by}, {dataset}, against {depend_result.human} (least dependent"
            " first)"
        )
        rows = [_build_dependence_row(entry, labels) for entry in entries]
        blocks.append(Table(rows, title=title, most_important=MOST_IMPORTANT))
        blocks += _build_detail_tables(entries, labels)
        corrections = [row for row in depend_result.corrections if row.dataset == dataset]
        if corrections:
            blocks.append(_build_corrections_table(corrections, labels))
            blocks += convert_sentences_to_lines(
                describe_corrections(corrections, depend_result.human, labels)
            )
    return [
        *blocks,
        *convert_sentences_to_lines(explain_dependence_terms(depend_result.by, depend_result.human)),
        *summarize_data_in_note(depend_result.data),
        *convert_sentences_to_notes(depend_result.notes),
    ]


def _build_dependence_row(dependence: MetricDependence, metric_labels: MetricLabels) -> Row:
    worst_inversion = None
    if dependence.inversions:
        worst_inversion = f"{dependence.inversions[0].better} > {dependence.inversions[0].worse}"
    return {
        "metric": metric_labels[dependence.metric],
        "sysdep": dependence.sysdep,
        "low": dependence.low,
        "high": dependence.high,
        "constant": dependence.constant,
        "ratio": dependence.ratio,
        "residual": dependence.residual_range,
        "p_equal": dependence.p_equal,
        "p_fair": dependence.p_fair,
        "favoured": dependence.most_favoured,
        "disadvantaged": dependence.most_disadvantaged,
        "inverted": len(dependence.inversions),
        "worst": worst_inversion,
    }


def _build_detail_tables(dependences: Sequence[MetricDependence], metric_labels: MetricLabels) -> list[Block]:
    local_rows: list[Row] = []
    sensitivity_rows: list[Row] = []
    for entry in dependences:
        label = metric_labels[entry.metric]
        local_rows += [{"metric": label, **asdict(row)} for row in entry.local]
        sensitivity_rows += [{"metric": label, **asdict(row)} for row in entry.sensitivity]
    return [
        Table(local_rows, title="Within contexts"),
        Table(sensitivity_rows, title="SysDep with other resamples, sample sizes and systems"),
    ]


def _build_corrections_table(corrections: Sequence[Correction], metric_labels: MetricLabels) -> Table:
    rows = [{**asdict(row), "metric": metric_labels[row.metric]} for row in corrections]
    title = "Agreement with human scores on segments that were not used for fitting"
    return Table(select_columns(rows, COLUMNS), title=title)
