"""Charts of metrics ranked against people: values with intervals, comparisons, and accuracy on pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from metassay.meta.people.meta_metrics.registry import get_meta_metric_label
from metassay.reporting.charts.theme import (
    Spec,
    build_chart,
    build_interval_layers,
    build_names_channel,
    build_rows_chart,
    build_tooltip,
)
from metassay.reporting.labels import MetricLabels
from metassay.reporting.wording import format_plural
from metassay.results.rank import Ranking
from metassay.stats.levels import SIGNIFICANCE_LEVEL

METRIC_HEIGHT = 20


def build_ranking_chart(ranking: Ranking, metric_labels: MetricLabels) -> Spec:
    """Draw a ranking of metrics: the value of each metric with its 95 % interval. Horizontal lines separate
    groups that differ significantly.

    Baselines come last, in grey.
    """
    names = ("value", "low", "high", "rank", "baseline")
    rows: list[Spec] = []
    for metric in ranking.metrics:
        if metric.value is not None:
            row = {name: getattr(metric, name) for name in names}
            rows.append({"metric": metric_labels[metric.metric], **row})
    order = [row["metric"] for row in rows]
    meta_metric = get_meta_metric_label(ranking.meta_metric)
    ranked = [row for row in rows if row["rank"] is not None]
    first_of_clusters = [
        {"metric": row["metric"]} for before, row in pairwise(ranked) if row["rank"] != before["rank"]
    ]
    cluster_lines: Spec = {
        "data": {"values": first_of_clusters},
        "mark": {
            "type": "rule",
            "strokeWidth": 1,
            "stroke": {"expr": "quiet"},
            # Half a row up: the line lies between two rows.
            "yOffset": {"expr": f"-height / {2 * max(1, len(order))}"},
        },
    }
    numbers = [(name, name, ".4f") for name in ("value", "low", "high")]
    intervals, dots = build_interval_layers(
        {"field": "value", "type": "quantitative", "title": meta_metric, "scale": {"zero": False}},
        build_tooltip(("metric", "metric"), *numbers, ("rank", "rank", "d")),
        rule={"strokeWidth": 2, "opacity": 0.5, "stroke": {"expr": "quiet"}},
        point={"size": 60, "opacity": 1},
    )
    is_baseline = {"test": "datum.baseline", "value": {"expr": "quiet"}}
    dots["encoding"]["fill"] = {"condition": is_baseline, "value": {"expr": "ink"}}
    return build_rows_chart(
        f"{meta_metric} of {format_plural(len(order), 'metric')} on {ranking.dataset}, best first, with"
        " intervals.",
        order,
        METRIC_HEIGHT,
        data={"values": rows},
        encoding={"y": build_names_channel("metric", order)},
        layer=[cluster_lines, intervals, dots],
    )


def build_comparisons_chart(ranking: Ranking, metric_labels: MetricLabels) -> Spec:
    """Draw the one-sided p-values of all comparisons of two metrics as a matrix, with the better metric in
    the row.

    Cells with p of at most .05 are filled.
    """
    order = [metric_labels[metric.metric] for metric in ranking.metrics if not metric.baseline]
    rows = []
    for comparison in ranking.comparisons:
        row = msgspec.to_builtins(comparison)
        rows.append({**row, "a": metric_labels[comparison.better], "b": metric_labels[comparison.worse]})
    p_values = [("p", "p", ".3f"), ("p_two_sided", "p, two-sided", ".3f")]
    if any(comparison.p_systems is not None for comparison in ranking.comparisons):
        p_values += [
            ("p_inputs", "p, these systems", ".3f"),
            ("p_systems", "p, systems like these", ".3f"),
        ]
    population = f", for {ranking.answers_for}" if ranking.answers_for else ""
    meta_metric = get_meta_metric_label(ranking.meta_metric)
    is_significant = {"test": f"datum.p <= {SIGNIFICANCE_LEVEL}", "value": 0.85}
    cells: Spec = {
        "mark": {"type": "rect", "fill": {"expr": "ink"}},
        "encoding": {
            "opacity": {"condition": is_significant, "value": 0.12},
            "tooltip": build_tooltip(("a", "better"), ("b", "other"), *p_values),
        },
    }
    return build_rows_chart(
        f"Which of {len(order)} metrics differ by {meta_metric} on {ranking.dataset}{population}.",
        order,
        METRIC_HEIGHT,
        labels={"room": 0, "count": len(order)},
        data={"values": rows},
        encoding={
            "y": build_names_channel("a", order, title="the better metric"),
            "x": build_names_channel("b", order, title="the other metric", labelAngle=-90),
        },
        layer=[cells],
    )


def build_accuracy_agreement_chart(points: Sequence[Spec], meta_metric: str) -> Spec:
    """Draw each metric as a point: its accuracy on pairs against its agreement with human scores.

    `points` have `metric`, `accuracy` and `agreement`; `meta_metric` is the label of the meta-metric that
    measures agreement.
    """
    x = {"field": "accuracy", "type": "quantitative", "scale": {"zero": False, "nice": True}}
    y = {"field": "agreement", "type": "quantitative", "scale": {"zero": False, "nice": True}}
    tooltip = build_tooltip(
        ("metric", "metric"), ("accuracy", "pairs right", ".1%"), ("agreement", meta_metric, ".3f")
    )
    return build_chart(
        f"Accuracy of {len(points)} metrics against their agreement with people ({meta_metric}).",
        height=320,
        data={"values": list(points)},
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
