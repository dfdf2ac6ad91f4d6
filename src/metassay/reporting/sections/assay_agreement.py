"""Section of the `assay` page: do all contexts order the metrics alike (H2)."""

from __future__ import annotations

from statistics import fmean, median

from metassay.reporting.assay_report import AssayReport, ReportedColumn
from metassay.reporting.charts.heatmaps import build_rank_agreement_chart
from metassay.reporting.pages import Chart, Section
from metassay.reporting.wording import (
    Sentence,
    format_number,
    format_percent,
    format_plural,
    format_sentence,
    list_names,
)
from metassay.results.assay import RankAgreement
from metassay.stats.levels import SIGNIFICANCE_LEVEL

STATISTIC_NAMES = {
    "tau_ap_b": "τ\u2011AP\u2011b",
    "tau_ap": "τ\u2011AP",
    "tau_ap_a": "τ\u2011AP\u2011a",
    "weighted_tau": "weighted τ",
    "kendall": "Kendall’s τ",
}
_FEW_METRICS = 4
_LEAST_EXPLAINED = 0.05


def build_agreement_section(assay_report: AssayReport) -> Section | None:
    """Build the section on how similarly contexts, such as domains, rank the metrics. None if no column has
    enough contexts.
    """
    subsections = []
    for column in assay_report.context_columns:
        agreement = column.result.h2
        if agreement is not None and agreement.matrix:
            chart = Chart(
                f"agreement by {column.name}",
                build_rank_agreement_chart(agreement, column.name),
                f"How well two contexts of {column.name} agree on the order of the metrics.",
            )
            sentences = describe_rank_agreement(assay_report, column, agreement)
            subsections.append(Section(f"By {column.name}", sentences=sentences, charts=[chart]))
    if not subsections:
        return None
    introduction = format_sentence(
        "If the metrics come in the same order everywhere, one choice serves all. Each cell compares the"
        " orders in two contexts{note:note}: 1 is the same order, 0 unrelated, −1 reversed."
        " {whole:context} is all outputs together.",
        note="h2",
        whole="global",
    )
    return Section(
        "Do all contexts order the metrics alike?",
        sentences=[introduction],
        subsections=subsections,
        anchor="agreement",
        collapsed=True,
        contents_title="Order of the metrics",
    )


def describe_rank_agreement(
    assay_report: AssayReport, context_column: ReportedColumn, agreement: RankAgreement
) -> list[Sentence]:
    """Describe how similarly the contexts of a column, such as the domains, rank the metrics."""
    sentences: list[Sentence | None] = [_describe_agreement_between_contexts(agreement, context_column)]
    if not _do_contexts_agree(agreement):
        differing = _find_differing_contexts(assay_report, context_column, agreement)
        sentences += [
            _describe_agreement_of_two_samples(agreement),
            _describe_differing_contexts(assay_report, context_column, differing),
            _describe_prediction_of_rank_agreement(assay_report, context_column, agreement),
        ]
    if len(assay_report.metrics) < _FEW_METRICS:
        sentences.append(
            format_sentence(
                "With {metrics}, the agreement can take only a few values.",
                metrics=format_plural(len(assay_report.metrics), "metric"),
            )
        )
    return [each for each in sentences if each is not None]


def _describe_agreement_between_contexts(
    agreement: RankAgreement, context_column: ReportedColumn
) -> Sentence:
    if _do_contexts_agree(agreement):
        return format_sentence(
            "The metrics come in the same order for every {column:column}.", column=context_column.name
        )
    cells = _list_agreements_of_context_pairs(agreement)
    if not cells:
        return format_sentence(
            "No agreement between values of {column:column} is defined.", column=context_column.name
        )
    lowest, first, second = min(cells, key=lambda cell: cell[0])
    return format_sentence(
        "Two contexts of {column:column} typically agree on the order of the metrics with {statistic} ="
        " {middle}. {first:context} and {second:context} agree least ({lowest}).",
        column=context_column.name,
        middle=format_number(median(value for value, _, _ in cells)),
        statistic=STATISTIC_NAMES.get(agreement.statistic, agreement.statistic),
        first=first,
        second=second,
        lowest=format_number(lowest),
    )


def _list_agreements_of_context_pairs(agreement: RankAgreement) -> list[tuple[float, str, str]]:
    """List how similarly every two contexts, such as domains, rank the metrics. The entry for all outputs
    (`global`) is left out if there are other pairs.
    """
    # Of very many contexts, the matrix has only the row of `global`; two entries are `global` and one
    # context.
    is_complete = len(agreement.matrix) == len(agreement.contexts) > 2
    cells = []
    for i in range(1 if is_complete else 0, len(agreement.matrix)):
        for j in range(i + 1, len(agreement.contexts)):
            value = agreement.matrix[i][j]
            if value is not None:
                cells.append((value, agreement.contexts[i], agreement.contexts[j]))
    return cells


def _do_contexts_agree(agreement: RankAgreement) -> bool:
    defined = [value for row in agreement.matrix for value in row if value is not None]
    return len(defined) > 1 and min(defined) >= 1


def _describe_agreement_of_two_samples(agreement: RankAgreement) -> Sentence | None:
    ceilings = [value for value in agreement.ceiling[1:] if value is not None]
    if not ceilings:
        return None
    return format_sentence(
        "For comparison, two samples of the same context, each as large as these, would agree with {ceiling}"
        " on average.",
        ceiling=format_number(fmean(ceilings)),
    )


def _find_differing_contexts(
    assay_report: AssayReport, context_column: ReportedColumn, agreement: RankAgreement
) -> list[str]:
    """Find the contexts, such as domains, whose ranking of the metrics is shown to differ from the ranking
    over all outputs.
    """
    p_values = assay_report.result.claims.order.get(context_column.name, {})
    return [context for context in agreement.contexts if p_values.get(context, 1.0) <= SIGNIFICANCE_LEVEL]


def _describe_differing_contexts(
    assay_report: AssayReport, context_column: ReportedColumn, differing_contexts: list[str]
) -> Sentence | None:
    if not assay_report.result.claims.order.get(context_column.name):
        return None
    if not differing_contexts:
        return format_sentence(
            "No context is shown to order the metrics differently than all outputs together."
        )
    return format_sentence(
        "The order of the metrics is shown to differ from the overall order on {contexts}.",
        contexts=list_names(differing_contexts, "context"),
    )


def _describe_prediction_of_rank_agreement(
    assay_report: AssayReport, context_column: ReportedColumn, agreement: RankAgreement
) -> Sentence | None:
    prediction = agreement.prediction
    if prediction is None or prediction.explained is None:
        return None
    facts = list_names(list(prediction.coefficients), "column")
    is_claimed = any(claim.column == context_column.name for claim in assay_report.result.claims.predictions)
    if prediction.explained < _LEAST_EXPLAINED or not is_claimed:
        return format_sentence(
            "Properties of the contexts ({facts}) are not shown to predict which contexts agree.",
            facts=facts,
        )
    return format_sentence(
        "Properties of the contexts ({facts}) explain {explained} of the variation in their agreement, on"
        " contexts that were not used for fitting.",
        facts=facts,
        explained=format_percent(prediction.explained),
    )
