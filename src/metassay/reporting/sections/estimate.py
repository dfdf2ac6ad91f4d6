"""Sections of the `estimate` page: systems, their differences, contexts, and metrics with the method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metassay.reporting.charts.estimates import LABELS_ONLY, build_estimates_chart
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ResultReport
from metassay.reporting.tables import Field, Grid, build_grid
from metassay.reporting.wording import format_plural
from metassay.results.estimate import EstimateContent, SystemDifference, SystemEstimate

EstimateReport = ResultReport[EstimateContent]

SYSTEM_FIELDS = (
    Field("system", "system", "name"),
    Field("ranks", "possible ranks", "text", "from simultaneous 95 % intervals of all differences"),
    Field("estimate", "estimate", "score"),
    Field("low", "95 % interval: low", "score"),
    Field("high", "high", "score"),
    Field("labels_only", LABELS_ONLY, "score", "the mean of the labels, without a metric"),
    Field("labels_only_low", "95 % interval: low", "score"),
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


def build_systems_section(estimate_report: EstimateReport) -> Section:
    """Build the section with a chart and a table of the estimated human score of every system."""
    result = estimate_report.result
    method = LABELS_ONLY if result.metric is None else f"labels and {estimate_report.labels[result.metric]}"
    spec = build_estimates_chart(result.systems, result.human, method)
    chart = Chart("estimates", spec, f"Mean {result.human} of each system with its 95 % interval.")
    table = build_systems_table("systems", f"Mean {result.human} of each system", result.systems)
    return Section("Systems", charts=[chart], grids=[table])


def build_differences_section(estimate_report: EstimateReport) -> Section | None:
    """Build the section with a table of estimated differences between all pairs of systems. None if there are
    none.
    """
    if not estimate_report.result.differences:
        return None
    table = build_system_differences_table(
        "differences", "Differences of systems", estimate_report.result.differences
    )
    sentence = (
        "With probability 95 % all of these intervals are right at once. A difference is shown where its"
        " interval does not contain 0."
    )
    return Section("Differences between systems", sentences=[sentence], grids=[table])


def build_contexts_section(estimate_report: EstimateReport) -> Section | None:
    """Build the section with tables of systems and of differences for each context, such as a domain. None if
    there are no contexts.
    """
    grids: list[Grid] = []
    folded: list[Grid] = []
    for column, estimates in estimate_report.result.contexts.items():
        for entry in estimates:
            name = f"{column} {entry.context}"
            verb = "is" if entry.labelled == 1 or entry.items == 1 else "are"
            labelled = f"{entry.labelled} of {format_plural(entry.items, 'item')} {verb} labelled"
            caption = f"{column} {entry.context}: {labelled}"
            grids.append(build_systems_table(name, caption, entry.systems))
            difference_caption = f"{column} {entry.context}: differences of systems"
            folded.append(
                build_system_differences_table(f"{name} differences", difference_caption, entry.differences)
            )
    if not grids:
        return None
    return Section("Contexts", grids=grids, folded=folded)


def build_systems_table(name: str, caption: str, systems: Sequence[SystemEstimate]) -> Grid:
    """Build the table with the estimated human score of each system, best system first."""
    return build_grid(name, caption, SYSTEM_FIELDS, [build_system_row(entry) for entry in systems])


def build_system_row(system_estimate: SystemEstimate) -> dict[str, Any]:
    """Build the table row of one system: its estimated human score, the interval and the ranks that it may
    have.
    """
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
    """Write the ranks that a system may have, as `2` or `1–3`."""
    if system_estimate.rank_low == system_estimate.rank_high:
        return str(system_estimate.rank_low)
    return f"{system_estimate.rank_low}–{system_estimate.rank_high}"


def build_system_differences_table(name: str, caption: str, differences: Sequence[SystemDifference]) -> Grid:
    """Build the table of estimated differences between all pairs of systems."""
    columns = [field.key for field in DIFFERENCE_FIELDS]
    rows = [{column: getattr(entry, column) for column in columns} for entry in differences]
    return build_grid(name, caption, DIFFERENCE_FIELDS, rows)


METRIC_FIELDS = (
    Field("metric", "metric", "name"),
    Field("saved", "labels saved for a mean", "percent", "cross-fitted; 0 for a useless metric"),
    Field("low", "95 % interval: low", "percent"),
    Field("high", "high", "percent"),
    Field("saved_difference", "for a difference", "percent"),
    Field("difference_low", "95 % interval: low", "percent"),
    Field("difference_high", "high", "percent"),
    Field("copies", "copies the labels", "text"),
)
FORMULA = (
    "The estimate of a system is the mean of its labels, corrected by how far the metric scores of the"
    " labelled items differ from those of all items: mean(h) + λ (mean(m of all) − mean(m of labelled)),"
    " λ = Cov(h, m) / Var(m). It is unbiased whatever the metric, if the labelled items are a random sample;"
    " a good metric makes it more precise (Chaganty et al., 2018; Angelopoulos et al., 2023)."
)
INTERVALS = (
    "Intervals are bootstrap-t intervals over the labelled items (or documents). In 95 of 100 samples they"
    " contain the true mean; docs/assumptions.md has the measurements."
)


def build_metrics_section(estimate_report: EstimateReport) -> Section:
    """Build the section that explains the method and lists the candidate metrics."""
    rows = []
    for candidate in estimate_report.result.candidates:
        row = {
            "metric": estimate_report.labels[candidate.metric],
            "saved": candidate.for_mean.value,
            "low": candidate.for_mean.low,
            "high": candidate.for_mean.high,
            "saved_difference": candidate.for_difference.value,
            "difference_low": candidate.for_difference.low,
            "difference_high": candidate.for_difference.high,
            "copies": "yes" if candidate.copies_labels else "",
        }
        rows.append(row)
    table = build_grid("labels saved", "Share of labels that each metric saves", METRIC_FIELDS, rows)
    return Section("Metrics and method", sentences=[FORMULA, INTERVALS], folded=[table] if rows else [])


# In the order of the page. Sections of plug-ins come between or after them, by their position.
ESTIMATE_SECTIONS = {
    10: build_systems_section,
    20: build_differences_section,
    30: build_contexts_section,
    40: build_metrics_section,
}
