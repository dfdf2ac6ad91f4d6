"""Section of the `rank` page: averages over data sets, and further analyses."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from metassay.meta.people.meta_metrics.registry import label_meta_metric
from metassay.reporting.pages import Section
from metassay.reporting.rank_report import THRESHOLDS, RankReport, list_rows_by_analysis
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.tables import Grid, build_grid_from_rows
from metassay.results.rank import AverageRanking


class RankAveragesSection(ReportSection[RankReport]):
    """Report section with rankings of metrics averaged over data sets, and further analyses."""

    verb: ClassVar[str] = "rank"
    position: ClassVar[int] = 50

    def build_section(self, rank_report: RankReport) -> Section | None:
        """Build the section with averages over data sets and further analyses; None if there are none."""
        tables = [_build_average_table(average, rank_report) for average in rank_report.result.averages]
        for name, rows in list_rows_by_analysis(rank_report.result.analyses, rank_report.labels).items():
            if rows and name != THRESHOLDS:  # these have a section of their own
                tables.append(build_grid_from_rows(name, name, rows))
        if not tables:
            return None
        return Section("Averages and analyses", grids=tables[:1], folded=tables[1:])


def _build_average_table(average: AverageRanking, rank_report: RankReport) -> Grid:
    title = f"Average of {label_meta_metric(average.meta_metric)}"
    rows = [
        msgspec.to_builtins(metric) | {"metric": rank_report.labels[metric.metric]}
        for metric in average.metrics
    ]
    return build_grid_from_rows(title, f"{title} over {', '.join(average.datasets)}", rows)
