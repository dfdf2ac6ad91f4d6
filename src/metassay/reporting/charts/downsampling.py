"""Chart of a meta-metric by the number of segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.charts.metric_lines import (
    build_baseline_line_layer,
    build_metric_line_layers,
)
from metassay.reporting.charts.theme import SLOTS, Spec, build_chart, build_tooltip


def build_downsampling_chart(
    subset_rows: Sequence[Mapping[str, Any]], meta_metric: str, metric_labels: Sequence[str]
) -> Spec:
    """Draw how well metrics agree with human scores by the number of segments: the median and 95 % range over
    random subsets of the segments.

    `metric_labels` are in the order of the metrics, best first, which decides their colours. Rows of other
    metrics are baselines, in grey.
    """
    slots = {name: min(position, SLOTS) for position, name in enumerate(metric_labels)}
    values = []
    ends: list[float] = []
    for row in subset_rows:
        is_sentinel = row["metric"] not in slots
        axes = {"share": row["segments"], "accuracy": row["median"]}
        values.append({**row, **axes, "slot": slots.get(row["metric"], SLOTS), "sentinel": is_sentinel})
        if not is_sentinel:
            ends += [row["low"], row["high"]]
    sizes = sorted({row["segments"] for row in subset_rows})
    x = {
        "field": "share",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "domain": [sizes[0], sizes[-1]]},
        "axis": {"format": ",d", "title": "segments (logarithmic)", "grid": False, "values": sizes},
    }
    y = {
        "field": "accuracy",
        "type": "quantitative",
        "scale": {"zero": False, "nice": False, "domain": [min(ends) - 0.01, max(ends) + 0.01]},
        "axis": {"title": meta_metric, "domain": False},
    }
    tooltip = build_tooltip(
        ("metric", "metric"),
        ("share", "segments", ","),
        ("accuracy", f"median {meta_metric}", ".3f"),
        ("low", "95 % interval: low", ".3f"),
        ("high", "high", ".3f"),
    )
    return build_chart(
        f"{meta_metric} of {len(slots)} metrics on fewer segments.",
        height=320,
        usermeta={"slots": slots},
        data={"values": values},
        layer=[
            build_baseline_line_layer(x, y),
            *build_metric_line_layers(x, y, {}, side_by_side=False, metric_count=len(slots), tooltip=tooltip),
        ],
    )
