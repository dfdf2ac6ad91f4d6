"""Section of the `judge` page: accuracy of the judges in each context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from metassay.reporting.judge_page import JudgeReport, build_text_table, format_share_with_interval
from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.tables import Grid
from metassay.reporting.wording import NO_VALUE
from metassay.results.judge import ContextAccuracy


class JudgeContextsSection(ReportSection[JudgeReport]):
    """Report section with the accuracy of every judge by context, one table per context column."""

    verb: ClassVar[str] = "judge"
    position: ClassVar[int] = 20

    def build_section(self, judge_report: JudgeReport) -> Section | None:
        """Build the section with tables of accuracy by judge and context; None if there are no contexts."""
        tables = [
            _build_context_accuracy_table(column, rows)
            for column, rows in judge_report.result.contexts.items()
            if rows
        ]
        if not tables:
            return None
        return Section("Accuracy within contexts", grids=tables[:1], folded=tables[1:])


def _build_context_accuracy_table(context_column: str, context_accuracies: Sequence[ContextAccuracy]) -> Grid:
    """Build a table of the accuracy of judges, with a row per judge and a column per context."""
    contexts = sorted({entry.context for entry in context_accuracies})
    accuracies = {
        (entry.judge, entry.context): format_share_with_interval(entry.accuracy, entry.low, entry.high)
        for entry in context_accuracies
    }
    judges = sorted({entry.judge for entry in context_accuracies})
    rows = []
    for judge in judges:
        judge_accuracies = [accuracies.get((judge, context), NO_VALUE) for context in contexts]
        rows.append([judge, *judge_accuracies])
    return build_text_table(
        f"by {context_column}", f"Accuracy by {context_column}", ["judge", *contexts], rows
    )
