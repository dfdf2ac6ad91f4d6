"""Tables that several sections of the `assay` page, and other pages, share."""

from __future__ import annotations

from typing import Any

from metassay.reporting.assay_view import AssayView
from metassay.reporting.tables import Field, Grid, build_grid
from metassay.results.assay import GlobalAccuracy, MetricAccuracy

ACCURACY_FIELDS = (
    Field("context", "context", "name"),
    Field("metric", "metric", "name"),
    Field("accuracy", "accuracy", "percent", "mean over items of the share of right pairs"),
    Field("low", "95\u202f% interval: low", "percent"),
    Field("high", "high", "percent"),
    Field(
        "accuracy_corrected",
        "corrected",
        "percent",
        "accuracy if every label were right, from how many perturbed outputs that people read are not worse",
    ),
    Field(
        "corrected_low",
        "95\u202f% interval: low",
        "percent",
        "of the corrected accuracy, with both sources of error",
    ),
    Field("corrected_high", "high", "percent"),
    Field("label_error", "wrong labels", "percent", "share of perturbed outputs that are not worse"),
    Field("micro", "micro", "percent", "share of all pairs, items weighted by their pairs"),
    Field("standardised", "standardised", "percent", "with the global shares of the perturbations"),
    Field("ties", "ties", "percent", "pairs with equal scores"),
    Field("items", "items", "count"),
    Field("outputs", "outputs", "count"),
    Field("pairs", "pairs", "count"),
)


def build_global_table(view: AssayView) -> Grid:
    """List the accuracy over all outputs, one row per metric."""
    rows = [build_accuracy_row(view, view.accuracies[metric]) for metric in view.all_metrics]
    fields = [field for field in ACCURACY_FIELDS if field.key != "context"]
    return build_grid("overall", "All outputs together", fields, rows)


def build_accuracy_row(view: AssayView, row: MetricAccuracy) -> dict[str, Any]:
    """Build the row of one metric in one context, with everything that was counted."""
    cells: dict[str, Any] = {
        "context": row.context,
        "metric": view.labels[row.metric],
        "accuracy": row.accuracy,
        "low": row.low,
        "high": row.high,
        "micro": row.micro,
        "standardised": row.standardised,
        "ties": row.ties,
        "items": row.items,
        "outputs": row.outputs,
        "pairs": row.pairs,
    }
    if isinstance(row, GlobalAccuracy):
        cells |= {
            "accuracy_corrected": row.accuracy_corrected,
            "corrected_low": row.corrected_low,
            "corrected_high": row.corrected_high,
            "label_error": row.label_error,
        }
    return cells
