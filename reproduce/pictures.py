"""Curves and matrices in the form of the papers' figures, as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import vl_convert

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
CONFIG = {"view": {"stroke": "#ddd"}, "background": "white", "font": "sans-serif"}


def draw_curves(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    *,
    context: str,
    panels: str | None = None,
    measured: str = "local accuracy",
) -> None:
    """Accuracy over contexts, in the order of `rows`, a line per metric: `context, metric, accuracy`.

    `panels` is a field that divides the rows over small pictures.
    """
    rows = [row for row in rows if row["context"] != "global" and row["accuracy"] is not None]
    order = list(dict.fromkeys(row["context"] for row in rows))
    named = len(order) <= 40
    place = {name: number for number, name in enumerate(order)}
    values = [
        {"x": row["context"] if named else place[row["context"]], "metric": row["metric"]}
        | {"accuracy": round(row["accuracy"], 5)}
        | ({"panel": row[panels]} if panels else {})
        for row in rows
    ]
    x: dict[str, Any] = {"field": "x", "title": context if named else f"{context}, in order"}
    x |= {"type": "ordinal", "sort": order} if named else {"type": "quantitative"}
    x["axis"] = {"labels": panels is None, "labelAngle": -60 if named else 0, "title": x["title"]}
    lines = {
        "width": 180 if panels else 640,
        "height": 110 if panels else 260,
        "mark": {"type": "line", "strokeWidth": 1.2, "point": named and len(order) < 12},
        "encoding": {
            "x": x,
            "y": {
                "field": "accuracy",
                "type": "quantitative",
                "title": measured,
                "scale": {"zero": False},
            },
            "color": {"field": "metric", "type": "nominal", "title": None, "scale": {"scheme": "tableau10"}},
        },
    }
    body: dict[str, Any] = lines
    if panels:
        facet = {"field": "panel", "type": "nominal", "title": None}
        body = {"facet": facet, "columns": 4, "spec": lines}
    _draw(path, values, body)


def draw_matrix(
    path: Path, names: Sequence[str], cells: Sequence[Sequence[float | None]], *, title: str
) -> None:
    """Agreement of every two contexts, the first being all of them together."""
    order = list(names)
    values = [
        {"x": x, "y": y, "value": round(cell, 3)}
        for y, line in zip(order, cells)
        for x, cell in zip(order, line)
        if cell is not None
    ]
    labels = len(order) <= 60
    axis = {"title": None, "labels": labels, "labelFontSize": 7, "ticks": labels}
    body = {
        "width": 420,
        "height": 420,
        "mark": "rect",
        "encoding": {
            "x": {"field": "x", "type": "ordinal", "sort": order, "axis": axis | {"labelAngle": -60}},
            "y": {"field": "y", "type": "ordinal", "sort": order, "axis": axis},
            "color": {
                "field": "value",
                "type": "quantitative",
                "title": title,
                "scale": {"scheme": "blueorange", "domain": [-1, 1]},
            },
        },
    }
    _draw(path, values, body)


def _draw(path: Path, values: Sequence[Mapping[str, Any]], body: Mapping[str, Any]) -> None:
    spec = {"$schema": SCHEMA, "config": CONFIG, "data": {"values": list(values)}, **body}
    path.write_bytes(vl_convert.vegalite_to_png(spec, scale=1))
