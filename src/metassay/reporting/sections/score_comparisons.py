"""Section of the `score` page: the differences between all systems, one metric at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from metassay.reporting.charts.heatmaps import build_signed_heatmap
from metassay.reporting.charts.theme import Spec
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ReportSection, ResultReport
from metassay.reporting.score_page import group_comparisons_by_metric, is_difference_significant
from metassay.reporting.tables import build_grid_from_rows
from metassay.results.score import ScoreContent, SystemComparison

EXPLANATION = (
    "A difference is the score of one system minus that of the other; whether higher or lower is better"
    " depends on the metric."
)
CAPTION = (
    "Which systems differ: score of the system in the row minus that of the system in the column; * where"
    " p ≤ .05 after Holm's correction."
)
COLUMNS = ("a", "b", "difference", "p", "p_holm", "segments")
MOST_ROWS = 2000


class ScoreComparisonsSection(ReportSection[ResultReport[ScoreContent]]):
    """Report section with the score differences between all pairs of systems, and their tests."""

    verb: ClassVar[str] = "score"
    position: ClassVar[int] = 20

    def build_section(self, score_report: ResultReport[ScoreContent]) -> Section | None:
        """Build the section with tests between systems for every metric; None if no test was requested."""
        choices = []
        for (metric, group), comparisons in group_comparisons_by_metric(score_report.result).items():
            label = score_report.labels[metric]
            title = f"{label}, {group}" if group else label
            choices.append(_build_comparison_subsection(title, comparisons))
        if not choices:
            return None
        return Section("Differences between systems", [EXPLANATION], choices=choices)


def _build_comparison_subsection(title: str, comparisons: Sequence[SystemComparison]) -> Section:
    systems: dict[str, None] = {}
    cells: list[Spec] = []
    for comparison in comparisons:
        systems |= {comparison.a: None, comparison.b: None}
        if comparison.difference is not None:
            mark = "*" if is_difference_significant(comparison) else ""
            value = round(comparison.difference, 4)
            cells.append({"row": comparison.a, "column": comparison.b, "value": value, "mark": mark})
            cells.append({"row": comparison.b, "column": comparison.a, "value": -value, "mark": mark})
    description = f"Differences between {len(systems)} systems by {title}."
    names = list(systems)
    spec = build_signed_heatmap(description, cells, names, names, ("system", "minus", "difference"))
    rows = [msgspec.structs.asdict(comparison) for comparison in comparisons]
    table = build_grid_from_rows(
        f"differences {title}", f"Differences by {title}", rows, COLUMNS, at_most=MOST_ROWS
    )
    return Section(title, charts=[Chart(f"differences {title}", spec, CAPTION)], grids=[table])
