"""A square heatmap of coefficients between −1 and 1, each cell with its number while there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metassay.reporting.charts.theme import Spec, chart, in_order, label_room

LABELLED_UP_TO = 16
"""Names up to which each cell shows its number."""

COLOUR: Spec = {
    "field": "value",
    "type": "quantitative",
    "scale": {"domain": [-1, 1], "range": "diverging", "clamp": True},
    "legend": None,
}


def matrix_chart(
    description: str, names: Sequence[str], cells: Sequence[Spec], tooltip: Sequence[Spec]
) -> Spec:
    """The heatmap of `cells` (rows of `row`, `column`, `value`), both axes in the order of `names`."""
    labelled = len(names) <= LABELLED_UP_TO
    axes: Spec = {"title": None, "ticks": False, "domain": False}
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "cornerRadius": 2, "stroke": {"expr": "paper"}, "strokeWidth": 1.5},
            "encoding": {"color": COLOUR},
        }
    ]
    if labelled:
        layers.append(numbers("label", "nominal", strong="abs(datum.value) > 0.62"))
    return chart(
        description,
        height=len(names) * (30 if labelled else max(7, 480 // len(names))),
        usermeta={"labels": label_room(names)},
        data={"values": [{**cell, "label": _label(cell["value"])} for cell in cells]},
        encoding={
            "x": {**in_order("column", names), "axis": {**axes, "orient": "top", "labelPadding": 6}},
            "y": {**in_order("row", names), "axis": {**axes, "labelOverlap": "greedy"}},
            "tooltip": list(tooltip),  # on numbers too, which lie above the cells
        },
        layer=layers,
    )


def numbers(field: str, kind: str, *, strong: str, **text: Any) -> Spec:
    """A layer of numbers: paper-coloured on cells where `strong` holds, ink elsewhere."""
    return {
        "mark": {"type": "text", "fontSize": {"expr": "width < 260 ? 9 : 11"}, "aria": False},
        "encoding": {
            "text": {"field": field, "type": kind, **text},
            "color": {
                "condition": [
                    {"test": f"({strong}) && !dark", "value": "#ffffff"},
                    {"test": f"({strong}) && dark", "value": "#10151a"},
                ],
                "value": {"expr": "ink"},
            },
        },
    }


def _label(value: float) -> str:
    """Short enough for a narrow cell: `1`, `.82`, `−.40`."""
    return f"{value:.2f}".replace("-", "−").replace("0.", ".", 1).replace("1.00", "1")
