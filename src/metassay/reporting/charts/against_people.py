"""Metrics against people drawn: their ranking, and accuracy against agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.charts.theme import (
    Spec,
    chart,
    first_of_clusters,
    height_of,
    in_order,
    names_axis,
    rows_of,
)

METRIC_HEIGHT = 20


def ranking_chart(ranking: Mapping[str, Any]) -> Spec:
    """A dot with its 95 % interval for each metric, best first; lines where a significance cluster begins.

    `ranking` is one of the `results` of a ranking; baselines come last, in grey.
    """
    rows = [row for row in ranking["metrics"] if row["value"] is not None]
    order = [row["metric"] for row in rows]
    y, rows_meta = {**in_order("metric", order), "axis": names_axis()}, rows_of(order, METRIC_HEIGHT)
    x = {"field": "value", "type": "quantitative", "title": ranking["meta"], "scale": {"zero": False}}
    tooltip = [
        {"field": "metric", "type": "nominal"},
        *({"field": name, "type": "quantitative", "format": ".4f"} for name in ("value", "low", "high")),
        {"field": "rank", "type": "quantitative"},
    ]
    colour = {"condition": {"test": "datum.baseline", "value": {"expr": "quiet"}}, "value": {"expr": "ink"}}
    what = f"{len(order)} {ranking.get('of', 'metrics')} on {ranking['dataset']}"
    return chart(
        f"{ranking['meta']} of {what}, best first, with intervals.",
        height=height_of(rows_meta),
        usermeta=rows_meta,
        data={"values": [dict(row) for row in rows]},
        encoding={"y": y},
        layer=[
            {
                "data": {"values": [{"metric": name} for name in first_of_clusters(rows)]},
                "mark": {
                    "type": "rule",
                    "strokeWidth": 1,
                    "stroke": {"expr": "quiet"},
                    "yOffset": {"expr": f"-height / {2 * max(1, len(order))}"},
                },
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5, "stroke": {"expr": "quiet"}},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {"x": x, "fill": colour, "tooltip": tooltip},
            },
        ],
    )


def both_chart(rows: Sequence[Spec], meta: str) -> Spec:
    """Each metric by accuracy on pairs and by agreement with people; `rows` of `metric, accuracy, people`."""
    x = {"field": "accuracy", "type": "quantitative", "scale": {"zero": False, "nice": True}}
    y = {"field": "people", "type": "quantitative", "scale": {"zero": False, "nice": True}}
    tooltip = [
        {"field": "metric", "type": "nominal"},
        {"field": "accuracy", "type": "quantitative", "format": ".1%", "title": "told right"},
        {"field": "people", "type": "quantitative", "format": ".3f", "title": meta},
    ]
    return chart(
        f"Accuracy of {len(rows)} metrics against their agreement with people ({meta}).",
        height=320,
        data={"values": list(rows)},
        encoding={
            "x": {**x, "axis": {"format": ".0%", "title": "pairs told right", "grid": True}},
            "y": {**y, "axis": {"title": f"{meta} with people"}},
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
