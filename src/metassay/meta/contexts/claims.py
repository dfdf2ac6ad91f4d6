"""What a report may claim: differences that hold with one error rate for all of them together.

A report makes many claims: another metric is better in this context, the accuracy of that metric varies,
here it falls. If each claim were tested alone, most reports would contain a wrong one. So p-values are
corrected for all contexts of all columns together: where nothing differs, at most 5 % of reports claim
anything. Contexts below the smallest size take no part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
import numpy as np

from metassay.meta.contexts.column_analysis import ColumnAnalysis, GlobalAnalysis
from metassay.meta.contexts.confounding import PerturbationEffects
from metassay.meta.contexts.leads import MetricDifferenceStatistics, compute_p_values_of_accuracy_differences
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
from metassay.stats.multiplicity import adjust_p_values_by_holm

# Probability that any claim of a run is wrong, over all kinds of claims together.
ERROR_RATE = 0.05
ClaimT = TypeVar(
    "ClaimT", MetricLead, AccuracyVariation, AccuracyTrend, PredictableAgreement, PerturbationDependence
)


@dataclass(frozen=True)
class ClaimCandidates:
    """Tested differences between metrics or contexts, with p-values, grouped by kind. A report may claim
    those that are significant.

    `human_leads` is None where there are no human pairs.
    """

    leads: Sequence[MetricLead] = ()
    variations: Sequence[AccuracyVariation] = ()
    trends: Sequence[AccuracyTrend] = ()
    predictions: Sequence[PredictableAgreement] = ()
    perturbation_dependences: Sequence[PerturbationDependence] = ()
    human_leads: Sequence[MetricLead] | None = None
    small_contexts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def count_tests(self) -> dict[str, int]:
        """Count the tested differences of each kind."""
        tests = {
            "lead": len(self.leads),
            "vary": len(self.variations),
            "trend": len(self.trends),
            "predict": len(self.predictions),
            "method": len(self.perturbation_dependences),
        }
        if self.human_leads is not None:
            tests["people"] = len(self.human_leads)
        return tests

    def count_tested_kinds(self) -> int:
        """Count the kinds of claims with at least one test, by which p-values are multiplied."""
        return sum(count > 0 for count in self.count_tests().values())


def select_significant_differences(tested_differences: ClaimCandidates) -> Claims:
    """Select the differences that a report may claim: those with p ≤ 0.05 after p-values are multiplied by
    the number of kinds of claims (Bonferroni's correction).
    """
    kinds = tested_differences.count_tested_kinds()
    all_leads = _apply_bonferroni_correction(tested_differences.leads, kinds)
    order: dict[str, dict[str, float]] = {}
    for lead in all_leads:
        if lead.column is not None:
            p_by_context = order.setdefault(lead.column, {})
            p_by_context[lead.context] = min(lead.p, p_by_context.get(lead.context, 1.0))
    all_variations = _apply_bonferroni_correction(tested_differences.variations, kinds)
    variation_p: dict[str, dict[str, float]] = {}
    for variation in all_variations:
        variation_p.setdefault(variation.column, {})[variation.metric] = variation.p
    return Claims(
        error_rate=ERROR_RATE,
        tests=tested_differences.count_tests(),
        small_contexts={
            column: list(names) for column, names in tested_differences.small_contexts.items() if names
        },
        leads=_select_claims_significant_after_bonferroni(tested_differences.leads, kinds),
        variations=_select_claims_significant_after_bonferroni(tested_differences.variations, kinds),
        trends=_select_claims_significant_after_bonferroni(tested_differences.trends, kinds),
        predictions=_select_claims_significant_after_bonferroni(tested_differences.predictions, kinds),
        perturbation_dependences=_select_claims_significant_after_bonferroni(
            tested_differences.perturbation_dependences, kinds
        ),
        human_leads=_select_claims_significant_after_bonferroni(tested_differences.human_leads or (), kinds),
        order=order,
        variation_p=variation_p,
    )


def _apply_bonferroni_correction(differences: Sequence[ClaimT], number_of_tests: int) -> list[ClaimT]:
    """Multiply the p-value of each claim by the number of tests (Bonferroni's correction), at most to 1."""
    return [msgspec.structs.replace(claim, p=min(claim.p * number_of_tests, 1.0)) for claim in differences]


def _select_claims_significant_after_bonferroni(claims: Sequence[ClaimT], kind_count: int) -> list[ClaimT]:
    """Select the claims whose p-value is at most 0.05 after Bonferroni's correction for the number of kinds
    of claims.
    """
    return [claim for claim in _apply_bonferroni_correction(claims, kind_count) if claim.p <= ERROR_RATE]


def collect_tested_differences(
    column_analyses: Mapping[str, ColumnAnalysis],
    global_analysis: GlobalAnalysis,
    agreement_predictions: Mapping[str, AgreementPrediction | None],
    perturbation_dependence: PerturbationEffects,
    metric_names: Sequence[str],
    human_leads: Sequence[MetricLead] | None = None,
) -> ClaimCandidates:
    """Collect all tested differences between metrics or contexts that a report could claim, significant or
    not.
    """
    compared = {name: column for name, column in column_analyses.items() if len(column.contexts.values) > 1}
    small_contexts = {}
    for name, column in compared.items():
        values = zip(column.contexts.values, column.is_large)
        small_contexts[name] = [value for value, is_large in values if not is_large]
    return ClaimCandidates(
        leads=_list_accuracy_differences_between_metrics(compared, global_analysis, metric_names),
        variations=_list_accuracy_differences_between_contexts(compared, metric_names),
        trends=_list_accuracy_trends(compared, perturbation_dependence.metrics, metric_names),
        predictions=list_predictable_ranking_agreements(agreement_predictions),
        perturbation_dependences=_list_accuracy_differences_between_perturbations(
            perturbation_dependence, metric_names
        ),
        human_leads=human_leads,
        small_contexts=small_contexts,
    )


def _list_accuracy_differences_between_metrics(
    column_analyses: Mapping[str, ColumnAnalysis],
    global_analysis: GlobalAnalysis,
    metric_names: Sequence[str],
) -> list[MetricLead]:
    """List the possible claims that one metric is more accurate than another, over all outputs or in one
    context. Each claim has a p-value.
    """
    places: list[tuple[str | None, str, MetricDifferenceStatistics]] = [
        (None, GLOBAL, global_analysis.context.leads)
    ]
    for name, column in column_analyses.items():
        contexts = zip(column.contexts.values, column.context_analyses, column.is_large)
        places += [(name, value, analysis.leads) for value, analysis, is_large in contexts if is_large]
    p_by_place = compute_p_values_of_accuracy_differences([leads for _, _, leads in places])
    candidates = []
    for (column_name, context, _), p in zip(places, p_by_place):
        for i, j in select_metric_pairs_to_report(
            p, global_analysis.first_choice, is_global=column_name is None
        ):
            candidates.append(
                MetricLead(
                    column=column_name,
                    context=context,
                    better=metric_names[i],
                    worse=metric_names[j],
                    p=float(p[i, j]),
                )
            )
    return candidates


def select_metric_pairs_to_report(
    p_values: FloatArray, recommended_metric: int, *, is_global: bool
) -> list[tuple[int, int]]:
    """List the pairs of metrics, the better one first, whose difference in accuracy a report may claim.

    Over all outputs: the recommended metric and each other one. In a context: each metric that may lead over
    the recommended one, and the pair with the smallest p-value.
    """
    if np.isnan(p_values).all():
        return []
    if is_global:
        return [
            (recommended_metric, j)
            for j in range(len(p_values))
            if not np.isnan(p_values[recommended_metric, j])
        ]
    clearest = np.unravel_index(np.nanargmin(p_values), p_values.shape)
    over_first = [
        (i, recommended_metric) for i in range(len(p_values)) if not np.isnan(p_values[i, recommended_metric])
    ]
    return list(dict.fromkeys([(int(clearest[0]), int(clearest[1])), *over_first]))


def _list_accuracy_differences_between_contexts(
    column_analyses: Mapping[str, ColumnAnalysis], metric_names: Sequence[str]
) -> list[AccuracyVariation]:
    """List the possible claims that the accuracy of a metric differs between the contexts of a column, such
    as the domains. Each claim has a p-value.

    p-values are adjusted for all metrics and for the number of columns.
    """
    candidates = []
    for name, column in column_analyses.items():
        if column.h1 is None:
            continue
        p_values = np.minimum(column.h1.p_family * len(column_analyses), 1)
        for metric, p in zip(metric_names, p_values.tolist()):
            if not np.isnan(p):
                candidates.append(AccuracyVariation(column=name, metric=metric, p=p))
    return candidates


def _list_accuracy_trends(
    column_analyses: Mapping[str, ColumnAnalysis], all_metrics: Sequence[str], metric_names: Sequence[str]
) -> list[AccuracyTrend]:
    """List the possible claims that the accuracy of a metric rises or falls along ordered contexts, such as
    text lengths. Each claim has a p-value.
    """
    candidates = []
    for name, column in column_analyses.items():
        for metric in metric_names:
            p = float(column.trend_p[all_metrics.index(metric)])
            candidates.append(AccuracyTrend(column=name, metric=metric, p=p))
    return _apply_holm_correction(candidates)


def list_predictable_ranking_agreements(
    agreement_predictions: Mapping[str, AgreementPrediction | None],
) -> list[PredictableAgreement]:
    """List the possible claims that properties of two contexts predict how similarly metrics are ranked in
    both. Each claim has a p-value.
    """
    candidates = []
    for name, prediction in agreement_predictions.items():
        if prediction is not None and prediction.p is not None:
            candidates.append(PredictableAgreement(column=name, p=prediction.p))
    return _apply_holm_correction(candidates)


def _list_accuracy_differences_between_perturbations(
    confounding: PerturbationEffects, metric_names: Sequence[str]
) -> list[PerturbationDependence]:
    """List the possible claims that the accuracy of a metric depends on the perturbation that made the worse
    outputs. Each claim has a p-value, adjusted for all metrics.
    """
    candidates = []
    for metric in metric_names:
        p = float(confounding.p_family[confounding.metrics.index(metric)])
        if not np.isnan(p):
            candidates.append(PerturbationDependence(metric=metric, p=p))
    return candidates


def _apply_holm_correction(differences: Sequence[ClaimT]) -> list[ClaimT]:
    """Adjust the p-values of claims by Holm's method. Claims without a p-value (NaN) are left out."""
    adjusted = adjust_p_values_by_holm(np.array([claim.p for claim in differences], dtype=np.float64))
    tested_candidates = []
    for claim, p in zip(differences, adjusted.tolist()):
        if not np.isnan(p):
            tested_candidates.append(msgspec.structs.replace(claim, p=p))
    return tested_candidates
