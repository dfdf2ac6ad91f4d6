"""Section of the `assay` page: a heat map of metrics by context, ties with the best framed."""

from __future__ import annotations

from metassay.reporting.assay_report import AssayReport, ReportedColumn
from metassay.reporting.charts.heatmaps import MOST_HEATMAP_CONTEXTS, build_context_heatmap
from metassay.reporting.pages import Chart, Section
from metassay.reporting.wording import format_plural

_MOST_CHARTS = 2
_CAPTION = (
    "Share of pairs in % in which each metric prefers the better output. A frame marks the best metric of"
    " each row and the metrics tied with it."
)


def build_heatmap_section(assay_report: AssayReport) -> Section | None:
    """Build heatmaps of accuracy for the columns whose values, such as domains, differ. None if there is no
    such column.
    """
    columns = list_columns_with_context_differences(assay_report)[:_MOST_CHARTS]
    subsections = [_build_heatmap_subsection(assay_report, column) for column in columns]
    if not subsections:
        return None
    return Section("By context", subsections=subsections, anchor="heatmap")


def list_columns_with_context_differences(assay_report: AssayReport) -> list[ReportedColumn]:
    """List the columns, such as the domain, in which a metric's accuracy or the recommended metric differs
    between values. Columns with different recommendations come first.
    """
    varying = {claim.column for claim in assay_report.result.claims.variations}
    exceptional = {column for column, _ in assay_report.differing_recommendations_by_context}
    columns = []
    for column in assay_report.context_columns:
        is_drawn = len(_list_large_contexts(assay_report, column)) > 1 and len(assay_report.metrics) > 1
        if is_drawn and column.name in varying | exceptional:
            columns.append(column)
    return sorted(columns, key=lambda column: column.name not in exceptional)


def _list_large_contexts(assay_report: AssayReport, context_column: ReportedColumn) -> list[str]:
    small = assay_report.list_small_contexts(context_column.name)
    return [context for context in context_column.contexts if context not in small]


def _build_heatmap_subsection(assay_report: AssayReport, context_column: ReportedColumn) -> Section:
    contexts = _list_large_contexts(assay_report, context_column)
    shown = contexts[:MOST_HEATMAP_CONTEXTS]
    cells = []
    for context in shown:
        recommendation = context_column.recommendations.get(context)
        tied = [] if recommendation is None else recommendation.top_group
        for metric in assay_report.metrics:
            row = context_column.accuracies.get((context, metric))
            if row is not None and row.accuracy is not None:
                cells.append(
                    {
                        "context": context,
                        "metric": assay_report.labels[metric],
                        "accuracy": row.accuracy,
                        "tied": "yes" if metric in tied else "no",
                    }
                )
    metrics = [assay_report.labels[metric] for metric in assay_report.metrics]
    title = _write_heatmap_title(assay_report, context_column, contexts)
    caption = _CAPTION
    if len(shown) < len(context_column.contexts):
        caption += f" {format_plural(len(context_column.contexts) - len(shown), 'further context')} below."
    chart = Chart(
        f"metrics by {context_column.name}", build_context_heatmap(title, cells, metrics, shown), caption
    )
    return Section(title, charts=[chart])


def _write_heatmap_title(
    assay_report: AssayReport, context_column: ReportedColumn, contexts: list[str]
) -> str:
    """Write the title of a heatmap. It says in how many contexts, such as domains, another metric is better
    than the one recommended overall.
    """
    exceptions = [
        context
        for name, context in assay_report.differing_recommendations_by_context
        if name == context_column.name
    ]
    comparison = assay_report.result.human_comparison
    is_human_choice = comparison is not None and comparison.followed
    if assay_report.best_metric is None or is_human_choice:
        return f"Accuracy on {assay_report.kind_of_pairs} by {context_column.name}"
    label = assay_report.labels[assay_report.best_metric.metric]
    if not exceptions:
        return (
            f"On {assay_report.kind_of_pairs}, no metric is shown to be better than {label}"
            f" for any {context_column.name}"
        )
    return (
        f"On {assay_report.kind_of_pairs}, another metric is better than {label} in {len(exceptions)} of"
        f" {format_plural(len(contexts), 'value')} of {context_column.name}"
    )
