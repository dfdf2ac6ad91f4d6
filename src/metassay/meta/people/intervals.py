"""Values of a meta-metric for all metrics, with bootstrap intervals.

The bootstrap draws items, or clusters of items, with replacement; human and metric scores stay together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import MetaMetric, ValueEstimates
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.pairwise_deletion import estimate_with_pairwise_deletion
from metassay.meta.people.ranking_data import RankingData
from metassay.stats.arrays import FloatArray
from metassay.stats.parallel import map_blocks
from metassay.stats.random import SEGMENT_SUBSETS
from metassay.stats.resampling import draw_subset_blocks, map_bootstrap
from metassay.stats.soft_accuracy import MAX_NORMAL_ERROR

SUBSETS_PER_CONTEXT = 200
"""Random subsets over which the value in a context is averaged, where contexts differ in size."""


@dataclass(frozen=True)
class PValueMethod:
    """How the p-values inside a meta-metric are computed."""

    settings: ComparisonSettings
    has_p_values: bool
    """Whether the meta-metric contains p-values at all."""
    notes: tuple[str, ...] = ()


def choose_p_value_method(
    data: RankingData, meta_metric: MetaMetric, settings: ComparisonSettings
) -> PValueMethod:
    """Replace normal p-values by permutations, with a note, where a few items make them inaccurate."""
    errors = []
    if not data.pairwise:
        metrics = data.scores.select_metrics(data.metric_positions)
        for _, scores in metrics.split_by_complete_items():
            error = meta_metric.estimate_closed_form_error(scores)
            if error is not None:
                errors.append(error)
    if not errors:
        return PValueMethod(settings, has_p_values=False)
    largest_error = max(errors)
    if largest_error <= MAX_NORMAL_ERROR or settings.method != "normal":
        return PValueMethod(settings, has_p_values=True)
    note = (
        f"{data.cube.dataset}: a few segments carry most differences, so the closed form of "
        f"{meta_metric.name.upper()} would be off by {largest_error:.3f} per pair of systems; p-values are "
        f"from {settings.permutations} permutations instead."
    )
    return PValueMethod(replace(settings, method="permutation"), has_p_values=True, notes=(note,))


def estimate_values(
    data: RankingData, meta_metric: MetaMetric, settings: ComparisonSettings, equal_items: int | None = None
) -> ValueEstimates:
    """Estimate the value of each metric, on the items that it has, with a bootstrap interval.

    With `equal_items` values are means over random subsets of that size.
    """
    if data.pairwise:
        return _estimate_with_gaps(data, meta_metric, settings)
    values, low, high = (np.full(len(data.metric_names), np.nan) for _ in range(3))
    for metrics, scores in data.scores.split_by_complete_items():
        estimates = meta_metric.estimate_values(scores)
        if estimates is not None:
            values[metrics] = estimates.values
            low[metrics] = estimates.low
            high[metrics] = estimates.high
            continue
        values[metrics] = meta_metric.compute(scores, settings)
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
