"""What `metassay assay` and `metassay demo` print: the answer and doubts; details are the tables."""

from __future__ import annotations

from typing import Any

from metassay.reporting.assay_caveats import list_remaining_caveats, list_run_notes
from metassay.reporting.assay_report import AssayReport, prepare_assay_report
from metassay.reporting.assay_verdict import get_or_build_assay_verdict
from metassay.reporting.data_summary import describe_data_gaps, describe_data_used
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Line,
    Note,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
)
from metassay.reporting.terminal.verdict import describe_verdict
from metassay.results.assay import AccuracyTest, AssayContent, HumanAccuracy, MetricAccuracy


def describe_assay_result(assay_result: AssayContent) -> list[Block]:
    """Describe the result of an assay for the terminal."""
    assay_report = prepare_assay_report(assay_result)
    doubts = list_remaining_caveats(assay_report)
    blocks: list[Block] = [
        Line(),
        *describe_verdict(get_or_build_assay_verdict(assay_report), assay_report.labels, assay_result.task),
    ]
    if doubts:
        blocks += [
            Line(),
            Line("Before you rely on this:"),
            *convert_sentences_to_lines(f"- {doubt}" for doubt in doubts),
        ]
    notes = [*describe_data_gaps(assay_result.data), *list_run_notes(assay_report)]
    return [*blocks, *convert_sentences_to_notes(notes), Details(_describe_tables(assay_report))]


def _describe_tables(assay_report: AssayReport) -> list[Line | Table | Note]:
    """Describe accuracies on perturbed and human pairs, tests of contexts, and the data."""
    result = assay_report.result
    tables: list[Line | Table | Note] = [
        Table(
            [
                _build_accuracy_row(assay_report, row)
                for row in result.overall
                if assay_report.labels.is_shown(row.metric)
            ],
            title=(
                f"How often each metric preferred the better output of {assay_report.pairs_phrase}"
                " (95 % interval)"
            ),
        )
    ]
    comparison = result.human_comparison
    if comparison is not None:
        tables.append(
            Table(
                [
                    _build_human_accuracy_row(assay_report, r)
                    for r in comparison.metrics
                    if assay_report.labels.is_shown(r.metric)
                ],
                title="The same for human pairs, and SPA over systems (95 % interval)",
                most_important=("metric", "accuracy", "low", "high", "spa", "spa_low", "spa_high"),
            )
        )
    for name, column in result.contexts.items():
        if column.h1:
            tables.append(_build_accuracy_test_table(assay_report, name, column.h1))
    gaps = describe_data_gaps(result.data)  # printed already
    return [
        *tables,
        *convert_sentences_to_notes(note for note in describe_data_used(result.data) if note not in gaps),
    ]


def _build_accuracy_row(assay_report: AssayReport, row: MetricAccuracy | HumanAccuracy) -> dict[str, Any]:
    return {
        "metric": assay_report.labels[row.metric],
        "accuracy": row.accuracy,
        "low": row.low,
        "high": row.high,
        "ties": row.ties,
        "pairs": row.pairs,
    }


def _build_human_accuracy_row(assay_report: AssayReport, row: HumanAccuracy) -> dict[str, Any]:
    spa = {"spa": row.spa, "spa_low": row.spa_low, "spa_high": row.spa_high}
    return _build_accuracy_row(assay_report, row) | spa


def _build_accuracy_test_table(assay_report: AssayReport, column: str, tests: list[AccuracyTest]) -> Table:
    rows = [
        {
            "metric": assay_report.labels[test.metric],
            "chi2": test.chi2,
            "dof": test.dof,
            "p": test.p,
            "cramers_v": test.cramers_v,
            "p_cmh": test.p_cmh,
            "p_permutation": test.p_permutation,
            "p_deciding": assay_report.find_context_difference_p_value(column, test),
        }
        for test in tests
        if assay_report.labels.is_shown(test.metric)
    ]
    return Table(
        rows,
        title=f"H1: accuracy differs between contexts of {column} (small p: it does)",
        most_important=("metric", "p_deciding", "p_permutation", "cramers_v", "chi2", "dof", "p"),
    )
