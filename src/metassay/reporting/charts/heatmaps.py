"""Heatmaps: coefficients between names, rank agreement, accuracy by method, differences between metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metassay.reporting.charts.theme import (
    Spec,
    build_chart,
    build_names_channel,
    build_ordered_channel,
    build_rows_chart,
    build_tooltip,
    measure_space_for_labels,
)
from metassay.results.assay import RankAgreement

# Names up to which each cell shows its number.
LABELLED_UP_TO = 16
# Contexts in the heatmap; with more, each context is compared with global only.
HEATMAP_UP_TO = 80
# Contexts in the heat map of metrics by context; the table below it has all.
MOST_HEATMAP_CONTEXTS = 30
_CONTEXT_HEIGHT = 26
METRIC_HEIGHT = 20

COLOUR: Spec = {
    "field": "value",
    "type": "quantitative",
    "scale": {"domain": [-1, 1], "range": "diverging", "clamp": True},
    "legend": None,
}
ACCURACY_COLOUR: Spec = {
    "field": "accuracy",
    "type": "quantitative",
    "scale": {"domain": [0, 1], "range": "heatmap"},
    "legend": None,
}
TOOLTIP = build_tooltip(
    ("row", "context"),
    ("column", "and"),
    ("value", "agreement", ".3f"),
    ("low", "95 % from", ".3f"),
    ("high", "to", ".3f"),
)
_BARE_AXIS: Spec = {"title": None, "ticks": False, "domain": False}


def build_square_heatmap(
    description: str, names: Sequence[str], cells: Sequence[Spec], tooltip: Sequence[Spec]
) -> Spec:
    """Draw a heatmap whose rows and columns have the same names. Each cell has the keys `row`, `column` and
    `value`.
    """
    labelled = len(names) <= LABELLED_UP_TO
    layers = [_build_cell_colour_layer(COLOUR, cornerRadius=2, strokeWidth=1.5)]
    if labelled:
        # Beyond 0.62 the diverging colours are so dark that a dark number is hard to read.
        layers.append(_build_cell_number_layer("label", "nominal", dark_cell_test="abs(datum.value) > 0.62"))
    x_axis = {**_BARE_AXIS, "orient": "top", "labelPadding": 6}
    y_axis = {**_BARE_AXIS, "labelOverlap": "greedy"}
    return build_chart(
        description,
        height=len(names) * (30 if labelled else max(7, 480 // len(names))),
        usermeta={"labels": measure_space_for_labels(names)},
        data={"values": [{**cell, "label": _format_short_number(cell["value"])} for cell in cells]},
        encoding={
            "x": {**build_ordered_channel("column", names), "axis": x_axis},
            "y": {**build_ordered_channel("row", names), "axis": y_axis},
            "tooltip": list(tooltip),  # on numbers too, which lie above the cells
        },
        layer=layers,
    )


def _build_cell_colour_layer(colour: Spec, **mark: Any) -> Spec:
    return {
        "mark": {"type": "rect", "stroke": {"expr": "paper"}, **mark},
        "encoding": {"color": colour},
    }


def _build_cell_number_layer(field_name: str, field_type: str, *, dark_cell_test: str, **text: Any) -> Spec:
    """Build a chart layer that writes a number into each cell, in a light colour on dark cells."""
    return {
        "mark": {"type": "text", "fontSize": {"expr": "width < 260 ? 9 : 11"}, "aria": False},
        "encoding": {
            "text": {"field": field_name, "type": field_type, **text},
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


def build_rank_agreement_chart(rank_agreement: RankAgreement, context_column: str) -> Spec:
    """Draw how similarly contexts, such as domains, rank the metrics. Many contexts are drawn as dots that
    show how similar each is to the overall ranking, fewer as a heatmap.
    """
    contexts = rank_agreement.contexts
    # Of more than 300 contexts, the matrix has only the row of global.
    if len(contexts) > HEATMAP_UP_TO or len(rank_agreement.matrix) < len(contexts):
        return _build_overall_agreement_chart(rank_agreement, context_column)
    positions = range(len(contexts))
    cells = []
    for i in positions:
        for j in positions:
            if rank_agreement.matrix[i][j] is not None:
                cells.append(_build_rank_agreement_cell(rank_agreement, i, j))
    description = (
        f"Rank agreement of the metrics between {len(contexts)} contexts of {context_column}, global first."
    )
    return build_square_heatmap(description, contexts, cells, TOOLTIP)


def _build_overall_agreement_chart(rank_agreement: RankAgreement, context_column: str) -> Spec:
    defined = [j for j in range(1, len(rank_agreement.contexts)) if rank_agreement.matrix[0][j] is not None]
    cells = [_build_rank_agreement_cell(rank_agreement, 0, j) for j in defined]
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


def _build_rank_agreement_cell(rank_agreement: RankAgreement, row: int, column: int) -> Spec:
    value = rank_agreement.matrix[row][column]
    cell: Spec = {
        "row": rank_agreement.contexts[row],
        "column": rank_agreement.contexts[column],
        "value": None if value is None else round(value, 4),
    }
    if row < len(rank_agreement.low):
        low = rank_agreement.low[row][column]
        high = rank_agreement.high[row][column]
        if low is not None and high is not None:
            cell |= {"low": round(low, 4), "high": round(high, 4)}
    return cell


def build_accuracy_heatmap(
    cells: Sequence[Spec], metrics: Sequence[str], perturbations: Sequence[str]
) -> Spec:
    """Draw a heatmap of accuracies with a row for each metric and a column for each perturbation (a rule that
    makes outputs worse).

    `cells` have `metric`, `perturbation` and `accuracy`.
    """
    x_axis = {**_BARE_AXIS, "orient": "top", "labelPadding": 6}
    return build_chart(
        f"Accuracy of {len(metrics)} metrics under each of {len(perturbations)} perturbations.",
        height=32 * len(metrics),
        usermeta={"labels": measure_space_for_labels(perturbations)},
        data={"values": [{**cell, "percent": 100 * cell["accuracy"]} for cell in cells]},
        encoding={
            "x": {**build_ordered_channel("perturbation", perturbations), "axis": x_axis},
            "y": {**build_ordered_channel("metric", metrics), "axis": _BARE_AXIS},
            "tooltip": build_tooltip(
                ("metric", "metric"), ("perturbation", "perturbation"), ("accuracy", "right pairs", ".1%")
            ),
        },
        layer=[
            _build_cell_colour_layer(ACCURACY_COLOUR, cornerRadius=2, strokeWidth=1.5),
            _build_cell_number_layer(
                "percent", "quantitative", dark_cell_test="datum.accuracy > 0.72", format=".0f"
            ),
        ],
    )


def build_context_heatmap(
    description: str, cells: Sequence[Spec], metrics: Sequence[str], contexts: Sequence[str]
) -> Spec:
    """Draw a heatmap of accuracies with a row for each context, such as a domain, and a column for each
    metric. Frames mark the best metrics of each row.

    `cells` have `context`, `metric`, `accuracy` and `tied` (`yes` or `no`).
    """
    lowest = min((cell["accuracy"] for cell in cells), default=0.0)
    # A little below the lowest value, so that its cell differs from the paper.
    colour = {**ACCURACY_COLOUR, "scale": {"domain": [max(0.0, lowest - 0.05), 1], "range": "heatmap"}}
    frame = {"type": "rect", "fillOpacity": 0, "stroke": {"expr": "ink"}, "strokeWidth": 2, "aria": False}
    layers: list[Spec] = [
        _build_cell_colour_layer(colour, strokeWidth=1),
        {"transform": [{"filter": "datum.tied == 'yes'"}], "mark": frame},
    ]
    if len(metrics) <= LABELLED_UP_TO:
        # The same share of the colour scale as in the other heatmap, whose scale begins at 0.
        is_dark = f"datum.accuracy > {lowest + 0.72 * (1 - lowest):.3f}"
        layers.append(
            _build_cell_number_layer("percent", "quantitative", dark_cell_test=is_dark, format=".0f")
        )
    return build_rows_chart(
        description,
        contexts,
        _CONTEXT_HEIGHT,
        labels=measure_space_for_labels(metrics),
        data={"values": [{**cell, "percent": 100 * cell["accuracy"]} for cell in cells]},
        encoding={
            "x": build_names_channel("metric", metrics, orient="top", ticks=False),
            "y": build_names_channel("context", contexts, ticks=False),
            "tooltip": build_tooltip(
                ("context", "context"),
                ("metric", "metric"),
                ("accuracy", "right pairs", ".1%"),
                ("tied", "best or tied"),
            ),
        },
        layer=layers,
    )


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
    """Draw a heatmap of positive (blue) and negative (red) amounts. `titles` are the titles of the rows,
    columns and amounts.

    `cells` are rows of `row`, `column`, `value`, and of `mark`, which is written into the cell. The scale
    ends at `largest_amount` on both sides, by default the largest amount in the cells. More titles are those
    of further keys of cells. With `has_numbered_names`, names begin with a number, and columns show only
    that number.
    """
    # The 1 avoids an empty scale where all amounts are zero.
    largest_amount = largest_amount or max((abs(cell["value"]) for cell in cells), default=0) or 1
    column_axis: Spec = {}
    label_space = measure_space_for_labels(column_names)
    if has_numbered_names:
        column_axis = {
            "labelExpr": "split(datum.label, ' ')[0]",
            "labelFontSize": 9,
            "labelOverlap": "greedy",
            "labelOffset": 0,
        }
        label_space = {"room": 0, "count": 2 * len(column_names)}
    row_title, column_title, amount_title, *further_keys = titles
    tooltip = build_tooltip(
        ("row", row_title),
        ("column", column_title),
        ("value", amount_title, "+.3f"),
        *((key, key, ".3f") for key in further_keys),
    )
    colour = {**COLOUR, "scale": {**COLOUR["scale"], "domain": [-largest_amount, largest_amount]}}
    is_dark = f"abs(datum.value) > {0.62 * largest_amount}"
    return build_rows_chart(
        description,
        row_names,
        METRIC_HEIGHT,
        labels=label_space,
        data={"values": list(cells)},
        encoding={
            "x": build_names_channel("column", column_names, orient="top", ticks=False, **column_axis),
            "y": build_names_channel("row", row_names, ticks=False),
            "tooltip": tooltip,
        },
        layer=[
            _build_cell_colour_layer(colour, strokeWidth=1),
            _build_cell_number_layer("mark", "nominal", dark_cell_test=is_dark),
        ],
    )
