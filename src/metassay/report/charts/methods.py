"""Accuracy under each perturbation method alone: what a metric overlooks, and what confounds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metassay.report.charts.agreement import contrast
from metassay.report.charts.theme import Spec, chart, in_order, label_room


@dataclass(frozen=True)
class MethodCell:
    """How often `metric` is right on the pairs that `method` made."""

    metric: str
    method: str
    accuracy: float


def methods_chart(cells: Sequence[MethodCell], metrics: Sequence[str], methods: Sequence[str]) -> Spec:
    """The heatmap metrics × methods, in the orders given."""
    axes: Spec = {"title": None, "ticks": False, "domain": False}
    return chart(
        f"Accuracy of {len(metrics)} metrics under each of {len(methods)} perturbation methods.",
        height=32 * len(metrics),
        usermeta={"labels": label_room(methods)},
        data={"values": [{"metric": c.metric, "method": c.method, "accuracy": c.accuracy} for c in cells]},
        encoding={
            "x": {
                **in_order("method", methods),
                "axis": {**axes, "orient": "top", "labelPadding": 6},
            },
            "y": {**in_order("metric", metrics), "axis": axes},
        },
        layer=[
            {
                "mark": {"type": "rect", "cornerRadius": 2, "stroke": {"expr": "paper"}, "strokeWidth": 1.5},
                "encoding": {
                    "color": {
                        "field": "accuracy",
                        "type": "quantitative",
                        "scale": {"domain": [0, 1], "range": "heatmap"},
                        "legend": None,
                    },
                    "tooltip": [
                        {"field": "metric", "type": "nominal", "title": "metric"},
                        {"field": "method", "type": "nominal", "title": "method"},
                        {
                            "field": "accuracy",
                            "type": "quantitative",
                            "format": ".1%",
                            "title": "told right",
                        },
                    ],
                },
            },
            {
                "mark": {"type": "text", "fontSize": 12, "aria": False},
                "encoding": {
                    "text": {"field": "accuracy", "type": "quantitative", "format": ".0%"},
                    "color": contrast("datum.accuracy > 0.72"),
                },
            },
        ],
    )
