"""Section of the `aggregate` page: system scores under each aggregation, and how these agree."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from metassay.reporting.aggregate_page import choose_human_correlations, label_aggregated_metric
from metassay.reporting.charts.heatmaps import build_matrix_chart
from metassay.reporting.charts.theme import Spec
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ReportSection, ResultReport
from metassay.reporting.tables import Grid, build_grid_from_rows
from metassay.results.aggregate import AggregateContent, AggregatedSystem

EXPLANATION = (
    "Each system has three scores: the corpus score, computed from the counts of all segments together; the"
    " mean of the segment scores (segment, m-); and the mean of corpus scores over resamples (bootstrap, x-)."
)
SCORES_CAPTION = "Scores of every system, with standard errors from resampled segments"
BETWEEN_CAPTION = (
    "How well two ways to compute system scores agree: Pearson correlation over all systems, where 1 is full"
    " agreement."
)

AggregateReport = ResultReport[AggregateContent]


class AggregateScoresSection(ReportSection[AggregateReport]):
    """Report section with the scores of every system under each aggregation, and their correlations."""

    verb: ClassVar[str] = "aggregate"
    position: ClassVar[int] = 10

    def build_section(self, aggregate_report: AggregateReport) -> Section:
        """Build the section with system scores under each aggregation and the correlations between them."""
        system_rows = [_build_system_row(aggregate_report, row) for row in aggregate_report.result.systems]
        return Section(
            "Three aggregations of every system",
            [EXPLANATION],
            charts=_build_aggregation_correlation_chart(aggregate_report),
            grids=[
                *_build_human_table(aggregate_report),
                build_grid_from_rows("systems", SCORES_CAPTION, system_rows),
            ],
            folded=_build_correlation_tables(aggregate_report),
        )


def _build_system_row(aggregate_report: AggregateReport, system: AggregatedSystem) -> dict[str, Any]:
    row = msgspec.structs.asdict(system)
    row["metric"] = aggregate_report.labels[system.metric]
    standard_errors = msgspec.structs.asdict(row.pop("standard_errors"))
    return row | {f"standard error: {name}": error for name, error in standard_errors.items()}


def _build_aggregation_correlation_chart(aggregate_report: AggregateReport) -> list[Chart]:
    """Draw the correlations between metrics under each aggregation, if there are at least three."""
    names: dict[str, None] = {}
    cells: list[Spec] = []
    for pair in aggregate_report.result.between:
        if pair.pearson is None:
            continue
        x = label_aggregated_metric(pair.x, aggregate_report.labels)
        y = label_aggregated_metric(pair.y, aggregate_report.labels)
        names |= {x: None, y: None}
        value = round(pair.pearson, 4)
        cells += [{"row": x, "column": y, "value": value}, {"row": y, "column": x, "value": value}]
    if len(names) < 3:
        return []
    diagonal = [{"row": name, "column": name, "value": 1.0} for name in names]
    spec = build_matrix_chart("Correlation between aggregations.", list(names), [*diagonal, *cells], ())
    return [Chart("between aggregations", spec, BETWEEN_CAPTION)]


def _build_correlation_tables(aggregate_report: AggregateReport) -> list[Grid]:
    labels = aggregate_report.labels
    between = [
        {
            **msgspec.structs.asdict(pair),
            "x": label_aggregated_metric(pair.x, labels),
            "y": label_aggregated_metric(pair.y, labels),
        }
        for pair in aggregate_report.result.between
    ]
    downsampled = [
        {**msgspec.structs.asdict(row), "metric": labels[row.metric]}
        for row in aggregate_report.result.downsampled
    ]
    tables = {
        "Pearson between aggregations, over all systems": between,
        "Pearson when only some segments are used": downsampled,
    }
    return [build_grid_from_rows(caption, caption, rows) for caption, rows in tables.items() if rows]


def _build_human_table(aggregate_report: AggregateReport) -> list[Grid]:
    caption = "Pearson correlation of system scores with human scores"
    rows = [
        {**msgspec.structs.asdict(row), "metric": aggregate_report.labels[row.metric]}
        for row in choose_human_correlations(aggregate_report.result)
    ]
    return [build_grid_from_rows(caption, caption, rows)] if rows else []
