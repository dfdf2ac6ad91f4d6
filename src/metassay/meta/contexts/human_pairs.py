"""Compare metrics with human scores, next to their accuracy on perturbed pairs.

Perturbed pairs ask whether a metric sees errors that are known to be there. Human scores answer two more
questions:

*segments*: of two systems' outputs for one item, does the metric prefer the one with the higher human score?
The accuracy is computed as for perturbed pairs, clusters and ties included;

*systems*: does the metric compare systems as human scores do? Soft pairwise accuracy (Thompson et al., 2024).
Beside it stands the share of human labels that the metric saves when two systems are compared.

Each gives an order of the metrics. How far two orders agree is Kendall's tau-b; all three are resampled with
the same weights of clusters, so its interval knows that they rest on the same items. The reliability of an
order is how far it would agree with that of a second sample as large as this one, estimated from halves.
Noise in either order lowers tau, most of all among metrics that are equally good. So tau is also given
corrected for the reliability of both (`correct_tau_for_reliability`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.contexts.accuracy import repeat_pairs_that_span_two_contexts, sort_pairs_by_item
from metassay.meta.contexts.choice import OverallMetricChoice
from metassay.meta.contexts.column_analysis import (
    AccuracyEstimates,
    AnalysisSettings,
    ColumnAnalysis,
    GlobalAnalysis,
    estimate_accuracy_over_all_pairs,
)
from metassay.meta.contexts.h2 import correlate_metric_rankings, estimate_split_half_ranking_reliability
from metassay.meta.contexts.leads import compute_p_values_of_accuracy_differences
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.meta.contexts.saved_labels import SavedLabels
from metassay.meta.contexts.soft_pairwise_accuracy import KENDALL, SoftAccuracyEstimates
from metassay.results.assay import (
    GLOBAL,
    BestMetric,
    Claims,
    ContextHumanAccuracy,
    ContextHumanAgreement,
    HumanAccuracy,
    HumanChoice,
    HumanComparison,
    MetricLead,
    OrderAgreement,
    RankingAgreement,
    SecondSampleCeiling,
)
from metassay.results.base import none_if_nan
from metassay.stats.arrays import FloatArray, round_off_float_errors
from metassay.stats.intervals import IntervalEstimate, proportion_interval
from metassay.stats.rank_correlation import correlate_rows

# A ranking with a lower reliability is noise, and the correction would divide by almost 0.
_LEAST_RELIABILITY = 0.05
# 1.96 would be too few, because reliabilities are estimated too: in simulations of 6 and 20 metrics intervals
# with 1.96 contained the true tau in .86 to .99, with 2.25 in .91 to .99 of data sets.
_MARGIN_DEVIATIONS = 2.25
_UNDEFINED = IntervalEstimate(float("nan"), float("nan"), float("nan"))


@dataclass(frozen=True)
class HumanPairs:
    """Pairs of outputs of the same item with different human scores, and whether each metric orders them as
    people do.

    `human` names the human score. `outcomes` has the metrics of the perturbed pairs, in the same order. Each
    test set holds the items in which every system has a human score; its clusters are numbered as those of
    the pairs.
    """

    human: str
    outcomes: PairOutcomes
    contexts: Sequence[PairContexts]
    test_sets: Sequence[ScoreArrays]


@dataclass(frozen=True)
class MetricRankingValues:
    """One value per metric, by which metrics are ranked, from the data and from bootstrap resamples.

    `reliability` is Kendall's tau between this ranking and that of a second sample of the same size; NaN if
    it is not known.
    """

    values: FloatArray
    resamples: FloatArray | None
    reliability: float = float("nan")


@dataclass(frozen=True)
class RankingComparison:
    """Kendall's tau-b between two rankings of metrics, as observed and corrected for sampling noise."""

    observed: IntervalEstimate
    corrected: IntervalEstimate


@dataclass(frozen=True)
class HumanContextAnalysis:
    """How often each metric orders pairs of outputs as people do, in one context. The ranking of metrics is
    compared with the one on perturbed (deliberately worsened) outputs.

    `agreement` is that of the two rankings; `ceiling` is the agreement of two samples of human pairs.
    """

    context: str
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    items: int
    pairs: int
    agreement: IntervalEstimate
    ceiling: float


@dataclass(frozen=True)
class HumanAnalysis:
    """How often each metric orders pairs of outputs as people do, compared with its accuracy on perturbed
    (deliberately worsened) outputs.

    `metrics` are those that may be recommended; `best` is the position of the metric that is most often right
    on human pairs.
    """

    human: str
    metrics: tuple[str, ...]
    settings: AnalysisSettings
    overall: GlobalAnalysis
    spa: SoftAccuracyEstimates | None
    saved_labels: SavedLabels | None
    perturbed_with_human: RankingComparison
    perturbed_with_spa: RankingComparison
    human_with_spa: RankingComparison
    contexts: Mapping[str, Sequence[HumanContextAnalysis]]
    best: int

    @property
    def accuracy(self) -> FloatArray:
        """Accuracy of each metric: the share of pairs of outputs that it orders as people do."""
        return np.asarray(self.overall.estimates.accuracy[self.settings.competing, 0])

    def compare_best_metric_with_others(self) -> list[MetricLead]:
        """Test whether the metric that agrees best with human scores is more accurate than each other metric.
        Returns one p-value for each other metric.
        """
        p_values = compute_p_values_of_accuracy_differences([self.overall.context.leads])[0][self.best]
        best = self.metrics[self.best]
        candidates = []
        for worse, p in zip(self.metrics, p_values.tolist()):
            if not np.isnan(p):
                candidates.append(MetricLead(column=None, context=GLOBAL, better=best, worse=worse, p=p))
        return candidates

    def choose_significantly_better_metric(
        self, current_metric: str, significant_differences: Claims, eligible_metrics: Collection[str]
    ) -> OverallMetricChoice | None:
        """Return the metric that agrees best with human scores, if it is significantly better than the given
        metric. Otherwise return None.
        """
        if not any(lead.worse == current_metric for lead in significant_differences.human_leads):
            return None
        top_group = self._list_metrics_not_worse_than_best(significant_differences, eligible_metrics)
        return OverallMetricChoice(self.metrics[self.best], human_top_group=top_group)

    def _list_metrics_not_worse_than_best(
        self, significant_differences: Claims, eligible_metrics: Collection[str]
    ) -> list[str]:
        """List the metric that agrees best with human scores, followed by the metrics that are not
        significantly worse.
        """
        best = self.metrics[self.best]
        behind = {lead.worse for lead in significant_differences.human_leads}
        group = [best]
        for row in self._list_human_agreement_of_metrics():
            is_defined = row.accuracy is not None
            if is_defined and row.metric in eligible_metrics and row.metric not in {best, *behind}:
                group.append(row.metric)
        return group

    def _choose_metric_with_highest_soft_accuracy(
        self, eligible_metrics: Collection[str]
    ) -> BestMetric | None:
        """Choose the eligible metric with the highest soft pairwise accuracy. Returns None if it is undefined
        for all.
        """
        if self.spa is None:
            return None
        is_eligible = [metric in eligible_metrics for metric in self.metrics]
        values = np.where(is_eligible, self.spa.values, np.nan)
        if np.isnan(values).all():
            return None
        return BestMetric(metric=self.metrics[int(np.nanargmax(values))])

    def _list_human_agreement_of_metrics(self) -> list[HumanAccuracy]:
        """List how well each metric agrees with human scores, the best metric first. Metrics with equal
        values share a rank.
        """
        accuracy = self.accuracy
        context = self.overall.context
        ties = self.overall.estimates.accuracy_sums.compute_tie_shares()[:, 0]
        pairs = self.overall.estimates.pairs[:, 0]
        undefined = np.full(len(accuracy), np.nan)
        spa = undefined if self.spa is None else self.spa.values
        spa_low = undefined if self.spa is None else self.spa.low
        spa_high = undefined if self.spa is None else self.spa.high
        saved = self.saved_labels
        saved_low = undefined if saved is None else saved.low
        saved_high = undefined if saved is None else saved.high
        rows = []
        for position, (m, metric) in enumerate(zip(self.settings.competing, self.metrics)):
            rows.append(
                HumanAccuracy(
                    metric=metric,
                    accuracy=none_if_nan(accuracy[position]),
                    low=none_if_nan(context.low[m]),
                    high=none_if_nan(context.high[m]),
                    ties=none_if_nan(ties[m]),
                    pairs=int(pairs[m]),
                    rank=_compute_rank_of_value(accuracy, position),
                    spa=none_if_nan(spa[position]),
                    spa_low=none_if_nan(spa_low[position]),
                    spa_high=none_if_nan(spa_high[position]),
                    rank_spa=_compute_rank_of_value(spa, position),
                    labels_saved=None if saved is None else none_if_nan(saved.values[position]),
                    labels_saved_low=none_if_nan(saved_low[position]),
                    labels_saved_high=none_if_nan(saved_high[position]),
                )
            )
        return sorted(rows, key=lambda row: row.rank or len(rows) + 1)

    def build_comparison_with_human_scores(
        self,
        significant_differences: Claims,
        metric_chosen_by_perturbations: str,
        eligible_metrics: Collection[str],
    ) -> HumanComparison:
        """Build the JSON form of the comparison of metrics with human scores.

        `metric_chosen_by_perturbations` is the metric chosen on perturbed pairs.
        """
        accuracy_sums = self.overall.estimates.accuracy_sums
        contexts = {}
        for column, analyses in self.contexts.items():
            contexts[column] = [
                self._build_context_comparison_with_human_scores(analysis) for analysis in analyses
            ]
        return HumanComparison(
            human=self.human,
            items=int(accuracy_sums.count_scored_items().max()),
            pairs=int(accuracy_sums.count_scored_pairs().max()),
            systems=None if self.spa is None else self.spa.systems,
            segments=None if self.spa is None else self.spa.segments,
            followed=any(
                lead.worse == metric_chosen_by_perturbations for lead in significant_differences.human_leads
            ),
            by_perturbed_pairs=BestMetric(metric=metric_chosen_by_perturbations),
            by_human_pairs=HumanChoice(
                metric=self.metrics[self.best],
                top_group=self._list_metrics_not_worse_than_best(significant_differences, eligible_metrics),
            ),
            by_spa=self._choose_metric_with_highest_soft_accuracy(eligible_metrics),
            by_labels_saved=(
                None
                if self.saved_labels is None
                else self.saved_labels.choose_metric_saving_most_human_labels(self.metrics, eligible_metrics)
            ),
            spa_constant=None if self.spa is None else none_if_nan(self.spa.constant),
            metrics=self._list_human_agreement_of_metrics(),
            agreement=RankingAgreement(
                statistic=KENDALL,
                perturbed_with_human=_convert_ranking_comparison_to_result(self.perturbed_with_human),
                perturbed_with_spa=_convert_ranking_comparison_to_result(self.perturbed_with_spa),
                human_with_spa=_convert_ranking_comparison_to_result(self.human_with_spa),
            ),
            ceiling=SecondSampleCeiling(
                pairs=none_if_nan(self.overall.context.ranking_comparison.ceiling),
                spa=None if self.spa is None else none_if_nan(self.spa.ceiling),
            ),
            contexts=contexts,
        )

    def _build_context_comparison_with_human_scores(
        self, context_analysis: HumanContextAnalysis
    ) -> ContextHumanAgreement:
        """Build the JSON form of the comparison of metrics with human scores in one context."""
        metrics = []
        for m, metric in enumerate(self.metrics):
            metrics.append(
                ContextHumanAccuracy(
                    metric=metric,
                    accuracy=none_if_nan(context_analysis.accuracy[m]),
                    low=none_if_nan(context_analysis.low[m]),
                    high=none_if_nan(context_analysis.high[m]),
                )
            )
        return ContextHumanAgreement(
            context=context_analysis.context,
            tau=none_if_nan(context_analysis.agreement.value),
            low=none_if_nan(context_analysis.agreement.low),
            high=none_if_nan(context_analysis.agreement.high),
            ceiling=none_if_nan(context_analysis.ceiling),
            items=context_analysis.items,
            pairs=context_analysis.pairs,
            metrics=metrics,
        )


def compare_metrics_with_human_scores(
    human_pairs: HumanPairs,
    overall_perturbed_analysis: GlobalAnalysis,
    perturbed_analyses_by_column: Mapping[str, ColumnAnalysis],
    settings: AnalysisSettings,
    soft_pairwise_accuracy: SoftAccuracyEstimates | None,
    saved_labels: SavedLabels | None = None,
) -> HumanAnalysis:
    """Compute how often each metric orders pairs of outputs as people do. Compare this ranking of metrics
    with the one on perturbed (deliberately worsened) outputs.

    `overall_perturbed_analysis` and `perturbed_analyses_by_column` are the analyses of the
    perturbed pairs. `soft_pairwise_accuracy` and `saved_labels` are given where several systems have human
    scores. Contexts below the smallest size on either side are left out.
    """
    settings = replace(settings, agreement=KENDALL)
    used_contexts = [contexts.drop_empty_contexts() for contexts in human_pairs.contexts]
    outcomes, sorted_contexts = sort_pairs_by_item(human_pairs.outcomes, used_contexts)
    overall = estimate_accuracy_over_all_pairs(outcomes, settings)
    competing = settings.competing
    accuracy = overall.estimates.accuracy[competing, 0]
    # A metric unrelated to quality is last in every ranking, and would make the rankings look alike.
    is_informed = ~settings.is_uninformed
    informed = competing[is_informed]
    by_perturbed = MetricRankingValues(
        overall_perturbed_analysis.estimates.accuracy[informed, 0],
        overall_perturbed_analysis.resamples[informed],
        estimate_split_half_ranking_reliability(
            overall_perturbed_analysis.estimates.accuracy_sums, informed, 0, settings.halves, KENDALL
        ),
    )
    human_ceiling = overall.context.ranking_comparison.ceiling
    if not is_informed.all():
        human_ceiling = estimate_split_half_ranking_reliability(
            overall.estimates.accuracy_sums, informed, 0, settings.halves, KENDALL
        )
    by_human = MetricRankingValues(accuracy[is_informed], overall.resamples[informed], human_ceiling)
    by_spa = None
    if soft_pairwise_accuracy is not None:
        by_spa = MetricRankingValues(
            soft_pairwise_accuracy.values[is_informed],
            soft_pairwise_accuracy.resamples[is_informed],
            soft_pairwise_accuracy.ceiling,
        )
    context_analyses = {}
    for contexts in sorted_contexts:
        column = perturbed_analyses_by_column.get(contexts.column)
        if column is not None and len(column.contexts.values) > 1:
            context_analyses[contexts.column] = _compare_metrics_with_human_scores_by_context(
                outcomes, contexts, column, settings
            )
    rounded = np.nan_to_num(round_off_float_errors(accuracy), nan=-2)
    return HumanAnalysis(
        human=human_pairs.human,
        metrics=tuple(outcomes.metrics[m] for m in competing),
        settings=settings,
        overall=overall,
        spa=soft_pairwise_accuracy,
        saved_labels=saved_labels,
        perturbed_with_human=_compare_metric_rankings(by_perturbed, by_human),
        perturbed_with_spa=_compare_metric_rankings(by_perturbed, by_spa),
        human_with_spa=_compare_metric_rankings(by_human, by_spa),
        contexts=context_analyses,
        best=int(np.argmax(np.where(settings.is_uninformed, -1, rounded))),
    )


def _compare_metrics_with_human_scores_by_context(
    pair_outcomes: PairOutcomes,
    pair_contexts: PairContexts,
    perturbed_column_analysis: ColumnAnalysis,
    settings: AnalysisSettings,
) -> list[HumanContextAnalysis]:
    """Compute how often each metric orders pairs of outputs as people do, in each context with enough human
    scores and enough perturbed outputs. Compare the rankings of metrics on both.
    """
    pair_outcomes, pair_contexts = repeat_pairs_that_span_two_contexts(pair_outcomes, pair_contexts)
    estimates = AccuracyEstimates.estimate_from_pairs(pair_outcomes, pair_contexts, ties=settings.ties)
    competing = settings.competing
    items = estimates.accuracy_sums.count_scored_items()
    items_of_competing = items[competing].max(axis=0, initial=0)
    positions = {value: c for c, value in enumerate(pair_contexts.values)}
    analyses = []
    for c, value in enumerate(perturbed_column_analysis.contexts.values):
        human_context = positions.get(value)
        if (
            human_context is None
            or not perturbed_column_analysis.is_large[c]
            or items_of_competing[human_context] < settings.minimum_items
        ):
            continue
        resamples = estimates.accuracy_sums.resample_accuracies_in_context(human_context, settings.bootstrap)
        low, high = proportion_interval(estimates.get_accuracy_estimates_of_context(human_context), resamples)
        accuracy = estimates.accuracy[competing, human_context]
        by_perturbed = MetricRankingValues(
            perturbed_column_analysis.estimates.accuracy[competing, c],
            perturbed_column_analysis.context_analyses[c].resamples,
        )
        analyses.append(
            HumanContextAnalysis(
                context=value,
                accuracy=accuracy,
                low=low[competing],
                high=high[competing],
                items=int(items[:, human_context].max()),
                pairs=int(estimates.pairs[:, human_context].max()),
                agreement=_compare_metric_rankings(
                    by_perturbed, MetricRankingValues(accuracy, resamples[competing])
                ).observed,
                ceiling=estimate_split_half_ranking_reliability(
                    estimates.accuracy_sums, competing, human_context, settings.halves, KENDALL
                ),
            )
        )
    return analyses


def _compare_metric_rankings(
    first_ranking: MetricRankingValues, second_ranking: MetricRankingValues | None
) -> RankingComparison:
    """Compute Kendall's tau-b between two rankings of metrics, with an interval if both rankings have
    bootstrap resamples.
    """
    if second_ranking is None:
        return RankingComparison(_UNDEFINED, _UNDEFINED)
    if first_ranking.resamples is None or second_ranking.resamples is None:
        agreement = correlate_metric_rankings(
            first_ranking.values,
            first_ranking.values[:, None],
            second_ranking.values,
            second_ranking.values[:, None],
            KENDALL,
        )
        return RankingComparison(replace(agreement, low=float("nan"), high=float("nan")), _UNDEFINED)
    observed = correlate_metric_rankings(
        first_ranking.values,
        first_ranking.resamples,
        second_ranking.values,
        second_ranking.resamples,
        KENDALL,
    )
    resampled = correlate_rows(first_ranking.resamples.T, second_ranking.resamples.T, KENDALL)
    spread = float(np.nanstd(resampled)) if (~np.isnan(resampled)).sum() > 1 else float("nan")
    corrected = correct_tau_for_reliability(
        observed.value, spread, first_ranking.reliability, second_ranking.reliability
    )
    return RankingComparison(observed, corrected)


def correct_tau_for_reliability(
    tau: float, standard_deviation: float, first_reliability: float, second_reliability: float
) -> IntervalEstimate:
    """Correct Kendall's tau between two rankings for the noise in both rankings. Returns the estimate with
    its 95 % interval.

    Each tau as a correlation, r = sin(π τ / 2) (Greiner, 1909), is divided by the root of the product of both
    reliabilities (Spearman, 1904), and turned back into a tau. The interval does the same to tau ± 2.25
    standard deviations. Undefined where a reliability is below .05: such an order is noise.

    >>> round(correct_tau_for_reliability(0.5, 0.1, 0.6, 0.6).value, 2)
    0.68
    """
    reliabilities = np.array([first_reliability, second_reliability])
    if not (reliabilities >= _LEAST_RELIABILITY).all() or np.isnan(tau) or np.isnan(standard_deviation):
        return _UNDEFINED
    attenuation = float(np.sqrt(np.sin(np.pi / 2 * reliabilities).prod()))
    margin = _MARGIN_DEVIATIONS * standard_deviation
    taus = np.clip([tau, tau - margin, tau + margin], -1, 1)
    correlations = np.clip(np.sin(np.pi / 2 * taus) / attenuation, -1, 1)
    value, low, high = (2 / np.pi * np.arcsin(correlations)).tolist()
    return IntervalEstimate(value, low, high)


def _convert_ranking_comparison_to_result(ranking_comparison: RankingComparison) -> OrderAgreement:
    """Convert a comparison of two rankings to its JSON form, in which NaN is None."""
    observed = ranking_comparison.observed
    corrected = ranking_comparison.corrected
    return OrderAgreement(
        tau=none_if_nan(observed.value),
        low=none_if_nan(observed.low),
        high=none_if_nan(observed.high),
        corrected_tau=none_if_nan(corrected.value),
        corrected_low=none_if_nan(corrected.low),
        corrected_high=none_if_nan(corrected.high),
    )


def _compute_rank_of_value(values: FloatArray, position: int) -> int | None:
    """Return the rank of the value at a position, where the highest value has rank 1. Equal values share the
    best rank, and NaN has none.
    """
    rounded = round_off_float_errors(values)
    if np.isnan(rounded[position]):
        return None
    return 1 + int((rounded > rounded[position]).sum())
