"""Chart of `watch`: the value of each metric in every run."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.charts.theme import (
    Spec,
    build_channel_with_ordered_values,
    build_chart,
    build_tooltip,
)
from metassay.reporting.labels import MetricLabels
from metassay.results.watch import WatchedSeries

HEIGHT = 280


def build_run_series_chart(
    series: Sequence[WatchedSeries], runs: Sequence[str], metric_labels: MetricLabels, measure: str
) -> Spec:
    """Draw how one measure of metrics or judges, such as accuracy, changes over a series of runs, oldest
    first.
    """
    rows = []
    for entry in series:
        for point in entry.runs:
            number = runs.index(point.run) + 1
            rows.append({"run": number, "metric": metric_labels[entry.metric], "value": point.value})
    metrics = [metric_labels[entry.metric] for entry in series]
    return build_chart(
        f"{measure} of {len(series)} metrics or judges in {len(runs)} runs.",
        height=HEIGHT,
        data={"values": rows},
        mark={"type": "line", "point": True},
        encoding={
            "x": {"field": "run", "type": "quantitative", "title": "run", "axis": {"tickMinStep": 1}},
            "y": {"field": "value", "type": "quantitative", "title": measure, "scale": {"zero": False}},
            "color": {
                **build_channel_with_ordered_values("metric", metrics, range="category"),
                "legend": {"orient": "top", "title": None},
            },
            "tooltip": build_tooltip(("metric", "metric"), ("run", "run", "d"), ("value", "value", ".4f")),
        },
    )
