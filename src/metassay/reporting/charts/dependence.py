"""Charts of system dependence: fitted functions, expected deviations, and rankings of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metassay.reporting.charts.theme import (
    SLOTS,
    WRAP,
    Spec,
    build_chart,
    build_interval_layers,
    build_line_break_expression,
    build_names_axis,
    build_rows_chart,
    build_tooltip,
    build_vega_channel_with_value_order,
)
from metassay.results.depend import Curve, MetricCurves, MetricDependence

# Colour slots of systems; the neutral one is grey.
FAVOURED = 0
DISADVANTAGED = 1
NEUTRAL = SLOTS
ORDERS = ("human", "remapped", "metric")
ROW_HEIGHT = 26
# Pixels of the chart for which the space beside the names is computed.
_CHART_WIDTH = 720

COLOUR: Spec = {
    "field": "slot",
    "type": "nominal",
    "scale": {"domain": list(range(SLOTS + 1)), "range": "category"},
    "legend": None,
}


def build_predicted_human_score_chart(
    dependence_on_system: MetricDependence, metric_label: str, curves: MetricCurves
) -> Spec:
    """Draw which human score a metric score predicts: one curve for all systems together, and one for each
    system.

    The systems with the highest and the lowest expected deviation are coloured.
    """
    slots = _choose_colours_of_favoured_systems(dependence_on_system)
    rows: list[Spec] = []
    for group, curve in curves.groups.items():
        points = _list_curve_points(curves.grid, curve)
        rows += [{"group": group, "slot": slots[group], **point} for point in points]
    pooled_rows = [
        {"group": "all systems", **point} for point in _list_curve_points(curves.grid, curves.pooled)
    ]
    x = {"field": "x", "type": "quantitative", "title": "score of the metric", "scale": {"zero": False}}
    y = {"field": "mean", "type": "quantitative", "title": "expected human score", "scale": {"zero": False}}
    is_coloured = f"datum.slot !== {NEUTRAL}"
    return build_chart(
        f"Expected human score given {metric_label}, for each system and for all of them together.",
        height=340,
        data={"values": rows},
        encoding={"x": {**x, "axis": {"grid": False, "tickCount": 8}}, "y": y},
        layer=[
            _build_band_layer(y, is_coloured, COLOUR),
            _build_line_layer(1.2, 0.6, f"datum.slot === {NEUTRAL}"),
            _build_line_layer(2.4, 1.0, is_coloured),
            {"data": {"values": pooled_rows}, **_build_band_layer(y, None, {"value": {"expr": "quiet"}})},
            {
                "data": {"values": pooled_rows},
                "mark": {"type": "line", "strokeWidth": 2.5, "strokeDash": [6, 3], "stroke": {"expr": "ink"}},
            },
            {
                "data": {"values": _find_curve_label_points([*rows, *pooled_rows])},
                **_build_group_names_layer(),
            },
        ],
    )


def build_expected_deviation_by_system_chart(
    dependence_on_system: MetricDependence, metric_label: str
) -> Spec:
    """Draw how much too high or low each system's human score is when predicted from the metric, with
    intervals.
    """
    order = dependence_on_system.rankings.human
    rows = [_build_expected_deviation_point(dependence_on_system, group) for group in order]
    y = {
        **build_vega_channel_with_value_order("group", order, paddingInner=0.35),
        "axis": build_names_axis(ticks=False),
    }
    tooltip = build_tooltip(
        ("group", "system"),
        ("deviation", "expected deviation", ".2f"),
        ("low", "95 % interval: low", ".2f"),
        ("high", "high", ".2f"),
        ("shrinkage", "shrinkage", ".2f"),
        ("residual", "residual", ".2f"),
    )
    title = ["expected deviation (points of the human score);", "above 0: favoured, below 0: disadvantaged"]
    x = {"field": "deviation", "type": "quantitative", "title": title, "axis": {"tickCount": 9}}
    return build_rows_chart(
        f"Expected deviation of each system under {metric_label}, split into shrinkage and residual.",
        order,
        ROW_HEIGHT,
        data={"values": rows},
        encoding={"y": y},
        layer=[
            _build_bar_layer("zero", "shrinkage", {"value": {"expr": "muted"}}, 0.45),
            _build_bar_layer("shrinkage", "deviation", COLOUR, 0.85),
            *build_interval_layers(
                x,
                tooltip,
                rule={"stroke": {"expr": "ink"}, "aria": False},
                point={"size": 44, "color": {"expr": "ink"}},
            ),
        ],
    )


def build_rank_change_chart(dependence_on_system: MetricDependence, metric_label: str) -> Spec:
    """Draw how the rank of each system changes between human scores, predicted human scores and metric
    scores.

    In between is the ranking by human scores predicted from the metric. Systems in an inverted pair are
    coloured.
    """
    rankings = dependence_on_system.rankings
    worse_systems = {pair.worse for pair in dependence_on_system.inversions}
    # A system can be in several inverted pairs, once as the better and once as the worse one.
    better_systems = {pair.better for pair in dependence_on_system.inversions} - worse_systems
    rows: list[Spec] = []
    for order in ORDERS:
        for rank, group in enumerate(getattr(rankings, order), start=1):
            slot = NEUTRAL
            if group in worse_systems:
                slot = FAVOURED
            elif group in better_systems:
                slot = DISADVANTAGED
            rows.append({"group": group, "order": order, "rank": rank, "slot": slot})
    x_axis = {
        "title": None,
        "orient": "top",
        "labelFontWeight": "bold",
        "labelAngle": 0,
        "domain": False,
        "ticks": False,
        "offset": 10,
    }
    x = {
        **build_vega_channel_with_value_order(
            "order", ORDERS, type="point", padding=_compute_name_padding(rankings.human)
        ),
        "axis": x_axis,
    }
    y = {"field": "rank", "type": "quantitative", "scale": {"reverse": True, "zero": False}, "axis": None}
    return build_rows_chart(
        f"Order of the systems by human score, by remapped score and by {metric_label}.",
        rankings.human,
        ROW_HEIGHT,
        data={"values": rows},
        encoding={"x": x, "y": y, "color": COLOUR, "detail": {"field": "group"}},
        layer=[
            {"mark": {"type": "line", "strokeWidth": 2, "opacity": 0.8}},
            {
                "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
                "encoding": {"tooltip": build_tooltip(("group", "system"), ("rank", "rank", "d"))},
            },
            _build_system_names_layer("human", align="right", dx=-10),
            _build_system_names_layer("metric", align="left", dx=10),
        ],
    )


def _choose_colours_of_favoured_systems(dependence_on_system: MetricDependence) -> dict[str, int]:
    """Choose the colours of systems: one for the most favoured, one for the most disadvantaged, and grey for
    all others.
    """
    slots = dict.fromkeys(dependence_on_system.deviations, NEUTRAL)
    slots[max(dependence_on_system.deviations, key=dependence_on_system.deviations.__getitem__)] = FAVOURED
    slots[min(dependence_on_system.deviations, key=dependence_on_system.deviations.__getitem__)] = (
        DISADVANTAGED
    )
    return slots


def _list_curve_points(grid: Sequence[float], curve: Curve) -> list[Spec]:
    points = zip(grid, curve.mean, curve.low, curve.high)
    return [
        {"x": x, "mean": mean, "low": low, "high": high} for x, mean, low, high in points if mean is not None
    ]


def _find_curve_label_points(curve_points: Sequence[Spec]) -> list[Spec]:
    """Find the first point of each coloured curve, where the name of its system is written."""
    first: dict[str, Spec] = {}
    for row in curve_points:
        if row.get("slot") != NEUTRAL:
            first.setdefault(row["group"], row)
    return list(first.values())


def _build_group_names_layer() -> Spec:
    return {
        "mark": {"type": "text", "align": "left", "dx": 6, "dy": 12, "fontWeight": "bold", "aria": False},
        "encoding": {
            "text": {"field": "group"},
            "color": {**COLOUR, "condition": {"test": "!isValid(datum.slot)", "value": {"expr": "ink"}}},
        },
    }


def _build_band_layer(y: Spec, filter_expression: str | None, colour: Spec) -> Spec:
    return {
        **({"transform": [{"filter": filter_expression}]} if filter_expression else {}),
        "mark": {"type": "area", "opacity": 0.14, "aria": False},
        "encoding": {
            "y": {**y, "field": "low"},
            "y2": {"field": "high"},
            "color": colour,
            "detail": {"field": "group"},
        },
    }


def _build_line_layer(width: float, opacity: float, filter_expression: str) -> Spec:
    return {
        "transform": [{"filter": filter_expression}],
        "mark": {"type": "line", "strokeWidth": width, "opacity": opacity},
        "encoding": {
            "color": COLOUR,
            "detail": {"field": "group"},
            "tooltip": build_tooltip(
                ("group", "system"), ("x", "metric", ".3f"), ("mean", "expected human score", ".2f")
            ),
        },
    }


def _build_expected_deviation_point(dependence_on_system: MetricDependence, system: str) -> Spec:
    residual = dependence_on_system.residual[system]
    return {
        "group": system,
        "zero": 0,
        "deviation": dependence_on_system.deviations[system],
        "low": dependence_on_system.deviations_low[system],
        "high": dependence_on_system.deviations_high[system],
        "shrinkage": dependence_on_system.shrinkage[system],
        "residual": residual,
        "slot": FAVOURED if residual > 0 else DISADVANTAGED,
    }


def _build_bar_layer(start: str, end: str, colour: Spec, opacity: float) -> Spec:
    return {
        "mark": {"type": "bar", "opacity": opacity, "height": {"band": 0.9}, "aria": False},
        "encoding": {"x": {"field": start, "type": "quantitative"}, "x2": {"field": end}, "color": colour},
    }


def _build_system_names_layer(ranking_name: str, **mark: Any) -> Spec:
    text = {"type": "text", "baseline": "middle", "lineHeight": 13, "aria": False}
    return {
        "transform": [{"filter": f"datum.order === '{ranking_name}'"}],
        "mark": {**text, **mark, "text": {"expr": build_line_break_expression("datum.group")}},
        "encoding": {"color": {"value": {"expr": "ink"}}},
    }


def _compute_name_padding(names: Sequence[str]) -> float:
    """Compute how much space a chart with three columns needs at both sides to fit the names of systems."""
    # At most 40 % of the width on each side, so that the lines between the names stay visible.
    needed = min(0.4 * _CHART_WIDTH, 14 + 6.5 * min(WRAP, max(map(len, names))))
    return round(2 * needed / (_CHART_WIDTH - 2 * needed), 2)
