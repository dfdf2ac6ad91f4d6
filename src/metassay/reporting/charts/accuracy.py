"""Accuracy over contexts, by difficulty or by cost, agreement by segments: metrics with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.charts.theme import SHAPES, SLOTS, Spec, chart, in_lines, in_order, label_room
from metassay.reporting.findings import Column, Estimate, Findings

DODGE_UP_TO = 80
"""Points side by side up to this many, and while every metric has a colour of its own; else bands."""


def accuracy_chart(findings: Findings, column: Column) -> Spec:
    """The line chart of one context column; lines outside the frame are named by `outside_frame`."""
    hidden = outside_frame(findings, column)
    shown = [name for name in findings.ordered if column.of(name) and name not in hidden]
    metrics = [name for name in shown if name not in findings.sentinels]
    rows = [_row(findings, estimate) for name in shown for estimate in column.of(name)]
    low, high = frame(findings, column)
    dodged = len(metrics) * len(column.contexts) <= DODGE_UP_TO and len(metrics) <= SLOTS
    x = _x_axis(column, dodged=dodged)
    offset = {"xOffset": in_order("metric", metrics)} if dodged else {}
    y = _y_axis(low, high)
    return chart(
        f"Accuracy of {len(metrics)} metrics over {len(column.contexts)} values of {column.name}.",
        height=320,
        usermeta={
            "labels": label_room(column.contexts),
            "slots": {name: slot(findings, name) for name in metrics},
        },
        data={"values": rows},
        layer=[
            *_coin_toss(low, high),
            _sentinel_lines(x, y),
            *_metric_layers(x, y, offset, dodged=dodged, metrics=len(metrics)),
        ],
    )


def difficulty_chart(findings: Findings, rows: Sequence[Estimate], people: Mapping[str, Any] | None) -> Spec:
    """Accuracy by the edited share of a pair, at the median of each part; where people's pairs lie, in grey.

    `rows` have the `median` of their part, `people` the quartiles of the pairs that people tell apart.
    """
    low, high = _range(rows)
    x = {
        "field": "share",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False},
        "axis": {"format": ".2~%", "title": "characters edited (logarithmic)", "grid": False, "tickCount": 6},
    }
    y = _y_axis(low, high)
    values = [{**_row(findings, row), "share": row.row["median"]} for row in rows]
    metrics = len({row.metric for row in rows})
    return chart(
        f"Accuracy of {metrics} metrics by how many characters of a text were edited.",
        height=300,
        usermeta={"slots": {row.metric: slot(findings, row.metric) for row in rows}},
        data={"values": values},
        layer=[
            *_coin_toss(low, high),
            *_peoples(x, people),
            *_metric_layers(x, y, {}, dodged=False, metrics=metrics),
        ],
    )


def downsampled_chart(rows: Sequence[Mapping[str, Any]], meta: str, order: Sequence[str]) -> Spec:
    """A meta-metric by the number of segments: medians over random subsets, with the range of 95 % of them.

    `order` are the metrics, best first, and so the colours; rows of others are baselines, in grey.
    """
    slots = {name: min(place, SLOTS) for place, name in enumerate(order)}
    values = [
        {**row, "slot": slots.get(row["metric"], SLOTS), "sentinel": row["metric"] not in slots}
        | {"share": row["segments"], "accuracy": row["median"]}
        for row in rows
    ]
    sizes = sorted({row["segments"] for row in rows})
    x = {
        "field": "share",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "domain": [sizes[0], sizes[-1]]},
        "axis": {"format": ",d", "title": "segments (logarithmic)", "grid": False, "values": sizes},
    }
    ends = [row[end] for row in values if not row["sentinel"] for end in ("low", "high")]
    frame = {"zero": False, "nice": False, "domain": [min(ends) - 0.01, max(ends) + 0.01]}
    y = {
        "field": "accuracy",
        "type": "quantitative",
        "scale": frame,
        "axis": {"title": meta, "domain": False},
    }
    layers = _metric_layers(x, y, {}, dodged=False, metrics=len(slots))
    told = {"accuracy": f"median {meta}", "low": "95 % from", "high": "to"}
    layers[-1]["encoding"]["tooltip"] = [
        {"field": "metric", "type": "nominal", "title": "metric"},
        {"field": "share", "type": "quantitative", "format": ",", "title": "segments"},
        *({"field": n, "type": "quantitative", "format": ".3f", "title": title} for n, title in told.items()),
    ]
    return chart(
        f"{meta} of {len(slots)} metrics on fewer segments.",
        height=320,
        usermeta={"slots": slots},
        data={"values": values},
        layer=[_sentinel_lines(x, y), *layers],
    )


def pareto_chart(findings: Findings, classes: Mapping[str, str], kept: Sequence[str]) -> Spec:
    """Accuracy by class of cost, from metrics to their `classes`; a line through those `kept`."""
    order = list(dict.fromkeys(classes.values()))
    members = {each: [name for name in findings.metrics if classes.get(name) == each] for each in order}
    most = max(map(len, members.values()))
    rows = [
        _row(findings, findings.overall[name])
        | {"context": each, "kept": name in kept, "place": str(most - len(own) + 2 * n)}
        for each, own in members.items()
        for n, name in enumerate(own)
    ]
    low, high = _range([findings.overall[name] for name in classes])
    x = {**in_order("context", order), "axis": {"title": "what using it takes", "ticks": False}}
    y = _y_axis(low, high)
    offset = {"xOffset": in_order("place", [str(n) for n in range(2 * most - 1)])}
    frontier = {"transform": [{"filter": "datum.kept"}], "encoding": {"x": x, "y": y, **offset}}
    ink: Spec = {"stroke": {"expr": "ink"}, "aria": False}
    named: Spec = {
        "dy": {"expr": "-14 - 12 * ceil(length(datum.metric) / 16)"},
        "text": {"expr": f"width < 480 ? '' : {in_lines('datum.metric', '16')}"},
    }
    text = {"type": "text", "baseline": "top", "lineHeight": 12, "fontWeight": "bold", "aria": False}
    return chart(
        f"Accuracy of {len(rows)} metrics by what using them takes.",
        height=320,
        padding={"left": 5, "right": 5, "bottom": 5, "top": 44},  # names stand above the frame
        usermeta={"labels": label_room(order), "slots": {row["metric"]: row["slot"] for row in rows}},
        data={"values": rows},
        layer=[
            {**frontier, "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.5, **ink}},
            *_metric_layers(x, y, offset, dodged=True, metrics=len(rows)),
            {**frontier, "mark": {"type": "point", "filled": False, "size": 190, "strokeWidth": 2, **ink}},
            {**frontier, "mark": {**text, **named}},
        ],
    )


def _peoples(x: Spec, people: Mapping[str, Any] | None) -> list[Spec]:
    """The middle half of the pairs that people tell apart, and their median."""
    if people is None:
        return []
    data = {"values": [{key: people[key] for key in ("low", "median", "high")}]}
    band = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    grey = {"expr": "quiet"}
    half = {"type": "rect", "fill": grey, "opacity": 0.15, "aria": False}
    middle = {"type": "rule", "stroke": grey, "strokeDash": [4, 3], "aria": False}
    return [
        {"data": data, "mark": half, "encoding": band},
        {"data": data, "mark": middle, "encoding": {"x": {**x, "field": "median"}}},
    ]


def _y_axis(low: float, high: float) -> Spec:
    return {
        "field": "accuracy",
        "type": "quantitative",
        "scale": {"domain": [low, high], "zero": False, "nice": False},
        "axis": {"format": ".0%", "title": "pairs told right", "tickCount": 6, "domain": False},
    }


def frame(findings: Findings, column: Column) -> tuple[float, float]:
    """The range of accuracies on show: that of the metrics' intervals, with a little air."""
    return _range([estimate for name in findings.metrics for estimate in column.of(name)])


def _range(estimates: Sequence[Estimate]) -> tuple[float, float]:
    ends = [
        end
        for estimate in estimates
        for end in (estimate.accuracy, estimate.low, estimate.high)
        if end is not None
    ]
    if not ends:
        return 0.0, 1.0
    air = max(0.02, 0.06 * (max(ends) - min(ends)))
    return round(max(0.0, min(ends) - air), 3), round(min(1.0, max(ends) + air), 3)


def outside_frame(findings: Findings, column: Column) -> list[str]:
    """Sentinels that are not drawn, since they lie outside the frame somewhere."""
    low, high = frame(findings, column)
    return [
        name
        for name in findings.ordered
        if name in findings.sentinels
        and column.of(name)
        and not all(low <= (estimate.accuracy or 0.0) <= high for estimate in column.of(name))
    ]


def slot(findings: Findings, metric: str) -> int:
    """The metric's colour slot; sentinels and metrics beyond the palette share the muted one."""
    if metric in findings.sentinels:
        return SLOTS
    return min(findings.metrics.index(metric), SLOTS)


def _row(findings: Findings, estimate: Estimate) -> Spec:
    return {
        "context": estimate.context,
        "metric": estimate.metric,
        "slot": slot(findings, estimate.metric),
        "sentinel": estimate.metric in findings.sentinels,
        "accuracy": estimate.accuracy,
        "low": estimate.low,
        "high": estimate.high,
        "pairs": estimate.row.get("pairs"),
    }


def _x_axis(column: Column, *, dodged: bool) -> Spec:
    scale = {"type": "band", "paddingInner": 0.35, "paddingOuter": 0.2} if dodged else {"type": "point"}
    return {
        **in_order("context", column.contexts, **scale),
        "axis": {"title": None, "ticks": False, "labelPadding": 8},
    }


def _coin_toss(low: float, high: float) -> list[Spec]:
    if not low < 0.5 < high:
        return []
    return [
        {
            "data": {"values": [{"level": 0.5}]},
            "mark": {"type": "rule", "strokeDash": [2, 3], "stroke": {"expr": "quiet"}},
            "encoding": {"y": {"field": "level", "type": "quantitative"}},
        }
    ]


def _sentinel_lines(x: Spec, y: Spec) -> Spec:
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
        "encoding": {"x": x, "y": y, "detail": {"field": "metric"}, "opacity": {"value": 0.9}},
    }


def _metric_layers(x: Spec, y: Spec, offset: Spec, *, dodged: bool, metrics: int) -> list[Spec]:
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
    base = {"x": x, "y": y, "color": colour, "detail": {"field": "metric"}, **offset}
    real = [{"filter": "!datum.sentinel"}]
    ends = {**base, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    spread: Spec = {"type": "rule", "strokeWidth": 2} if dodged else {"type": "area", "clip": True}
    return [
        {
            "transform": real,
            "mark": {**spread, "aria": False},
            "encoding": {**ends, "opacity": _faded(0.45) if dodged else _faded(0.25, 0.3 / max(3, metrics))},
        },
        {
            "transform": real,
            "mark": {"type": "line", "strokeWidth": 2, "aria": False},
            "encoding": {**base, "opacity": _faded(0.55 if dodged else 0.9)},
        },
        {
            "transform": real,
            "mark": {"type": "point", "filled": True, "size": 58 if dodged else 24},
            "encoding": {**base, "shape": shape, "opacity": _faded(1.0), "tooltip": _tooltip()},
        },
    ]


def _faded(focused: float, resting: float | None = None) -> Spec:
    """The opacity of a mark: in focus, at rest, at rest without a colour of its own, or out of focus."""
    rest = focused if resting is None else resting
    return {
        "condition": [
            {"test": "datum.metric === focus", "value": focused},
            {"test": f"focus === '' && datum.slot < {SLOTS}", "value": rest},
            {"test": "focus === ''", "value": 0.3 * rest},
        ],
        "value": 0.08 * focused,
    }


def _tooltip() -> list[dict[str, Any]]:
    return [
        {"field": "metric", "type": "nominal", "title": "metric"},
        {"field": "context", "type": "nominal", "title": "context"},
        {"field": "accuracy", "type": "quantitative", "format": ".1%", "title": "told right"},
        {"field": "low", "type": "quantitative", "format": ".1%", "title": "95 % from"},
        {"field": "high", "type": "quantitative", "format": ".1%", "title": "to"},
        {"field": "pairs", "type": "quantitative", "format": ",", "title": "pairs"},
    ]
