"""Analysis of the contexts of one column, and of all outputs together ("global")."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from metassay.meta.contexts.accuracy import (
    AccuracySums,
    compute_accuracy_by_context,
    count_correct_pairs,
    repeat_pairs_that_span_two_contexts,
)
from metassay.meta.contexts.agreement_prediction import are_contexts_exchangeable
from metassay.meta.contexts.choice import choose_single_metric_for_all_contexts
from metassay.meta.contexts.h1 import (
    AccuracyTests,
    run_accuracy_tests_between_contexts,
    split_contexts_by_perturbation,
)
from metassay.meta.contexts.h2 import (
    ALL_INTERVALS,
    FULL_MATRIX,
    AgreementMatrix,
    ContextRankingComparison,
    compute_rank_correlations_between_contexts,
    correlate_context_with_global_ranking,
    estimate_split_half_ranking_reliability,
)
from metassay.meta.contexts.leads import MetricDifferenceStatistics, compare_metrics_in_context
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, put_all_pairs_in_one_context
from metassay.meta.contexts.trend import compute_p_values_of_accuracy_trends
from metassay.stats.arrays import (
    BoolArray,
    FloatArray,
    LongArray,
    count_occurrences,
    divide_or_nan,
    round_off_float_errors,
)
from metassay.stats.bootstrap import ClusterBootstrap, ClusterHalves
from metassay.stats.intervals import ClusteredProportions, proportion_interval
from metassay.stats.multiplicity import select_candidates_that_may_be_best


@dataclass(frozen=True)
class AnalysisSettings:
    """Settings for analysing metrics in contexts (such as domains): how ties count, how often to resample,
    which metrics may be recommended.

    `competing` are the positions of the metrics that may be recommended: all but the sentinels. `cost_ranks`
    and `is_uninformed` have one value for each of these; the scores of an uninformed metric say nothing about
    quality, and it is never the first choice. Contexts with fewer than `minimum_items` items take no part in
    claims.
    """

    ties: str
    agreement: str
    permutations: int
    workers: int
    competing: LongArray
    bootstrap: ClusterBootstrap
    halves: ClusterHalves
    signs: ClusterHalves
    minimum_items: int
    cost_ranks: FloatArray
    is_uninformed: BoolArray


@dataclass(frozen=True)
class AccuracyEstimates:
    """Accuracy of each metric in each context, with its sampling variance and the number of clusters of items
    (such as documents) behind it.
    """

    accuracy_sums: AccuracySums
    accuracy: FloatArray
    variance: FloatArray
    clusters: LongArray
    pairs: LongArray

    @classmethod
    def estimate_from_pairs(
        cls, pair_outcomes: PairOutcomes, pair_contexts: PairContexts, *, ties: str = "strict"
    ) -> AccuracyEstimates:
        """Estimate the accuracy of each metric in each context from pairs of outputs that are sorted by item.
        Also estimates the sampling variances.
        """
        accuracy_sums = count_correct_pairs(pair_outcomes, pair_contexts, ties=ties)
        accuracy = accuracy_sums.compute_accuracies()
        clusters = np.broadcast_to(accuracy_sums.count_scored_clusters(), accuracy.shape)
        return cls(
            accuracy_sums,
            accuracy,
            accuracy_sums.estimate_accuracy_variances(),
            clusters,
            accuracy_sums.count_scored_pairs(),
        )

    def get_accuracy_estimates_of_context(self, context_position: int) -> ClusteredProportions:
        """Return the accuracy of each metric in one context, with its variance and the numbers of clusters
        and pairs.
        """
        return ClusteredProportions(
            estimate=self.accuracy[:, context_position],
            variance=self.variance[:, context_position],
            clusters=self.clusters[:, context_position],
            observations=self.pairs[:, context_position],
        )


@dataclass(frozen=True)
class ContextAnalysis:
    """Results for one context, such as a domain: an interval for the accuracy of each metric, the metrics
    that may be the best, and tests of how the metrics rank.

    `resamples` are those of the competing metrics, [metrics, resamples]; None where contexts are too many to
    keep them.
    """

    low: FloatArray
    high: FloatArray
    may_be_best: BoolArray
    ranking_comparison: ContextRankingComparison
    leads: MetricDifferenceStatistics
    resamples: FloatArray | None

    @property
    def is_worse_than_another(self) -> BoolArray:
        """Boolean mask of the metrics that may be the best, but are less accurate than another such metric
        according to a paired test.
        """
        return self.leads.are_metrics_worse_than_some_candidate(self.may_be_best) & self.may_be_best


@dataclass(frozen=True)
class GlobalAnalysis:
    """Accuracies of all metrics over all outputs, and the metric that is recommended for all contexts.

    `first_choice` is the position of that metric among the competing metrics.
    """

    estimates: AccuracyEstimates
    standardised: FloatArray
    resamples: FloatArray
    context: ContextAnalysis
    first_choice: int

    def get_expected_accuracies(self, metric_positions: LongArray) -> FloatArray:
        """Return the accuracies over all outputs, from which an order of the metrics is expected in every
        context. The recommended metric gets the highest accuracy of all.

        In a context, only differences against this order are tested. The recommended metric need not be the
        most accurate: it is the cheapest of the metrics that may be the best.
        """
        order = round_off_float_errors(self.estimates.accuracy[metric_positions, 0])
        order[self.first_choice] = np.nanmax(order) if not np.isnan(order).all() else np.nan
        return order


@dataclass(frozen=True)
class ColumnAnalysis:
    """Accuracies of metrics in the contexts of one column (such as the domains), with tests of differences
    between the contexts.

    `perturbation_shares` is [contexts, perturbations]: shares among a context's pairs. `is_large` marks the
    contexts that have enough items to take part in claims. `trend_p` is [metrics].
    `are_contexts_exchangeable` says whether every two contexts have pairs of the same clusters, or
    no two do. `h1` (equal accuracy) and `h2` (agreement of rankings) are None for a single context; `h2` also
    for a single metric.
    """

    contexts: PairContexts
    estimates: AccuracyEstimates
    standardised: FloatArray
    perturbation_shares: FloatArray
    context_analyses: Sequence[ContextAnalysis]
    is_large: BoolArray
    h1: AccuracyTests | None
    h2: AgreementMatrix | None
    trend_p: FloatArray
    are_contexts_exchangeable: bool


def estimate_accuracy_over_all_pairs(
    pair_outcomes: PairOutcomes, settings: AnalysisSettings
) -> GlobalAnalysis:
    """Compute the accuracy of each metric on all pairs of outputs together, and choose the metric to
    recommend.
    """
    contexts = put_all_pairs_in_one_context(pair_outcomes)
    estimates = AccuracyEstimates.estimate_from_pairs(pair_outcomes, contexts, ties=settings.ties)
    crossed = split_contexts_by_perturbation(pair_outcomes, contexts)
    by_perturbation, _ = compute_accuracy_by_context(pair_outcomes, crossed, ties=settings.ties)
    resamples = estimates.accuracy_sums.resample_accuracies_in_context(0, settings.bootstrap)
    analysis = _estimate_accuracy_and_ranking_in_context(
        estimates,
        0,
        resamples,
        settings,
        global_accuracy=estimates.accuracy[:, 0],
        global_resamples=resamples,
        expected_order=None,
        keep_resamples=True,
    )
    first_choice = choose_single_metric_for_all_contexts(
        estimates.accuracy[settings.competing, 0],
        analysis.may_be_best,
        analysis.is_worse_than_another,
        settings.cost_ranks,
        settings.is_uninformed,
    )
    standardised = average_accuracies_over_perturbations(by_perturbation, pair_outcomes, 1)
    return GlobalAnalysis(estimates, standardised, resamples, analysis, first_choice)


def estimate_accuracy_in_each_context(
    pair_outcomes: PairOutcomes,
    pair_contexts: PairContexts,
    analysis_of_all_pairs: GlobalAnalysis,
    settings: AnalysisSettings,
    rng: np.random.Generator,
) -> ColumnAnalysis:
    """Compute the accuracy of each metric in each context of one column (such as each domain), and test for
    differences between the contexts.

    The pairs are sorted by `sort_pairs_by_item`.
    """
    pair_outcomes, pair_contexts = repeat_pairs_that_span_two_contexts(pair_outcomes, pair_contexts)
    estimates = AccuracyEstimates.estimate_from_pairs(pair_outcomes, pair_contexts, ties=settings.ties)
    crossed = split_contexts_by_perturbation(pair_outcomes, pair_contexts)
    by_perturbation, totals = compute_accuracy_by_context(pair_outcomes, crossed, ties=settings.ties)
    context_count = len(pair_contexts.values)
    expected_order = analysis_of_all_pairs.get_expected_accuracies(settings.competing)

    def estimate_accuracy_in_one_context(context_position: int) -> ContextAnalysis:
        """Compute accuracies and tests of metrics in one context."""
        return _estimate_accuracy_and_ranking_in_context(
            estimates,
            context_position,
            estimates.accuracy_sums.resample_accuracies_in_context(context_position, settings.bootstrap),
            settings,
            global_accuracy=analysis_of_all_pairs.estimates.accuracy[:, 0],
            global_resamples=analysis_of_all_pairs.resamples,
            expected_order=expected_order,
            keep_resamples=context_count <= ALL_INTERVALS,
        )

    with ThreadPoolExecutor(settings.workers) as pool:
        context_analyses = list(pool.map(estimate_accuracy_in_one_context, range(context_count)))
    items = estimates.accuracy_sums.count_scored_items()[settings.competing].max(axis=0, initial=0)
    is_large = items >= settings.minimum_items
    trend_p = compute_p_values_of_accuracy_trends(pair_contexts.column, estimates.accuracy_sums, is_large)
    estimates = replace(estimates, accuracy_sums=estimates.accuracy_sums.copy_without_cluster_sums())
    h1 = None
    h2 = None
    if context_count > 1:
        h1 = run_accuracy_tests_between_contexts(
            pair_outcomes.select_metrics(settings.competing),
            pair_contexts,
            totals[settings.competing],
            ties=settings.ties,
            rng=rng,
            permutations=settings.permutations,
            workers=settings.workers,
            is_large=is_large,
        )
        if len(settings.competing) > 1:
            h2 = _compare_metric_rankings_of_contexts(
                estimates, context_analyses, analysis_of_all_pairs, settings
            )
    return ColumnAnalysis(
        contexts=pair_contexts,
        estimates=estimates,
        standardised=average_accuracies_over_perturbations(by_perturbation, pair_outcomes, context_count),
        perturbation_shares=_compute_perturbation_shares_by_context(
            crossed, context_count, len(pair_outcomes.perturbation_names)
        ),
        context_analyses=context_analyses,
        is_large=is_large,
        h1=h1,
        h2=h2,
        trend_p=trend_p,
        are_contexts_exchangeable=context_count <= FULL_MATRIX
        and are_contexts_exchangeable(pair_outcomes, pair_contexts),
    )


def estimate_accuracy_intervals(
    pair_outcomes: PairOutcomes, pair_contexts: PairContexts, ties: str, bootstrap: ClusterBootstrap
) -> tuple[AccuracyEstimates, FloatArray, FloatArray]:
    """Estimate the accuracy of each metric in each context. Returns the estimates, and the lower and upper
    ends of 95 % intervals.

    The pairs of an output may lie in several contexts here.
    """
    estimates = AccuracyEstimates.estimate_from_pairs(pair_outcomes, pair_contexts, ties=ties)
    lows = []
    highs = []
    for context in range(len(pair_contexts.values)):
        resamples = estimates.accuracy_sums.resample_accuracies_in_context(context, bootstrap)
        low, high = proportion_interval(estimates.get_accuracy_estimates_of_context(context), resamples)
        lows.append(low)
        highs.append(high)
    return estimates, np.stack(lows, axis=1), np.stack(highs, axis=1)


def average_accuracies_over_perturbations(
    accuracy_by_perturbation: FloatArray, pair_outcomes: PairOutcomes, context_count: int
) -> FloatArray:
    """Average the accuracies of each metric over perturbations (kinds of errors), with the same weights in
    every context. Otherwise a context with many easy perturbations would look better.

    `accuracy_by_perturbation` is [metrics, contexts · perturbations]; the shares are those among all pairs.
    Perturbations that a context has no pair of are left out there and the other shares scaled up.
    """
    accuracy = accuracy_by_perturbation.reshape(len(accuracy_by_perturbation), context_count, -1)
    counts = count_occurrences(pair_outcomes.perturbations, len(pair_outcomes.perturbation_names))
    shares = counts / pair_outcomes.pair_count
    is_known = ~np.isnan(accuracy)
    weighted_sums = (np.where(is_known, accuracy, 0) * shares).sum(axis=2)
    return divide_or_nan(weighted_sums, (is_known * shares).sum(axis=2))


def _compute_perturbation_shares_by_context(
    contexts_split_by_perturbation: PairContexts, context_count: int, perturbation_count: int
) -> FloatArray:
    """Compute for each context the share of pairs that each perturbation made. Returns an array [contexts,
    perturbations].
    """
    counts = count_occurrences(contexts_split_by_perturbation.codes, context_count * perturbation_count)
    table: FloatArray = counts.reshape(context_count, perturbation_count).astype(np.float64)
    return divide_or_nan(table, table.sum(axis=1, keepdims=True))


def _estimate_accuracy_and_ranking_in_context(
    estimates: AccuracyEstimates,
    context_position: int,
    resamples: FloatArray,
    settings: AnalysisSettings,
    *,
    global_accuracy: FloatArray,
    global_resamples: FloatArray,
    expected_order: FloatArray | None,
    keep_resamples: bool,
) -> ContextAnalysis:
    """Compute accuracy intervals, the metrics that may be the best, and tests of the ranking of metrics in
    one context.

    `expected_order` is the order of the metrics that leads may contradict; None for all outputs together.
    """
    competing = settings.competing
    accuracy = estimates.accuracy[competing, context_position]
    competing_resamples = resamples[competing]
    low, high = proportion_interval(estimates.get_accuracy_estimates_of_context(context_position), resamples)
    cluster_count = int(estimates.clusters[competing, context_position].max(initial=0))
    top_group, _ = select_candidates_that_may_be_best(accuracy, competing_resamples, cluster_count)
    agreement_low, agreement_high, order_p = correlate_context_with_global_ranking(
        accuracy,
        competing_resamples,
        global_accuracy[competing],
        global_resamples[competing],
        settings.agreement,
        cluster_count,
    )
    ceiling = estimate_split_half_ranking_reliability(
        estimates.accuracy_sums, competing, context_position, settings.halves, settings.agreement
    )
    return ContextAnalysis(
        low=low,
        high=high,
        may_be_best=top_group,
        ranking_comparison=ContextRankingComparison(agreement_low, agreement_high, order_p, ceiling),
        leads=compare_metrics_in_context(
            estimates.accuracy_sums, context_position, competing, expected_order, settings.signs
        ),
        resamples=competing_resamples if keep_resamples else None,
    )


def _compare_metric_rankings_of_contexts(
    estimates: AccuracyEstimates,
    context_analyses: Sequence[ContextAnalysis],
    global_analysis: GlobalAnalysis,
    settings: AnalysisSettings,
) -> AgreementMatrix:
    """Compute rank correlations between the metric rankings in every two contexts of a column, and over all
    outputs.
    """
    analyses = [global_analysis.context, *context_analyses]
    accuracy = np.concatenate([global_analysis.estimates.accuracy, estimates.accuracy], axis=1)
    kept_resamples = [analysis.resamples for analysis in analyses if analysis.resamples is not None]
    if len(kept_resamples) < len(analyses):
        kept_resamples = []
    return compute_rank_correlations_between_contexts(
        accuracy[settings.competing].T,
        kept_resamples,
        [analysis.ranking_comparison for analysis in analyses],
        settings.agreement,
        settings.workers,
    )
