"""Rank agreement of the metrics between contexts: a heatmap, global first."""

from __future__ import annotations

from typing import Any

from metassay.report.charts.theme import Spec, chart, in_order, label_room
from metassay.report.findings import Agreement

HEATMAP_UP_TO = 80
"""Contexts in the heatmap; with more, each context is compared with global only."""

LABELLED_UP_TO = 16
"""Contexts up to which each cell shows its number."""


def agreement_chart(agreement: Agreement, column: str) -> Spec:
    """The heatmap of all contexts, or dots against global where there are too many for one."""
    if len(agreement.contexts) > HEATMAP_UP_TO or len(agreement.matrix) < len(agreement.contexts):
        return _against_global(agreement, column)
    return _heatmap(agreement, column)


def _heatmap(agreement: Agreement, column: str) -> Spec:
    contexts = list(agreement.contexts)
    x = in_order("estimate", contexts)
    y = in_order("reference", contexts)
    labelled = len(contexts) <= LABELLED_UP_TO
    axes: Spec = {"title": None, "ticks": False, "domain": False}
    cells: list[Spec] = [
        {
            "mark": {"type": "rect", "cornerRadius": 2, "stroke": {"expr": "paper"}, "strokeWidth": 1.5},
            "encoding": {"color": _colour(), "tooltip": _tooltip()},
        }
    ]
    if labelled:
        cells.append(
            {
                "mark": {"type": "text", "fontSize": 11, "aria": False},
                "encoding": {
                    "text": {"field": "label", "type": "nominal"},
                    "color": contrast("abs(datum.agreement) > 0.62"),
                },
            }
        )
    return chart(
        f"Rank agreement of the metrics between {len(contexts)} contexts of {column}, global first.",
        height=len(contexts) * (30 if labelled else max(7, 480 // len(contexts))),
        usermeta={"labels": label_room(contexts)},
        data={"values": _cells(agreement)},
        encoding={
            "x": {**x, "axis": {**axes, "orient": "top", "labelPadding": 6}},
            "y": {**y, "axis": {**axes, "labelOverlap": "greedy"}},
        },
        layer=cells,
    )


def _against_global(agreement: Agreement, column: str) -> Spec:
    rows = [_cell(agreement, 0, j) for j in range(1, len(agreement.contexts))]
    rows = sorted((row for row in rows if row["agreement"] is not None), key=lambda row: -row["agreement"])
    order = [row["estimate"] for row in rows]
    x = in_order("estimate", order)
    y: Spec = {"field": "agreement", "type": "quantitative", "axis": {"title": "agreement with global"}}
    hidden = {
        **x,
        "axis": {"title": f"{len(rows)} values of {column}, in order", "labels": False, "ticks": False},
    }
    return chart(
        f"Rank agreement of the metrics in each of {len(rows)} contexts of {column} with global.",
        height=260,
        data={"values": rows},
        encoding={"x": hidden, "y": {**y, "scale": {"domain": [-1, 1]}}},
        layer=[
            {
                "mark": {"type": "rule", "opacity": 0.35, "stroke": {"expr": "quiet"}, "aria": False},
                "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 22},
                "encoding": {"color": _colour(), "tooltip": _tooltip()},
            },
        ],
    )


def contrast(on_strong: str) -> Spec:
    """The colour of a number on a cell: paper where the cell is strong, ink elsewhere."""
    return {
        "condition": [
            {"test": f"({on_strong}) && !dark", "value": "#ffffff"},
            {"test": f"({on_strong}) && dark", "value": "#10151a"},
        ],
        "value": {"expr": "ink"},
    }


def _colour() -> Spec:
    return {
        "field": "agreement",
        "type": "quantitative",
        "scale": {"domain": [-1, 1], "range": "diverging", "clamp": True},
        "legend": None,
    }


def _cells(agreement: Agreement) -> list[Spec]:
    size = range(len(agreement.contexts))
    return [_cell(agreement, i, j) for i in size for j in size if agreement.cell(i, j) is not None]


def _cell(agreement: Agreement, i: int, j: int) -> Spec:
    value, low, high = (_rounded(agreement.cell(i, j, of)) for of in ("matrix", "low", "high"))
    cell: dict[str, Any] = {
        "reference": agreement.contexts[i],
        "estimate": agreement.contexts[j],
        "agreement": value,
        "label": _label(value),
    }
    return cell if low is None else {**cell, "low": low, "high": high}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _label(value: float | None) -> str:
    """Short enough for a narrow cell: `1`, `.82`, `−.4`."""
    if value is None:
        return ""
    return f"{value:.2f}".replace("-", "−").replace("0.", ".", 1).replace("1.00", "1")


def _tooltip() -> list[dict[str, Any]]:
    return [
        {"field": "reference", "type": "nominal", "title": "context"},
        {"field": "estimate", "type": "nominal", "title": "and"},
        {"field": "agreement", "type": "quantitative", "format": ".3f", "title": "agreement"},
        {"field": "low", "type": "quantitative", "format": ".3f", "title": "95 % from"},
        {"field": "high", "type": "quantitative", "format": ".3f", "title": "to"},
    ]
