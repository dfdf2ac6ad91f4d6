"""Section of the `depend` page: charts and inverted pairs of one metric at a time."""

from __future__ import annotations

from typing import ClassVar

from metassay.reporting.charts.dependence import (
    build_curves_chart,
    build_deviations_chart,
    build_rank_change_chart,
)
from metassay.reporting.charts.theme import Spec
from metassay.reporting.depend_report import DependReport
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.tables import Grid, build_grid_from_rows
from metassay.results.depend import MetricDependence

CAPTIONS = {
    "curves": "Expected human score given the metric score: all systems together (dashed), each system"
    " (grey), and in colour those with the highest and the lowest expected deviation, with 95 % bands.",
    "deviations": "Expected deviation of each system, best system first, with 95 % intervals. Grey:"
    " shrinkage, which any noisy metric shows. Colour: the residual beyond it.",
    "ranks": "Order of the systems by human score, by human score predicted from the metric, and by the"
    " metric itself.",
}


class DependSingleMetricsSection(ReportSection[DependReport]):
    """Report section with curves, deviations and rankings of the metric that the reader selects."""

    verb: ClassVar[str] = "depend"
    position: ClassVar[int] = 30

    def build_section(self, depend_report: DependReport) -> Section | None:
        """Build the section with charts of the metric that the reader selects; None without fitted curves."""
        choices = [
            _build_metric_subsection(depend_report, entry)
            for entry in depend_report.result.metrics
            if depend_report.get_fitted_curves(entry)
        ]
        if not choices:
            return None
        return Section("One metric at a time", choices=choices)


def build_dependence_charts_of_metric(
    depend_report: DependReport, dependence: MetricDependence
) -> dict[str, Spec]:
    """Build the charts of one metric: curves, deviations and rankings; empty if the run has no curves."""
    curves = depend_report.get_fitted_curves(dependence)
    if curves is None:
        return {}
    label = depend_report.labels[dependence.metric]
    return {
        "curves": build_curves_chart(dependence, label, curves),
        "deviations": build_deviations_chart(dependence, label),
        "ranks": build_rank_change_chart(dependence, label),
    }


def _build_metric_subsection(depend_report: DependReport, dependence: MetricDependence) -> Section:
    suffix = depend_report.get_dataset_caption_suffix(dependence.dataset)
    title = f"{depend_report.labels[dependence.metric]}{suffix}"
    charts = [
        Chart(f"{title} {kind}", spec, CAPTIONS[kind])
        for kind, spec in build_dependence_charts_of_metric(depend_report, dependence).items()
    ]
    return Section(title, charts=charts, grids=_build_inversions_table(title, dependence))


def _build_inversions_table(title: str, dependence: MetricDependence) -> list[Grid]:
    if not dependence.inversions:
        return []
    rows = []
    for pair in dependence.inversions:
        row = {
            "better": pair.better,
            "worse": pair.worse,
            "human difference": pair.human_gap,
            "metric difference": pair.metric_gap,
            "explained by": "expected deviations" if pair.explained else "averaging on the metric's scale",
        }
        rows.append(row)
    return [
        build_grid_from_rows(
            f"inversions {title}", "Pairs of systems that humans and metric order differently", rows
        )
    ]
