"""Section of the `assay` page: the metrics on human pairs and on systems with human scores."""

from __future__ import annotations

import msgspec

from metassay.reporting.assay_report import AssayReport
from metassay.reporting.pages import Section
from metassay.reporting.tables import AccuracyCell, Field, Grid, build_grid
from metassay.reporting.wording import (
    HUMAN_PAIRS,
    PERTURBED_PAIRS,
    Sentence,
    format_number,
    format_sentence,
    join_names,
    join_phrases,
)
from metassay.results.assay import ContextHumanAgreement, HumanComparison

_INTRODUCTION = (
    "A human pair consists of two outputs of one item, of which people scored one higher. A perturbed pair"
    " consists of an output and the same output made worse{note:note}. Both show how well a metric judges"
    " single outputs. SPA shows how well a metric ranks systems; metrics are tied if their 95\u202f%"
    " intervals overlap. The command rank tests every two metrics without a correction for their number, so"
    " it can find differences between metrics that are tied here."
)
_METRIC_FIELDS = (
    Field("metric", "metric", "name"),
    Field("human", "human pairs", "percent", "right pairs, with the 95\u202f% interval"),
    Field("rank", "rank", "count", "by human pairs"),
    Field("spa", "SPA", "number", "soft pairwise accuracy: agreement with human scores on pairs of systems"),
    Field("spa_low", "95\u202f% interval: low", "number"),
    Field("spa_high", "high", "number"),
    Field("rank_spa", "rank by SPA", "count"),
    Field("labels_saved", "labels saved", "percent", "when two systems are compared; cross-fitted"),
    Field("labels_saved_low", "95\u202f% interval: low", "percent"),
    Field("labels_saved_high", "high", "percent"),
    Field("perturbed", "perturbed pairs", "percent", "right pairs, with the 95\u202f% interval"),
    Field("ties", "ties", "percent", "human pairs to which the metric gives equal scores"),
    Field("pairs", "number of human pairs", "count"),
)
_AGREEMENT_FIELDS = (
    Field("tau", "τ", "number", "Kendall’s tau-b between the orders of the metrics on both kinds of pairs"),
    Field("low", "95\u202f% interval: low", "number"),
    Field("high", "high", "number"),
    Field("ceiling", "ceiling", "number", "tau that a second sample of human scores would reach"),
    Field("items", "items", "count"),
    Field("pairs", "human pairs", "count"),
)
_MOST_ROWS = 500


def build_human_pairs_section(assay_report: AssayReport) -> Section | None:
    """Build the section on how well metrics agree with human scores. None if the data has no human scores."""
    comparison = assay_report.result.human_comparison
    if comparison is None:
        return None
    by_context = [
        _build_human_agreement_table(assay_report, column, rows)
        for column, rows in comparison.contexts.items()
        if rows
    ]
    return Section(
        "What human scores say",
        sentences=[format_sentence(_INTRODUCTION, note="people"), *_describe_rank_agreement(comparison)],
        grids=[_build_human_pairs_table(assay_report, comparison)],
        folded=by_context,
        anchor="people",
        collapsed=True,
    )


def _build_human_pairs_table(assay_report: AssayReport, comparison: HumanComparison) -> Grid:
    rows = []
    for row in comparison.metrics:
        if assay_report.labels.has_own_table_row(row.metric):
            cells = {
                "metric": assay_report.labels[row.metric],
                "human": AccuracyCell.from_accuracy(row),
                "perturbed": AccuracyCell.from_accuracy(
                    assay_report.overall_accuracy_by_metric.get(row.metric)
                ),
            }
            rows.append(msgspec.structs.asdict(row) | cells)
    return build_grid("people", f"Perturbed pairs and human pairs ({comparison.human})", _METRIC_FIELDS, rows)


def _build_human_agreement_table(
    assay_report: AssayReport, column: str, contexts: list[ContextHumanAgreement]
) -> Grid:
    """Build a table with a row per context, such as a domain: how similarly artificial errors and human
    scores rank the metrics, and how accurate each metric is.
    """
    metrics = [row.metric for row in contexts[0].metrics if assay_report.labels.has_own_table_row(row.metric)]
    fields = [
        Field("context", column, "name"),
        *_AGREEMENT_FIELDS,
        *(Field(f"metric {metric}", assay_report.labels[metric], "percent") for metric in metrics),
    ]
    rows = []
    for context in contexts:
        row = msgspec.structs.asdict(context)
        row |= {f"metric {each.metric}": AccuracyCell.from_accuracy(each) for each in context.metrics}
        rows.append(row)
    caption = (
        "Accuracy on human pairs, and how well human and perturbed pairs agree on the order of metrics, by"
        f" {column}"
    )
    return build_grid(f"people-{column}", caption, fields, rows, at_most=_MOST_ROWS)


def _describe_rank_agreement(comparison: HumanComparison) -> list[Sentence]:
    """Say how similarly artificial errors (perturbed pairs) and human scores rank the metrics."""
    agreement = comparison.agreement
    orders = {
        HUMAN_PAIRS: (agreement.perturbed_with_human, comparison.ceiling.pairs),
        "SPA": (agreement.perturbed_with_spa, comparison.ceiling.spa),
    }
    phrases: list[Sentence] = []
    ceilings = []
    for name, (order, ceiling) in orders.items():
        if order.tau is None:
            continue
        ends = ""
        if order.low is not None:
            words = "" if phrases else "95\u202f% interval "
            ends = f" ({words}{format_number(order.low)} to {format_number(order.high)})"
        tau = format_number(order.tau)
        phrases.append(format_sentence("{name} at {tau:figure}{ends}", name=name, tau=tau, ends=ends))
        if ceiling is not None:
            ceilings.append(format_number(ceiling))
    if not phrases:
        return []
    possible = ""
    if len(ceilings) == len(phrases):
        possible = (
            f"; a second sample of human scores of this size would agree at about {join_names(ceilings)}"
        )
    sentence = format_sentence(
        "The order of the metrics on {perturbed} agrees with that by {phrases} (Kendall’s τ){possible}.",
        perturbed=PERTURBED_PAIRS,
        phrases=join_phrases(phrases, last=", and by "),
        possible=possible,
    )
    return [sentence]
