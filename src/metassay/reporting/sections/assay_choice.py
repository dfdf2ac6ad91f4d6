"""Section of the `assay` page: which metric to use where, at what cost, and which metrics err together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from metassay.reporting.assay_report import AssayReport, ReportedColumn
from metassay.reporting.charts.heatmaps import build_square_heatmap
from metassay.reporting.charts.theme import Spec
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Chart, Section
from metassay.reporting.recommendation_reasons import ReasonWriter
from metassay.reporting.sections.assay_heatmap import list_columns_with_context_differences
from metassay.reporting.tables import AccuracyCell, Field, Grid, build_grid
from metassay.reporting.wording import (
    Sentence,
    format_percent,
    format_sentence,
    list_names,
    narrow_spaces_before_percent_signs,
)
from metassay.results.assay import GLOBAL, MetricRobustness

_CHOICE_FIELDS = (
    Field("choice", "use", "name"),
    Field("accuracy", "right pairs", "percent"),
    Field("top_group", "tied", "text", "metrics that are not shown to be worse"),
    Field("reason", "why", "prose"),
)
_ROBUSTNESS_FIELDS = (
    Field("metric", "metric", "name"),
    Field("worst_case", "worst case", "percent", "lowest lower bound over the contexts"),
    Field("worst_context", "on", "text"),
    Field("robust_accuracy", "robust accuracy", "percent", "worst mix of contexts near the observed one"),
    Field("stability", "variation", "percent", "standard deviation between contexts, net of sampling error"),
)
_PHI_TOOLTIP: tuple[Spec, ...] = (
    {"field": "row", "type": "nominal", "title": "metric"},
    {"field": "column", "type": "nominal", "title": "and"},
    {"field": "value", "type": "quantitative", "format": ".3f", "title": "phi"},
)
_SHARED_ERRORS = (
    "The chart shows which metrics are wrong on the same pairs. Two metrics that are wrong on different pairs"
    " are a better combination than two metrics that are wrong on the same pairs."
)
_SHARED_ERRORS_CAPTION = (
    "Correlation (phi) of the errors of two metrics: 1 if they are wrong on exactly the same pairs."
)
_MOST_ROWS = 500
_FEWEST_METRICS_FOR_PHI = 3


def build_choice_section(assay_report: AssayReport) -> Section | None:
    """Build the section that says which metric to use in each context, such as each domain. None if nothing
    can be recommended.
    """
    subsections = [
        _build_choice_subsection(assay_report, column)
        for column in assay_report.context_columns
        if column.recommendations
    ]
    if not subsections:
        return None
    phi = build_shared_errors_chart(assay_report)
    if phi is not None:
        subsections.append(
            Section(
                "Which metrics err together",
                sentences=[_SHARED_ERRORS],
                charts=[Chart("shared errors", phi, _SHARED_ERRORS_CAPTION)],
            )
        )
    introduction = format_sentence(
        "The tables show which metric to use in each context, and which metrics are tied with it{note:note}.",
        note="top",
    )
    costs = name_unbeaten_metrics(assay_report)
    return Section(
        "What to use where",
        sentences=[introduction] if costs is None else [introduction, costs],
        subsections=subsections,
        anchor="choice",
        # Without exceptions the verdict says all, and the heat map shows it.
        collapsed=not assay_report.differing_recommendations_by_context
        and bool(list_columns_with_context_differences(assay_report)),
    )


def _build_choice_subsection(assay_report: AssayReport, context_column: ReportedColumn) -> Section:
    robust = describe_safest_metric(assay_report, context_column)
    robustness = _build_robustness_table(assay_report, context_column)
    return Section(
        f"By {context_column.name}",
        sentences=[] if robust is None else [robust],
        grids=[build_recommendation_table(assay_report, context_column)],
        folded=[] if robustness is None else [robustness],
    )


def build_recommendation_table(assay_report: AssayReport, context_column: ReportedColumn) -> Grid:
    """Build a table that says which metric to use in each context, such as each domain, and why. The first
    row is for all outputs.
    """
    writer = ReasonWriter(assay_report.result, context_column.name, metric_labels=assay_report.labels)
    ordered = [context for context in context_column.contexts if context in context_column.recommendations]
    # The recommendations also have `global`, which is no context of the column.
    others = [context for context in context_column.recommendations if context not in ordered]
    rows = []
    for context in [*others, *ordered]:
        recommendation = context_column.recommendations[context]
        choice = recommendation.choice
        label = None if choice is None else assay_report.labels[choice]
        group = [
            name
            for name in assay_report.labels.list_labels_of_metrics(recommendation.top_group)
            if name != label
        ]
        rows.append(
            {
                "context": context,
                "choice": label,
                "accuracy": _find_accuracy_of_metric(assay_report, context_column, context, choice),
                "top_group": group or None,
                "reason": narrow_spaces_before_percent_signs(
                    writer.explain_chosen_metrics(context, recommendation)
                ),
            }
        )
    fields = [Field("context", context_column.name, "name"), *_CHOICE_FIELDS]
    if assay_report.result.human_comparison is not None:
        fields = [
            replace(field, label=f"right {assay_report.kind_of_pairs}") if field.key == "accuracy" else field
            for field in fields
        ]
    caption = f"What to use, by {context_column.name}"
    return build_grid(f"recommendation-{context_column.name}", caption, fields, rows, at_most=_MOST_ROWS)


def _find_accuracy_of_metric(
    assay_report: AssayReport, context_column: ReportedColumn, context: str, metric: str | None
) -> AccuracyCell | None:
    if metric is None:
        return None
    if context == GLOBAL:
        return AccuracyCell.from_accuracy(assay_report.overall_accuracy_by_metric.get(metric))
    return AccuracyCell.from_accuracy(context_column.accuracies.get((context, metric)))


def describe_safest_metric(assay_report: AssayReport, context_column: ReportedColumn) -> Sentence | None:
    """Name the metric to use if the same metric must be used in every context, such as every domain."""
    recommendation = context_column.recommendations.get(GLOBAL)
    rows = {row.metric: row for row in context_column.result.robustness}
    metric = None if recommendation is None else recommendation.robust_choice
    if metric is None or metric not in rows or len(context_column.contexts) < 2:
        return None
    opening = format_sentence(
        "If the shares of the contexts of {column:column} may change, {metric:metric} is the safest choice",
        column=context_column.name,
        metric=assay_report.labels[metric],
    )
    return _describe_robust_accuracy(opening, rows[metric])


def _describe_robust_accuracy(sentence_start: Sentence, robustness: MetricRobustness) -> Sentence:
    """Write the end of a sentence: the accuracy that a metric still reaches if the contexts are mixed in
    other proportions than in the data.
    """
    if robustness.robust_accuracy is None:
        return format_sentence("{opening}.", opening=sentence_start)
    return format_sentence(
        "{opening}: in the least favourable mix near the observed one, its accuracy is {share:figure}.",
        opening=sentence_start,
        share=format_percent(robustness.robust_accuracy),
    )


def _build_robustness_table(assay_report: AssayReport, context_column: ReportedColumn) -> Grid | None:
    if len(context_column.contexts) < 2:
        return None
    rows = build_robustness_rows(context_column.result.robustness, assay_report.labels)
    if not rows:
        return None
    caption = f"If one metric must serve every {context_column.name}"
    return build_grid(f"robustness-{context_column.name}", caption, _ROBUSTNESS_FIELDS, rows)


def build_robustness_rows(
    robustness: Sequence[MetricRobustness], metric_labels: MetricLabels
) -> list[dict[str, Any]]:
    """Build a table row for each metric that shows how much its accuracy varies over contexts."""
    shown = [row for row in robustness if metric_labels.has_own_table_row(row.metric)]
    return [msgspec.structs.asdict(row) | {"metric": metric_labels[row.metric]} for row in shown]


def name_unbeaten_metrics(assay_report: AssayReport) -> Sentence | None:
    """Name the metrics for which no other metric is both more accurate and cheaper."""
    classes = set(assay_report.result.cost_class.values())
    if len(classes) == 1 and len(assay_report.metrics) > 1:
        (cost_class,) = classes
        return format_sentence("All metrics are in one cost class, {cost_class}.", cost_class=cost_class)
    if len(classes) < 2 or not assay_report.result.pareto:
        return None
    front = assay_report.labels.list_labels_of_metrics(assay_report.result.pareto)
    return format_sentence(
        "No metric is both more accurate and cheaper than {names}.",
        names=list_names(front, "metric", at_most=8),
    )


def build_shared_errors_chart(assay_report: AssayReport) -> Spec | None:
    """Draw how often two metrics are wrong on the same pairs of outputs (phi correlation). None if there are
    fewer than three metrics.
    """
    errors = assay_report.result.shared_errors
    shown = [n for n, metric in enumerate(errors.metrics) if assay_report.labels.has_own_table_row(metric)]
    if len(shown) < _FEWEST_METRICS_FOR_PHI or not errors.matrix:
        return None
    labels = [assay_report.labels[errors.metrics[n]] for n in shown]
    cells: list[dict[str, Any]] = []
    for i, row_label in zip(shown, labels):
        for j, column_label in zip(shown, labels):
            value = errors.matrix[i][j]
            if value is not None:
                # Rounding errors can make a correlation slightly larger than 1.
                cells.append({"row": row_label, "column": column_label, "value": round(min(1.0, value), 4)})
    return build_square_heatmap("Which metrics are wrong on the same pairs.", labels, cells, _PHI_TOOLTIP)
