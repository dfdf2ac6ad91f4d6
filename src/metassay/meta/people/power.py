"""How many items are needed to separate two systems, or two metrics.

For a mean difference d with standard deviation s per item, a one-sided test at level alpha finds it with a
power of 80 % on about ((z_alpha + z_power) s / d)^2 items. For two metrics, the deviation of the difference
of their meta-metric comes from the bootstrap; it shrinks with the square root of the number of items.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.intervals import evaluate_meta_metric_on_bootstrap_resamples
from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.meta.people.meta_metrics.metric_differences import compute_differences_of_all_row_pairs
from metassay.stats.arrays import FloatArray
from metassay.stats.levels import SIGNIFICANCE_LEVEL
from metassay.stats.sign_flip import sum_score_differences_of_system_pairs

_POWER = 0.8


def count_items_needed_to_separate_systems(
    scores: FloatArray, *, alpha: float = SIGNIFICANCE_LEVEL
) -> FloatArray:
    """Compute for every two systems how many items are needed for a test to find the difference between the
    mean scores.

    The result is `[..., pairs]` for `[..., systems, items]` scores, infinite where two systems have the same
    mean. The test is one-sided at level `alpha`.
    """
    items = scores.shape[-1]
    sums, squares = sum_score_differences_of_system_pairs(scores)
    mean = sums / items
    variance = np.maximum(squares / items - mean**2, 0.0)
    return _compute_required_item_count(variance, mean, alpha)


def count_items_needed_to_separate_metrics(
    meta_metric: MetaMetric, scores: ScoreArrays, *, draws: int = 1000, seed: int = 0
) -> FloatArray | None:
    """Compute for every two metrics how many items are needed to show that one agrees better with human
    scores.

    Infinite where two metrics have the same value; None where resampling is too slow. Pairs are in the order
    of `numpy.triu_indices`.
    """
    resampled = evaluate_meta_metric_on_bootstrap_resamples(meta_metric, scores, draws=draws, seed=seed)
    if resampled is None:
        return None
    variance_per_item = compute_differences_of_all_row_pairs(resampled).var(axis=1) * scores.human.shape[1]
    return _compute_required_item_count(
        variance_per_item,
        compute_differences_of_all_row_pairs(meta_metric.evaluate_metrics(scores)),
        SIGNIFICANCE_LEVEL,
    )


def _compute_required_item_count(variance: FloatArray, mean: FloatArray, alpha: float) -> FloatArray:
    """Compute how many items a one-sided z-test needs to find a difference with the given mean and variance
    per item.

    (z_{1 - alpha} + z_power)² · variance / mean², rounded up; infinite for a mean of 0.
    """
    factor = (ndtri(1 - alpha) + ndtri(_POWER)) ** 2
    exact = np.divide(factor * variance, mean**2, out=np.full(mean.shape, np.inf), where=mean != 0)
    items: FloatArray = np.maximum(np.ceil(exact), 1.0)
    return items
