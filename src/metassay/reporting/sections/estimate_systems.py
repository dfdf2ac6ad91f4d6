"""Sections of the `estimate` page: systems, differences between them, and contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from metassay.reporting.charts.estimates import LABELS_ONLY, build_estimates_chart
from metassay.reporting.estimate_page import EstimateReport
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.tables import Field, Grid, build_grid
from metassay.results.estimate import SystemDifference, SystemEstimate

SYSTEM_FIELDS = (
    Field("system", "system", "name"),
    Field("ranks", "possible ranks", "text", "from simultaneous 95 % intervals of all differences"),
    Field("estimate", "estimate", "score"),
    Field("low", "95 % interval: low", "score"),
    Field("high", "high", "score"),
    Field("labels_only", LABELS_ONLY, "score", "the mean of the labels, without a metric"),
    Field("labels_only_low", "low", "score"),
    Field("labels_only_high", "high", "score"),
    Field("labels_saved", "labels saved", "percent", "by the metric, for this mean; cross-fitted"),
    Field("labelled", "labelled items", "count"),
    Field("items", "items", "count"),
)
DIFFERENCE_FIELDS = (
    Field("a", "system a", "name"),
    Field("b", "system b", "name"),
    Field("difference", "a − b", "score"),
    Field("low", "simultaneous 95 % interval: low", "score"),
    Field("high", "high", "score"),
)


class EstimateSystemsSection(ReportSection[EstimateReport]):
    """Report section with the estimated human score of every system, its interval and possible ranks."""

    verb: ClassVar[str] = "estimate"
    position: ClassVar[int] = 10

    def build_section(self, estimate_report: EstimateReport) -> Section:
        """Build the section with a chart and a table of the estimated human score of every system."""
        result = estimate_report.result
        method = (
            LABELS_ONLY if result.metric is None else f"labels and {estimate_report.labels[result.metric]}"
        )
        spec = build_estimates_chart(result.systems, result.human, method)
        chart = Chart("estimates", spec, f"Mean {result.human} of each system with its 95 % interval.")
        table = build_systems_table("systems", f"Mean {result.human} of each system", result.systems)
        return Section("Systems", charts=[chart], grids=[table])


class EstimateDifferencesSection(ReportSection[EstimateReport]):
    """Report section with the estimated differences between all pairs of systems."""

    verb: ClassVar[str] = "estimate"
    position: ClassVar[int] = 20

    def build_section(self, estimate_report: EstimateReport) -> Section | None:
        """Build the section with a table of differences between systems."""
        if not estimate_report.result.differences:
            return None
        table = build_differences_table(
            "differences", "Differences of systems", estimate_report.result.differences
        )
        sentence = (
            "With probability 95 % all of these intervals are right at once. A difference is shown where its"
            " interval does not contain 0."
        )
        return Section("Differences between systems", sentences=[sentence], grids=[table])


class EstimateContextsSection(ReportSection[EstimateReport]):
    """Report section with the estimated human scores of systems within each context."""

    verb: ClassVar[str] = "estimate"
    position: ClassVar[int] = 30

    def build_section(self, estimate_report: EstimateReport) -> Section | None:
        """Build the section with tables of systems and of differences for each context."""
        grids: list[Grid] = []
        folded: list[Grid] = []
        for column, estimates in estimate_report.result.contexts.items():
            for entry in estimates:
                name = f"{column} {entry.context}"
                caption = f"{column} {entry.context}: {entry.labelled} of {entry.items} items are labelled"
                grids.append(build_systems_table(name, caption, entry.systems))
                difference_caption = f"{column} {entry.context}: differences of systems"
                folded.append(
                    build_differences_table(f"{name} differences", difference_caption, entry.differences)
                )
        if not grids:
            return None
        return Section("Contexts", grids=grids, folded=folded)


def build_systems_table(name: str, caption: str, systems: Sequence[SystemEstimate]) -> Grid:
    """Build the table of estimated human scores, best system first."""
    return build_grid(name, caption, SYSTEM_FIELDS, [build_system_row(entry) for entry in systems])


def build_system_row(system_estimate: SystemEstimate) -> dict[str, Any]:
    """Build the table row of one system: its estimate, interval and possible ranks."""
    return {
        "system": system_estimate.system,
        "ranks": format_possible_ranks(system_estimate),
        "estimate": system_estimate.estimate.value,
        "low": system_estimate.estimate.low,
        "high": system_estimate.estimate.high,
        "labels_only": system_estimate.labels_only.value,
        "labels_only_low": system_estimate.labels_only.low,
        "labels_only_high": system_estimate.labels_only.high,
        "labels_saved": system_estimate.labels_saved,
        "labelled": system_estimate.labelled,
        "items": system_estimate.items,
    }


def format_possible_ranks(system_estimate: SystemEstimate) -> str:
    """Write the ranks that a system may have: `2` or `1–3`."""
    if system_estimate.rank_low == system_estimate.rank_high:
        return str(system_estimate.rank_low)
    return f"{system_estimate.rank_low}–{system_estimate.rank_high}"


def build_differences_table(name: str, caption: str, differences: Sequence[SystemDifference]) -> Grid:
    """Build the table of estimated differences between all pairs of systems."""
    columns = [field.key for field in DIFFERENCE_FIELDS]
    rows = [{column: getattr(entry, column) for column in columns} for entry in differences]
    return build_grid(name, caption, DIFFERENCE_FIELDS, rows)
