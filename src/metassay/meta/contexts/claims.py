"""What a report may claim: differences that hold with one error rate for all of them together.

A report says many things: on this context trust that metric, these metrics vary, here accuracy falls. Were
each tested alone, some would be wrong in most reports. So all contexts of all columns form one family, and
where nothing differs, no more than 5 % of reports claim anything. Contexts below the smallest size take no
part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
import numpy as np

from metassay.meta.contexts.column_analysis import ColumnAnalysis, GlobalAnalysis
from metassay.meta.contexts.confounding import Confounding
from metassay.meta.contexts.leads import ContextLeads, lead_p_values
from metassay.results.assay import (
    GLOBAL,
    AccuracyTrend,
    AccuracyVariation,
    AgreementPrediction,
    Claims,
    MetricLead,
    PerturbationDependence,
    PredictableAgreement,
)
from metassay.stats.arrays import FloatArray
from metassay.stats.multiplicity import adjust_holm

ERROR_RATE = 0.05
ClaimT = TypeVar(
    "ClaimT", MetricLead, AccuracyVariation, AccuracyTrend, PredictableAgreement, PerturbationDependence
)


@dataclass(frozen=True)
class ClaimCandidates:
    """What could be claimed, by kind; p is adjusted for all candidates of the same kind.

    `human_leads` is None where there are no human pairs.
    """

    leads: Sequence[MetricLead] = ()
    variations: Sequence[AccuracyVariation] = ()
    trends: Sequence[AccuracyTrend] = ()
    predictions: Sequence[PredictableAgreement] = ()
    perturbation_dependences: Sequence[PerturbationDependence] = ()
    human_leads: Sequence[MetricLead] | None = None
    small_contexts: Mapping[str, Sequence[str]] = field(default_factory=dict)


def make_claims(candidates: ClaimCandidates) -> Claims:
    """Keep the candidates that hold with p adjusted for all kinds of claims (Bonferroni)."""
    by_kind = {
        "lead": candidates.leads,
        "vary": candidates.variations,
        "trend": candidates.trends,
        "predict": candidates.predictions,
        "method": candidates.perturbation_dependences,
    }
    if candidates.human_leads is not None:
        by_kind["people"] = candidates.human_leads
    tests = {kind: len(tested) for kind, tested in by_kind.items()}
    kinds = sum(count > 0 for count in tests.values())
    all_leads = _adjust_for_kinds(candidates.leads, kinds)
    order: dict[str, dict[str, float]] = {}
    for lead in all_leads:
        if lead.column is not None:
            p_by_context = order.setdefault(lead.column, {})
            p_by_context[lead.context] = min(lead.p, p_by_context.get(lead.context, 1.0))
    all_variations = _adjust_for_kinds(candidates.variations, kinds)
    variation_p: dict[str, dict[str, float]] = {}
    for variation in all_variations:
        variation_p.setdefault(variation.column, {})[variation.metric] = variation.p
    return Claims(
        error_rate=ERROR_RATE,
        tests=tests,
        small_contexts={column: list(names) for column, names in candidates.small_contexts.items() if names},
        leads=_keep_significant(all_leads),
        variations=_keep_significant(all_variations),
        trends=_keep_significant(_adjust_for_kinds(candidates.trends, kinds)),
        predictions=_keep_significant(_adjust_for_kinds(candidates.predictions, kinds)),
        perturbation_dependences=_keep_significant(
            _adjust_for_kinds(candidates.perturbation_dependences, kinds)
        ),
        human_leads=_keep_significant(_adjust_for_kinds(candidates.human_leads or (), kinds)),
        order=order,
        variation_p=variation_p,
    )


def _adjust_for_kinds(candidates: Sequence[ClaimT], kinds: int) -> list[ClaimT]:
    return [msgspec.structs.replace(claim, p=min(claim.p * kinds, 1.0)) for claim in candidates]


def _keep_significant(candidates: Sequence[ClaimT]) -> list[ClaimT]:
    return [claim for claim in candidates if claim.p <= ERROR_RATE]


def collect_candidates(
    columns: Mapping[str, ColumnAnalysis],
    overall: GlobalAnalysis,
    predictions: Mapping[str, AgreementPrediction | None],
    confounding: Confounding,
    metrics: Sequence[str],
    human_leads: Sequence[MetricLead] | None = None,
) -> ClaimCandidates:
    """Collect everything that an assay could claim; `metrics` are the competing ones."""
    compared = {name: column for name, column in columns.items() if len(column.contexts.values) > 1}
    small_contexts = {}
    for name, column in compared.items():
        values = zip(column.contexts.values, column.is_large)
        small_contexts[name] = [value for value, is_large in values if not is_large]
    return ClaimCandidates(
        leads=_lead_candidates(compared, overall, metrics),
        variations=_variation_candidates(compared, metrics),
        trends=_trend_candidates(compared, confounding.metrics, metrics),
        predictions=_prediction_candidates(predictions),
        perturbation_dependences=_dependence_candidates(confounding, metrics),
        human_leads=human_leads,
        small_contexts=small_contexts,
    )


def _lead_candidates(
    columns: Mapping[str, ColumnAnalysis], overall: GlobalAnalysis, metrics: Sequence[str]
) -> list[MetricLead]:
    """Leads over all outputs, and in each large context those that contradict them."""
    places: list[tuple[str | None, str, ContextLeads]] = [(None, GLOBAL, overall.context.leads)]
    for name, column in columns.items():
        contexts = zip(column.contexts.values, column.context_analyses, column.is_large)
        places += [(name, value, analysis.leads) for value, analysis, is_large in contexts if is_large]
    p_by_place = lead_p_values([leads for _, _, leads in places])
    candidates = []
    for (column_name, context, _), p in zip(places, p_by_place):
        for i, j in select_leads(p, overall.first_choice, is_global=column_name is None):
            candidates.append(
                MetricLead(
                    column=column_name, context=context, better=metrics[i], worse=metrics[j], p=float(p[i, j])
                )
            )
    return candidates


def select_leads(p: FloatArray, first_choice: int, *, is_global: bool) -> list[tuple[int, int]]:
    """Select the leads worth a row, as (better, worse): over all outputs those of the first choice.

    In a context: leads over the first choice, and the clearest lead.
    """
    if np.isnan(p).all():
        return []
    if is_global:
        return [(first_choice, j) for j in range(len(p)) if not np.isnan(p[first_choice, j])]
    clearest = np.unravel_index(np.nanargmin(p), p.shape)
    over_first = [(i, first_choice) for i in range(len(p)) if not np.isnan(p[i, first_choice])]
    return list(dict.fromkeys([(int(clearest[0]), int(clearest[1])), *over_first]))


def _variation_candidates(
    columns: Mapping[str, ColumnAnalysis], metrics: Sequence[str]
) -> list[AccuracyVariation]:
    """H1 of every metric and column; p is adjusted for all metrics, and for the number of columns."""
    candidates = []
    for name, column in columns.items():
        if column.h1 is None:
            continue
        p_values = np.minimum(column.h1.p_family * len(columns), 1)
        for metric, p in zip(metrics, p_values.tolist()):
            if not np.isnan(p):
                candidates.append(AccuracyVariation(column=name, metric=metric, p=p))
    return candidates


def _trend_candidates(
    columns: Mapping[str, ColumnAnalysis], all_metrics: Sequence[str], metrics: Sequence[str]
) -> list[AccuracyTrend]:
    candidates = []
    for name, column in columns.items():
        for metric in metrics:
            p = float(column.trend_p[all_metrics.index(metric)])
            candidates.append(AccuracyTrend(column=name, metric=metric, p=p))
    return _adjust_by_holm(candidates)


def _prediction_candidates(
    predictions: Mapping[str, AgreementPrediction | None],
) -> list[PredictableAgreement]:
    candidates = []
    for name, prediction in predictions.items():
        if prediction is not None and prediction.p is not None:
            candidates.append(PredictableAgreement(column=name, p=prediction.p))
    return _adjust_by_holm(candidates)


def _dependence_candidates(confounding: Confounding, metrics: Sequence[str]) -> list[PerturbationDependence]:
    candidates = []
    for metric in metrics:
        p = float(confounding.p[confounding.metrics.index(metric)])
        candidates.append(PerturbationDependence(metric=metric, p=p))
    return _adjust_by_holm(candidates)


def _adjust_by_holm(candidates: Sequence[ClaimT]) -> list[ClaimT]:
    """Adjust p by Holm, and drop the candidates that could not be tested (NaN)."""
    adjusted = adjust_holm(np.array([claim.p for claim in candidates], dtype=np.float64))
    return [
        msgspec.structs.replace(claim, p=p)
        for claim, p in zip(candidates, adjusted.tolist())
        if not np.isnan(p)
    ]
