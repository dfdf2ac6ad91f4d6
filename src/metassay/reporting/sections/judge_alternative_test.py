"""Section of the `judge` page: the alternative annotator test."""

from __future__ import annotations

from typing import ClassVar

from metassay.reporting.judge_page import JudgeReport, build_text_table
from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.wording import NO_VALUE, format_p_value, format_percent
from metassay.results.judge import AlternativeTestEntry

EXPLANATION = (
    "Alternative annotator test (Calderon et al., 2025): each rater is left out in turn, and judge and rater"
    " are compared by how close they are to the other raters."
)
HEADINGS = ("judge", "winning rate", "advantage probability", "ε", "passes", "adjusted p per rater")


class JudgeAlternativeTestSection(ReportSection[JudgeReport]):
    """Report section on whether each judge can replace a human rater (alternative annotator test)."""

    verb: ClassVar[str] = "judge"
    position: ClassVar[int] = 30

    def build_section(self, judge_report: JudgeReport) -> Section | None:
        """Build the section with the alternative annotator test; None without at least two raters."""
        if not judge_report.result.alt_test:
            return None
        rows = [_build_alternative_test_row(entry) for entry in judge_report.result.alt_test]
        table = build_text_table("alternative annotator", "Alternative annotator test", HEADINGS, rows)
        return Section("Can the judge replace a rater?", [EXPLANATION], grids=[table])


def _build_alternative_test_row(alternative_test: AlternativeTestEntry) -> list[str]:
    passes = NO_VALUE
    if alternative_test.passes is not None:
        passes = "yes" if alternative_test.passes else "no"
    p_values = [
        f"{rater}: p {format_p_value(p)}" for rater, p in alternative_test.p_fdr.items() if p is not None
    ]
    return [
        alternative_test.judge,
        format_percent(alternative_test.winning_rate),
        format_percent(alternative_test.advantage),
        f"{alternative_test.epsilon:g}",
        passes,
        "; ".join(p_values) or NO_VALUE,
    ]
