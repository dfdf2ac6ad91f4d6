"""Section of the `depend` page: all metrics in one chart and one table per data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from metassay.reporting.charts.heatmaps import build_signed_heatmap
from metassay.reporting.charts.theme import Spec
from metassay.reporting.depend_report import DependReport
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.tables import Field, Grid, build_grid, build_grid_from_rows
from metassay.reporting.wording import format_plural
from metassay.results.depend import MetricDependence

FIELDS = (
    Field("metric", "metric", "name"),
    Field("sysdep", "SysDep", "number"),
    Field("low", "95 % interval: low", "number"),
    Field("high", "high", "number"),
    Field("constant", "constant", "number", "SysDep of a metric that gives every output the same score"),
    Field("ratio", "ratio", "percent", "SysDep divided by that of a constant metric"),
    Field("residual_range", "residual", "number", "the part beyond shrinkage"),
    Field("p_equal", "p equal", "probability"),
    Field("p_fair", "p fair", "probability"),
    Field("favoured", "most favoured", "text", "beyond shrinkage"),
    Field("disadvantaged", "most disadvantaged", "text", "beyond shrinkage"),
    Field("inverted", "inverted pairs", "count", "pairs that the metric orders differently"),
    Field("explained", "explained", "count", "inverted pairs that the expected deviations explain"),
)


class DependOverviewSection(ReportSection[DependReport]):
    """Report section with the system dependence (SysDep) of every metric and the systems it favours most."""

    verb: ClassVar[str] = "depend"
    position: ClassVar[int] = 10

    def build_section(self, depend_report: DependReport) -> Section:
        """Build the section with the system dependence of every metric, for each data set."""
        charts: list[Chart] = []
        grids: list[Grid] = []
        folded: list[Grid] = []
        for dataset in depend_report.datasets:
            entries = depend_report.get_metrics_of_dataset(dataset)
            charts += _build_residuals_chart(depend_report, dataset, entries)
            grids.append(_build_metrics_table(depend_report, dataset, entries))
            folded += _build_detail_tables(depend_report, dataset, entries)
        title = f"Metrics and the {depend_report.result.by}s they favour"
        return Section(title, charts=charts, grids=grids, folded=folded)


def _build_residuals_chart(
    depend_report: DependReport, dataset: str, dependences: Sequence[MetricDependence]
) -> list[Chart]:
    """Draw how much each metric favours each system, beyond shrinkage, as a heatmap."""
    groups = _list_systems_by_human_mean(dependences)
    if len(dependences) < 2 or len(groups) < 2:
        return []
    labels = [depend_report.labels[entry.metric] for entry in dependences]
    cells: list[Spec] = []
    for entry, label in zip(dependences, labels):
        for group in groups:
            if group in entry.residual:
                value = round(entry.residual[group], 4)
                cells.append({"row": label, "column": group, "value": value, "mark": ""})
    by = depend_report.result.by
    spec = build_signed_heatmap(
        f"How much each of {format_plural(len(dependences), 'metric')} favours or disadvantages each {by}.",
        cells,
        labels,
        groups,
        ("metric", by, "residual"),
    )
    caption = (
        f"Which {by}s each metric favours (blue) and disadvantages (red), beyond shrinkage, in points of"
        f" {depend_report.result.human}{depend_report.get_dataset_caption_suffix(dataset)}. Metrics with the"
        " lowest"
        " SysDep come first."
    )
    return [Chart(f"residuals {dataset}", spec, caption)]


def _list_systems_by_human_mean(dependences: Sequence[MetricDependence]) -> list[str]:
    """List the systems by descending mean human score."""
    groups = {group for entry in dependences for group in entry.residual}
    human_means = dependences[0].human_means
    return sorted(groups, key=lambda group: (-human_means.get(group, 0), group))


def _build_metrics_table(
    depend_report: DependReport, dataset: str, dependences: Sequence[MetricDependence]
) -> Grid:
    rows = []
    for entry in dependences:
        row = {
            "metric": depend_report.labels[entry.metric],
            "sysdep": entry.sysdep,
            "low": entry.low,
            "high": entry.high,
            "constant": entry.constant,
            "ratio": entry.ratio,
            "residual_range": entry.residual_range,
            "p_equal": entry.p_equal,
            "p_fair": entry.p_fair,
            "favoured": entry.most_favoured,
            "disadvantaged": entry.most_disadvantaged,
            "inverted": len(entry.inversions),
            "explained": sum(pair.explained for pair in entry.inversions),
        }
        rows.append(row)
    return build_grid(f"dependence {dataset}", f"System dependence of every metric, {dataset}", FIELDS, rows)


def _build_detail_tables(
    depend_report: DependReport, dataset: str, dependences: Sequence[MetricDependence]
) -> list[Grid]:
    local_rows: list[dict[str, Any]] = []
    sensitivity_rows: list[dict[str, Any]] = []
    for entry in dependences:
        label = depend_report.labels[entry.metric]
        local_rows += [{"metric": label, **msgspec.structs.asdict(row)} for row in entry.local]
        sensitivity_rows += [{"metric": label, **msgspec.structs.asdict(row)} for row in entry.sensitivity]
    suffix = depend_report.get_dataset_caption_suffix(dataset)
    tables = []
    if local_rows:
        caption = f"Within contexts{suffix}"
        tables.append(build_grid_from_rows(caption, caption, local_rows))
    if sensitivity_rows:
        caption = f"SysDep with other resamples, sample sizes and systems{suffix}"
        tables.append(build_grid_from_rows(caption, caption, sensitivity_rows))
    return tables
