"""How much a ranking of metrics depends on the systems and items that happen to be in the data.

Thompson et al. (2024), sections 4.1 and 4.2. Systems: rank the metrics on subsets of the systems and
correlate (Pearson) their values with those on all systems; the closer to 1, the more stable. Items: draw
fewer items with replacement and see how wide the 95 % interval of each metric's value becomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.downsampling import choose_item_subset_sizes
from metassay.meta.people.intervals import (
    evaluate_meta_metric_on_bootstrap_resamples,
)
from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.results.rank import StabilityRow
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.correlation import correlate_system_scores
from metassay.stats.intervals import percentile_interval_or_nan
from metassay.stats.random import SYSTEM_SUBSETS, spawn_random_generator


def measure_stability_over_systems(
    dataset: str,
    meta_metrics: Sequence[MetaMetric],
    scores: ScoreArrays,
    *,
    trials: int = 1000,
    seed: int = 0,
) -> list[StabilityRow]:
    """Measure how much the values of metrics change when systems are left out: correlate the values on
    subsets of the systems with those on all systems.

    Uses all subsets if there are at most `trials`, else so many random ones. All meta-metrics are compared on
    the same subsets: if one of them gives all metrics the same value on a subset, it has no correlation
    there, and the subset is left out for all. Meta-metrics whose value does not come from an order of the
    systems have no rows.
    """
    systems = len(scores.human)
    rows = []
    for subset_size in range(3, systems):
        subsets = _choose_system_subsets(systems, subset_size, trials, seed)
        correlations: dict[str, FloatArray] = {}
        for meta_metric in meta_metrics:
            values = meta_metric.evaluate_on_system_subsets(scores, subsets)
            if values is not None:
                values_on_all = meta_metric.evaluate_metrics(scores)
                correlations[str(meta_metric)] = correlate_system_scores("pearson", values_on_all, values.T)
        if not correlations:
            return []
        is_defined = ~np.isnan(np.stack(list(correlations.values()))).any(axis=0)
        for name, by_subset in correlations.items():
            rows.append(
                StabilityRow(
                    dataset=dataset,
                    meta_metric=name,
                    ablated="systems",
                    systems=subset_size,
                    correlation=float(by_subset[is_defined].mean()) if is_defined.any() else None,
                    trials=int(is_defined.sum()),
                )
            )
    return rows


def _choose_system_subsets(system_count: int, subset_size: int, maximum_count: int, seed: int) -> LongArray:
    """List all subsets of systems of a given size, or random ones if there are too many."""
    if comb(system_count, subset_size) <= maximum_count:
        return np.array(list(combinations(range(system_count), subset_size)))
    rng = spawn_random_generator(seed, SYSTEM_SUBSETS, subset_size)
    return np.argsort(rng.random((maximum_count, system_count)), axis=1)[:, :subset_size]


def measure_stability_over_items(
    dataset: str,
    meta_metric: MetaMetric,
    scores: ScoreArrays,
    metric_names: Sequence[str],
    *,
    trials: int = 1000,
    seed: int = 0,
) -> list[StabilityRow]:
    """Measure how precise the values of metrics are on fewer items: compute 95 % intervals for several
    numbers of items.

    Empty where resampling would be too slow.
    """
    rows = []
    for size in choose_item_subset_sizes(scores.cluster_count):
        resampled = evaluate_meta_metric_on_bootstrap_resamples(
            meta_metric, scores, draws=trials, seed=seed, stream=size, size=size
        )
        if resampled is None:
            return []
        low, high = percentile_interval_or_nan(resampled)
        for metric, name in enumerate(metric_names):
            if not np.isnan(low[metric]):
                rows.append(
                    StabilityRow(
                        dataset=dataset,
                        meta_metric=str(meta_metric),
                        ablated="segments",
                        items=size,
                        metric=name,
                        low=float(low[metric]),
                        high=float(high[metric]),
                    )
                )
    return rows
