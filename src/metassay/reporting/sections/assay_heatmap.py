"""Section of the `assay` page: a heat map of metrics by context, ties with the best framed."""

from __future__ import annotations

from typing import ClassVar

from metassay.reporting.assay_view import AssayView, ColumnView
from metassay.reporting.charts.heatmaps import MOST_HEATMAP_CONTEXTS, ContextCell, build_context_heatmap
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.wording import format_plural

_MOST_CHARTS = 2
_CAPTION = "Right pairs in %. Framed: not shown to be behind the best metric of the row."


class AssayHeatmapSection(ReportSection[AssayView]):
    """Accuracy of every metric in every context, for the columns in which it is shown to differ."""

    verb: ClassVar[str] = "assay"
    position: ClassVar[int] = 5

    def build_section(self, assay_view: AssayView) -> Section | None:
        """Build a heat map for each column where contexts matter; None where there is none."""
        columns = list_columns_that_matter(assay_view)[:_MOST_CHARTS]
        subsections = [_build_column(assay_view, column) for column in columns]
        if not subsections:
            return None
        return Section("By context", subsections=subsections, anchor="heatmap")


def list_columns_that_matter(assay_view: AssayView) -> list[ColumnView]:
    """List columns in which a metric is shown to differ between contexts, those with exceptions first."""
    varying = {claim.column for claim in assay_view.result.claims.variations}
    exceptional = {column for column, _ in assay_view.exceptions_by_context}
    columns = []
    for column in assay_view.columns:
        is_drawn = len(_list_large_contexts(assay_view, column)) > 1 and len(assay_view.metrics) > 1
        if is_drawn and column.name in varying | exceptional:
            columns.append(column)
    return sorted(columns, key=lambda column: column.name not in exceptional)


def _list_large_contexts(assay_view: AssayView, column: ColumnView) -> list[str]:
    small = assay_view.list_small_contexts(column.name)
    return [context for context in column.contexts if context not in small]


def _build_column(assay_view: AssayView, column: ColumnView) -> Section:
    contexts = _list_large_contexts(assay_view, column)
    shown = contexts[:MOST_HEATMAP_CONTEXTS]
    cells = []
    for context in shown:
        recommendation = column.recommendations.get(context)
        tied = [] if recommendation is None else recommendation.top_group
        for metric in assay_view.metrics:
            row = column.accuracies.get((context, metric))
            if row is not None and row.accuracy is not None:
                cells.append(ContextCell(context, assay_view.labels[metric], row.accuracy, metric in tied))
    metrics = [assay_view.labels[metric] for metric in assay_view.metrics]
    title = _describe_chart(assay_view, column, contexts)
    caption = _CAPTION
    if len(shown) < len(column.contexts):
        caption += f" {format_plural(len(column.contexts) - len(shown), 'further context')} below."
    chart = Chart(f"metrics by {column.name}", build_context_heatmap(title, cells, metrics, shown), caption)
    return Section(title, charts=[chart])


def _describe_chart(assay_view: AssayView, column: ColumnView, contexts: list[str]) -> str:
    """Say what the chart shows: in how many contexts another metric than the recommended one is better."""
    exceptions = [context for name, context in assay_view.exceptions_by_context if name == column.name]
    comparison = assay_view.result.human_comparison
    is_human_choice = comparison is not None and comparison.followed
    if assay_view.best_metric is None or is_human_choice:
        return f"Accuracy on {assay_view.pairs_phrase} by {column.name}"
    label = assay_view.labels[assay_view.best_metric.metric]
    if not exceptions:
        return (
            f"On {assay_view.pairs_phrase}, no metric is shown to be better than {label}"
            f" for any {column.name}"
        )
    return (
        f"On {assay_view.pairs_phrase}, another metric is better than {label} in {len(exceptions)} of"
        f" {format_plural(len(contexts), 'value')} of {column.name}"
    )
