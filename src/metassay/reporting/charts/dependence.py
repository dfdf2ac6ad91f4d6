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
    build_ordered_channel,
    build_rows_chart,
    build_tooltip,
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
    metric_dependence: MetricDependence, metric_label: str, curves: MetricCurves
) -> Spec:
    """Draw which human score is expected for each metric score: one curve for all systems together, and one
    for each system.

    The systems with the highest and the lowest expected deviation are coloured.
    """
    slots = _choose_colours_of_favoured_systems(metric_dependence)
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


def build_expected_deviation_chart(metric_dependence: MetricDependence, metric_label: str) -> Spec:
    """Draw for each system how much too high or too low its human score is if it is predicted from a metric,
    with intervals.
    """
    order = metric_dependence.rankings.human
    rows = [_build_expected_deviation_point(metric_dependence, group) for group in order]
    y = {
        **build_ordered_channel("group", order, paddingInner=0.35),
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


def build_rank_change_chart(metric_dependence: MetricDependence, metric_label: str) -> Spec:
    """Draw how the ranks of systems change between human scores, human scores predicted from a metric, and
    scores of the metric.

    In between is the ranking by human scores predicted from the metric. Systems in an inverted pair are
    coloured.
    """
    rankings = metric_dependence.rankings
    worse_systems = {pair.worse for pair in metric_dependence.inversions}
    # A system can be in several inverted pairs, once as the better and once as the worse one.
    better_systems = {pair.better for pair in metric_dependence.inversions} - worse_systems
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
        **build_ordered_channel("order", ORDERS, type="point", padding=_compute_name_padding(rankings.human)),
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


def _choose_colours_of_favoured_systems(metric_dependence: MetricDependence) -> dict[str, int]:
    """Choose a colour for each system: one for the most favoured, another for the most disadvantaged, and
    grey for all others.
    """
    slots = dict.fromkeys(metric_dependence.deviations, NEUTRAL)
    slots[max(metric_dependence.deviations, key=metric_dependence.deviations.__getitem__)] = FAVOURED
    slots[min(metric_dependence.deviations, key=metric_dependence.deviations.__getitem__)] = DISADVANTAGED
    return slots


def _list_curve_points(grid: Sequence[float], curve: Curve) -> list[Spec]:
    points = zip(grid, curve.mean, curve.low, curve.high)
    return [
        {"x": x, "mean": mean, "low": low, "high": high} for x, mean, low, high in points if mean is not None
    ]


def _find_curve_label_points(curve_points: Sequence[Spec]) -> list[Spec]:
    """Find the first point of each curve that is not grey, where the name of its system is written."""
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


def _build_expected_deviation_point(metric_dependence: MetricDependence, system: str) -> Spec:
    residual = metric_dependence.residual[system]
    return {
        "group": system,
        "zero": 0,
        "deviation": metric_dependence.deviations[system],
        "low": metric_dependence.deviations_low[system],
        "high": metric_dependence.deviations_high[system],
        "shrinkage": metric_dependence.shrinkage[system],
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
    """Compute the space that a chart needs on the left and right to fit the names of systems, relative to the
    distance of its columns.
    """
    # At most 40 % of the width on each side, so that the lines between the names stay visible.
    needed = min(0.4 * _CHART_WIDTH, 14 + 6.5 * min(WRAP, max(map(len, names))))
    return round(2 * needed / (_CHART_WIDTH - 2 * needed), 2)
