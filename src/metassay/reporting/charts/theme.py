"""Colours and type of the charts, for light and for dark surroundings.

A spec never names a colour: metrics have slots (`slot` 0, 1, 2 …) in the `category` range, values use the
`heatmap` or `diverging` range, and the parameters `dark`, `ink`, `quiet` and `paper` bring the rest.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

Spec = dict[str, Any]
Scheme = Literal["light", "dark"]

SLOTS = 8
"""Metrics beyond this many share one muted colour."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-left", "stroke")

TOKENS: dict[Scheme, dict[str, str]] = {
    "light": {
        "paper": "#ffffff",
        "ground": "#f7f7f4",
        "ink": "#1c2126",
        "quiet": "#616a73",
        "line": "#e1e2dd",
        "accent": "#0b5cad",
        "muted": "#9aa3ab",
    },
    "dark": {
        "paper": "#1a1e23",
        "ground": "#13161a",
        "ink": "#e9ebed",
        "quiet": "#a3acb5",
        "line": "#31373e",
        "accent": "#7cb7f5",
        "muted": "#6c757e",
    },
}

CATEGORY: dict[Scheme, tuple[str, ...]] = {
    "light": ("#0b6bcb", "#d9480f", "#0b8a68", "#8250c4", "#a87900", "#bf2a86", "#1f94bd", "#7d5a3c"),
    "dark": ("#6db3f8", "#ff9361", "#4fcfa5", "#b79af0", "#e5b93c", "#f27fc0", "#63cdf0", "#c9a285"),
}

HEATMAP: dict[Scheme, tuple[str, ...]] = {
    "light": ("#fbf3e6", "#f3d9b1", "#cfe0d8", "#86bcc6", "#3c87b4", "#15518c"),
    "dark": ("#3a2a1c", "#5a4326", "#2c4a4c", "#2c6d7c", "#4a9fc4", "#a5dcf5"),
}

DIVERGING: dict[Scheme, tuple[str, ...]] = {
    "light": ("#b5482a", "#dd8a63", "#f3d3bd", "#f4f2ee", "#bfdbe3", "#6aa9c6", "#1d6ca3"),
    "dark": ("#f0875f", "#b9603f", "#5d3a2c", "#2a2f35", "#27505f", "#3f88a8", "#8fd3f2"),
}

FONT = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', "
    "Arial, sans-serif"
)


def parameters() -> list[Spec]:
    """The parameters that the page sets when it draws a chart, or a person picks a metric."""
    light = TOKENS["light"]
    return [
        {"name": "dark", "value": False},
        {"name": "focus", "value": ""},
        *({"name": name, "value": light[name]} for name in ("ink", "quiet", "paper", "line", "muted")),
    ]


def config(scheme: Scheme) -> Spec:
    """Vega-Lite's `config` for one scheme."""
    tokens = TOKENS[scheme]
    return {
        "background": None,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": tokens["quiet"],
            "titleColor": tokens["quiet"],
            "gridColor": tokens["line"],
            "domainColor": tokens["line"],
            "tickColor": tokens["line"],
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 150,
        },
        "legend": {"labelColor": tokens["quiet"], "titleColor": tokens["quiet"], "labelFontSize": 12},
        "text": {"color": tokens["ink"]},
        "range": {
            "category": [*CATEGORY[scheme], tokens["muted"]],
            "heatmap": list(HEATMAP[scheme]),
            "ramp": list(HEATMAP[scheme]),
            "diverging": list(DIVERGING[scheme]),
        },
    }


def in_order(field: str, values: Sequence[str], **scale: Any) -> Spec:
    """A nominal channel whose values come in the order given.

    The order is the scale's domain, never `sort`: Vega-Lite turns a sort list into an expression, and
    names have no business in code.
    """
    return {"field": field, "type": "nominal", "sort": None, "scale": {"domain": list(values), **scale}}


def label_room(labels: Sequence[str]) -> Spec:
    """How many labels an axis has and the pixels they need side by side; with less the page slants them.

    Places are equally wide, so the two widest neighbours decide.
    """
    widths = [7 * min(len(label), 22) + 8 for label in labels]
    widest = max((one + other for one, other in pairwise(widths)), default=0) / 2
    return {"count": len(labels), "room": round(len(labels) * widest)}


def chart(description: str, **body: Any) -> Spec:
    """A specification with the house's schema, parameters and accessible description."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": description,
        "params": parameters(),
        "autosize": {"type": "fit-x", "contains": "padding"},
        "width": "container",
        **body,
    }


def drawn(spec: Spec, *, width: int = 640, scheme: Scheme = "light") -> str:
    """A chart as SVG, in the colours of one scheme on its paper."""
    from vl_convert import vegalite_to_svg

    tokens = {**TOKENS[scheme], "dark": scheme == "dark"}
    params = [{**each, "value": tokens.get(each["name"], each["value"])} for each in spec["params"]]
    look = {**config(scheme), "background": TOKENS[scheme]["paper"]}
    if width < 480:  # a phone
        look["legend"] = {**look["legend"], "columns": 3}
    drawing: str = vegalite_to_svg({**spec, "params": params, "width": width, "config": look})
    return drawing


def data_uri(svg: str) -> str:
    """A picture to put into a page, in which nothing can run."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


_LONGEST = 150
"""File systems take 255 bytes, and endings follow."""


def file_name(text: str) -> str:
    """A text that people chose as the name of a file."""
    name = re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "unnamed"
    if len(name.encode()) <= _LONGEST:
        return name
    rest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return f"{name.encode()[:_LONGEST].decode(errors='ignore')}-{rest}"


def first_of_clusters(rows: list[Any]) -> list[str]:
    """The metrics that open a rank, but for the first."""
    ranked = [row for row in rows if row["rank"] is not None]
    return [row["metric"] for before, row in pairwise(ranked) if row["rank"] != before["rank"]]
