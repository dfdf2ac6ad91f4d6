"""What `metassay assay` and `metassay demo` print: the answer, doubts, then the tables behind it."""

from __future__ import annotations

from typing import Any

from metassay.reporting.assay_caveats import list_other_caveats, list_remarks
from metassay.reporting.assay_verdict import get_or_build_verdict
from metassay.reporting.assay_view import AssayView, build_assay_view
from metassay.reporting.terminal.blocks import Block, Line, Table, make_lines, make_notes
from metassay.reporting.terminal.verdict import describe_verdict
from metassay.results.assay import AccuracyTest, AssayContent, HumanAccuracy, MetricAccuracy
from metassay.results.partial_run import PartialRun


def describe_assay_result(result: AssayContent) -> list[Block]:
    """Describe the result of an assay for the terminal."""
    assay_view = build_assay_view(result)
    doubts = list_other_caveats(assay_view)
    blocks: list[Block] = [
        Line(),
        *describe_verdict(get_or_build_verdict(assay_view), assay_view.labels, result.task),
    ]
    if doubts:
        blocks += [Line(), Line("Before you rely on this:"), *make_lines(f"- {doubt}" for doubt in doubts)]
    blocks.append(
        Table(
            [
                _build_accuracy_row(assay_view, row)
                for row in result.overall
                if assay_view.labels.is_shown(row.metric)
            ],
            title=(
                f"How often each metric preferred the better output of {assay_view.pairs_phrase}"
                " (95 % interval)"
            ),
        )
    )
    comparison = result.human_comparison
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
    for name, column in result.contexts.items():
        if column.h1:
            blocks.append(_build_accuracy_test_table(assay_view, name, column.h1))
    return [*blocks, *make_notes(list_remarks(assay_view))]


def _build_accuracy_row(assay_view: AssayView, row: MetricAccuracy | HumanAccuracy) -> dict[str, Any]:
    return {
        "metric": assay_view.labels[row.metric],
        "accuracy": row.accuracy,
        "low": row.low,
        "high": row.high,
        "ties": row.ties,
        "pairs": row.pairs,
    }


def _build_human_accuracy_row(assay_view: AssayView, row: HumanAccuracy) -> dict[str, Any]:
    spa = {"spa": row.spa, "spa_low": row.spa_low, "spa_high": row.spa_high}
    return _build_accuracy_row(assay_view, row) | spa


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
            "p_deciding": assay_view.find_variation_p(column, test),
        }
        for test in tests
        if assay_view.labels.is_shown(test.metric)
    ]
    return Table(
        rows,
        title=f"H1: accuracy differs between contexts of {column} (small p: it does)",
        most_important=("metric", "p_deciding", "p_permutation", "cramers_v", "chi2", "dof", "p"),
    )


def describe_partial_run(result: PartialRun) -> list[Block]:
    """Describe for the terminal which parts of an assay one process scored."""
    first = result.part_numbers[0]
    last = result.part_numbers[-1]
    scored = len(result.part_numbers)
    return [Line(f"Scored {scored} of {result.part_count} parts, from {first} to {last}.")]
