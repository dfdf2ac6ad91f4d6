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

PRINTED = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")
"""For figures: told apart by people who see fewer colours too (Okabe and Ito, 2008)."""

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


_OBJECT_PROPERTIES = frozenset(
    {
        "__proto__",
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    }
)
"""What every JavaScript object has."""

WRAP = 30
"""Characters of a name that stand on one line."""
_LINES = 6
_LINE_HEIGHT = 13


def parameters() -> list[Spec]:
    """The parameters that the page sets when it draws a chart, or a person picks a metric."""
    light = TOKENS["light"]
    return [
        {"name": "dark", "value": False},
        {"name": "focus", "value": ""},
        {"name": "wrap", "value": WRAP},
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


def in_lines(name: str, wrap: str = "wrap") -> str:
    """The expression of a name in lines of `wrap` characters."""
    pieces = [f"slice({name}, {n} * {wrap}, {n + 1} * {wrap})" for n in range(_LINES - 1)]
    lines = f"[{', '.join(pieces)}, slice({name}, {_LINES - 1} * {wrap})]"
    for n in range(_LINES - 1, 0, -1):
        lines = f"length({name}) <= {n} * {wrap} ? [{', '.join(pieces[:n])}] : {lines}"
    return lines


def names_axis(**axis: Any) -> Spec:
    """An axis of names, of which long ones are broken into lines, centred, instead of being clipped."""
    lifted = [
        {"test": f"length(datum.label) > {n} * wrap", "value": -n * _LINE_HEIGHT / 2}
        for n in range(_LINES - 1, 0, -1)
    ]
    return {
        "title": None,
        "labelExpr": in_lines("datum.label"),
        "labelLineHeight": _LINE_HEIGHT,
        "labelOffset": {"condition": lifted, "value": 0},
        **axis,
    }


def rows_of(names: Sequence[str], step: int) -> Spec:
    """For `usermeta`: how many rows there are, how high each is at least, and the longest of their names."""
    return {"rows": {"count": len(names), "step": step, "longest": max(map(len, names), default=1)}}


def height_of(usermeta: Spec, wrap: int = WRAP) -> int:
    """The height of a chart in which every row has room for its name."""
    rows = usermeta["rows"]
    lines = min(_LINES, -(-rows["longest"] // wrap))
    return int(rows["count"] * max(rows["step"], _LINE_HEIGHT * lines + 4))


def protect_name(name: str) -> str:
    """Return a name that Vega can use as a key of an object, and that looks the same.

    Vega keeps groups in plain JavaScript objects, which already have properties such as `constructor`: a
    system of that name broke its chart. A space of no width makes the name another key.
    """
    return f"{name}\u200b" if name in _OBJECT_PROPERTIES else name


def _protect_names(value: Any) -> Any:
    """Protect all names in a specification, at any depth."""
    if isinstance(value, str):
        return protect_name(value)
    if isinstance(value, dict):
        return {protect_name(key): _protect_names(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_protect_names(entry) for entry in value]
    return value


def chart(description: str, **body: Any) -> Spec:
    """A specification with our schema version, parameters and accessible description."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": description,
        "params": parameters(),
        "autosize": {"type": "fit-x", "contains": "padding"},
        "width": "container",
        **_protect_names(body),
    }


def drawn(spec: Spec, *, width: int = 640, scheme: Scheme = "light") -> str:
    """A chart as SVG, in the colours of one scheme on its paper."""
    from vl_convert import vegalite_to_svg

    drawing: str = vegalite_to_svg(_fixed(spec, width, scheme, WRAP))
    return drawing


PAPER = {"one": (291, 18), "two": (605, 30)}
"""Columns of a page: width of a figure in pixels of 1/96 inch (7.7 and 16 cm), and of names in letters."""
FORMS = ("svg", "pdf", "png")
_POINTS = {"labelFontSize": 10, "titleFontSize": 10}
_POINT = 72 / 96
"""A pixel of 1/96 inch in points of 1/72."""


def for_paper(spec: Spec, form: str, columns: str) -> bytes:
    """A chart as a figure of one or two columns: `svg`, `pdf`, or `png` of 300 dots per inch."""
    import vl_convert

    width, wrap = PAPER[columns]
    made = _fixed(with_legend(spec), width, "light", wrap)
    look = made["config"]
    made["config"] = look | {name: {**look[name], **_POINTS} for name in ("axis", "legend")}
    made["config"]["range"] = {**look["range"], "category": [*PRINTED, TOKENS["light"]["muted"]]}
    if form == "png":
        return bytes(vl_convert.vegalite_to_png(made, scale=_POINT, ppi=300))
    drawing: str = vl_convert.vegalite_to_svg(made)
    if form == "svg":
        return drawing.encode()
    sized = re.sub(
        r'(?<= )(width|height)="(\d+)"', lambda at: f'{at[1]}="{int(at[2]) * _POINT:g}"', drawing, count=2
    )
    return bytes(vl_convert.svg_to_pdf(sized))


def _fixed(spec: Spec, width: int, scheme: Scheme, wrap: int) -> Spec:
    """A spec that needs no page: its width, its colours, room for its names and for the labels below."""
    values = {**TOKENS[scheme], "dark": scheme == "dark", "wrap": wrap}
    params = [{**each, "value": values.get(each["name"], each["value"])} for each in spec["params"]]
    usermeta = spec.get("usermeta") or {}
    look = {**config(scheme), "background": TOKENS[scheme]["paper"]}
    look["axis"] = {**look["axis"], "labelLimit": 0}
    if usermeta.get("labels", {}).get("room", 0) > width - 100:
        look["axisX"] = {"labelAngle": -40}
    if width < 480:  # a phone, or a column
        look["legend"] = {**look["legend"], "columns": 3}
    height = height_of(usermeta, wrap) if "rows" in usermeta else spec["height"]
    return {**spec, "params": params, "width": width, "height": height, "config": look}


def with_legend(spec: Spec) -> Spec:
    """A chart whose legend the page writes beside it, with a legend of its own."""
    slots = (spec.get("usermeta") or {}).get("slots")
    if not slots:
        return spec
    names = [name for name in slots if slots[name] < SLOTS]
    ranges = {
        "color": [PRINTED[slots[n]] for n in names],
        "shape": [SHAPES[slots[n]] for n in names],
    }
    legend = {"legend": {"title": None, "orient": "top"}}

    def dressed(layer: Spec) -> Spec:
        encoding = {
            channel: {**in_order("metric", names, range=ranges[channel]), **legend}
            if channel in ranges and each.get("field") == "slot"
            else each
            for channel, each in layer.get("encoding", {}).items()
        }
        return {**layer, "encoding": encoding}

    return {**spec, "layer": [dressed(layer) for layer in spec["layer"]]}


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
