"""Chart of `estimate`: the human score of each system, with and without the help of a metric."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.charts.theme import (
    Spec,
    build_chart,
    build_names_axis,
    build_ordered_channel,
    compute_chart_height,
    describe_chart_rows,
)
from metassay.results.base import Interval
from metassay.results.estimate import SystemEstimate

ROW_HEIGHT = 30
LABELS_ONLY = "labels only"


def build_estimates_chart(systems: Sequence[SystemEstimate], human: str, method: str) -> Spec:
    """Draw the mean human score of each system with its interval, from labels alone and from `method`."""
    rows = []
    for entry in systems:
        rows.append(_build_interval_row(entry.system, method, entry.estimate))
        if method != LABELS_ONLY:
            rows.append(_build_interval_row(entry.system, LABELS_ONLY, entry.labels_only))
    names = [entry.system for entry in systems]
    methods = [method] if method == LABELS_ONLY else [method, LABELS_ONLY]
    rows_meta = describe_chart_rows(names, ROW_HEIGHT)
    x = {"field": "value", "type": "quantitative", "title": f"mean {human}", "scale": {"zero": False}}
    colour = {
        **build_ordered_channel("method", methods, range="category"),
        "legend": {"orient": "top", "title": None},
    }
    tooltip: list[Spec] = [{"field": "system", "type": "nominal"}, {"field": "method", "type": "nominal"}]
    tooltip += [{"field": name, "type": "quantitative", "format": ".4f"} for name in ("value", "low", "high")]
    return build_chart(
        f"Mean {human} of {len(names)} systems, best first, with 95 % intervals.",
        height=compute_chart_height(rows_meta),
        usermeta=rows_meta,
        data={"values": rows},
        encoding={
            "y": {**build_ordered_channel("system", names), "axis": build_names_axis()},
            "yOffset": build_ordered_channel("method", methods),
            "color": colour,
        },
        layer=[
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
                "encoding": {"x": x, "tooltip": tooltip},
            },
        ],
    )


def _build_interval_row(system: str, method: str, interval: Interval) -> Spec:
    return {
        "system": system,
        "method": method,
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
    }
