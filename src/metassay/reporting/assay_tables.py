"""Tables that several sections of the `assay` page, and other pages, share."""

from __future__ import annotations

from typing import Any

import msgspec

from metassay.reporting.assay_report import AssayReport
from metassay.reporting.tables import Field, Grid, build_grid
from metassay.results.assay import MetricAccuracy

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


def build_overall_accuracy_table(assay_report: AssayReport) -> Grid:
    """Build the table of accuracies over all outputs, with one row per metric."""
    rows = [
        build_accuracy_row(assay_report, assay_report.accuracies[metric])
        for metric in assay_report.all_metrics
    ]
    fields = [field for field in ACCURACY_FIELDS if field.key != "context"]
    return build_grid("overall", "All outputs together", fields, rows)


def build_accuracy_row(assay_report: AssayReport, accuracy: MetricAccuracy) -> dict[str, Any]:
    """Build the table row of one metric in one context: accuracy, intervals and counts."""
    return msgspec.structs.asdict(accuracy) | {"metric": assay_report.labels[accuracy.metric]}
