"""Layers that charts of several metrics share: lines with intervals, each metric in its colour and shape."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.charts.theme import SHAPES, SLOTS, Spec, build_tooltip
from metassay.reporting.wording import HasAccuracy

ACCURACY_TOOLTIP = build_tooltip(
    ("metric", "metric"),
    ("context", "context"),
    ("accuracy", "right pairs", ".1%"),
    ("low", "95 % interval: low", ".1%"),
    ("high", "high", ".1%"),
    ("pairs", "pairs", ","),
)


def build_accuracy_axis(low: float, high: float) -> Spec:
    """Build the vertical axis of a chart of accuracies."""
    return {
        "field": "accuracy",
        "type": "quantitative",
        "scale": {"domain": [low, high], "zero": False, "nice": False},
        "axis": {"format": ".0%", "title": "right pairs", "tickCount": 6, "domain": False},
    }


def find_accuracy_range(accuracies: Sequence[HasAccuracy]) -> tuple[float, float]:
    """Choose the range of a chart axis so that all accuracies and their intervals fit with a margin."""
    ends = [end for row in accuracies for end in (row.accuracy, row.low, row.high) if end is not None]
    if not ends:
        return 0.0, 1.0
    # At least two points, so that equal accuracies do not give an empty axis.
    space = max(0.02, 0.06 * (max(ends) - min(ends)))
    return round(max(0.0, min(ends) - space), 3), round(min(1.0, max(ends) + space), 3)


def build_chance_line(low: float, high: float) -> list[Spec]:
    """Build the chart layer with a line at 50 %, the accuracy of a coin toss. The list of layers is empty if
    50 % is outside the range.
    """
    if not low < 0.5 < high:
        return []
    return [
        {
            "data": {"values": [{"level": 0.5}]},
            "mark": {"type": "rule", "strokeDash": [2, 3], "stroke": {"expr": "quiet"}},
            "encoding": {"y": {"field": "level", "type": "quantitative"}},
        }
    ]


def build_baseline_line_layer(x_channel: Spec, y_channel: Spec) -> Spec:
    """Build a chart layer with grey dashed lines for the baselines that ignore quality."""
    return {
        "transform": [{"filter": "datum.sentinel"}],
        "mark": {
            "type": "line",
            "clip": True,
            "strokeDash": [4, 3],
            "strokeWidth": 1.5,
            "stroke": {"expr": "muted"},
            "aria": False,
        },
        "encoding": {
            "x": x_channel,
            "y": y_channel,
            "detail": {"field": "metric"},
            "opacity": {"value": 0.9},
        },
    }


def build_metric_line_layers(
    x_channel: Spec,
    y_channel: Spec,
    offset_channel: Spec,
    *,
    side_by_side: bool,
    metric_count: int,
    tooltip: Sequence[Spec],
) -> list[Spec]:
    """Build the chart layers with a line, points and intervals for each metric. Intervals are bars next to
    each other, or bands.
    """
    colour = {
        "field": "slot",
        "type": "nominal",
        "scale": {"domain": list(range(SLOTS + 1)), "range": "category"},
        "legend": None,
        "condition": {"test": f"datum.slot === {SLOTS} && datum.metric === focus", "value": {"expr": "ink"}},
    }
    shape = {
        "field": "slot",
        "type": "nominal",
        "scale": {"domain": list(range(SLOTS + 1)), "range": [*SHAPES, "circle"]},
        "legend": None,
    }
    base = {"x": x_channel, "y": y_channel, "color": colour, "detail": {"field": "metric"}, **offset_channel}
    without_sentinels = [{"filter": "!datum.sentinel"}]
    interval_ends = {**base, "y": {**y_channel, "field": "low"}, "y2": {"field": "high"}}
    if side_by_side:
        interval_mark: Spec = {"type": "rule", "strokeWidth": 2}
        interval_opacity = _build_opacity_of_selected_metric(0.45)
    else:
        interval_mark = {"type": "area", "clip": True}
        # Bands lie above each other: with more metrics, each must be paler.
        interval_opacity = _build_opacity_of_selected_metric(
            0.25, opacity_without_selection=0.3 / max(3, metric_count)
        )
    return [
        {
            "transform": without_sentinels,
            "mark": {**interval_mark, "aria": False},
            "encoding": {**interval_ends, "opacity": interval_opacity},
        },
        {
            "transform": without_sentinels,
            "mark": {"type": "line", "strokeWidth": 2, "aria": False},
            "encoding": {**base, "opacity": _build_opacity_of_selected_metric(0.55 if side_by_side else 0.9)},
        },
        {
            "transform": without_sentinels,
            "mark": {"type": "point", "filled": True, "size": 58 if side_by_side else 24},
            "encoding": {
                **base,
                "shape": shape,
                "opacity": _build_opacity_of_selected_metric(1.0),
                "tooltip": list(tooltip),
            },
        },
    ]


def _build_opacity_of_selected_metric(
    opacity_if_selected: float, opacity_without_selection: float | None = None
) -> Spec:
    """Build the Vega-Lite opacity of lines and points: the metric that the reader selected is opaque, and
    others are pale.
    """
    resting = opacity_if_selected if opacity_without_selection is None else opacity_without_selection
    return {
        "condition": [
            {"test": "datum.metric === focus", "value": opacity_if_selected},
            {"test": f"focus === '' && datum.slot < {SLOTS}", "value": resting},
            # Metrics without a colour of their own stay in the background.
            {"test": "focus === ''", "value": 0.3 * resting},
        ],
        "value": 0.08 * opacity_if_selected,
    }
