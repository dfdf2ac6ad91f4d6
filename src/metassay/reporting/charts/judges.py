"""Chart of judges: their agreement with humans."""

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
from metassay.results.judge import JudgeEntry

ROW_HEIGHT = 20
MEASURE = "agreement with people"


def build_judge_accuracy_chart(entries: Sequence[JudgeEntry]) -> Spec:
    """Draw the accuracy of each judge as a dot with its 95 % interval, in the given order."""
    rows = [
        {"judge": entry.judge, "accuracy": entry.accuracy, "low": entry.low, "high": entry.high}
        for entry in entries
    ]
    judges = [entry.judge for entry in entries]
    rows_meta = describe_chart_rows(judges, ROW_HEIGHT)
    x = {"field": "accuracy", "type": "quantitative", "title": MEASURE, "scale": {"zero": False}}
    tooltip: list[Spec] = [{"field": "judge", "type": "nominal"}]
    tooltip += [
        {"field": name, "type": "quantitative", "format": ".4f"} for name in ("accuracy", "low", "high")
    ]
    return build_chart(
        f"Agreement of {len(judges)} judges with people, best first, with intervals.",
        height=compute_chart_height(rows_meta),
        usermeta=rows_meta,
        data={"values": rows},
        encoding={"y": {**build_ordered_channel("judge", judges), "axis": build_names_axis()}},
        layer=[
            {
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5, "stroke": {"expr": "quiet"}},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "fill": {"expr": "ink"}},
                "encoding": {"x": x, "tooltip": tooltip},
            },
        ],
    )
