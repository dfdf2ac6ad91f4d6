"""Charts of metrics ranked against people: values with intervals, comparisons, and accuracy on pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import msgspec

from metassay.meta.people.meta_metrics.registry import label_meta_metric
from metassay.reporting.charts.theme import (
    Spec,
    build_chart,
    build_names_axis,
    build_ordered_channel,
    compute_chart_height,
    describe_chart_rows,
    list_first_metrics_of_clusters,
)
from metassay.reporting.labels import MetricLabels
from metassay.results.rank import Ranking

METRIC_HEIGHT = 20
SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True)
class MetricPoint:
    """A metric as a point in a chart: its accuracy on pairs and its agreement with human scores."""

    metric: str
    accuracy: float
    agreement: float


def build_ranking_chart(ranking: Ranking, metric_labels: MetricLabels) -> Spec:
    """Draw a metric ranking: the value of each metric with its 95 % interval, and lines between clusters.

    Baselines come last, in grey.
    """
    rows: list[Spec] = []
    for metric in ranking.metrics:
        if metric.value is None:
            continue
        row = {
            "metric": metric_labels[metric.metric],
            "value": metric.value,
            "low": metric.low,
            "high": metric.high,
            "rank": metric.rank,
            "baseline": metric.baseline,
        }
        rows.append(row)
    order = [row["metric"] for row in rows]
    meta_metric = label_meta_metric(ranking.meta_metric)
    row_layout = describe_chart_rows(order, METRIC_HEIGHT)
    x = {"field": "value", "type": "quantitative", "title": meta_metric, "scale": {"zero": False}}
    y = {**build_ordered_channel("metric", order), "axis": build_names_axis()}
    tooltip = [
        {"field": "metric", "type": "nominal"},
        {"field": "value", "type": "quantitative", "format": ".4f"},
        {"field": "low", "type": "quantitative", "format": ".4f"},
        {"field": "high", "type": "quantitative", "format": ".4f"},
        {"field": "rank", "type": "quantitative"},
    ]
    colour = {"condition": {"test": "datum.baseline", "value": {"expr": "quiet"}}, "value": {"expr": "ink"}}
    cluster_lines: Spec = {
        "data": {"values": [{"metric": name} for name in list_first_metrics_of_clusters(rows)]},
        "mark": {
            "type": "rule",
            "strokeWidth": 1,
            "stroke": {"expr": "quiet"},
            # Half a row up: the line lies between two rows.
            "yOffset": {"expr": f"-height / {2 * max(1, len(order))}"},
        },
    }
    intervals: Spec = {
        "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5, "stroke": {"expr": "quiet"}},
        "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
    }
    dots: Spec = {
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
        "encoding": {"x": x, "fill": colour, "tooltip": tooltip},
    }
    return build_chart(
        f"{meta_metric} of {len(order)} metrics on {ranking.dataset}, best first, with intervals.",
        height=compute_chart_height(row_layout),
        usermeta=row_layout,
        data={"values": rows},
        encoding={"y": y},
        layer=[cluster_lines, intervals, dots],
    )


def build_comparisons_chart(ranking: Ranking, metric_labels: MetricLabels) -> Spec:
    """Draw the one-sided p-values of comparisons as a matrix, the better metric in the row.

    Cells with p of at most .05 are filled.
    """
    order = [metric_labels[metric.metric] for metric in ranking.metrics if not metric.baseline]
    row_layout = describe_chart_rows(order, METRIC_HEIGHT) | {"labels": {"room": 0, "count": len(order)}}
    rows = []
    for comparison in ranking.comparisons:
        row = msgspec.to_builtins(comparison)
        rows.append({**row, "a": metric_labels[comparison.better], "b": metric_labels[comparison.worse]})
    tooltip: list[Spec] = [
        {"field": "a", "type": "nominal", "title": "better"},
        {"field": "b", "type": "nominal", "title": "other"},
        {"field": "p", "type": "quantitative", "format": ".3f"},
        {"field": "p_two_sided", "type": "quantitative", "format": ".3f", "title": "p, two-sided"},
    ]
    if any(comparison.p_systems is not None for comparison in ranking.comparisons):
        tooltip += [
            {"field": "p_inputs", "type": "quantitative", "format": ".3f", "title": "p, these systems"},
            {"field": "p_systems", "type": "quantitative", "format": ".3f", "title": "p, systems like these"},
        ]
    population = f", for {ranking.answers_for}" if ranking.answers_for else ""
    meta_metric = label_meta_metric(ranking.meta_metric)
    cells: Spec = {
        "mark": {"type": "rect", "fill": {"expr": "ink"}},
        "encoding": {
            "opacity": {
                "condition": {"test": f"datum.p <= {SIGNIFICANCE_LEVEL}", "value": 0.85},
                "value": 0.12,
            },
            "tooltip": tooltip,
        },
    }
    return build_chart(
        f"Which of {len(order)} metrics differ by {meta_metric} on {ranking.dataset}{population}.",
        height=compute_chart_height(row_layout),
        usermeta=row_layout,
        data={"values": rows},
        encoding={
            "y": {**build_ordered_channel("a", order), "axis": build_names_axis(title="the better metric")},
            "x": {
                **build_ordered_channel("b", order),
                "axis": build_names_axis(title="the other metric", labelAngle=-90),
            },
        },
        layer=[cells],
    )


def build_accuracy_agreement_chart(points: Sequence[MetricPoint], meta_metric: str) -> Spec:
    """Draw each metric as a point: accuracy on pairs against agreement with human scores.

    `meta_metric` is the label of the meta-metric that measures agreement.
    """
    x = {"field": "accuracy", "type": "quantitative", "scale": {"zero": False, "nice": True}}
    y = {"field": "agreement", "type": "quantitative", "scale": {"zero": False, "nice": True}}
    tooltip = [
        {"field": "metric", "type": "nominal"},
        {"field": "accuracy", "type": "quantitative", "format": ".1%", "title": "pairs right"},
        {"field": "agreement", "type": "quantitative", "format": ".3f", "title": meta_metric},
    ]
    return build_chart(
        f"Accuracy of {len(points)} metrics against their agreement with people ({meta_metric}).",
        height=320,
        data={"values": [asdict(point) for point in points]},
        encoding={
            "x": {**x, "axis": {"format": ".0%", "title": "pairs right", "grid": True}},
            "y": {**y, "axis": {"title": f"{meta_metric} with people"}},
            "tooltip": tooltip,
        },
        layer=[
            {"mark": {"type": "point", "filled": True, "size": 70, "color": {"expr": "ink"}}},
            {
                "mark": {"type": "text", "align": "left", "dx": 8, "aria": False},
                "encoding": {"text": {"field": "metric"}, "color": {"value": {"expr": "ink"}}},
            },
        ],
    )
