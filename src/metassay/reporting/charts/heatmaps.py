"""Heatmaps: coefficients between names, rank agreement, accuracy by method, differences between metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from metassay.reporting.charts.theme import Spec, chart, height_of, in_order, label_room, names_axis, rows_of
from metassay.reporting.findings import Agreement

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


HEATMAP_UP_TO = 80
"""Contexts in the heatmap; with more, each context is compared with global only."""

TOOLTIP: list[Spec] = [
    {"field": "row", "type": "nominal", "title": "context"},
    {"field": "column", "type": "nominal", "title": "and"},
    {"field": "value", "type": "quantitative", "format": ".3f", "title": "agreement"},
    {"field": "low", "type": "quantitative", "format": ".3f", "title": "95 % from"},
    {"field": "high", "type": "quantitative", "format": ".3f", "title": "to"},
]


def agreement_chart(agreement: Agreement, column: str) -> Spec:
    """The heatmap of all contexts, or dots against global where there are too many for one."""
    contexts = agreement.contexts
    if len(contexts) > HEATMAP_UP_TO or len(agreement.matrix) < len(contexts):
        return _against_global(agreement, column)
    size = range(len(contexts))
    cells = [_cell(agreement, i, j) for i in size for j in size if agreement.cell(i, j) is not None]
    description = f"Rank agreement of the metrics between {len(contexts)} contexts of {column}, global first."
    return matrix_chart(description, contexts, cells, TOOLTIP)


def _against_global(agreement: Agreement, column: str) -> Spec:
    known = [j for j in range(1, len(agreement.contexts)) if agreement.cell(0, j) is not None]
    rows = sorted((_cell(agreement, 0, j) for j in known), key=lambda row: (-row["value"], row["column"]))
    lowest: float = min((row["low"] if "low" in row else row["value"] for row in rows), default=0.0)
    x = in_order("column", [row["column"] for row in rows])
    y: Spec = {"field": "value", "type": "quantitative", "axis": {"title": "agreement with global"}}
    return chart(
        f"Rank agreement of the metrics in each of {len(rows)} contexts of {column} with global.",
        height=260,
        data={"values": rows},
        encoding={
            "x": {**x, "axis": {"title": "contexts, in order", "labels": False, "ticks": False}},
            "y": {**y, "scale": {"domain": [min(0.0, lowest), 1]}},
        },
        layer=[
            {
                "mark": {"type": "rule", "opacity": 0.35, "stroke": {"expr": "quiet"}, "aria": False},
                "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 22},
                "encoding": {"color": COLOUR, "tooltip": TOOLTIP},
            },
        ],
    )


def _cell(agreement: Agreement, i: int, j: int) -> Spec:
    value, low, high = (agreement.cell(i, j, of) for of in ("matrix", "low", "high"))
    cell: Spec = {"row": agreement.contexts[i], "column": agreement.contexts[j], "value": _rounded(value)}
    return cell if low is None or high is None else {**cell, "low": _rounded(low), "high": _rounded(high)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


@dataclass(frozen=True)
class MethodCell:
    """How often `metric` is right on the pairs that `method` made."""

    metric: str
    method: str
    accuracy: float


METHOD_COLOUR: Spec = {
    "field": "accuracy",
    "type": "quantitative",
    "scale": {"domain": [0, 1], "range": "heatmap"},
    "legend": None,
}
METHOD_TOOLTIP: list[Spec] = [
    {"field": "metric", "type": "nominal", "title": "metric"},
    {"field": "method", "type": "nominal", "title": "method"},
    {"field": "accuracy", "type": "quantitative", "format": ".1%", "title": "told right"},
]


def methods_chart(cells: Sequence[MethodCell], metrics: Sequence[str], methods: Sequence[str]) -> Spec:
    """The heatmap metrics × methods, in the orders given."""
    axes: Spec = {"title": None, "ticks": False, "domain": False}
    cell = {"type": "rect", "cornerRadius": 2, "stroke": {"expr": "paper"}, "strokeWidth": 1.5}
    return chart(
        f"Accuracy of {len(metrics)} metrics under each of {len(methods)} perturbation methods.",
        height=32 * len(metrics),
        usermeta={"labels": label_room(methods)},
        data={"values": [{**asdict(cell), "percent": 100 * cell.accuracy} for cell in cells]},
        encoding={
            "x": {**in_order("method", methods), "axis": {**axes, "orient": "top", "labelPadding": 6}},
            "y": {**in_order("metric", metrics), "axis": axes},
            "tooltip": METHOD_TOOLTIP,
        },
        layer=[
            {"mark": cell, "encoding": {"color": METHOD_COLOUR}},
            numbers("percent", "quantitative", strong="datum.accuracy > 0.72", format=".0f"),
        ],
    )


METRIC_HEIGHT = 20
SIGNIFICANT = 0.05


def comparisons_chart(ranking: Mapping[str, Any]) -> Spec:
    """The matrix of one-sided p-values, the better metric in the row; filled where p is at most .05."""
    order = [row["metric"] for row in ranking["metrics"] if not row.get("baseline")]
    rows_meta = rows_of(order, METRIC_HEIGHT) | {"labels": {"room": 0, "count": len(order)}}
    significant = f"datum.p <= {SIGNIFICANT}"
    whom = f", for {ranking['answers_for']}" if ranking.get("answers_for") else ""
    return chart(
        f"Which of {len(order)} metrics differ by {ranking['meta']} on {ranking['dataset']}{whom}.",
        height=height_of(rows_meta),
        usermeta=rows_meta,
        data={"values": [dict(pair) for pair in ranking["comparisons"]]},
        encoding={
            "y": {**in_order("a", order), "axis": names_axis(title="the better metric")},
            "x": {**in_order("b", order), "axis": names_axis(title="the other metric", labelAngle=-90)},
        },
        layer=[
            {
                "mark": {"type": "rect", "fill": {"expr": "ink"}},
                "encoding": {
                    "opacity": {"condition": {"test": significant, "value": 0.85}, "value": 0.12},
                    "tooltip": [
                        {"field": "a", "type": "nominal"},
                        {"field": "b", "type": "nominal"},
                        {"field": "p", "type": "quantitative", "format": ".3f"},
                        {"field": "p_two_sided", "type": "quantitative", "format": ".3f"},
                        *(_kinds_of_systems(ranking)),
                    ],
                },
            }
        ],
    )


def _kinds_of_systems(ranking: Mapping[str, Any]) -> list[Spec]:
    """p-values for these systems and for systems like these, where there are both."""
    if not any("p_systems" in pair for pair in ranking["comparisons"]):
        return []
    named = (("p_inputs", "p, these systems"), ("p_systems", "p, systems like these"))
    return [{"field": n, "type": "quantitative", "format": ".3f", "title": title} for n, title in named]


def signed_chart(
    description: str,
    cells: Sequence[Spec],
    rows: Sequence[str],
    columns: Sequence[str],
    titles: Sequence[str],
    *,
    most: float | None = None,
    numbered: bool = False,
) -> Spec:
    """Amounts above and below 0, blue and red, on one scale; `titles` name row, column and amount.

    `cells` are rows of `row`, `column`, `value`, and of `mark`, which is written into the cell. The scale
    ends at `most` on both sides, else at the largest amount. More titles are those of further keys of cells.
    With `numbered`, names begin with a number, and columns show that alone.
    """
    most = most or max((abs(cell["value"]) for cell in cells), default=0) or 1
    small = {"labelFontSize": 9, "labelOverlap": "greedy", "labelOffset": 0}
    heads: Spec = {"labelExpr": "split(datum.label, ' ')[0]", **small} if numbered else {}
    room = {"room": 0, "count": 2 * len(columns)} if numbered else label_room(columns)
    rows_meta = rows_of(rows, METRIC_HEIGHT) | {"labels": room}
    amount = {"type": "quantitative", "format": "+.3f"}
    kinds: list[Spec] = [{"type": "nominal"}, {"type": "nominal"}, amount]
    tooltip = [
        {"field": name, "title": title, **kind}
        for name, title, kind in zip(("row", "column", "value"), titles, kinds)
    ]
    tooltip += [{"field": name, "title": name, **amount, "format": ".3f"} for name in titles[3:]]
    colour = {**COLOUR, "scale": {**COLOUR["scale"], "domain": [-most, most]}}
    return chart(
        description,
        height=height_of(rows_meta),
        usermeta=rows_meta,
        data={"values": list(cells)},
        encoding={
            "x": {**in_order("column", columns), "axis": names_axis(orient="top", ticks=False, **heads)},
            "y": {**in_order("row", rows), "axis": names_axis(ticks=False)},
            "tooltip": tooltip,
        },
        layer=[
            {
                "mark": {"type": "rect", "stroke": {"expr": "paper"}, "strokeWidth": 1},
                "encoding": {"color": colour},
            },
            numbers("mark", "nominal", strong=f"abs(datum.value) > {0.62 * most}"),
        ],
    )
