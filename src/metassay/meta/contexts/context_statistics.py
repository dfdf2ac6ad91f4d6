"""From the analyses of pairs to the result: accuracies, tests, claims and recommendations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from metassay.meta.contexts.agreement_prediction import (
    EXCHANGES,
    ContextProperties,
    predict_rank_correlation_of_two_contexts,
)
from metassay.meta.contexts.choice import (
    MetricAccuracyTable,
    OverallMetricChoice,
    list_metrics_on_pareto_front,
    recommend_metric_for_each_context,
)
from metassay.meta.contexts.claims import (
    ERROR_RATE,
    collect_tested_differences,
    list_predictable_ranking_agreements,
    select_significant_differences,
)
from metassay.meta.contexts.column_analysis import AccuracyEstimates, ColumnAnalysis, ContextAnalysis
from metassay.meta.contexts.pair_analysis import PairOutcomeAnalysis
from metassay.meta.contexts.robustness import (
    compute_distributionally_robust_accuracy,
    estimate_true_accuracy_variation,
)
from metassay.meta.contexts.trend import correlate_accuracy_with_numeric_contexts
from metassay.results.assay import (
    GLOBAL,
    AgreementPrediction,
    Claims,
    ContextColumn,
    ContextException,
    ContextGroup,
    ContextStatistics,
    GlobalAccuracy,
    MetricAccuracy,
    MetricRobustness,
    OverallRecommendation,
    RankAgreement,
    Recommendation,
    SharedErrors,
)
from metassay.results.base import Interval, none_if_nan, replace_nan_by_none
from metassay.stats.arrays import FloatArray
from metassay.stats.multiplicity import adjust_p_values_by_holm, count_fewest_draws
from metassay.stats.regret import ContextAccuracies, estimate_metric_regret

AccuracyT = TypeVar("AccuracyT", bound=MetricAccuracy)


def build_context_statistics(pair_analysis: PairOutcomeAnalysis) -> ContextStatistics:
    """Convert the analysis of all pairs of outputs to the result of the command `assay`, as written to
    JSON.
    """
    # Least squares in one thread, so that results have the same bytes on any machine.
    with threadpool_limits(1):
        predictions = predict_ranking_agreement_in_each_column(pair_analysis)
    human_leads = (
        None if pair_analysis.human is None else pair_analysis.human.compare_best_metric_with_others()
    )
    candidates = collect_tested_differences(
        pair_analysis.columns,
        pair_analysis.overall,
        predictions,
        pair_analysis.confounding,
        pair_analysis.competing_metrics,
        human_leads,
    )
    exchanges = count_fewest_draws(len(candidates.predictions) * candidates.count_tested_kinds(), ERROR_RATE)
    if exchanges > EXCHANGES:
        with threadpool_limits(1):
            # Twice the fewest, so that p-values near the smallest are significant, too.
            predictions = predict_ranking_agreement_in_each_column(pair_analysis, 2 * exchanges + 1)
        candidates = replace(candidates, predictions=list_predictable_ranking_agreements(predictions))
    claims = select_significant_differences(candidates)
    first = pair_analysis.competing_metrics[pair_analysis.overall.first_choice]
    eligible = list_recommendable_metrics(pair_analysis)
    human_choice = None
    human_comparison = None
    if pair_analysis.human is not None:
        human_choice = pair_analysis.human.choose_significantly_better_metric(first, claims, eligible)
        human_comparison = pair_analysis.human.build_comparison_with_human_scores(claims, first, eligible)
    tables = {}
    recommendation = {}
    for name, column in pair_analysis.columns.items():
        tables[name] = collect_metric_accuracies_and_costs(pair_analysis, column)
        run_choice = human_choice or find_contexts_with_better_metrics(
            claims, name, first, pair_analysis.uninformed
        )
        recommendation[name] = recommend_metric_for_each_context(tables[name], run_choice)
    answer = None
    # The first choice is uninformed only where all metrics are: then none is the metric to use.
    if eligible and first not in pair_analysis.uninformed:
        answer = build_final_recommendation(
            recommendation, claims, human_choice or OverallMetricChoice(first), eligible
        )
    contexts = {}
    for name, column in pair_analysis.columns.items():
        regret = (
            None
            if answer is None
            else _estimate_accuracy_loss_against_best_metrics(pair_analysis, column, answer.metric)
        )
        contexts[name] = _build_result_of_context_column(
            pair_analysis, column, tables[name], predictions[name], regret
        )
    competing = pair_analysis.settings.competing.tolist()
    sentinels = pair_analysis.sentinel_positions
    return ContextStatistics(
        contexts=contexts,
        overall=_list_metric_accuracies_over_all_outputs(pair_analysis, competing, GlobalAccuracy),
        sentinels=_list_metric_accuracies_over_all_outputs(pair_analysis, sentinels, MetricAccuracy),
        confounding=pair_analysis.confounding.list_accuracy_dependence_on_perturbations(
            [pair_analysis.metrics[m] for m in sentinels]
        ),
        answer=answer,
        human_comparison=human_comparison,
        recommendation=recommendation,
        cost_class=dict(pair_analysis.cost_classes) if pair_analysis.columns else {},
        same_decisions=pair_analysis.same_decisions,
        pareto=list_metrics_on_pareto_front(next(iter(tables.values()))) if tables else None,
        shared_errors=SharedErrors(
            metrics=pair_analysis.competing_metrics,
            matrix=replace_nan_by_none(pair_analysis.error_correlations),
        ),
        claims=claims,
        pairs_from=pair_analysis.pairs_from,
        uninformed=sorted(pair_analysis.uninformed),
    )


def list_recommendable_metrics(pair_analysis: PairOutcomeAnalysis) -> list[str]:
    """List the metrics that may be recommended. Metrics whose scores say nothing about quality are left out.

    The first choice is eligible in any case: it is uninformed only where all metrics are.
    """
    accuracy = pair_analysis.overall.estimates.accuracy[pair_analysis.settings.competing, 0]
    metrics = pair_analysis.competing_metrics
    excluded = pair_analysis.uninformed - {metrics[pair_analysis.overall.first_choice]}
    return [
        metric for metric, value in zip(metrics, accuracy) if not np.isnan(value) and metric not in excluded
    ]


def find_contexts_with_better_metrics(
    significant_differences: Claims,
    column: str,
    recommended_metric: str,
    metrics_that_ignore_quality: frozenset[str],
) -> OverallMetricChoice:
    """Find the contexts of a column in which other metrics are significantly better than the recommended one.
    Returns the recommended metric with these exceptions.
    """
    ahead: dict[str, list[str]] = {}
    for lead in significant_differences.leads:
        if (
            lead.column == column
            and lead.worse == recommended_metric
            and lead.better not in metrics_that_ignore_quality
        ):
            ahead.setdefault(lead.context, []).append(lead.better)
    return OverallMetricChoice(recommended_metric, ahead)


def build_final_recommendation(
    recommendations_by_context: Mapping[str, Mapping[str, Recommendation]],
    significant_differences: Claims,
    overall_choice: OverallMetricChoice,
    eligible_metrics: Sequence[str],
) -> OverallRecommendation:
    """Build the final recommendation: the metric to use, the metrics that may be as good, and the contexts in
    which another metric is better.
    """
    if overall_choice.human_top_group:
        top_group = list(overall_choice.human_top_group)
    else:
        behind = {
            lead.worse
            for lead in significant_differences.leads
            if lead.column is None and lead.better == overall_choice.metric
        }
        top_group = [overall_choice.metric]
        top_group += [metric for metric in eligible_metrics if metric not in {overall_choice.metric, *behind}]
    exceptions = []
    for column, recommendations in recommendations_by_context.items():
        for context, entry in recommendations.items():
            if entry.choice is not None and entry.choice != overall_choice.metric:
                exceptions.append(ContextException(column=column, context=context, metric=entry.choice))
    return OverallRecommendation(metric=overall_choice.metric, top_group=top_group, exceptions=exceptions)


def collect_metric_accuracies_and_costs(
    pair_analysis: PairOutcomeAnalysis, column: ColumnAnalysis
) -> MetricAccuracyTable:
    """Collect the accuracies and costs of metrics, from which a metric is recommended for each context of a
    column.
    """
    competing = pair_analysis.settings.competing
    estimates = column.estimates
    analyses = [pair_analysis.overall.context, *column.context_analyses]
    accuracy = np.concatenate([pair_analysis.overall.estimates.accuracy, estimates.accuracy], axis=1)
    shares = estimates.accuracy_sums.count_scored_items().max(axis=0).astype(np.float64)
    lows = np.stack([context.low for context in column.context_analyses], axis=1)[competing]
    worst_case = np.where(np.isnan(lows), np.inf, lows).min(axis=1, initial=np.inf)
    return MetricAccuracyTable(
        metrics=tuple(pair_analysis.competing_metrics),
        contexts=(GLOBAL, *column.contexts.values),
        accuracy=accuracy[competing],
        may_be_best=np.stack([context.may_be_best for context in analyses], axis=1),
        is_worse_than_another=np.stack([context.is_worse_than_another for context in analyses], axis=1),
        spread=estimate_true_accuracy_variation(estimates.accuracy[competing], estimates.variance[competing]),
        robust_accuracy=compute_distributionally_robust_accuracy(
            estimates.accuracy[competing], shares, pair_analysis.radius
        ),
        worst_case=np.where(np.isinf(worst_case), np.nan, worst_case),
        cost_classes=pair_analysis.cost_classes,
        uninformed=pair_analysis.uninformed,
    )


def _build_result_of_context_column(
    pair_analysis: PairOutcomeAnalysis,
    column: ColumnAnalysis,
    metric_table: MetricAccuracyTable,
    agreement_prediction: AgreementPrediction | None,
    loss_against_best_metrics: Interval | None,
) -> ContextColumn:
    """Build the part of the result for one column of contexts, such as the accuracies in each domain."""
    competing = pair_analysis.settings.competing.tolist()
    metrics = pair_analysis.competing_metrics
    trends = correlate_accuracy_with_numeric_contexts(
        column.contexts.column, column.contexts.values, column.estimates.accuracy[competing]
    )
    trend_p = replace_nan_by_none(column.trend_p[competing])
    shares = {}
    for value, row in zip(column.contexts.values, column.perturbation_shares.tolist()):
        shares[value] = dict(zip(pair_analysis.perturbations, row))
    return ContextColumn(
        local_accuracy=_list_metric_accuracies_by_context(pair_analysis, column, competing),
        h1=None if column.h1 is None else column.h1.to_result_rows(),
        h1_exchanges=None if column.h1 is None else list(column.h1.exchanges),
        h2=_build_ranking_agreement_result(column, metric_table, agreement_prediction),
        perturbation_shares=shares,
        robustness=_summarize_robustness_of_metrics(column, metric_table, competing),
        trend=None if trends is None else dict(zip(metrics, trends)),
        trend_p=None if all(p is None for p in trend_p) else dict(zip(metrics, trend_p)),
        regret=loss_against_best_metrics,
        sentinels=_list_metric_accuracies_by_context(pair_analysis, column, pair_analysis.sentinel_positions),
    )


def _estimate_accuracy_loss_against_best_metrics(
    pair_analysis: PairOutcomeAnalysis, column: ColumnAnalysis, metric: str
) -> Interval | None:
    """Estimate the average loss in accuracy from using one metric in all contexts of a column, instead of the
    best metric of each context.
    """
    competing = pair_analysis.settings.competing
    is_informed = np.array([name not in pair_analysis.uninformed for name in pair_analysis.competing_metrics])
    informed_metrics = [
        name for name in pair_analysis.competing_metrics if name not in pair_analysis.uninformed
    ]
    items = column.estimates.accuracy_sums.count_scored_items()[competing].max(axis=0)
    contexts = []
    for c, context in enumerate(column.context_analyses):
        if column.is_large[c] and context.resamples is not None:
            contexts.append(
                ContextAccuracies(
                    accuracy=column.estimates.accuracy[competing, c][is_informed],
                    resamples=context.resamples[is_informed],
                    clusters=int(column.estimates.clusters[competing, c].max()),
                    items=int(items[c]),
                )
            )
    if len(contexts) < 2 or metric not in informed_metrics:
        return None
    regret = estimate_metric_regret(contexts, informed_metrics.index(metric))
    return None if regret is None else Interval(regret.value, regret.low, regret.high)


def _list_metric_accuracies_by_context(
    pair_analysis: PairOutcomeAnalysis, column: ColumnAnalysis, metric_positions: Sequence[int]
) -> list[MetricAccuracy]:
    """Return the accuracy of each of the given metrics in each context of a column."""
    return build_metric_accuracy_results(
        MetricAccuracy,
        pair_analysis.metrics,
        metric_positions,
        column.estimates,
        column.standardised,
        column.context_analyses,
    )


def _list_metric_accuracies_over_all_outputs(
    pair_analysis: PairOutcomeAnalysis, metric_positions: Sequence[int], result_type: type[AccuracyT]
) -> list[AccuracyT]:
    """Return the accuracy of each of the given metrics over all outputs."""
    overall = pair_analysis.overall
    return build_metric_accuracy_results(
        result_type,
        pair_analysis.metrics,
        metric_positions,
        overall.estimates,
        overall.standardised,
        [overall.context],
    )


def build_metric_accuracy_results(
    result_type: type[AccuracyT],
    metric_names: Sequence[str],
    metric_positions: Sequence[int],
    estimates: AccuracyEstimates,
    standardised_accuracies: FloatArray,
    context_analyses: Sequence[ContextAnalysis],
) -> list[AccuracyT]:
    """Build one result row for each context and metric, with accuracy, interval and counts."""
    accuracy_sums = estimates.accuracy_sums
    low = np.stack([analysis.low for analysis in context_analyses], axis=1)
    high = np.stack([analysis.high for analysis in context_analyses], axis=1)
    # Whole tables become lists at once: there may be a million cells. Rows are [contexts, metrics].
    accuracy_cells = replace_nan_by_none(estimates.accuracy.T)
    low_cells = replace_nan_by_none(low.T)
    high_cells = replace_nan_by_none(high.T)
    micro_cells = replace_nan_by_none(accuracy_sums.compute_accuracy_over_pairs().T)
    standardised_cells = replace_nan_by_none(standardised_accuracies.T)
    tie_cells = replace_nan_by_none(accuracy_sums.compute_tie_shares().T)
    items = accuracy_sums.count_scored_items().T.tolist()
    outputs = accuracy_sums.count_scored_outputs().T.tolist()
    pairs = accuracy_sums.count_scored_pairs().T.tolist()
    clusters = estimates.clusters.T.tolist()
    rows = []
    for c, context in enumerate(accuracy_sums.contexts):
        for m in metric_positions:
            rows.append(
                result_type(
                    context=context,
                    metric=metric_names[m],
                    accuracy=accuracy_cells[c][m],
                    low=low_cells[c][m],
                    high=high_cells[c][m],
                    micro=micro_cells[c][m],
                    standardised=standardised_cells[c][m],
                    ties=tie_cells[c][m],
                    items=items[c][m],
                    outputs=outputs[c][m],
                    pairs=pairs[c][m],
                    clusters=clusters[c][m],
                )
            )
    return rows


def predict_ranking_agreement_in_each_column(
    pair_analysis: PairOutcomeAnalysis, exchanges: int = EXCHANGES
) -> dict[str, AgreementPrediction | None]:
    """Predict for each column how similarly metrics are ranked in two of its contexts, from properties of the
    contexts. None where there is nothing to learn from.
    """
    predictions = {}
    for name, column in pair_analysis.columns.items():
        properties = pair_analysis.context_properties[name]
        predictions[name] = predict_ranking_agreement_from_properties(column, properties, exchanges)
    return predictions


def predict_ranking_agreement_from_properties(
    column_analysis: ColumnAnalysis, context_properties: ContextProperties, exchanges: int
) -> AgreementPrediction | None:
    """Predict how similarly metrics are ranked in two contexts of a column, from properties of the contexts.

    None where there is nothing to learn from.
    """
    h2 = column_analysis.h2
    if h2 is None or len(h2.matrix) == 1:
        return None
    kept = np.flatnonzero(column_analysis.is_large[h2.order])
    ordered_properties = {
        name: [values[c] for c in h2.order[kept]] for name, values in context_properties.items()
    }
    return predict_rank_correlation_of_two_contexts(
        h2.matrix[1:, 1:][np.ix_(kept, kept)],
        ordered_properties,
        are_contexts_exchangeable=column_analysis.are_contexts_exchangeable,
        exchanges=exchanges,
    )


def _build_ranking_agreement_result(
    column: ColumnAnalysis, metric_table: MetricAccuracyTable, prediction: AgreementPrediction | None
) -> RankAgreement | None:
    """Build the part of the result that says how similarly metrics are ranked in different contexts. Returns
    None if there is only one context or metric.
    """
    h2 = column.h2
    if h2 is None:
        return None
    p_global = h2.p_global.copy()
    p_global[0] = np.nan  # all outputs do not differ from themselves
    is_tested = np.append(True, column.is_large[h2.order])
    return RankAgreement(
        statistic=h2.statistic,
        contexts=[GLOBAL, *(column.contexts.values[c] for c in h2.order)],
        matrix=replace_nan_by_none(h2.matrix),
        low=replace_nan_by_none(h2.low),
        high=replace_nan_by_none(h2.high),
        ceiling=replace_nan_by_none(h2.ceiling),
        p_global=replace_nan_by_none(p_global),
        p_global_holm=replace_nan_by_none(adjust_p_values_by_holm(np.where(is_tested, p_global, np.nan))),
        context_groups=group_similar_contexts(column, metric_table),
        prediction=prediction,
    )


def group_similar_contexts(column: ColumnAnalysis, metric_table: MetricAccuracyTable) -> list[ContextGroup]:
    """Group contexts in which metrics are ranked similarly. Each group lists the metrics that may be the best
    in all of its contexts.
    """
    h2 = column.h2
    if h2 is None or len(h2.matrix) == 1:
        return []
    by_preference = recommend_metric_for_each_context(metric_table)[GLOBAL].metrics
    agreements = h2.matrix[1:, 1:]
    groups = []
    for group in range(int(h2.groups.max()) + 1):
        positions = np.flatnonzero(h2.groups == group)
        table_columns = 1 + h2.order[positions]  # the table has "global" first
        best_in_all = metric_table.may_be_best[:, table_columns].all(axis=1)
        serving = {metric_table.metrics[m] for m in np.flatnonzero(best_in_all)}
        inside = agreements[np.ix_(positions, positions)][np.triu_indices(len(positions), 1)]
        inside = inside[~np.isnan(inside)]
        groups.append(
            ContextGroup(
                contexts=[column.contexts.values[c] for c in h2.order[positions]],
                agreement=float(inside.mean()) if len(inside) else None,
                metrics=[metric for metric in by_preference if metric in serving],
            )
        )
    return groups


def _summarize_robustness_of_metrics(
    column: ColumnAnalysis, metric_table: MetricAccuracyTable, competing_metrics: Sequence[int]
) -> list[MetricRobustness]:
    """Summarize for each metric how its accuracy varies over the contexts of a column, and in which context
    it is worst.
    """
    low = np.array([analysis.low for analysis in column.context_analyses])[:, competing_metrics]
    worst_contexts = np.where(np.isnan(low), np.inf, low).argmin(axis=0)
    rows = []
    for m, metric in enumerate(metric_table.metrics):
        rows.append(
            MetricRobustness(
                metric=metric,
                stability=none_if_nan(metric_table.spread[m]),
                worst_case=none_if_nan(metric_table.worst_case[m]),
                worst_context=column.contexts.values[worst_contexts[m]],
                robust_accuracy=none_if_nan(metric_table.robust_accuracy[m]),
            )
        )
    return rows
