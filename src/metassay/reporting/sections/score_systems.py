"""Section of the `score` page: the scores of every system."""

from __future__ import annotations

from typing import ClassVar

from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection, ResultReport
from metassay.reporting.tables import build_grid_from_rows
from metassay.results.score import ScoreContent

COLUMNS = ("group", "system", "metric", "corpus", "segment", "bootstrap", "low", "high")
MOST_ROWS = 2000


class ScoreSystemsSection(ReportSection[ResultReport[ScoreContent]]):
    """Report section with the score of every system by every metric, and the signatures of the metrics."""

    verb: ClassVar[str] = "score"
    position: ClassVar[int] = 10

    def build_section(self, score_report: ResultReport[ScoreContent]) -> Section:
        """Build the section with system scores and metric signatures."""
        rows = []
        signatures = {}
        for system in score_report.result.systems:
            label = score_report.labels[system.metric]
            row = {name: getattr(system, name) for name in COLUMNS} | {"metric": label}
            rows.append(row)
            signatures[label] = {"metric": label, "signature": system.signature}
        scores = build_grid_from_rows("systems", "Scores of every system", rows, COLUMNS, at_most=MOST_ROWS)
        return Section(
            "System scores",
            grids=[scores],
            folded=[build_grid_from_rows("signatures", "Signatures", list(signatures.values()))],
        )
