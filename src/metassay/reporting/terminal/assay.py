"""What `metassay assay` and `metassay demo` print: the answer and doubts; details are the tables."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metassay.reporting.assay_caveats import list_caveats_except_main_one, list_notes_of_run
from metassay.reporting.assay_report import AssayReport, prepare_assay_report
from metassay.reporting.data_summary import describe_data_used, describe_left_out_data
from metassay.reporting.sections.assay_tests import build_table_of_accuracy_tests
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Line,
    Note,
    Row,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    select_columns,
)
from metassay.reporting.terminal.verdict import describe_verdict
from metassay.results.assay import AssayContent, GlobalAccuracy, HumanAccuracy

_ACCURACY_COLUMNS = ("metric", "accuracy", "low", "high", "ties", "pairs")
_TEST_COLUMNS = ("metric", "chi2", "dof", "p", "cramers_v", "p_cmh", "p_permutation", "p_deciding")


def describe_assay_result(assay_result: AssayContent) -> list[Block]:
    """Describe the result of an assay for the terminal: which metric to trust, reasons to doubt this, and
    tables.
    """
    assay_report = prepare_assay_report(assay_result)
    doubts = list_caveats_except_main_one(assay_report)
    blocks: list[Block] = [
        Line(),
        *describe_verdict(assay_report.result.verdict, assay_report.labels, assay_result.task),
    ]
    if doubts:
        blocks += [
            Line(),
            Line("Before you rely on this:"),
            *convert_sentences_to_lines(f"- {doubt}" for doubt in doubts),
        ]
    notes = [*describe_left_out_data(assay_result.data), *list_notes_of_run(assay_report)]
    return [*blocks, *convert_sentences_to_notes(notes), Details(_build_result_tables(assay_report))]


def _build_result_tables(assay_report: AssayReport) -> list[Line | Table | Note]:
    """Build the tables of accuracies and of tests between contexts, such as domains, followed by notes about
    the data.
    """
    result = assay_report.result
    tables: list[Line | Table | Note] = [
        Table(
            select_columns(_list_accuracy_rows(assay_report, result.overall), _ACCURACY_COLUMNS),
            title=(
                f"How often each metric preferred the better output of {assay_report.kind_of_pairs}"
                " (95 % interval)"
            ),
        )
    ]
    comparison = result.human_comparison
    if comparison is not None:
        tables.append(
            Table(
                select_columns(
                    _list_accuracy_rows(assay_report, comparison.metrics),
                    (*_ACCURACY_COLUMNS, "spa", "spa_low", "spa_high"),
                ),
                title="The same for human pairs, and SPA over systems (95 % interval)",
                most_important=("metric", "accuracy", "low", "high", "spa", "spa_low", "spa_high"),
            )
        )
    for column in assay_report.context_columns:
        test_table = build_table_of_accuracy_tests(assay_report, column)
        if test_table is not None:
            tables.append(
                Table(
                    select_columns(test_table.rows, _TEST_COLUMNS),
                    title=f"H1: accuracy differs between contexts of {column.name} (small p: it does)",
                    most_important=("metric", "p_deciding", "p_permutation", "cramers_v", "chi2", "dof", "p"),
                )
            )
    gaps = describe_left_out_data(result.data)  # printed already
    return [
        *tables,
        *convert_sentences_to_notes(note for note in describe_data_used(result.data) if note not in gaps),
    ]


def _list_accuracy_rows(
    assay_report: AssayReport, accuracies: Sequence[GlobalAccuracy | HumanAccuracy]
) -> list[Row]:
    """Build a table row with the accuracy of each metric. Of metrics that make the same decision on every
    pair of outputs, only the first has a row.
    """
    rows: list[Row] = []
    for row in accuracies:
        if assay_report.labels.has_own_table_row(row.metric):
            rows.append(msgspec.structs.asdict(row) | {"metric": assay_report.labels[row.metric]})
    return rows
