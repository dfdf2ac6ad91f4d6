"""Metrics ranked against people: values with intervals in significance clusters, and which of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from metassay.reporting.charts.theme import Spec, chart, in_order

ROW_HEIGHT = 20
SIGNIFICANT = 0.05


def ranking_chart(ranking: Mapping[str, Any]) -> Spec:
    """A dot with its 95 % interval for each metric, best first; lines where a significance cluster begins.

    `ranking` is one of the `results` of a ranking; baselines come last, in grey.
    """
    rows = [row for row in ranking["metrics"] if row["value"] is not None]
    order = [row["metric"] for row in rows]
    y = {**in_order("metric", order), "axis": {"title": None, "labelLimit": 260}}
    x = {"field": "value", "type": "quantitative", "title": ranking["meta"], "scale": {"zero": False}}
    tooltip = [
        {"field": "metric", "type": "nominal"},
        *({"field": name, "type": "quantitative", "format": ".4f"} for name in ("value", "low", "high")),
        {"field": "rank", "type": "quantitative"},
    ]
    colour = {"condition": {"test": "datum.baseline", "value": {"expr": "quiet"}}, "value": {"expr": "ink"}}
    return chart(
        f"{ranking['meta']} of {len(order)} metrics on {ranking['dataset']}, best first, with intervals.",
        height=ROW_HEIGHT * len(order),
        data={"values": [dict(row) for row in rows]},
        encoding={"y": y},
        layer=[
            {
                "data": {"values": [{"metric": name} for name in _first_of_clusters(rows)]},
                "mark": {
                    "type": "rule",
                    "strokeWidth": 1,
                    "stroke": {"expr": "quiet"},
                    "yOffset": -ROW_HEIGHT / 2,
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


def comparisons_chart(ranking: Mapping[str, Any]) -> Spec:
    """The matrix of one-sided p-values, the better metric in the row; filled where p is at most .05."""
    order = [row["metric"] for row in ranking["metrics"] if not row.get("baseline")]
    axis = {"title": None, "labelLimit": 200}
    significant = f"datum.p <= {SIGNIFICANT}"
    whom = f", for {ranking['answers_for']}" if ranking.get("answers_for") else ""
    return chart(
        f"Which of {len(order)} metrics differ by {ranking['meta']} on {ranking['dataset']}{whom}.",
        height=ROW_HEIGHT * len(order),
        data={"values": [dict(pair) for pair in ranking["comparisons"]]},
        encoding={
            "y": {**in_order("a", order), "axis": {**axis, "title": "the better metric"}},
            "x": {**in_order("b", order), "axis": {**axis, "labelAngle": -90, "title": "the other metric"}},
        },
        layer=[
            {
                "mark": {"type": "rect", "fill": {"expr": "ink"}},
                "encoding": {
                    "opacity": {"condition": {"test": significant, "value": 0.85}, "value": 0.12},
                    "tooltip": [
                        {"field": "a", "type": "nominal"},
                        {"field": "b", "type": "nominal"},
                        {"field": "p", "type": "quantitative", "format": ".3f"},
                        {"field": "p_two_sided", "type": "quantitative", "format": ".3f"},
                        *(_kinds_of_systems(ranking)),
                    ],
                },
            }
        ],
    )


def _kinds_of_systems(ranking: Mapping[str, Any]) -> list[Spec]:
    """p-values for these systems and for systems like these, where there are both."""
    if not any("p_systems" in pair for pair in ranking["comparisons"]):
        return []
    titles = {"p_inputs": "p, these systems", "p_systems": "p, systems like these"}
    return [
        {"field": name, "type": "quantitative", "format": ".3f", "title": title}
        for name, title in titles.items()
    ]


def _first_of_clusters(rows: list[Any]) -> list[str]:
    """The metrics that open a rank, but for the first."""
    ranked = [row for row in rows if row["rank"] is not None]
    return [row["metric"] for before, row in pairwise(ranked) if row["rank"] != before["rank"]]
