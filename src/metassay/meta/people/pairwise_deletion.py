"""PA and SPA of scores with gaps: each pair of systems is compared on the items that both have.

Where raters saw different items of different systems, no item is complete. Human and metric scores of two
systems are compared on the same items; pairs of systems without a common item are left out.
"""

from __future__ import annotations

import numpy as np

from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.stats.arrays import FloatArray
from metassay.stats.intervals import IntervalEstimate
from metassay.stats.random import PAIRWISE_DELETION, spawn_random_generator


def estimate_human_agreement_with_pairwise_deletion(
    meta_metric: MetaMetric,
    human_scores: FloatArray,
    metric_scores: FloatArray,
    *,
    draws: int = 1000,
    seed: int = 0,
) -> IntervalEstimate:
    """Estimate how well a metric agrees with human scores when scores are missing, with an interval. Two
    systems are compared on the items that both have.

    Soft pairwise accuracy uses normal p-values.
    """
    first, second = np.triu_indices(len(human_scores), 1)
    human_differences = human_scores[first] - human_scores[second]
    metric_differences = metric_scores[first] - metric_scores[second]
    is_shared = ~(np.isnan(human_differences) | np.isnan(metric_differences))
    has_items = is_shared.any(axis=1)
    if not has_items.any():
        return IntervalEstimate(np.nan, np.nan, np.nan)
    differences = np.stack(
        [
            np.where(is_shared, human_differences, 0.0)[has_items],
            np.where(is_shared, metric_differences, 0.0)[has_items],
        ]
    )
    items = human_scores.shape[1]
    rng = spawn_random_generator(seed, PAIRWISE_DELETION)
    weights = rng.multinomial(items, np.full(items, 1 / items), size=draws).astype(np.float64)
    low, high = np.quantile(meta_metric.evaluate_with_missing_scores(differences, weights), [0.025, 0.975])
    value = meta_metric.evaluate_with_missing_scores(differences, np.ones((1, items)))[0]
    return IntervalEstimate(float(value), float(low), float(high))
