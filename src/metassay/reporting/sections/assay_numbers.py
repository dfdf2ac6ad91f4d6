"""Section of the `assay` page: all numbers in tables."""

from __future__ import annotations

from typing import Any

import msgspec

from metassay.reporting.assay_report import AssayReport, ReportedColumn
from metassay.reporting.pages import Section
from metassay.reporting.sections.assay_accuracy import name_ranges_of_edit_shares
from metassay.reporting.sections.assay_perturbations import build_perturbation_table
from metassay.reporting.tables import AccuracyCell, Field, Grid, build_grid
from metassay.reporting.wording import format_plural, join_names
from metassay.results.assay import MetricAccuracy

_MOST_ROWS = 500
_STATISTICS_FIELDS = (
    Field("perturbation", "perturbation", "name"),
    Field("pairs", "pairs used", "count"),
    Field("applied", "applied", "count"),
    Field("not_applicable", "did not apply", "count"),
    Field("unchanged", "left it unchanged", "count"),
    Field("edit_distance", "mean edit distance", "number", "characters edited"),
    Field("edit_share", "edited share", "percent", "edited characters over the length of the text"),
    Field("human_scored", "with human scores", "count", "pairs whose perturbed output has a human score too"),
    Field("disagreements", "human scores disagree", "count", "pairs whose perturbed output scored higher"),
    Field("worse", "lost gain", "count", "perturbed rankings with less discounted gain"),
    Field("equal", "kept gain", "count", "the same discounted gain: their label is wrong"),
    Field("better", "won gain", "count", "more discounted gain: their label is wrong"),
)
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


def build_numbers_section(assay_report: AssayReport) -> Section:
    """Build the section with all tables of an assay result, over all outputs and by context, such as the
    domain.
    """
    tables = [
        build_overall_accuracy_table(assay_report),
        build_difficulty_table(assay_report),
        build_perturbation_table(assay_report),
        _build_perturbation_statistics_table(assay_report),
    ]
    return Section(
        "All numbers",
        sentences=[
            _describe_sample_sizes(assay_report),
            "Press a heading to sort; every table downloads as CSV with full precision.",
        ],
        grids=[table for table in tables if table is not None],
        subsections=[
            _build_numbers_subsection(assay_report, column) for column in assay_report.context_columns
        ],
        anchor="numbers",
        collapsed=True,
    )


def _describe_sample_sizes(assay_report: AssayReport) -> str:
    """Say how many items, outputs, pairs, metrics and contexts the numbers are based on."""
    result = assay_report.result
    perturbations = len(result.perturbations)
    made_by = f" made by {format_plural(perturbations, 'perturbation')}" if perturbations else ""
    sentinels = (
        f" and {format_plural(len(assay_report.sentinel_metrics), 'sentinel')}"
        if assay_report.sentinel_metrics
        else ""
    )
    contexts = sum(len(column.contexts) for column in assay_report.context_columns)
    columns = join_names([column.name for column in assay_report.context_columns])
    return (
        f"{format_plural(result.items, 'item')}, {format_plural(result.outputs, 'output')},"
        f" {format_plural(result.pairs, 'pair')}"
        f"{made_by}, {format_plural(len(assay_report.metrics), 'metric')}{sentinels},"
        f" {format_plural(contexts, 'context')} ({columns})."
    )


def _build_numbers_subsection(assay_report: AssayReport, context_column: ReportedColumn) -> Section:
    folded = [
        _build_long_accuracy_table(assay_report, context_column),
        _build_perturbation_share_table(context_column),
        build_agreement_table(assay_report, context_column),
    ]
    return Section(
        f"By {context_column.name}",
        grids=[build_accuracy_table(assay_report, context_column)],
        folded=[table for table in folded if table is not None],
    )


def build_accuracy_table(assay_report: AssayReport, context_column: ReportedColumn) -> Grid:
    """Build a table of accuracies with intervals. It has a row for each context, such as a domain, and a
    column for each metric.
    """
    fields = [
        Field("context", context_column.name, "name"),
        *(
            Field(f"metric {metric}", assay_report.labels[metric], "percent")
            for metric in assay_report.all_metrics
        ),
    ]
    rows = []
    for context in context_column.contexts:
        row: dict[str, Any] = {"context": context}
        for metric in assay_report.all_metrics:
            row[f"metric {metric}"] = AccuracyCell.from_accuracy(
                context_column.accuracies.get((context, metric))
            )
        rows.append(row)
    caption = f"Accuracy by {context_column.name}"
    return build_grid(f"accuracy-{context_column.name}", caption, fields, rows, at_most=_MOST_ROWS)


def _build_long_accuracy_table(assay_report: AssayReport, context_column: ReportedColumn) -> Grid:
    """Build a table with a row for each context, such as a domain, and each metric: accuracy, intervals and
    counts.
    """
    rows = []
    for context in context_column.contexts:
        for metric in assay_report.all_metrics:
            accuracy = context_column.accuracies.get((context, metric))
            if accuracy is not None:
                rows.append(build_accuracy_row(assay_report, accuracy))
    return build_grid(
        f"detail-{context_column.name}", f"Accuracy by {context_column.name}, in full", ACCURACY_FIELDS, rows
    )


def _build_perturbation_share_table(context_column: ReportedColumn) -> Grid | None:
    """Build a table of the shares of pairs that each perturbation (a rule that makes outputs worse) made in
    each context, such as a domain.
    """
    shares = context_column.result.perturbation_shares
    perturbations = list(dict.fromkeys(name for row in shares.values() for name in row))
    if not perturbations:
        return None
    fields = [
        Field("context", context_column.name, "name"),
        *(Field(f"perturbation {name}", name, "percent") for name in perturbations),
    ]
    rows = []
    for context in context_column.contexts:
        if context in shares:
            cells = {f"perturbation {name}": share for name, share in shares[context].items()}
            rows.append({"context": context, **cells})
    caption = f"Shares of the perturbations, by {context_column.name}"
    return build_grid(f"mix-{context_column.name}", caption, fields, rows, at_most=_MOST_ROWS)


def build_agreement_table(assay_report: AssayReport, context_column: ReportedColumn) -> Grid | None:
    """Build a table with a row per context, such as a domain: how similar its ranking of the metrics is to
    the ranking over all outputs, with a test.
    """
    agreement = context_column.result.h2
    if agreement is None or not agreement.matrix:
        return None
    fields = [
        Field("context", context_column.name, "name"),
        Field("agreement", "agreement with global", "number"),
        Field("low", "95\u202f% interval: low", "number"),
        Field("high", "high", "number"),
        Field("ceiling", "noise ceiling", "number", "agreement of two samples of this context of its size"),
        Field(
            "p", "p, differs", "probability", "that two metrics change places, for all claims of this report"
        ),
    ]
    p_values = assay_report.result.claims.order.get(context_column.name, {})
    rows = []
    for position, context in enumerate(agreement.contexts[1:], start=1):
        row = {
            "context": context,
            "agreement": agreement.matrix[0][position],
            "low": agreement.low[0][position],
            "high": agreement.high[0][position],
            "ceiling": agreement.ceiling[position],
            "p": p_values.get(context),
        }
        rows.append(row)
    caption = f"Order of the metrics by {context_column.name}, against global"
    return build_grid(f"agreement-{context_column.name}", caption, fields, rows)


def build_difficulty_table(assay_report: AssayReport) -> Grid | None:
    """Build a table of each metric's accuracy by the share of characters in which two outputs differ. Pairs
    with fewer edits are harder.
    """
    difficulty = assay_report.result.difficulty
    if difficulty is None or all(row.accuracy is None for row in difficulty.accuracy):
        return None
    cells = {
        (row.bin, row.metric): AccuracyCell.from_accuracy(row)
        for row in difficulty.accuracy
        if row.accuracy is not None
    }
    fields = [
        Field("context", "characters edited", "name"),
        Field("pairs", "pairs", "count"),
        *(
            Field(f"metric {metric}", assay_report.labels[metric], "percent")
            for metric in assay_report.metrics
        ),
    ]
    rows = []
    for position, (name, part) in enumerate(zip(name_ranges_of_edit_shares(difficulty), difficulty.bins)):
        row: dict[str, Any] = {"context": name, "pairs": part.pairs}
        row |= {f"metric {metric}": cells.get((position, metric)) for metric in assay_report.metrics}
        rows.append(row)
    return build_grid("difficulty", "Accuracy by characters edited", fields, rows)


def _build_perturbation_statistics_table(assay_report: AssayReport) -> Grid | None:
    """Build a table of how often each perturbation (a rule that makes outputs worse) could be applied, and
    how many of its pairs were used.
    """
    rows = [msgspec.structs.asdict(row) for row in assay_report.result.perturbation_statistics]
    if not rows:
        return None
    return build_grid("validity", "How the worse outputs were made", _STATISTICS_FIELDS, rows)


def build_overall_accuracy_table(assay_report: AssayReport) -> Grid:
    """Build the table of accuracies over all outputs, with one row per metric."""
    rows = [
        build_accuracy_row(assay_report, assay_report.overall_accuracy_by_metric[metric])
        for metric in assay_report.all_metrics
    ]
    fields = [field for field in ACCURACY_FIELDS if field.key != "context"]
    return build_grid("overall", "All outputs together", fields, rows)


def build_accuracy_row(assay_report: AssayReport, accuracy: MetricAccuracy) -> dict[str, Any]:
    """Build the table row of one metric in one context, such as a domain, with accuracy, intervals and
    counts.
    """
    return msgspec.structs.asdict(accuracy) | {"metric": assay_report.labels[accuracy.metric]}
