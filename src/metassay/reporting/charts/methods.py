"""Accuracy under each perturbation method alone: what a metric overlooks, and what confounds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from metassay.reporting.charts.matrix import numbers
from metassay.reporting.charts.theme import Spec, chart, in_order, label_room


@dataclass(frozen=True)
class MethodCell:
    """How often `metric` is right on the pairs that `method` made."""

    metric: str
    method: str
    accuracy: float


COLOUR: Spec = {
    "field": "accuracy",
    "type": "quantitative",
    "scale": {"domain": [0, 1], "range": "heatmap"},
    "legend": None,
}
TOOLTIP: list[Spec] = [
    {"field": "metric", "type": "nominal", "title": "metric"},
    {"field": "method", "type": "nominal", "title": "method"},
    {"field": "accuracy", "type": "quantitative", "format": ".1%", "title": "told right"},
]


def methods_chart(cells: Sequence[MethodCell], metrics: Sequence[str], methods: Sequence[str]) -> Spec:
    """The heatmap metrics × methods, in the orders given."""
    axes: Spec = {"title": None, "ticks": False, "domain": False}
    cell = {"type": "rect", "cornerRadius": 2, "stroke": {"expr": "paper"}, "strokeWidth": 1.5}
    return chart(
        f"Accuracy of {len(metrics)} metrics under each of {len(methods)} perturbation methods.",
        height=32 * len(metrics),
        usermeta={"labels": label_room(methods)},
        data={"values": [{**asdict(cell), "percent": 100 * cell.accuracy} for cell in cells]},
        encoding={
            "x": {**in_order("method", methods), "axis": {**axes, "orient": "top", "labelPadding": 6}},
            "y": {**in_order("metric", metrics), "axis": axes},
            "tooltip": TOOLTIP,
        },
        layer=[
            {"mark": cell, "encoding": {"color": COLOUR}},
            numbers("percent", "quantitative", strong="datum.accuracy > 0.72", format=".0f"),
        ],
    )
