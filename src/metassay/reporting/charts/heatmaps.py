"""Heatmaps: coefficients between names, rank agreement, accuracy by method, differences between metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from metassay.reporting.charts.theme import (
    Spec,
    build_chart,
    build_names_axis,
    build_ordered_channel,
    compute_chart_height,
    describe_chart_rows,
    measure_space_for_labels,
)
from metassay.results.assay import RankAgreement

# Names up to which each cell shows its number.
LABELLED_UP_TO = 16

COLOUR: Spec = {
    "field": "value",
    "type": "quantitative",
    "scale": {"domain": [-1, 1], "range": "diverging", "clamp": True},
    "legend": None,
}


def build_matrix_chart(
    description: str, names: Sequence[str], cells: Sequence[Spec], tooltip: Sequence[Spec]
) -> Spec:
    """Draw a heatmap of `cells` (rows of `row`, `column`, `value`), both axes in the order of `names`."""
    labelled = len(names) <= LABELLED_UP_TO
    axes: Spec = {"title": None, "ticks": False, "domain": False}
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "cornerRadius": 2, "stroke": {"expr": "paper"}, "strokeWidth": 1.5},
            "encoding": {"color": COLOUR},
        }
    ]
    if labelled:
        # Beyond 0.62 the diverging colours are so dark that a dark number is hard to read.
        layers.append(build_number_layer("label", "nominal", dark_cell_test="abs(datum.value) > 0.62"))
    return build_chart(
        description,
        height=len(names) * (30 if labelled else max(7, 480 // len(names))),
        usermeta={"labels": measure_space_for_labels(names)},
        data={"values": [{**cell, "label": _format_short_number(cell["value"])} for cell in cells]},
        encoding={
            "x": {
                **build_ordered_channel("column", names),
                "axis": {**axes, "orient": "top", "labelPadding": 6},
            },
            "y": {**build_ordered_channel("row", names), "axis": {**axes, "labelOverlap": "greedy"}},
            "tooltip": list(tooltip),  # on numbers too, which lie above the cells
        },
        layer=layers,
    )


def build_number_layer(field: str, kind: str, *, dark_cell_test: str, **text: Any) -> Spec:
    """Build a layer that writes a number into each cell, in a light colour on dark cells."""
    return {
        "mark": {"type": "text", "fontSize": {"expr": "width < 260 ? 9 : 11"}, "aria": False},
        "encoding": {
            "text": {"field": field, "type": kind, **text},
            "color": {
                "condition": [
                    {"test": f"({dark_cell_test}) && !dark", "value": "#ffffff"},
                    {"test": f"({dark_cell_test}) && dark", "value": "#10151a"},
                ],
                "value": {"expr": "ink"},
            },
        },
    }


def _format_short_number(value: float) -> str:
    """Write a number between −1 and 1 for a narrow cell: `1`, `.82`, `−.40`."""
    return f"{value:.2f}".replace("-", "−").replace("0.", ".", 1).replace("1.00", "1")


# Contexts in the heatmap; with more, each context is compared with global only.
HEATMAP_UP_TO = 80

TOOLTIP: list[Spec] = [
    {"field": "row", "type": "nominal", "title": "context"},
    {"field": "column", "type": "nominal", "title": "and"},
    {"field": "value", "type": "quantitative", "format": ".3f", "title": "agreement"},
    {"field": "low", "type": "quantitative", "format": ".3f", "title": "95 % from"},
    {"field": "high", "type": "quantitative", "format": ".3f", "title": "to"},
]


def build_rank_agreement_chart(rank_agreement: RankAgreement, context_column: str) -> Spec:
    """Draw the rank agreement between contexts as a heatmap; with many contexts as dots against `global`."""
    contexts = rank_agreement.contexts
    # Of more than 300 contexts, the matrix has only the row of global.
    if len(contexts) > HEATMAP_UP_TO or len(rank_agreement.matrix) < len(contexts):
        return _build_global_agreement_chart(rank_agreement, context_column)
    size = range(len(contexts))
    cells = []
    for i in size:
        for j in size:
            if rank_agreement.matrix[i][j] is not None:
                cells.append(_build_agreement_cell(rank_agreement, i, j))
    description = (
        f"Rank agreement of the metrics between {len(contexts)} contexts of {context_column}, global first."
    )
    return build_matrix_chart(description, contexts, cells, TOOLTIP)


def _build_global_agreement_chart(rank_agreement: RankAgreement, context_column: str) -> Spec:
    defined = [j for j in range(1, len(rank_agreement.contexts)) if rank_agreement.matrix[0][j] is not None]
    cells = [_build_agreement_cell(rank_agreement, 0, j) for j in defined]
    rows = sorted(cells, key=lambda cell: (-cell["value"], cell["column"]))
    lowest: float = min([row["low"] if "low" in row else row["value"] for row in rows], default=0.0)
    x = build_ordered_channel("column", [row["column"] for row in rows])
    y: Spec = {"field": "value", "type": "quantitative", "axis": {"title": "agreement with global"}}
    return build_chart(
        f"Rank agreement of the metrics in each of {len(rows)} contexts of {context_column} with global.",
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


def _build_agreement_cell(rank_agreement: RankAgreement, row: int, column: int) -> Spec:
    cell: Spec = {
        "row": rank_agreement.contexts[row],
        "column": rank_agreement.contexts[column],
        "value": _round_defined(rank_agreement.matrix[row][column]),
    }
    if (
        row < len(rank_agreement.low)
        and rank_agreement.low[row][column] is not None
        and rank_agreement.high[row][column] is not None
    ):
        cell |= {
            "low": _round_defined(rank_agreement.low[row][column]),
            "high": _round_defined(rank_agreement.high[row][column]),
        }
    return cell


def _round_defined(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


@dataclass(frozen=True)
class PerturbationCell:
    """How often a metric is right on the pairs of one perturbation."""

    metric: str
    perturbation: str
    accuracy: float


ACCURACY_COLOUR: Spec = {
    "field": "accuracy",
    "type": "quantitative",
    "scale": {"domain": [0, 1], "range": "heatmap"},
    "legend": None,
}
PERTURBATION_TOOLTIP: list[Spec] = [
    {"field": "metric", "type": "nominal", "title": "metric"},
    {"field": "perturbation", "type": "nominal", "title": "perturbation"},
    {"field": "accuracy", "type": "quantitative", "format": ".1%", "title": "right pairs"},
]


def build_accuracy_heatmap(
    cells: Sequence[PerturbationCell], metrics: Sequence[str], perturbations: Sequence[str]
) -> Spec:
    """Draw a heatmap of accuracies, with a row per metric and a column per perturbation."""
    axes: Spec = {"title": None, "ticks": False, "domain": False}
    mark = {"type": "rect", "cornerRadius": 2, "stroke": {"expr": "paper"}, "strokeWidth": 1.5}
    return build_chart(
        f"Accuracy of {len(metrics)} metrics under each of {len(perturbations)} perturbations.",
        height=32 * len(metrics),
        usermeta={"labels": measure_space_for_labels(perturbations)},
        data={"values": [{**asdict(cell), "percent": 100 * cell.accuracy} for cell in cells]},
        encoding={
            "x": {
                **build_ordered_channel("perturbation", perturbations),
                "axis": {**axes, "orient": "top", "labelPadding": 6},
            },
            "y": {**build_ordered_channel("metric", metrics), "axis": axes},
            "tooltip": PERTURBATION_TOOLTIP,
        },
        layer=[
            {"mark": mark, "encoding": {"color": ACCURACY_COLOUR}},
            build_number_layer(
                "percent", "quantitative", dark_cell_test="datum.accuracy > 0.72", format=".0f"
            ),
        ],
    )


# Contexts in the heat map of metrics by context; the table below it has all.
MOST_HEATMAP_CONTEXTS = 30
_CONTEXT_HEIGHT = 26
_CONTEXT_TOOLTIP: list[Spec] = [
    {"field": "context", "type": "nominal", "title": "context"},
    {"field": "metric", "type": "nominal", "title": "metric"},
    {"field": "accuracy", "type": "quantitative", "format": ".1%", "title": "right pairs"},
    {"field": "tied", "type": "nominal", "title": "best or tied"},
]


@dataclass(frozen=True)
class ContextCell:
    """How often a metric is right in a context, and whether it may be the best metric there."""

    context: str
    metric: str
    accuracy: float
    is_tied: bool


def build_context_heatmap(
    description: str, cells: Sequence[ContextCell], metrics: Sequence[str], contexts: Sequence[str]
) -> Spec:
    """Draw the heat map contexts × metrics; metrics that are tied with the best of a context are framed."""
    rows = describe_chart_rows(contexts, _CONTEXT_HEIGHT) | {"labels": measure_space_for_labels(metrics)}
    values = [
        {
            "context": cell.context,
            "metric": cell.metric,
            "accuracy": cell.accuracy,
            "percent": 100 * cell.accuracy,
            "tied": "yes" if cell.is_tied else "no",
        }
        for cell in cells
    ]
    lowest = min((cell.accuracy for cell in cells), default=0.0)
    # A little below the lowest value, so that its cell differs from the paper.
    colour = {**ACCURACY_COLOUR, "scale": {"domain": [max(0.0, lowest - 0.05), 1], "range": "heatmap"}}
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "stroke": {"expr": "paper"}, "strokeWidth": 1},
            "encoding": {"color": colour},
        },
        {
            "transform": [{"filter": "datum.tied == 'yes'"}],
            "mark": {
                "type": "rect",
                "fillOpacity": 0,
                "stroke": {"expr": "ink"},
                "strokeWidth": 2,
                "aria": False,
            },
        },
    ]
    if len(metrics) <= LABELLED_UP_TO:
        # The same share of the colour scale as in the other heatmap, whose scale begins at 0.
        is_dark = f"datum.accuracy > {lowest + 0.72 * (1 - lowest):.3f}"
        layers.append(build_number_layer("percent", "quantitative", dark_cell_test=is_dark, format=".0f"))
    return build_chart(
        description,
        height=compute_chart_height(rows),
        usermeta=rows,
        data={"values": values},
        encoding={
            "x": {
                **build_ordered_channel("metric", metrics),
                "axis": build_names_axis(orient="top", ticks=False),
            },
            "y": {**build_ordered_channel("context", contexts), "axis": build_names_axis(ticks=False)},
            "tooltip": _CONTEXT_TOOLTIP,
        },
        layer=layers,
    )


METRIC_HEIGHT = 20
SIGNIFICANT = 0.05


def build_signed_heatmap(
    description: str,
    cells: Sequence[Spec],
    row_names: Sequence[str],
    column_names: Sequence[str],
    titles: Sequence[str],
    *,
    largest_amount: float | None = None,
    has_numbered_names: bool = False,
) -> Spec:
    """Draw a heatmap of positive (blue) and negative (red) amounts; `titles` name row, column and amount.

    `cells` are rows of `row`, `column`, `value`, and of `mark`, which is written into the cell. The scale
    ends at `largest_amount` on both sides, by default the largest amount in the cells. More titles are those
    of further keys of cells. With `has_numbered_names`, names begin with a number, and columns show only
    that number.
    """
    # The 1 avoids an empty scale where all amounts are zero.
    largest_amount = largest_amount or max((abs(cell["value"]) for cell in cells), default=0) or 1
    small = {"labelFontSize": 9, "labelOverlap": "greedy", "labelOffset": 0}
    heads: Spec = {"labelExpr": "split(datum.label, ' ')[0]", **small} if has_numbered_names else {}
    room = (
        {"room": 0, "count": 2 * len(column_names)}
        if has_numbered_names
        else measure_space_for_labels(column_names)
    )
    rows_meta = describe_chart_rows(row_names, METRIC_HEIGHT) | {"labels": room}
    amount = {"type": "quantitative", "format": "+.3f"}
    kinds: list[Spec] = [{"type": "nominal"}, {"type": "nominal"}, amount]
    tooltip = [
        {"field": name, "title": title, **kind}
        for name, title, kind in zip(("row", "column", "value"), titles, kinds)
    ]
    tooltip += [{"field": name, "title": name, **amount, "format": ".3f"} for name in titles[3:]]
    colour = {**COLOUR, "scale": {**COLOUR["scale"], "domain": [-largest_amount, largest_amount]}}
    return build_chart(
        description,
        height=compute_chart_height(rows_meta),
        usermeta=rows_meta,
        data={"values": list(cells)},
        encoding={
            "x": {
                **build_ordered_channel("column", column_names),
                "axis": build_names_axis(orient="top", ticks=False, **heads),
            },
            "y": {**build_ordered_channel("row", row_names), "axis": build_names_axis(ticks=False)},
            "tooltip": tooltip,
        },
        layer=[
            {
                "mark": {"type": "rect", "stroke": {"expr": "paper"}, "strokeWidth": 1},
                "encoding": {"color": colour},
            },
            build_number_layer(
                "mark", "nominal", dark_cell_test=f"abs(datum.value) > {0.62 * largest_amount}"
            ),
        ],
    )
