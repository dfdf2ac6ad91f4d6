"""What `metassay assay` and `metassay demo` print: the answer, doubts, then the tables behind it."""

from __future__ import annotations

from typing import Any

from metassay.reporting.assay_caveats import list_data_remarks, list_remaining_caveats
from metassay.reporting.assay_verdict import get_or_build_assay_verdict
from metassay.reporting.assay_view import AssayView, build_assay_view
from metassay.reporting.terminal.blocks import (
    Block,
    Line,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
)
from metassay.reporting.terminal.verdict import describe_verdict
from metassay.results.assay import AccuracyTest, AssayContent, HumanAccuracy, MetricAccuracy
from metassay.results.partial_run import PartialRun


def describe_assay_result(assay_result: AssayContent) -> list[Block]:
    """Describe the result of an assay for the terminal."""
    assay_view = build_assay_view(assay_result)
    doubts = list_remaining_caveats(assay_view)
    blocks: list[Block] = [
        Line(),
        *describe_verdict(get_or_build_assay_verdict(assay_view), assay_view.labels, assay_result.task),
    ]
    if doubts:
        blocks += [
            Line(),
            Line("Before you rely on this:"),
            *convert_sentences_to_lines(f"- {doubt}" for doubt in doubts),
        ]
    blocks.append(
        Table(
            [
                _build_accuracy_row(assay_view, row)
                for row in assay_result.overall
                if assay_view.labels.is_shown(row.metric)
            ],
            title=(
                f"How often each metric preferred the better output of {assay_view.pairs_phrase}"
                " (95 % interval)"
            ),
        )
    )
    comparison = assay_result.human_comparison
    if comparison is not None:
        blocks.append(
            Table(
                [
                    _build_human_accuracy_row(assay_view, r)
                    for r in comparison.metrics
                    if assay_view.labels.is_shown(r.metric)
                ],
                title="The same for human pairs, and SPA over systems (95 % interval)",
                most_important=("metric", "accuracy", "low", "high", "spa", "spa_low", "spa_high"),
            )
        )
    for name, column in assay_result.contexts.items():
        if column.h1:
            blocks.append(_build_accuracy_test_table(assay_view, name, column.h1))
    return [*blocks, *convert_sentences_to_notes(list_data_remarks(assay_view))]


def _build_accuracy_row(
    assay_view: AssayView, metric_accuracy: MetricAccuracy | HumanAccuracy
) -> dict[str, Any]:
    return {
        "metric": assay_view.labels[metric_accuracy.metric],
        "accuracy": metric_accuracy.accuracy,
        "low": metric_accuracy.low,
        "high": metric_accuracy.high,
        "ties": metric_accuracy.ties,
        "pairs": metric_accuracy.pairs,
    }


def _build_human_accuracy_row(assay_view: AssayView, human_accuracy: HumanAccuracy) -> dict[str, Any]:
    spa = {"spa": human_accuracy.spa, "spa_low": human_accuracy.spa_low, "spa_high": human_accuracy.spa_high}
    return _build_accuracy_row(assay_view, human_accuracy) | spa


def _build_accuracy_test_table(assay_view: AssayView, column: str, tests: list[AccuracyTest]) -> Table:
    rows = [
        {
            "metric": assay_view.labels[test.metric],
            "chi2": test.chi2,
            "dof": test.dof,
            "p": test.p,
            "cramers_v": test.cramers_v,
            "p_cmh": test.p_cmh,
            "p_permutation": test.p_permutation,
            "p_deciding": assay_view.find_context_difference_p_value(column, test),
        }
        for test in tests
        if assay_view.labels.is_shown(test.metric)
    ]
    return Table(
        rows,
        title=f"H1: accuracy differs between contexts of {column} (small p: it does)",
        most_important=("metric", "p_deciding", "p_permutation", "cramers_v", "chi2", "dof", "p"),
    )


def describe_partial_run(partial_run: PartialRun) -> list[Block]:
    """Describe for the terminal which parts of an assay one process scored."""
    first = partial_run.part_numbers[0]
    last = partial_run.part_numbers[-1]
    scored = len(partial_run.part_numbers)
    return [Line(f"Scored {scored} of {partial_run.part_count} parts, from {first} to {last}.")]
