"""Values of a meta-metric for all metrics, with bootstrap intervals.

The bootstrap draws items, or clusters of items, with replacement; human and metric scores stay together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import SYSTEM, MetaMetric, ValueEstimates
from metassay.meta.people.meta_metrics.comparison_settings import NORMAL, PERMUTATION, ComparisonSettings
from metassay.meta.people.pairwise_deletion import estimate_with_pairwise_deletion
from metassay.meta.people.ranking_data import BASELINES, RankingData
from metassay.stats.arrays import BoolArray, FloatArray
from metassay.stats.parallel import map_blocks
from metassay.stats.random import SEGMENT_SUBSETS
from metassay.stats.resampling import draw_subset_blocks, map_bootstrap
from metassay.stats.soft_accuracy import MAX_NORMAL_ERROR

FEWEST_SYSTEMS = 3
"""Two systems form one pair, which every metric orders either as people do or not."""
FEWEST_CLUSTERS = 5
"""Resamples of fewer items, or clusters of items, do not show how uncertain a value is."""
SUBSETS_PER_CONTEXT = 200
"""Random subsets over which the value in a context is averaged, where contexts differ in size."""


@dataclass(frozen=True)
class PValueMethods:
    """How the p-values inside a meta-metric are computed, for each metric by itself.

    The choice for a metric depends on its scores and the human scores only, so that its value does not change
    when other metrics are added.
    """

    settings: ComparisonSettings
    has_p_values: bool
    """Whether the meta-metric contains p-values at all."""
    is_permuted: BoolArray
    """Which metrics and baselines need permutations, because normal p-values would be inaccurate."""
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str | None:
        """The methods in use, as results report them; None where there are no p-values."""
        if not self.has_p_values:
            return None
        if not self.is_permuted.any():
            return self.settings.method
        of_metrics = self.is_permuted[: -len(BASELINES)]
        return PERMUTATION if of_metrics.all() else f"{self.settings.method} or {PERMUTATION}"

    def select_settings(self, *, permuted: bool) -> ComparisonSettings:
        """Return the settings of the metrics with permutations, or of the others."""
        return replace(self.settings, method=PERMUTATION) if permuted else self.settings


def choose_p_value_methods(
    data: RankingData, meta_metric: MetaMetric, settings: ComparisonSettings
) -> PValueMethods:
    """Replace normal p-values by permutations, with a note, where a few items make them inaccurate."""
    errors = np.zeros(len(data.metric_names))
    has_p_values = False
    if not data.pairwise:
        for metrics, scores in data.scores.split_by_complete_items():
            metric_errors = meta_metric.estimate_closed_form_errors(scores)
            if metric_errors is not None:
                has_p_values = True
                errors[metrics] = metric_errors
    # the error of the constant baseline is that of people alone, which is all that matters for baselines
    errors[data.metric_count :] = errors[data.metric_count]
    is_permuted = errors > MAX_NORMAL_ERROR
    if settings.method != NORMAL:
        is_permuted[:] = False
    inaccurate = [data.metric_names[metric] for metric in data.metric_positions if is_permuted[metric]]
    if not inaccurate:
        return PValueMethods(settings, has_p_values, is_permuted)
    names = "all metrics" if len(inaccurate) == data.metric_count else ", ".join(inaccurate)
    note = (
        f"{data.cube.dataset}: a few segments carry most differences, so the closed form of "
        f"{meta_metric.name.upper()} would be off by up to {errors.max():.3f} per pair of systems; "
        f"p-values are from {settings.permutations} permutations instead for {names}."
    )
    return PValueMethods(settings, has_p_values, is_permuted, notes=(note,))


def note_too_little_data(data: RankingData, meta_metric: MetaMetric) -> str | None:
    """Say why a ranking has no intervals and names no best metric; None where there is enough data."""
    systems = len(data.cube.systems)
    clusters = data.scores.cluster_count
    if meta_metric.level == SYSTEM and systems < FEWEST_SYSTEMS:
        reason = f"{systems} systems"
    elif clusters < FEWEST_CLUSTERS:
        reason = f"{clusters} {'item' if clusters == 1 else 'items'}"
        if data.scores.clusters is not None:
            reason = f"{clusters} {'cluster' if clusters == 1 else 'clusters'} of items"
    else:
        return None
    return (
        f"{data.cube.dataset}: {reason} are too few for intervals of {meta_metric} and to name a best metric."
    )


def estimate_values(
    data: RankingData,
    meta_metric: MetaMetric,
    methods: PValueMethods,
    equal_items: int | None = None,
    *,
    with_intervals: bool = True,
) -> ValueEstimates:
    """Estimate the value of each metric, on the items that it has, with a bootstrap interval.

    With `equal_items` values are means over random subsets of that size.
    """
    settings = methods.settings
    if data.pairwise:
        return _estimate_with_gaps(data, meta_metric, settings)
    values, low, high = (np.full(len(data.metric_names), np.nan) for _ in range(3))
    for metrics, scores in data.scores.split_by_complete_items():
        estimates = meta_metric.estimate_values(scores)
        if estimates is not None:
            values[metrics] = estimates.values
            if with_intervals:
                low[metrics] = estimates.low
                high[metrics] = estimates.high
            continue
        values[metrics] = compute_values(meta_metric, scores, methods, methods.is_permuted[metrics])
        if equal_items is not None and equal_items < scores.human.shape[1]:
            subset_values = subsample_values(
                meta_metric,
                scores,
                items=equal_items,
                draws=SUBSETS_PER_CONTEXT,
                seed=settings.seed,
                stream=settings.stream,
                workers=settings.workers,
            )
            if subset_values is not None:
                values[metrics] = subset_values.mean(axis=1)
        if not with_intervals or scores.cluster_count < FEWEST_CLUSTERS:
            continue
        resampled = bootstrap_values(
            meta_metric,
            scores,
            draws=settings.draws,
            seed=settings.seed,
            stream=settings.stream,
            size=equal_items if scores.clusters is None else None,
            workers=settings.workers,
        )
        if resampled is not None:
            low[metrics], high[metrics] = percentile_interval(resampled)
    return ValueEstimates(values, low, high)


def compute_values(
    meta_metric: MetaMetric, scores: ScoreArrays, methods: PValueMethods, is_permuted: BoolArray
) -> FloatArray:
    """Compute the value of each metric with its own kind of p-values."""
    values = np.full(len(scores.metrics), np.nan)
    for permuted in (False, True):
        metrics = np.flatnonzero(is_permuted == permuted)
        if len(metrics):
            settings = methods.select_settings(permuted=permuted)
            values[metrics] = meta_metric.compute(scores.select_metrics(metrics), settings)
    return values


def _estimate_with_gaps(
    data: RankingData, meta_metric: MetaMetric, settings: ComparisonSettings
) -> ValueEstimates:
    """Estimate values with each pair of systems on the items that both have."""
    estimates = [
        estimate_with_pairwise_deletion(
            meta_metric, data.scores.human, metric, draws=settings.draws, seed=settings.seed
        )
        for metric in data.scores.metrics
    ]
    return ValueEstimates(
        np.array([estimate.value for estimate in estimates]),
        np.array([estimate.low for estimate in estimates]),
        np.array([estimate.high for estimate in estimates]),
    )


def bootstrap_values(
    meta_metric: MetaMetric,
    scores: ScoreArrays,
    *,
    draws: int,
    seed: int,
    stream: int = 0,
    size: int | None = None,
    workers: int | None = None,
) -> FloatArray | None:
    """Compute values on bootstrap resamples, `[metrics, draws]`; None where that would be too slow.

    A resample has as many clusters as the data, or `size`.
    """
    compute_weighted = meta_metric.prepare_resampling(scores)
    if compute_weighted is None:
        return None
    return map_bootstrap(
        compute_weighted,
        scores.cluster_count,
        draws=draws,
        seed=seed,
        stream=stream,
        size=size,
        workers=workers,
    )


def subsample_values(
    meta_metric: MetaMetric,
    scores: ScoreArrays,
    *,
    items: int,
    draws: int,
    seed: int,
    stream: int = 0,
    workers: int | None = None,
) -> FloatArray | None:
    """Compute values on random subsets of the items, `[metrics, draws]`; None where that is too slow."""
    without_clusters = ScoreArrays(scores.human, scores.metrics)
    subsets = draw_subset_blocks(scores.human.shape[1], items, draws, seed, (stream, SEGMENT_SUBSETS))
    return compute_weighted_values(meta_metric, without_clusters, subsets, workers)


def compute_weighted_values(
    meta_metric: MetaMetric,
    scores: ScoreArrays,
    weight_blocks: Iterable[FloatArray],
    workers: int | None = None,
) -> FloatArray | None:
    """Compute values under blocks of weights `[draws, clusters]`; None where that would be too slow."""
    compute_weighted = meta_metric.prepare_resampling(scores)
    if compute_weighted is None:
        return None
    return np.concatenate(map_blocks(compute_weighted, weight_blocks, workers), axis=1)


def percentile_interval(values: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return the percentile interval over the last axis; NaN where a resample is undefined."""
    low: FloatArray
    high: FloatArray
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    return low, high
