"""What `metassay estimate` prints: the human score of every system."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.estimate_page import (
    choose_estimate_digits,
    describe_estimates,
    list_reasons_to_doubt_estimates,
)
from metassay.reporting.sections.estimate import build_system_row
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Line,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    summarize_data_in_note,
)
from metassay.reporting.wording import format_percent
from metassay.results.estimate import EstimateContent, SystemDifference, SystemEstimate

MOST_PAIRS = 15
MOST_IMPORTANT = ("system", "ranks", "estimate", "low", "high", "labels_only")


def describe_estimate_result(estimate_result: EstimateContent) -> list[Block]:
    """Describe the estimates: the answer, reasons to doubt it, then systems, differences and contexts."""
    blocks: list[Block] = [
        *convert_sentences_to_lines(describe_estimates(estimate_result)),
        *convert_sentences_to_lines(list_reasons_to_doubt_estimates(estimate_result)),
    ]
    blocks += _build_estimate_tables(
        estimate_result.systems, estimate_result.differences, f"Mean {estimate_result.human} of each system"
    )
    for column, estimates in estimate_result.contexts.items():
        for entry in estimates:
            title = f"{column} {entry.context}, {entry.labelled} of {entry.items} items labelled"
            blocks.append(Details(_build_estimate_tables(entry.systems, [], title)))
    return [
        *blocks,
        *summarize_data_in_note(estimate_result.data),
        *convert_sentences_to_notes(estimate_result.notes),
    ]


def _build_estimate_tables(
    systems: Sequence[SystemEstimate], differences: Sequence[SystemDifference], title: str
) -> list[Line | Table]:
    """Return the table of systems, and one of those differences whose interval does not contain 0."""
    digits = choose_estimate_digits(system.estimate for system in systems)
    system_rows = []
    for system in systems:
        labels_saved = format_percent(system.labels_saved)
        system_rows.append(build_system_row(system) | {"labels_saved": labels_saved})
    tables: list[Line | Table] = [
        Table(system_rows, title=title, most_important=MOST_IMPORTANT, digits=digits)
    ]
    rows = []
    for pair in differences:
        if pair.low is not None and pair.high is not None and not pair.low <= 0 <= pair.high:
            better, worse = (pair.a, pair.b) if pair.low > 0 else (pair.b, pair.a)
            low, high = sorted((abs(pair.low), abs(pair.high)))
            rows.append({"better": better, "worse": worse, "low": low, "high": high})
    if rows:
        title = f"Pairs of systems that differ, with simultaneous 95 % intervals: {len(rows)} of"
        tables.append(Table(rows[:MOST_PAIRS], title=f"{title} {len(differences)}", digits=digits))
    if len(rows) > MOST_PAIRS:
        tables.append(Line(f"{len(rows) - MOST_PAIRS} more pairs differ; --json and --out list them all."))
    return tables
