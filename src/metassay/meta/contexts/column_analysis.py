"""Analysis of the contexts of one column, and of all outputs together ("global")."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from metassay.meta.contexts.accuracy import (
    AccuracyTally,
    accuracy_by_context,
    divide_or_nan,
    list_both_sides,
    tally_pairs,
)
from metassay.meta.contexts.agreement_prediction import share_clusters_alike
from metassay.meta.contexts.choice import choose_first_metric
from metassay.meta.contexts.h1 import AccuracyTests, cross_with_perturbations, run_accuracy_tests
from metassay.meta.contexts.h2 import (
    ALL_INTERVALS,
    FULL_MATRIX,
    AgreementMatrix,
    ContextOrder,
    compare_all_orders,
    compare_with_global,
    noise_ceiling,
)
from metassay.meta.contexts.leads import ContextLeads, compute_leads
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, global_context
from metassay.meta.contexts.trend import trend_p_values
from metassay.stats.arrays import BoolArray, FloatArray, LongArray, count_codes
from metassay.stats.bootstrap import ClusterBootstrap, ClusterHalves
from metassay.stats.intervals import ClusteredProportions, proportion_interval
from metassay.stats.multiplicity import select_possible_best

_TIE_DECIMALS = 12


@dataclass(frozen=True)
class AnalysisSettings:
    """How contexts are analysed, the same for all columns.

    `competing` are the positions of the metrics that may be recommended: all but the sentinels. `cost_ranks`
    and `is_uninformed` are of these; an uninformed metric knows nothing of quality and is never the first
    choice. Contexts with fewer than `minimum_items` items take no part in claims.
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
    """A tally with what follows from it, [metrics, contexts], computed once."""

    tally: AccuracyTally
    accuracy: FloatArray
    variance: FloatArray
    clusters: LongArray
    pairs: LongArray

    @classmethod
    def from_tally(cls, tally: AccuracyTally) -> AccuracyEstimates:
        """Compute the estimates of a tally."""
        accuracy = tally.accuracy()
        clusters = np.broadcast_to(tally.count_clusters(), accuracy.shape)
        return cls(tally, accuracy, tally.variance(), clusters, tally.count_pairs())

    def proportions(self, context: int) -> ClusteredProportions:
        """Return the estimates of one context, [metrics]."""
        return ClusteredProportions(
            estimate=self.accuracy[:, context],
            variance=self.variance[:, context],
            clusters=self.clusters[:, context],
            observations=self.pairs[:, context],
        )


@dataclass(frozen=True)
class ContextAnalysis:
    """One context: intervals [metrics], which competing metrics may be the best, and its order of metrics.

    `resamples` are those of the competing metrics, [metrics, resamples]; None where contexts are too many to
    keep them.
    """

    low: FloatArray
    high: FloatArray
    may_be_best: BoolArray
    order: ContextOrder
    leads: ContextLeads
    resamples: FloatArray | None

    @property
    def is_behind(self) -> BoolArray:
        """Metrics that may be the best, but that a paired test puts behind another such metric."""
        return self.leads.find_behind(self.may_be_best) & self.may_be_best


@dataclass(frozen=True)
class GlobalAnalysis:
    """All outputs together; `first_choice` is the position, among competing metrics, of the one to use."""

    estimates: AccuracyEstimates
    standardised: FloatArray
    resamples: FloatArray
    context: ContextAnalysis
    first_choice: int

    def expected_order(self, competing: LongArray) -> FloatArray:
        """Return accuracies in the order that a context may contradict; none is above the first choice."""
        order = np.round(self.estimates.accuracy[competing, 0], _TIE_DECIMALS)
        order[self.first_choice] = np.nanmax(order) if not np.isnan(order).all() else np.nan
        return np.asarray(order)


@dataclass(frozen=True)
class ColumnAnalysis:
    """Local accuracies of one column with their uncertainty, H1 and H2 (None where the column has one value).

    `perturbation_shares` is [contexts, perturbations]: shares among a context's pairs. `is_large` marks the
    contexts that have enough items to take part in claims. `trend_p` is [metrics]. `share_clusters_alike`
    says whether every two contexts have pairs of the same clusters, or no two do.
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
    share_clusters_alike: bool


def analyze_global(outcomes: PairOutcomes, settings: AnalysisSettings) -> GlobalAnalysis:
    """Analyse all sorted pairs as one context, and choose the metric to use."""
    contexts = global_context(outcomes)
    estimates = AccuracyEstimates.from_tally(tally_pairs(outcomes, contexts, ties=settings.ties))
    crossed = cross_with_perturbations(outcomes, contexts)
    by_perturbation, _ = accuracy_by_context(outcomes, crossed, ties=settings.ties)
    resamples = resample_accuracy(estimates.tally, 0, settings)
    analysis = _analyze_context(
        estimates,
        0,
        resamples,
        settings,
        global_accuracy=estimates.accuracy[:, 0],
        global_resamples=resamples,
        expected_order=None,
        keep_resamples=True,
    )
    first_choice = choose_first_metric(
        estimates.accuracy[settings.competing, 0],
        analysis.may_be_best,
        analysis.is_behind,
        settings.cost_ranks,
        settings.is_uninformed,
    )
    standardised = standardise_accuracy(by_perturbation, outcomes, 1)
    return GlobalAnalysis(estimates, standardised, resamples, analysis, first_choice)


def analyze_column(
    outcomes: PairOutcomes,
    contexts: PairContexts,
    overall: GlobalAnalysis,
    settings: AnalysisSettings,
    rng: np.random.Generator,
) -> ColumnAnalysis:
    """Compute local accuracy, H1 and H2 of one column from sorted pairs."""
    outcomes, contexts = list_both_sides(outcomes, contexts)
    estimates = AccuracyEstimates.from_tally(tally_pairs(outcomes, contexts, ties=settings.ties))
    crossed = cross_with_perturbations(outcomes, contexts)
    by_perturbation, totals = accuracy_by_context(outcomes, crossed, ties=settings.ties)
    context_count = len(contexts.values)
    expected_order = overall.expected_order(settings.competing)

    def analyze(context: int) -> ContextAnalysis:
        return _analyze_context(
            estimates,
            context,
            resample_accuracy(estimates.tally, context, settings),
            settings,
            global_accuracy=overall.estimates.accuracy[:, 0],
            global_resamples=overall.resamples,
            expected_order=expected_order,
            keep_resamples=context_count <= ALL_INTERVALS,
        )

    with ThreadPoolExecutor(settings.workers) as pool:
        context_analyses = list(pool.map(analyze, range(context_count)))
    items = estimates.tally.count_items()[settings.competing].max(axis=0, initial=0)
    is_large = items >= settings.minimum_items
    trend_p = trend_p_values(contexts.column, estimates.tally, is_large)
    estimates = replace(estimates, tally=estimates.tally.drop_cells())
    h1 = None
    h2 = None
    if context_count > 1:
        h1 = run_accuracy_tests(
            outcomes.select_metrics(settings.competing),
            contexts,
            totals[settings.competing],
            ties=settings.ties,
            rng=rng,
            permutations=settings.permutations,
            workers=settings.workers,
            is_large=is_large,
        )
        if len(settings.competing) > 1:
            h2 = _compare_context_orders(estimates, context_analyses, overall, settings)
    return ColumnAnalysis(
        contexts=contexts,
        estimates=estimates,
        standardised=standardise_accuracy(by_perturbation, outcomes, context_count),
        perturbation_shares=_perturbation_shares(crossed, context_count, len(outcomes.perturbation_names)),
        context_analyses=context_analyses,
        is_large=is_large,
        h1=h1,
        h2=h2,
        trend_p=trend_p,
        share_clusters_alike=context_count <= FULL_MATRIX and share_clusters_alike(outcomes, contexts),
    )


def estimate_intervals(
    outcomes: PairOutcomes, contexts: PairContexts, ties: str, bootstrap: ClusterBootstrap
) -> tuple[AccuracyEstimates, FloatArray, FloatArray]:
    """Estimate local accuracies of sorted pairs with the ends of their intervals, [metrics, contexts].

    The pairs of an output may lie in several contexts here.
    """
    estimates = AccuracyEstimates.from_tally(tally_pairs(outcomes, contexts, ties=ties))
    tally = estimates.tally
    lows = []
    highs = []
    for context in range(len(contexts.values)):
        cells = tally.cells_of(context)
        drawn = bootstrap.resample_ratios(
            tally.credit[:, cells], tally.weight[:, cells], tally.clusters[cells]
        )
        low, high = proportion_interval(estimates.proportions(context), drawn)
        lows.append(low)
        highs.append(high)
    return estimates, np.stack(lows, axis=1), np.stack(highs, axis=1)


def standardise_accuracy(
    by_perturbation: FloatArray, outcomes: PairOutcomes, context_count: int
) -> FloatArray:
    """Average accuracies [metrics, contexts · perturbations] with the perturbations' shares among all pairs.

    Perturbations that a context has no pair of are left out there and the other shares scaled up.
    """
    accuracy = by_perturbation.reshape(len(by_perturbation), context_count, -1)
    counts = count_codes(outcomes.perturbations, len(outcomes.perturbation_names))
    shares = counts / outcomes.pair_count
    is_known = ~np.isnan(accuracy)
    weighted_sums = (np.where(is_known, accuracy, 0) * shares).sum(axis=2)
    return divide_or_nan(weighted_sums, (is_known * shares).sum(axis=2))


def _perturbation_shares(crossed: PairContexts, context_count: int, perturbation_count: int) -> FloatArray:
    counts = count_codes(crossed.codes, context_count * perturbation_count)
    table: FloatArray = counts.reshape(context_count, perturbation_count).astype(np.float64)
    return divide_or_nan(table, table.sum(axis=1, keepdims=True))


def resample_accuracy(tally: AccuracyTally, context: int, settings: AnalysisSettings) -> FloatArray:
    """Compute the accuracies of one context under every resample of the clusters, [metrics, resamples]."""
    cells = tally.cells_of(context)
    return settings.bootstrap.resample_ratios(
        tally.credit[:, cells], tally.weight[:, cells], tally.clusters[cells]
    )


def _analyze_context(
    estimates: AccuracyEstimates,
    context: int,
    resamples: FloatArray,
    settings: AnalysisSettings,
    *,
    global_accuracy: FloatArray,
    global_resamples: FloatArray,
    expected_order: FloatArray | None,
    keep_resamples: bool,
) -> ContextAnalysis:
    """Compute intervals, top group, order and leads of one context.

    `expected_order` is the order of the metrics that leads may contradict; None for all outputs together.
    """
    competing = settings.competing
    accuracy = estimates.accuracy[competing, context]
    competing_resamples = resamples[competing]
    low, high = proportion_interval(estimates.proportions(context), resamples)
    cluster_count = int(estimates.clusters[competing, context].max(initial=0))
    top_group, _ = select_possible_best(accuracy, competing_resamples, cluster_count)
    agreement_low, agreement_high, order_p = compare_with_global(
        accuracy,
        competing_resamples,
        global_accuracy[competing],
        global_resamples[competing],
        settings.agreement,
        cluster_count,
    )
    ceiling = noise_ceiling(estimates.tally, competing, context, settings.halves, settings.agreement)
    return ContextAnalysis(
        low=low,
        high=high,
        may_be_best=top_group,
        order=ContextOrder(agreement_low, agreement_high, order_p, ceiling),
        leads=compute_leads(estimates.tally, context, competing, expected_order, settings.signs),
        resamples=competing_resamples if keep_resamples else None,
    )


def _compare_context_orders(
    estimates: AccuracyEstimates,
    context_analyses: Sequence[ContextAnalysis],
    overall: GlobalAnalysis,
    settings: AnalysisSettings,
) -> AgreementMatrix:
    """Compute H2 from the contexts of a column and all outputs together."""
    analyses = [overall.context, *context_analyses]
    accuracy = np.concatenate([overall.estimates.accuracy, estimates.accuracy], axis=1)
    kept_resamples = [analysis.resamples for analysis in analyses if analysis.resamples is not None]
    if len(kept_resamples) < len(analyses):
        kept_resamples = []
    return compare_all_orders(
        accuracy[settings.competing].T,
        kept_resamples,
        [analysis.order for analysis in analyses],
        settings.agreement,
        settings.workers,
    )
