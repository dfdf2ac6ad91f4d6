"""Section of the `score` page: how often people agree with the differences between systems."""

from __future__ import annotations

from typing import ClassVar

from metassay.reporting.difference_meanings import (
    TITLE,
    build_difference_agreement_rows,
    explain_origin_of_agreement,
)
from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection, ResultReport
from metassay.reporting.tables import build_grid_from_rows
from metassay.results.score import ScoreContent

MOST_ROWS = 2000


class ScoreMeaningsSection(ReportSection[ResultReport[ScoreContent]]):
    """Report section on how often people agree with score differences between systems."""

    verb: ClassVar[str] = "score"
    position: ClassVar[int] = 15

    def build_section(self, score_report: ResultReport[ScoreContent]) -> Section | None:
        """Build the section on how often people agree with score differences; None without a `rank` run."""
        meanings = score_report.result.meanings
        if not meanings:
            return None
        rows = build_difference_agreement_rows(meanings, score_report.labels)
        table = build_grid_from_rows("meanings", TITLE, rows, at_most=MOST_ROWS)
        return Section(TITLE, [explain_origin_of_agreement(meanings)], grids=[table])
