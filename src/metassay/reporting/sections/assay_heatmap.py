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
    """Report section with heatmaps of accuracy by metric and context, where contexts are shown to differ."""

    verb: ClassVar[str] = "assay"
    position: ClassVar[int] = 5

    def build_section(self, assay_view: AssayView) -> Section | None:
        """Build a heatmap of accuracy for each column whose contexts differ; None if there is none."""
        columns = list_columns_with_context_differences(assay_view)[:_MOST_CHARTS]
        subsections = [_build_heatmap_subsection(assay_view, column) for column in columns]
        if not subsections:
            return None
        return Section("By context", subsections=subsections, anchor="heatmap")


def list_columns_with_context_differences(assay_view: AssayView) -> list[ColumnView]:
    """List columns in which a metric differs between contexts, those with other recommendations first."""
    varying = {claim.column for claim in assay_view.result.claims.variations}
    exceptional = {column for column, _ in assay_view.exceptions_by_context}
    columns = []
    for column in assay_view.columns:
        is_drawn = len(_list_large_contexts(assay_view, column)) > 1 and len(assay_view.metrics) > 1
        if is_drawn and column.name in varying | exceptional:
            columns.append(column)
    return sorted(columns, key=lambda column: column.name not in exceptional)


def _list_large_contexts(assay_view: AssayView, context_column: ColumnView) -> list[str]:
    small = assay_view.list_small_contexts(context_column.name)
    return [context for context in context_column.contexts if context not in small]


def _build_heatmap_subsection(assay_view: AssayView, context_column: ColumnView) -> Section:
    contexts = _list_large_contexts(assay_view, context_column)
    shown = contexts[:MOST_HEATMAP_CONTEXTS]
    cells = []
    for context in shown:
        recommendation = context_column.recommendations.get(context)
        tied = [] if recommendation is None else recommendation.top_group
        for metric in assay_view.metrics:
            row = context_column.accuracies.get((context, metric))
            if row is not None and row.accuracy is not None:
                cells.append(ContextCell(context, assay_view.labels[metric], row.accuracy, metric in tied))
    metrics = [assay_view.labels[metric] for metric in assay_view.metrics]
    title = _write_heatmap_title(assay_view, context_column, contexts)
    caption = _CAPTION
    if len(shown) < len(context_column.contexts):
        caption += f" {format_plural(len(context_column.contexts) - len(shown), 'further context')} below."
    chart = Chart(
        f"metrics by {context_column.name}", build_context_heatmap(title, cells, metrics, shown), caption
    )
    return Section(title, charts=[chart])


def _write_heatmap_title(assay_view: AssayView, context_column: ColumnView, contexts: list[str]) -> str:
    """Write in how many contexts another metric is better than the recommended one."""
    exceptions = [
        context for name, context in assay_view.exceptions_by_context if name == context_column.name
    ]
    comparison = assay_view.result.human_comparison
    is_human_choice = comparison is not None and comparison.followed
    if assay_view.best_metric is None or is_human_choice:
        return f"Accuracy on {assay_view.pairs_phrase} by {context_column.name}"
    label = assay_view.labels[assay_view.best_metric.metric]
    if not exceptions:
        return (
            f"On {assay_view.pairs_phrase}, no metric is shown to be better than {label}"
            f" for any {context_column.name}"
        )
    return (
        f"On {assay_view.pairs_phrase}, another metric is better than {label} in {len(exceptions)} of"
        f" {format_plural(len(contexts), 'value')} of {context_column.name}"
    )
