"""Chart of how often each judge agrees with people."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.charts.theme import (
    Spec,
    build_interval_layers,
    build_names_channel,
    build_rows_chart,
    build_tooltip,
)
from metassay.reporting.wording import format_plural
from metassay.results.judge import JudgeEntry

ROW_HEIGHT = 20
MEASURE = "agreement with people"


def build_judge_accuracy_chart(entries: Sequence[JudgeEntry]) -> Spec:
    """Draw the accuracy of each judge as a dot with its 95 % interval."""
    judges = [entry.judge for entry in entries]
    rows = []
    for entry in entries:
        ends = {"low": entry.low, "high": entry.high}
        rows.append({"judge": entry.judge, "accuracy": entry.accuracy, **ends})
    numbers = [(name, name, ".4f") for name in ("accuracy", "low", "high")]
    return build_rows_chart(
        f"Agreement of {format_plural(len(judges), 'judge')} with people, best first, with intervals.",
        judges,
        ROW_HEIGHT,
        data={"values": rows},
        encoding={"y": build_names_channel("judge", judges)},
        layer=build_interval_layers(
            {"field": "accuracy", "type": "quantitative", "title": MEASURE, "scale": {"zero": False}},
            build_tooltip(("judge", "judge"), *numbers),
            rule={"strokeWidth": 2, "opacity": 0.5, "stroke": {"expr": "quiet"}},
            point={"size": 60, "opacity": 1, "fill": {"expr": "ink"}},
        ),
    )
