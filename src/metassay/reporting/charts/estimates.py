"""Chart of `estimate`: the human score of each system, with and without the help of a metric."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metassay.reporting.charts.theme import (
    Spec,
    build_interval_layers,
    build_names_channel,
    build_ordered_channel,
    build_rows_chart,
    build_tooltip,
)
from metassay.reporting.wording import format_plural
from metassay.results.estimate import SystemEstimate

ROW_HEIGHT = 30
LABELS_ONLY = "labels only"


def build_estimates_chart(systems: Sequence[SystemEstimate], human: str, method: str) -> Spec:
    """Draw two estimates of each system's mean human score with intervals: one from human labels alone, and
    one by `method`.
    """
    rows = []
    for entry in systems:
        intervals = {method: entry.estimate, LABELS_ONLY: entry.labels_only}
        if method == LABELS_ONLY:
            intervals = {method: entry.estimate}
        for name, interval in intervals.items():
            rows.append({"system": entry.system, "method": name, **msgspec.structs.asdict(interval)})
    names = [entry.system for entry in systems]
    methods = list(dict.fromkeys([method, LABELS_ONLY]))
    colour = build_ordered_channel("method", methods, range="category")
    numbers = [(name, name, ".4f") for name in ("value", "low", "high")]
    return build_rows_chart(
        f"Mean {human} of {format_plural(len(names), 'system')}, best first, with 95 % intervals.",
        names,
        ROW_HEIGHT,
        data={"values": rows},
        encoding={
            "y": build_names_channel("system", names),
            "yOffset": build_ordered_channel("method", methods),
            "color": {**colour, "legend": {"orient": "top", "title": None}},
        },
        layer=build_interval_layers(
            {"field": "value", "type": "quantitative", "title": f"mean {human}", "scale": {"zero": False}},
            build_tooltip(("system", "system"), ("method", "method"), *numbers),
            rule={"strokeWidth": 2},
            point={"size": 50, "opacity": 1},
        ),
    )
