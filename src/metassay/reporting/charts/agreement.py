"""Rank agreement of the metrics between contexts: a heatmap, global first."""

from __future__ import annotations

from metassay.reporting.charts.matrix import COLOUR, matrix_chart
from metassay.reporting.charts.theme import Spec, chart, in_order
from metassay.reporting.findings import Agreement

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
