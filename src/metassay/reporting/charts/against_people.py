"""Metrics against people drawn: their ranking, and how they treat single systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.charts.theme import (
    SLOTS,
    WRAP,
    Spec,
    chart,
    first_of_clusters,
    height_of,
    in_lines,
    in_order,
    names_axis,
    rows_of,
)

METRIC_HEIGHT = 20
FLATTERED, WRONGED = 0, 1
ORDERS = ("human", "remapped", "metric")
ROW_HEIGHT = 26

COLOUR: Spec = {
    "field": "slot",
    "type": "nominal",
    "scale": {"domain": list(range(SLOTS + 1)), "range": "category"},
    "legend": None,
}


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


def curves_chart(entry: Mapping[str, Any], curves: Mapping[str, Any]) -> Spec:
    """Every f_k in grey, the most flattered and the most wronged system in colour, f_G in ink; with bands.

    `entry` is one metric of the result, `curves` its functions: `grid`, `global`, and `groups` by name.
    """
    slots = _slots(entry)
    rows = [
        {"group": name, "slot": slots[name], **point}
        for name, curve in curves["groups"].items()
        for point in _points(curves["grid"], curve)
    ]
    pooled = [{"group": "all systems", **point} for point in _points(curves["grid"], curves["global"])]
    x = {"field": "x", "type": "quantitative", "title": "score of the metric", "scale": {"zero": False}}
    y = {"field": "mean", "type": "quantitative", "title": "expected human score", "scale": {"zero": False}}
    return chart(
        f"Expected human score given {entry['metric']}, for each system and for all of them together.",
        height=340,
        data={"values": rows},
        encoding={"x": {**x, "axis": {"grid": False, "tickCount": 8}}, "y": y},
        layer=[
            _band(y, f"datum.slot !== {SLOTS}", COLOUR),
            _line(1.2, 0.6, f"datum.slot === {SLOTS}"),
            _line(2.4, 1.0, f"datum.slot !== {SLOTS}"),
            {"data": {"values": pooled}, **_band(y, None, {"value": {"expr": "quiet"}})},
            {
                "data": {"values": pooled},
                "mark": {"type": "line", "strokeWidth": 2.5, "strokeDash": [6, 3], "stroke": {"expr": "ink"}},
            },
            {"data": {"values": _beginnings([*rows, *pooled])}, **_labels()},
        ],
    )


def deviations_chart(entry: Mapping[str, Any]) -> Spec:
    """Forest plot of ED, best system first: bars for shrinkage and residual, a dot with interval."""
    order = list(entry["rankings"]["human"])
    rows = [_deviation(entry, name) for name in order]
    y = {**in_order("group", order, paddingInner=0.35), "axis": names_axis(ticks=False)}
    rows_meta = rows_of(order, ROW_HEIGHT)
    title = ["flattered by (points of the human score);", "below 0: wronged"]
    x = {"field": "deviation", "type": "quantitative", "title": title, "axis": {"tickCount": 9}}
    return chart(
        f"Expected deviation of each system under {entry['metric']}, split into shrinkage and residual.",
        height=height_of(rows_meta),
        usermeta=rows_meta,
        data={"values": rows},
        encoding={"y": y},
        layer=[
            _bar("zero", "shrinkage", {"value": {"expr": "muted"}}, 0.45),
            _bar("shrinkage", "deviation", COLOUR, 0.85),
            {
                "mark": {"type": "rule", "stroke": {"expr": "ink"}, "aria": False},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 44, "color": {"expr": "ink"}},
                "encoding": {"x": x, "tooltip": _deviation_tooltip()},
            },
        ],
    )


def rank_flow_chart(entry: Mapping[str, Any]) -> Spec:
    """From the order by people, over the remapped one, to the metric's; systems in an inversion in colour."""
    rankings, rows_meta = entry["rankings"], rows_of(entry["rankings"]["human"], ROW_HEIGHT)
    worse = {pair["worse"] for pair in entry["inversions"]}
    better = {pair["better"] for pair in entry["inversions"]} - worse
    rows = [
        {
            "group": name,
            "order": order,
            "rank": rank,
            "slot": FLATTERED if name in worse else WRONGED if name in better else SLOTS,
        }
        for order in ORDERS
        for rank, name in enumerate(rankings[order], start=1)
    ]
    x = {
        **in_order("order", ORDERS, type="point", padding=_room_for(rankings["human"])),
        "axis": {"title": None, "orient": "top", "labelFontWeight": "bold", "domain": False, "ticks": False}
        | {"offset": 10}
        | {"labelAngle": 0},
    }
    y = {"field": "rank", "type": "quantitative", "scale": {"reverse": True, "zero": False}, "axis": None}
    return chart(
        f"Order of the systems by human score, by remapped score and by {entry['metric']}.",
        height=height_of(rows_meta),
        usermeta=rows_meta,
        data={"values": rows},
        encoding={"x": x, "y": y, "color": COLOUR, "detail": {"field": "group"}},
        layer=[
            {"mark": {"type": "line", "strokeWidth": 2, "opacity": 0.8}},
            {
                "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
                "encoding": {"tooltip": [{"field": "group", "title": "system"}, {"field": "rank"}]},
            },
            _names("human", align="right", dx=-10),
            _names("metric", align="left", dx=10),
        ],
    )


def _slots(entry: Mapping[str, Any]) -> dict[str, int]:
    """Colour slots: the two ends of the deviations have their own, everything else is muted."""
    deviations = entry["deviations"]
    slots = dict.fromkeys(deviations, SLOTS)
    slots[max(deviations, key=deviations.__getitem__)] = FLATTERED
    slots[min(deviations, key=deviations.__getitem__)] = WRONGED
    return slots


def _points(grid: Sequence[float], curve: Mapping[str, Sequence[float | None]]) -> list[Spec]:
    return [
        {"x": x, "mean": mean, "low": low, "high": high}
        for x, mean, low, high in zip(grid, curve["mean"], curve["low"], curve["high"])
        if mean is not None
    ]


def _beginnings(rows: Sequence[Spec]) -> list[Spec]:
    """The first point of every function that is drawn strongly, to write its name beside."""
    first: dict[str, Spec] = {}
    for row in rows:
        if row.get("slot") != SLOTS:
            first.setdefault(row["group"], row)
    return list(first.values())


def _labels() -> Spec:
    return {
        "mark": {"type": "text", "align": "left", "dx": 6, "dy": 12, "fontWeight": "bold", "aria": False},
        "encoding": {
            "text": {"field": "group"},
            "color": {**COLOUR, "condition": {"test": "!isValid(datum.slot)", "value": {"expr": "ink"}}},
        },
    }


def _band(y: Spec, test: str | None, colour: Spec) -> Spec:
    return {
        **({"transform": [{"filter": test}]} if test else {}),
        "mark": {"type": "area", "opacity": 0.14, "aria": False},
        "encoding": {
            "y": {**y, "field": "low"},
            "y2": {"field": "high"},
            "color": colour,
            "detail": {"field": "group"},
        },
    }


def _line(width: float, opacity: float, test: str) -> Spec:
    return {
        "transform": [{"filter": test}],
        "mark": {"type": "line", "strokeWidth": width, "opacity": opacity},
        "encoding": {
            "color": COLOUR,
            "detail": {"field": "group"},
            "tooltip": [
                {"field": "group", "title": "system"},
                {"field": "x", "title": "metric", "type": "quantitative", "format": ".3f"},
                {"field": "mean", "title": "expected human score", "type": "quantitative", "format": ".2f"},
            ],
        },
    }


def _deviation(entry: Mapping[str, Any], name: str) -> Spec:
    residual = entry["residual"][name]
    return {
        "group": name,
        "zero": 0,
        "deviation": entry["deviations"][name],
        "low": entry["deviations_low"][name],
        "high": entry["deviations_high"][name],
        "shrinkage": entry["shrinkage"][name],
        "residual": residual,
        "slot": FLATTERED if residual > 0 else WRONGED,
    }


def _bar(start: str, end: str, colour: Spec, opacity: float) -> Spec:
    return {
        "mark": {"type": "bar", "opacity": opacity, "height": {"band": 0.9}, "aria": False},
        "encoding": {"x": {"field": start, "type": "quantitative"}, "x2": {"field": end}, "color": colour},
    }


def _deviation_tooltip() -> list[Spec]:
    fields = {
        "deviation": "ED",
        "low": "95 % from",
        "high": "to",
        "shrinkage": "shrinkage",
        "residual": "rest",
    }
    return [{"field": "group", "title": "system"}] + [
        {"field": field, "title": title, "type": "quantitative", "format": ".2f"}
        for field, title in fields.items()
    ]


def _names(order: str, **mark: Any) -> Spec:
    return {
        "transform": [{"filter": f"datum.order === '{order}'"}],
        "mark": {"type": "text", "baseline": "middle", "lineHeight": 13, "aria": False, **mark}
        | {"text": {"expr": in_lines("datum.group")}},
        "encoding": {"color": {"value": {"expr": "ink"}}},
    }


def _room_for(names: Sequence[str], width: int = 720) -> float:
    """The padding of three points in a row, in steps, that leaves the outer ones room for these names."""
    needed = min(0.4 * width, 14 + 6.5 * min(WRAP, max(map(len, names))))
    return round(2 * needed / (width - 2 * needed), 2)
