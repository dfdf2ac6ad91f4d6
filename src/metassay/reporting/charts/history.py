"""Accuracy from run to run: one line per metric, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.charts.theme import SHAPES, SLOTS, Spec, chart, in_order


def metrics_of(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The metrics of these runs as they come; the chart has room for the first `SLOTS`."""
    return list(dict.fromkeys(row["metric"] for run in runs for row in run["metrics"]))


def history_chart(runs: Sequence[Mapping[str, Any]]) -> Spec:
    """The accuracy over all contexts of each metric, run by run; metrics beyond the palette are left out.

    `runs` are the finished assays of an overview, oldest first.
    """
    names = metrics_of(runs)[:SLOTS]
    rows = [
        {"run": run["name"], **row}
        for run in runs
        for row in run["metrics"]
        if row["metric"] in names and row["accuracy"] is not None
    ]
    x = {**in_order("run", [run["name"] for run in runs]), "axis": {"title": None, "labelAngle": 0}}
    y = {
        "field": "accuracy",
        "type": "quantitative",
        "scale": {"zero": False},
        "axis": {"format": ".0%", "title": "pairs told right", "domain": False},
    }
    legend = {"legend": {"title": None, "orient": "top", "columnPadding": 28}}
    colour, shape = in_order("metric", names), in_order("metric", names, range=list(SHAPES))
    return chart(
        f"Accuracy of {len(names)} metrics in {len(runs)} runs.",
        height=260,
        data={"values": rows},
        encoding={"x": x, "xOffset": in_order("metric", names), "color": {**colour, **legend}},
        layer=[
            {"mark": {"type": "line", "strokeWidth": 1, "opacity": 0.4}, "encoding": {"y": y}},
            {"mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5},
             "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
             "encoding": {"y": y, "shape": {**shape, **legend}}},
        ],
    )  # fmt: skip
