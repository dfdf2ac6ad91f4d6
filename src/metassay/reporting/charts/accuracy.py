"""Charts of an assay's accuracies: by context, by difficulty, by cost."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.assay_report import AssayReport, ReportedColumn
from metassay.reporting.charts.metric_lines import (
    ACCURACY_TOOLTIP,
    build_accuracy_axis,
    build_baseline_line_layer,
    build_chance_line,
    build_metric_line_layers,
    find_accuracy_range,
)
from metassay.reporting.charts.theme import (
    SLOTS,
    Spec,
    build_chart,
    build_ordered_channel,
    measure_space_for_labels,
)
from metassay.reporting.wording import format_plural
from metassay.results.assay import BinAccuracy, Difficulty, HumanPairDistances, MetricAccuracy

# With more points than this, or more metrics than colours, intervals are bands instead of rules.
MOST_SIDE_BY_SIDE = 80


def build_accuracy_chart(assay_report: AssayReport, context_column: ReportedColumn) -> Spec:
    """Draw the accuracy of each metric by context, such as the domain. Baselines outside the range of the
    metrics are left out.
    """
    hidden = find_baselines_outside_chart_range(assay_report, context_column)
    shown = [
        metric
        for metric in assay_report.all_metrics
        if context_column.list_accuracies_per_context(metric) and metric not in hidden
    ]
    metrics = [metric for metric in shown if metric not in assay_report.sentinel_metrics]
    rows = []
    for metric in shown:
        rows += [
            _build_accuracy_data_point(assay_report, row, row.context)
            for row in context_column.list_accuracies_per_context(metric)
        ]
    low, high = _find_accuracy_range(assay_report, context_column)
    side_by_side = len(metrics) * len(context_column.contexts) <= MOST_SIDE_BY_SIDE and len(metrics) <= SLOTS
    labels = [assay_report.labels[metric] for metric in metrics]
    x = _build_context_axis(context_column, side_by_side=side_by_side)
    y = build_accuracy_axis(low, high)
    offset = {"xOffset": build_ordered_channel("metric", labels)} if side_by_side else {}
    return build_chart(
        f"Accuracy of {format_plural(len(metrics), 'metric')} over {len(context_column.contexts)} values of"
        f" {context_column.name}.",
        height=320,
        usermeta={
            "labels": measure_space_for_labels(context_column.contexts),
            "slots": {
                assay_report.labels[metric]: choose_colour_slot(assay_report, metric) for metric in metrics
            },
        },
        data={"values": rows},
        layer=[
            *build_chance_line(low, high),
            build_baseline_line_layer(x, y),
            *build_metric_line_layers(
                x,
                y,
                offset,
                side_by_side=side_by_side,
                metric_count=len(metrics),
                tooltip=ACCURACY_TOOLTIP,
            ),
        ],
    )


def build_difficulty_chart(
    assay_report: AssayReport, difficulty: Difficulty, bin_names: Sequence[str]
) -> Spec:
    """Draw the accuracy of each metric by the share of characters in which two outputs differ. A grey area
    marks this share for outputs that people compared.
    """
    rows = [
        row
        for row in difficulty.accuracy
        if row.accuracy is not None and assay_report.labels.has_own_table_row(row.metric)
    ]
    low, high = find_accuracy_range(rows)
    x = {
        "field": "share",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False},
        "axis": {"format": ".2~%", "title": "characters edited (logarithmic)", "grid": False, "tickCount": 6},
    }
    y = build_accuracy_axis(low, high)
    values = []
    for row in rows:
        point = _build_accuracy_data_point(assay_report, row, bin_names[row.bin])
        values.append({**point, "share": difficulty.bins[row.bin].median})
    metrics = list(dict.fromkeys(row.metric for row in rows))
    return build_chart(
        f"Accuracy of {format_plural(len(metrics), 'metric')} by how many characters of a text were edited.",
        height=300,
        usermeta={
            "slots": {
                assay_report.labels[metric]: choose_colour_slot(assay_report, metric) for metric in metrics
            }
        },
        data={"values": values},
        layer=[
            *build_chance_line(low, high),
            *_build_human_distance_layers(x, difficulty.human_pairs),
            *build_metric_line_layers(
                x, y, {}, side_by_side=False, metric_count=len(metrics), tooltip=ACCURACY_TOOLTIP
            ),
        ],
    )


def find_baselines_outside_chart_range(
    assay_report: AssayReport, context_column: ReportedColumn
) -> list[str]:
    """Find the baselines that the accuracy chart leaves out, because their accuracy is outside its range."""
    low, high = _find_accuracy_range(assay_report, context_column)
    hidden = []
    for metric in assay_report.sentinel_metrics:
        rows = context_column.list_accuracies_per_context(metric)
        if any(not low <= (row.accuracy or 0.0) <= high for row in rows):
            hidden.append(metric)
    return hidden


def choose_colour_slot(assay_report: AssayReport, metric: str) -> int:
    """Choose the position of a metric in the colour palette. Baselines and metrics beyond the palette are
    grey.
    """
    if metric in assay_report.sentinel_metrics:
        return SLOTS
    return min(assay_report.metrics.index(metric), SLOTS)


def _find_accuracy_range(assay_report: AssayReport, context_column: ReportedColumn) -> tuple[float, float]:
    # Without sentinels, whose low accuracy would flatten the lines of the metrics.
    rows = [
        row for metric in assay_report.metrics for row in context_column.list_accuracies_per_context(metric)
    ]
    return find_accuracy_range(rows)


def _build_accuracy_data_point(
    assay_report: AssayReport, metric_accuracy: MetricAccuracy | BinAccuracy, context: str
) -> Spec:
    return {
        "context": context,
        "metric": assay_report.labels[metric_accuracy.metric],
        "slot": choose_colour_slot(assay_report, metric_accuracy.metric),
        "sentinel": metric_accuracy.metric in assay_report.sentinel_metrics,
        "accuracy": metric_accuracy.accuracy,
        "low": metric_accuracy.low,
        "high": metric_accuracy.high,
        "pairs": metric_accuracy.pairs,
    }


def _build_context_axis(context_column: ReportedColumn, *, side_by_side: bool) -> Spec:
    scale: Spec = {"type": "point"}
    if side_by_side:
        scale = {"type": "band", "paddingInner": 0.35, "paddingOuter": 0.2}
    return {
        **build_ordered_channel("context", context_column.contexts, **scale),
        "axis": {"title": None, "ticks": False, "labelPadding": 8},
    }


def _build_human_distance_layers(
    x_channel: Spec, human_pair_distances: HumanPairDistances | None
) -> list[Spec]:
    """Build chart layers that mark how much two outputs with different human scores differ: the median, and
    the middle half of all pairs.
    """
    if human_pair_distances is None:
        return []
    values = {
        "low": human_pair_distances.low,
        "median": human_pair_distances.median,
        "high": human_pair_distances.high,
    }
    grey = {"expr": "quiet"}
    middle_half = {"type": "rect", "fill": grey, "opacity": 0.15, "aria": False}
    median = {"type": "rule", "stroke": grey, "strokeDash": [4, 3], "aria": False}
    band = {"x": {**x_channel, "field": "low"}, "x2": {"field": "high"}}
    return [
        {"data": {"values": [values]}, "mark": middle_half, "encoding": band},
        {"data": {"values": [values]}, "mark": median, "encoding": {"x": {**x_channel, "field": "median"}}},
    ]
