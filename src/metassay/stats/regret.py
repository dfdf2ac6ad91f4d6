"""Regret: what it costs to use one metric in all contexts instead of the best metric in each.

In context c let d_m be the accuracy of metric m less that of the metric in use. The regret of the context is
R_c = max(0, max over m of d_m). The regret of a column is the mean of R_c, weighted by the items of contexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metassay.stats.arrays import FloatArray
from metassay.stats.intervals import IntervalEstimate, compute_interval_widening_factor

_END_LEVEL = 0.975  # of either end of a 95 % interval
_LEAST_SPREAD = 0.5  # in pairs of one cluster: two metrics that never differed may differ in the next one


@dataclass(frozen=True)
class ContextAccuracies:
    """The accuracies of all metrics in one context, such as a domain, observed and on bootstrap resamples.

    Shapes are [metrics] and [metrics, resamples]. Resamples are joint: the r-th of every context
    draws the same clusters.
    """

    accuracy: FloatArray
    resamples: FloatArray
    clusters: int
    items: int


def estimate_metric_regret(
    context_accuracies: Sequence[ContextAccuracies], metric: int
) -> IntervalEstimate | None:
    """Estimate how much accuracy is lost by using one metric everywhere instead of the best one in each
    context.

    `metric` is a position; None if a context has fewer than two clusters or no accuracy to compare. The best
    observed metric of a context looks better than it is, so that the observed regret is too large: its bias
    is estimated by the bootstrap and subtracted. The lower end sums the differences that are certain in all
    contexts and metrics together. The upper end is a quantile of the resampled regrets, which are too large
    themselves. Resamples are widened for few clusters.
    """
    shares = np.array([context.items for context in context_accuracies], dtype=np.float64)
    shares = shares / shares.sum()
    observed = []
    resampled = []
    for context in context_accuracies:
        differences, draws = _subtract_metric_accuracy_from_others(context, metric)
        if not len(differences):
            return None
        observed.append(differences)
        resampled.append(draws)
    observed_regret = sum(share * max(0.0, differences.max()) for share, differences in zip(shares, observed))
    resampled_regret = sum(
        share * np.maximum(draws.max(axis=0), 0) for share, draws in zip(shares, resampled)
    )
    high = float(np.quantile(resampled_regret, _END_LEVEL))
    low = _compute_lower_bound_of_metric_regret(shares, context_accuracies, observed, resampled)
    # Bootstrap correction of bias: the resamples exceed the observed value as much as it exceeds the truth.
    corrected = 2 * observed_regret - float(np.mean(resampled_regret))
    return IntervalEstimate(float(np.clip(corrected, low, max(high, low))), low, max(high, low))


def _subtract_metric_accuracy_from_others(
    context_accuracies: ContextAccuracies, metric_index: int
) -> tuple[FloatArray, FloatArray]:
    """Subtract the accuracy of one metric from those of all other metrics, observed and on each resample.

    Shapes: [others] and [others, resamples]. Empty where the metric or the interval is undefined.
    """
    is_known = ~np.isnan(context_accuracies.accuracy) & ~np.isnan(context_accuracies.resamples).any(axis=1)
    if not is_known[metric_index] or context_accuracies.clusters < 2:
        return np.empty(0), np.empty((0, 0))
    is_known[metric_index] = False
    differences = context_accuracies.accuracy[is_known] - context_accuracies.accuracy[metric_index]
    resampled_differences = (
        context_accuracies.resamples[is_known] - context_accuracies.resamples[metric_index]
    )
    # Resamples of few clusters vary too little.
    factor = float(compute_interval_widening_factor(np.array(context_accuracies.clusters)))
    widened = differences[:, None] + factor * (resampled_differences - differences[:, None])
    return differences, widened


def _compute_lower_bound_of_metric_regret(
    context_weights: FloatArray,
    contexts: Sequence[ContextAccuracies],
    accuracy_differences: Sequence[FloatArray],
    resampled_differences: Sequence[FloatArray],
) -> float:
    """Compute a lower bound for the accuracy that is lost by using one metric everywhere.

    It sums over contexts by how much some metric is certainly better; all these differences are certain
    together.
    """
    largest_deviation = np.zeros(resampled_differences[0].shape[1])
    spreads = []
    for context, differences, draws in zip(contexts, accuracy_differences, resampled_differences):
        deviations = draws - differences[:, None]
        spread = np.maximum(deviations.std(axis=1), _LEAST_SPREAD / context.clusters)
        spreads.append(spread)
        largest_deviation = np.maximum(largest_deviation, (deviations / spread[:, None]).max(axis=0))
    limit = float(np.quantile(largest_deviation, _END_LEVEL))
    total = 0.0
    for share, differences, spread in zip(context_weights, accuracy_differences, spreads):
        total += share * max(0.0, float((differences - limit * spread).max()))
    return float(total)
