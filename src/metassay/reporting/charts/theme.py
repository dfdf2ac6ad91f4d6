"""Colours and type of the charts, for light and for dark surroundings.

A spec never names a colour: metrics have slots (`slot` 0, 1, 2 …) in the `category` range, values use the
`heatmap` or `diverging` range, and the parameters `dark`, `ink`, `quiet` and `paper` bring the rest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

Spec = dict[str, Any]
Scheme = Literal["light", "dark"]

# Metrics beyond this many share one muted colour.
SLOTS = 8

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

# For figures: told apart by people who see fewer colours too (Okabe and Ito, 2008).
PRINTED = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")

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


# What every JavaScript object has.
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

# Characters of a name that stand on one line.
WRAP = 30
_LINES = 6
_LINE_HEIGHT = 13


def build_vega_config(colour_scheme: Scheme) -> Spec:
    """Build the `config` object of Vega-Lite with the colours of the light or the dark scheme."""
    tokens = TOKENS[colour_scheme]
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
            "category": [*CATEGORY[colour_scheme], tokens["muted"]],
            "heatmap": list(HEATMAP[colour_scheme]),
            "ramp": list(HEATMAP[colour_scheme]),
            "diverging": list(DIVERGING[colour_scheme]),
        },
    }


def build_ordered_channel(field_name: str, ordered_values: Sequence[str], **scale: Any) -> Spec:
    """Build the Vega-Lite encoding of an axis or colour whose values are names in the given order.

    The order is the scale's domain, never `sort`: Vega-Lite turns a sort list into an expression, and
    names from the user must not become code.
    """
    return {
        "field": field_name,
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(ordered_values), **scale},
    }


def measure_space_for_labels(labels: Sequence[str]) -> Spec:
    """Estimate how many pixels the labels of an axis need next to each other. If the chart is narrower, its
    labels are slanted.

    Places are equally wide, so the two widest neighbours decide.
    """
    # About 7 pixels per letter of 12 pixels height. Longer labels are cut (`labelLimit` 150).
    widths = [7 * min(len(label), 22) + 8 for label in labels]
    widest = max((one + other for one, other in pairwise(widths)), default=0) / 2
    return {"count": len(labels), "room": round(len(labels) * widest)}


def build_line_break_expression(vega_expression: str) -> str:
    """Build a Vega expression that breaks a name into lines. The chart parameter `wrap` says how many
    characters fit on a line.
    """
    pieces = [f"slice({vega_expression}, {n} * wrap, {n + 1} * wrap)" for n in range(_LINES - 1)]
    lines = f"[{', '.join(pieces)}, slice({vega_expression}, {_LINES - 1} * wrap)]"
    for n in range(_LINES - 1, 0, -1):
        lines = f"length({vega_expression}) <= {n} * wrap ? [{', '.join(pieces[:n])}] : {lines}"
    return lines


def build_names_axis(**axis: Any) -> Spec:
    """Build a chart axis that breaks long names into lines instead of cutting them off."""
    lifted = [
        {"test": f"length(datum.label) > {n} * wrap", "value": -n * _LINE_HEIGHT / 2}
        for n in range(_LINES - 1, 0, -1)
    ]
    return {
        "title": None,
        "labelExpr": build_line_break_expression("datum.label"),
        "labelLineHeight": _LINE_HEIGHT,
        "labelOffset": {"condition": lifted, "value": 0},
        **axis,
    }


def build_names_channel(field_name: str, ordered_names: Sequence[str], **axis: Any) -> Spec:
    """Build the Vega-Lite encoding of an axis with names in the given order. Long names are broken into
    lines.
    """
    return {
        **build_ordered_channel(field_name, ordered_names),
        "axis": build_names_axis(**axis),
    }


def build_tooltip(*fields: tuple[str, ...]) -> list[Spec]:
    """Build the list of fields in a Vega-Lite tooltip from their names, titles and number formats."""
    tooltip: list[Spec] = []
    for name, title, *number_format in fields:
        if number_format:
            entry = {"field": name, "type": "quantitative", "title": title, "format": number_format[0]}
        else:
            entry = {"field": name, "type": "nominal", "title": title}
        tooltip.append(entry)
    return tooltip


def build_interval_layers(x: Spec, tooltip: Sequence[Spec], *, rule: Spec, point: Spec) -> list[Spec]:
    """Build two chart layers for rows with an interval: a line from `low` to `high`, and a point, in the
    given styles.
    """
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    return [
        {"mark": {"type": "rule", **rule}, "encoding": ends},
        {"mark": {"type": "point", "filled": True, **point}, "encoding": {"x": x, "tooltip": tooltip}},
    ]


def build_rows_chart(
    description: str, names: Sequence[str], row_height: int, *, labels: Spec | None = None, **body: Any
) -> Spec:
    """Build a chart with one row for each name. Each row is high enough for the longest name.

    `labels` describes the space that the labels of the other axis need.
    """
    rows: Spec = {"count": len(names), "step": row_height, "longest": max(map(len, names), default=1)}
    usermeta = {"rows": rows} if labels is None else {"rows": rows, "labels": labels}
    return build_chart(description, height=compute_chart_height(usermeta), usermeta=usermeta, **body)


def compute_chart_height(usermeta: Spec, line_length: int = WRAP) -> int:
    """Compute the height of a chart from its number of rows and the number of lines that the longest name
    needs.
    """
    rows = usermeta["rows"]
    # Negated floor division rounds up.
    lines = min(_LINES, -(-rows["longest"] // line_length))
    return int(rows["count"] * max(rows["step"], _LINE_HEIGHT * lines + 4))


def escape_name_for_vega(name: str) -> str:
    """Return a name that looks the same, but that Vega does not confuse with a property of JavaScript
    objects.

    Vega keeps groups in plain JavaScript objects, which already have properties such as `constructor`: a
    system of that name broke its chart. A space of no width makes the name another key.
    """
    return f"{name}\u200b" if name in _OBJECT_PROPERTIES else name


def _escape_names_for_vega(value: Any) -> Any:
    """Escape all names in a chart specification, so that Vega confuses none with a property of JavaScript
    objects.
    """
    if isinstance(value, str):
        return escape_name_for_vega(value)
    if isinstance(value, dict):
        return {escape_name_for_vega(key): _escape_names_for_vega(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_escape_names_for_vega(entry) for entry in value]
    return value


def build_chart(description: str, **body: Any) -> Spec:
    """Build a complete Vega-Lite specification from the parts of a chart and a description for screen
    readers.
    """
    light = TOKENS["light"]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": description,
        # The page sets these when it draws a chart or the reader selects a metric.
        "params": [
            {"name": "dark", "value": False},
            {"name": "focus", "value": ""},
            {"name": "wrap", "value": WRAP},
            *({"name": name, "value": light[name]} for name in ("ink", "quiet", "paper", "line", "muted")),
        ],
        # The width is that of the page; the height is given, and labels are added to it.
        "autosize": {"type": "fit-x", "contains": "padding"},
        "width": "container",
        **_escape_names_for_vega(body),
    }


def render_svg(chart_spec: Spec, *, width: int = 640) -> str:
    """Draw a chart as an SVG picture in the colours of the light scheme."""
    from vl_convert import vegalite_to_svg

    drawing: str = vegalite_to_svg(_fix_size_and_colours(chart_spec, width, WRAP))
    return drawing


# Columns of a page: width of a figure in pixels of 1/96 inch (7.7 and 16 cm), and of names in letters.
PAPER = {"one": (291, 18), "two": (605, 30)}
FORMS = ("svg", "pdf", "png")
_POINTS = {"labelFontSize": 10, "titleFontSize": 10}
# A pixel of 1/96 inch in points of 1/72.
_POINT = 72 / 96


def render_figure(chart_spec: Spec, file_format: str, columns: str) -> bytes:
    """Draw a chart as a figure for a paper, one or two columns wide: `svg`, `pdf`, or `png` with 300 dots per
    inch.
    """
    import vl_convert

    width, wrap = PAPER[columns]
    figure_spec = _fix_size_and_colours(add_chart_legend(chart_spec), width, wrap)
    config = figure_spec["config"]
    figure_spec["config"] = config | {name: {**config[name], **_POINTS} for name in ("axis", "legend")}
    figure_spec["config"]["range"] = {**config["range"], "category": [*PRINTED, TOKENS["light"]["muted"]]}
    if file_format == "png":
        return bytes(vl_convert.vegalite_to_png(figure_spec, scale=_POINT, ppi=300))
    drawing: str = vl_convert.vegalite_to_svg(figure_spec)
    if file_format == "svg":
        return drawing.encode()
    sized = re.sub(
        r'(?<= )(width|height)="(\d+)"', lambda at: f'{at[1]}="{int(at[2]) * _POINT:g}"', drawing, count=2
    )
    return bytes(vl_convert.svg_to_pdf(sized))


def _fix_size_and_colours(chart_spec: Spec, width: int, line_length: int) -> Spec:
    """Return a chart specification with a fixed size and the colours of the light scheme, so that it can be
    drawn outside a web page.
    """
    values = {**TOKENS["light"], "dark": False, "wrap": line_length}
    params = [{**each, "value": values.get(each["name"], each["value"])} for each in chart_spec["params"]]
    usermeta = chart_spec.get("usermeta") or {}
    config = {**build_vega_config("light"), "background": TOKENS["light"]["paper"]}
    config["axis"] = {**config["axis"], "labelLimit": 0}
    if usermeta.get("labels", {}).get("room", 0) > width - 100:
        config["axisX"] = {"labelAngle": -40}
    if width < 480:  # a phone, or a column
        config["legend"] = {**config["legend"], "columns": 3}
    height = compute_chart_height(usermeta, line_length) if "rows" in usermeta else chart_spec["height"]
    return {**chart_spec, "params": params, "width": width, "height": height, "config": config}


def add_chart_legend(chart_spec: Spec) -> Spec:
    """Return a chart to which a legend was added. It is needed outside the report page, which writes legends
    above its charts.
    """
    slots = (chart_spec.get("usermeta") or {}).get("slots")
    if not slots:
        return chart_spec
    names = [name for name in slots if slots[name] < SLOTS]
    ranges = {
        "color": [PRINTED[slots[n]] for n in names],
        "shape": [SHAPES[slots[n]] for n in names],
    }
    legend = {"legend": {"title": None, "orient": "top"}}

    def replace_colour_slots_by_metric_names(chart_layer: Spec) -> Spec:
        encoding = dict(chart_layer.get("encoding", {}))
        for channel, definition in encoding.items():
            if channel in ranges and definition.get("field") == "slot":
                channel_of_names = build_ordered_channel("metric", names, range=ranges[channel])
                encoding[channel] = {**channel_of_names, **legend}
        return {**chart_layer, "encoding": encoding}

    return {
        **chart_spec,
        "layer": [replace_colour_slots_by_metric_names(layer) for layer in chart_spec["layer"]],
    }


# File systems take 255 bytes, and endings follow.
_LONGEST = 150


def make_safe_file_name(text: str) -> str:
    """Make a file name from any text, such as the name of a metric."""
    name = re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "unnamed"
    if len(name.encode()) <= _LONGEST:
        return name
    rest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return f"{name.encode()[:_LONGEST].decode(errors='ignore')}-{rest}"
