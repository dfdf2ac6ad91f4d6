"""Values of a meta-metric for all metrics, with bootstrap intervals.

The bootstrap draws items, or clusters of items, with replacement; human and metric scores stay together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.caveats import PermutedMetrics
from metassay.meta.people.meta_metrics.base import SYSTEM, MetaMetric, MetaMetricEstimates
from metassay.meta.people.meta_metrics.comparison_settings import NORMAL, PERMUTATION, ComparisonSettings
from metassay.meta.people.pairwise_deletion import estimate_human_agreement_with_pairwise_deletion
from metassay.meta.people.ranking_data import BASELINES, RankingData
from metassay.results.insufficient_data import InsufficientData
from metassay.stats.arrays import BoolArray, FloatArray
from metassay.stats.intervals import percentile_interval_or_nan
from metassay.stats.parallel import map_blocks_in_threads
from metassay.stats.random import SEGMENT_SUBSETS
from metassay.stats.resampling import (
    FEWEST_CLUSTERS,
    draw_random_subsets_in_blocks,
    map_bootstrap_resamples,
)
from metassay.stats.soft_accuracy import MAX_NORMAL_ERROR

# Two systems form one pair, which every metric orders either as people do or not.
FEWEST_SYSTEMS = 3
# Random subsets over which the value in a context is averaged, where contexts differ in size.
SUBSETS_PER_CONTEXT = 200


@dataclass(frozen=True)
class PValueMethods:
    """How p-values of differences between systems are computed for each metric: from the normal distribution
    or from permutations.

    The choice for a metric depends on its scores and the human scores only, so that its value does not change
    when other metrics are added.
    """

    settings: ComparisonSettings
    has_p_values: bool
    """Whether the meta-metric contains p-values at all."""
    is_permuted: BoolArray
    """Which metrics and baselines need permutations, because normal p-values would be inaccurate."""
    caveats: tuple[PermutedMetrics, ...] = ()

    @property
    def name(self) -> str | None:
        """Name of the p-value method in results, such as "normal". None if the meta-metric has no
        p-values.
        """
        if not self.has_p_values:
            return None
        if not self.is_permuted.any():
            return self.settings.method
        of_metrics = self.is_permuted[: -len(BASELINES)]
        return PERMUTATION if of_metrics.all() else f"{self.settings.method} or {PERMUTATION}"

    def get_settings_for_p_values(self, *, by_permutation: bool) -> ComparisonSettings:
        """Return the settings for p-values by permutation, or for p-values from the normal distribution."""
        return replace(self.settings, method=PERMUTATION) if by_permutation else self.settings


def choose_p_value_methods(
    ranking_data: RankingData, meta_metric: MetaMetric, settings: ComparisonSettings
) -> PValueMethods:
    """Choose for each metric whether p-values are computed from the normal distribution, or from permutations
    where the normal distribution is inaccurate.
    """
    errors = np.zeros(len(ranking_data.metric_names))
    has_p_values = False
    if not ranking_data.pairwise:
        for metrics, scores in ranking_data.scores.split_by_complete_items():
            metric_errors = meta_metric.estimate_closed_form_errors(scores)
            if metric_errors is not None:
                has_p_values = True
                errors[metrics] = metric_errors
    # The error of the constant baseline is that of human scores alone, which is what matters for baselines.
    errors[ranking_data.metric_count :] = errors[ranking_data.metric_count]
    is_permuted = errors > MAX_NORMAL_ERROR
    if settings.method != NORMAL:
        is_permuted[:] = False
    inaccurate = tuple(
        ranking_data.metric_names[metric] for metric in ranking_data.metric_positions if is_permuted[metric]
    )
    if not inaccurate:
        return PValueMethods(settings, has_p_values, is_permuted)
    caveat = PermutedMetrics(
        meta_metric.name,
        metrics=None if len(inaccurate) == ranking_data.metric_count else inaccurate,
        permutations=settings.permutations,
        largest_error=float(errors.max()),
    )
    return PValueMethods(settings, has_p_values, is_permuted, caveats=(caveat,))


def find_insufficient_data(ranking_data: RankingData, meta_metric: MetaMetric) -> InsufficientData | None:
    """Find what there is too little of for intervals and for naming a best metric. Returns None if there is
    enough.
    """
    systems = len(ranking_data.cube.systems)
    clusters = ranking_data.scores.cluster_count
    if meta_metric.level == SYSTEM and systems < FEWEST_SYSTEMS:
        return InsufficientData("few_systems", systems)
    if clusters < FEWEST_CLUSTERS:
        has_clusters = ranking_data.scores.clusters is not None
        return InsufficientData("few_clusters" if has_clusters else "few_items", clusters)
    return None


def estimate_meta_metric_values(
    ranking_data: RankingData,
    meta_metric: MetaMetric,
    p_value_methods: PValueMethods,
    equal_item_count: int | None = None,
    *,
    with_intervals: bool = True,
) -> MetaMetricEstimates:
    """Estimate how well each metric agrees with human scores according to a meta-metric, with a bootstrap
    interval.

    Each metric is evaluated on the items that it has. With `equal_item_count` values are means over random
    subsets of that size. An interval always contains its value.
    """
    settings = p_value_methods.settings
    if ranking_data.pairwise:
        return _estimate_values_by_pairwise_deletion(ranking_data, meta_metric, settings)
    values, low, high = (np.full(len(ranking_data.metric_names), np.nan) for _ in range(3))
    for metrics, scores in ranking_data.scores.split_by_complete_items():
        estimates = meta_metric.estimate_values(scores)
        if estimates is not None:
            values[metrics] = estimates.values
            if with_intervals:
                low[metrics] = estimates.low
                high[metrics] = estimates.high
            continue
        values[metrics] = compute_meta_metric_values(
            meta_metric, scores, p_value_methods, p_value_methods.is_permuted[metrics]
        )
        if equal_item_count is not None and equal_item_count < scores.human.shape[1]:
            subset_values = evaluate_meta_metric_on_random_items(
                meta_metric,
                scores,
                items=equal_item_count,
                draws=SUBSETS_PER_CONTEXT,
                seed=settings.seed,
                stream=settings.stream,
                workers=settings.workers,
            )
            if subset_values is not None:
                values[metrics] = subset_values.mean(axis=1)
        if not with_intervals or scores.cluster_count < FEWEST_CLUSTERS:
            continue
        resampled = evaluate_meta_metric_on_bootstrap_resamples(
            meta_metric,
            scores,
            draws=settings.draws,
            seed=settings.seed,
            stream=settings.stream,
            size=equal_item_count if scores.clusters is None else None,
            workers=settings.workers,
        )
        if resampled is not None:
            low[metrics], high[metrics] = percentile_interval_or_nan(resampled)
    # Nearly all resampled values of SPA or PA can lie below the value itself. We did not study why.
    return MetaMetricEstimates(values, np.minimum(low, values), np.maximum(high, values))


def compute_meta_metric_values(
    meta_metric: MetaMetric, scores: ScoreArrays, p_value_methods: PValueMethods, is_permuted: BoolArray
) -> FloatArray:
    """Compute the value of a meta-metric for each metric, with p-values from permutations for the metrics in
    `is_permuted`.
    """
    values = np.full(len(scores.metrics), np.nan)
    for permuted in (False, True):
        metrics = np.flatnonzero(is_permuted == permuted)
        if len(metrics):
            settings = p_value_methods.get_settings_for_p_values(by_permutation=permuted)
            values[metrics] = meta_metric.evaluate_metrics(scores.select_metrics(metrics), settings)
    return values


def _estimate_values_by_pairwise_deletion(
    ranking_data: RankingData, meta_metric: MetaMetric, settings: ComparisonSettings
) -> MetaMetricEstimates:
    """Estimate how well each metric agrees with human scores where scores are missing. Two systems are
    compared on the items that both have.
    """
    estimates = []
    for metric in ranking_data.scores.metrics:
        estimates.append(
            estimate_human_agreement_with_pairwise_deletion(
                meta_metric, ranking_data.scores.human, metric, draws=settings.draws, seed=settings.seed
            )
        )
    return MetaMetricEstimates(
        np.array([estimate.value for estimate in estimates]),
        np.array([estimate.low for estimate in estimates]),
        np.array([estimate.high for estimate in estimates]),
    )


def evaluate_meta_metric_on_bootstrap_resamples(
    meta_metric: MetaMetric,
    scores: ScoreArrays,
    *,
    draws: int,
    seed: int,
    stream: int = 0,
    size: int | None = None,
    workers: int | None = None,
) -> FloatArray | None:
    """Compute how well each metric agrees with human scores on bootstrap resamples of clusters of items (such
    as documents). Returns None if that would be too slow.

    A resample has as many clusters as the data, or `size`. Returns an array [metrics, draws].
    """
    evaluate_with_cluster_weights = meta_metric.build_resampling_function(scores)
    if evaluate_with_cluster_weights is None:
        return None
    return map_bootstrap_resamples(
        evaluate_with_cluster_weights,
        scores.cluster_count,
        draws=draws,
        seed=seed,
        stream=stream,
        sample_size=size,
        workers=workers,
    )


def evaluate_meta_metric_on_random_items(
    meta_metric: MetaMetric,
    scores: ScoreArrays,
    *,
    items: int,
    draws: int,
    seed: int,
    stream: int = 0,
    workers: int | None = None,
) -> FloatArray | None:
    """Compute how well each metric agrees with human scores on random subsets of the items. Returns None if
    that would be too slow.

    Returns an array [metrics, draws].
    """
    without_clusters = ScoreArrays(scores.human, scores.metrics)
    evaluate_with_item_weights = meta_metric.build_resampling_function(without_clusters)
    if evaluate_with_item_weights is None:
        return None
    subsets = draw_random_subsets_in_blocks(
        scores.human.shape[1], items, draws, seed, (stream, SEGMENT_SUBSETS)
    )
    return np.concatenate(map_blocks_in_threads(evaluate_with_item_weights, subsets, workers), axis=1)
