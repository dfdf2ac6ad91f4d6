"""Sections of the `estimate` page: systems, differences between them, and contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from metassay.reporting.charts.estimates import LABELS_ONLY, build_estimates_chart
from metassay.reporting.estimate_page import EstimateView
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


class EstimateSystemsSection(ReportSection[EstimateView]):
    """Every system with its estimate, its interval and the ranks it can have."""

    verb: ClassVar[str] = "estimate"
    position: ClassVar[int] = 10

    def build_section(self, estimate_view: EstimateView) -> Section:
        """Build the chart and the table of systems."""
        result = estimate_view.result
        method = LABELS_ONLY if result.metric is None else f"labels and {estimate_view.labels[result.metric]}"
        spec = build_estimates_chart(result.systems, result.human, method)
        chart = Chart("estimates", spec, f"Mean {result.human} of each system with its 95 % interval.")
        table = build_systems_table("systems", f"Mean {result.human} of each system", result.systems)
        return Section("Systems", charts=[chart], grids=[table])


class EstimateDifferencesSection(ReportSection[EstimateView]):
    """All differences between systems."""

    verb: ClassVar[str] = "estimate"
    position: ClassVar[int] = 20

    def build_section(self, estimate_view: EstimateView) -> Section | None:
        """Build the table of differences."""
        if not estimate_view.result.differences:
            return None
        table = build_differences_table(
            "differences", "Differences of systems", estimate_view.result.differences
        )
        sentence = (
            "With probability 95 % all of these intervals are right at once. A difference is shown where its"
            " interval does not contain 0."
        )
        return Section("Differences between systems", sentences=[sentence], grids=[table])


class EstimateContextsSection(ReportSection[EstimateView]):
    """The estimates within each context."""

    verb: ClassVar[str] = "estimate"
    position: ClassVar[int] = 30

    def build_section(self, estimate_view: EstimateView) -> Section | None:
        """Build two tables per context."""
        grids: list[Grid] = []
        folded: list[Grid] = []
        for column, estimates in estimate_view.result.contexts.items():
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
    """Build the table of systems, best first."""
    return build_grid(name, caption, SYSTEM_FIELDS, [build_system_row(entry) for entry in systems])


def build_system_row(entry: SystemEstimate) -> dict[str, Any]:
    """Build the table row of one system: its estimate, interval and possible ranks."""
    return {
        "system": entry.system,
        "ranks": format_ranks(entry),
        "estimate": entry.estimate.value,
        "low": entry.estimate.low,
        "high": entry.estimate.high,
        "labels_only": entry.labels_only.value,
        "labels_only_low": entry.labels_only.low,
        "labels_only_high": entry.labels_only.high,
        "labels_saved": entry.labels_saved,
        "labelled": entry.labelled,
        "items": entry.items,
    }


def format_ranks(entry: SystemEstimate) -> str:
    """Write the ranks that a system may have: `2` or `1–3`."""
    if entry.rank_low == entry.rank_high:
        return str(entry.rank_low)
    return f"{entry.rank_low}–{entry.rank_high}"


def build_differences_table(name: str, caption: str, differences: Sequence[SystemDifference]) -> Grid:
    """Build the table of all pairs of systems."""
    columns = [field.key for field in DIFFERENCE_FIELDS]
    rows = [{column: getattr(entry, column) for column in columns} for entry in differences]
    return build_grid(name, caption, DIFFERENCE_FIELDS, rows)
