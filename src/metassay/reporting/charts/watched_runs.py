"""Chart of `watch`: the value of each metric in every run."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.charts.theme import (
    Spec,
    build_chart,
    build_ordered_channel,
    build_tooltip,
)
from metassay.reporting.labels import MetricLabels
from metassay.results.watch import WatchedSeries

HEIGHT = 280


def build_run_series_chart(
    series_by_metric: Sequence[WatchedSeries],
    run_names: Sequence[str],
    metric_labels: MetricLabels,
    measure_title: str,
) -> Spec:
    """Draw how one measure, such as accuracy, changes over a series of runs, with a line for each metric or
    judge.
    """
    rows = []
    for entry in series_by_metric:
        for point in entry.runs:
            number = run_names.index(point.run) + 1
            rows.append({"run": number, "metric": metric_labels[entry.metric], "value": point.value})
    metrics = [metric_labels[entry.metric] for entry in series_by_metric]
    return build_chart(
        f"{measure_title} of {len(series_by_metric)} metrics or judges in {len(run_names)} runs.",
        height=HEIGHT,
        data={"values": rows},
        mark={"type": "line", "point": True},
        encoding={
            "x": {"field": "run", "type": "quantitative", "title": "run", "axis": {"tickMinStep": 1}},
            "y": {"field": "value", "type": "quantitative", "title": measure_title, "scale": {"zero": False}},
            "color": {
                **build_ordered_channel("metric", metrics, range="category"),
                "legend": {"orient": "top", "title": None},
            },
            "tooltip": build_tooltip(("metric", "metric"), ("run", "run", "d"), ("value", "value", ".4f")),
        },
    )
