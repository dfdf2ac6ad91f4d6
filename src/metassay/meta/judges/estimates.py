"""Means over items and differences of means, with intervals from a bootstrap over items.

Means are taken within items first, then over items. All verdicts on an item are resampled together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.stats.arrays import FloatArray, IntArray
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import (
    ClusteredProportions,
    compute_interval_widening_factor,
    percentile_interval,
    proportion_interval,
)


@dataclass(frozen=True)
class ItemEstimate:
    """A mean over items, or a difference of two means, with its 95 % interval.

    Undefined numbers are NaN. `pairs` is the number of values that it was computed from.
    """

    value: float
    low: float
    high: float
    pairs: int

    def shift(self, amount: float) -> ItemEstimate:
        """Return a copy with a constant added to the estimate and to both ends of its interval."""
        return ItemEstimate(self.value + amount, self.low + amount, self.high + amount, self.pairs)


NO_LIMIT = np.iinfo(np.int64).max
UNDEFINED = ItemEstimate(np.nan, np.nan, np.nan, 0)


@dataclass(frozen=True)
class ItemMeans:
    """Mean value of each item. Items without values are left out."""

    means: FloatArray
    items: IntArray

    def resample_mean(self, bootstrap: ClusterBootstrap) -> FloatArray:
        """Return the mean over items for each bootstrap resample of the items."""
        return bootstrap.resample_ratios(self.means[None], np.ones((1, len(self.means))), self.items)


def average_within_items(values: FloatArray, items: IntArray) -> ItemMeans:
    """Average the values of each item, ignoring NaN."""
    is_defined = ~np.isnan(values)
    distinct_items, positions = np.unique(items[is_defined], return_inverse=True)
    sums = np.bincount(positions, weights=values[is_defined])
    counts = np.bincount(positions)
    return ItemMeans(sums / np.maximum(counts, 1), distinct_items.astype(np.int32))


def estimate_mean_over_items(
    values: FloatArray, items: IntArray, bootstrap: ClusterBootstrap
) -> ItemEstimate:
    """Estimate the mean over items of values between 0 and 1, with a 95 % interval. NaN is ignored."""
    item_means = average_within_items(values, items)
    item_count = len(item_means.means)
    pairs = int((~np.isnan(values)).sum())
    if item_count == 0:
        return ItemEstimate(np.nan, np.nan, np.nan, pairs)
    mean = item_means.means.mean()
    if item_count < 2:
        return ItemEstimate(float(mean), np.nan, np.nan, pairs)
    proportions = ClusteredProportions(
        np.array([mean]),
        np.array([item_means.means.var(ddof=1) / item_count]),
        np.array([item_count]),
        # a mean of several verdicts can be more precise than one observation per item
        np.array([NO_LIMIT]),
    )
    low, high = proportion_interval(proportions, item_means.resample_mean(bootstrap))
    return ItemEstimate(float(mean), float(low[0]), float(high[0]), pairs)


def estimate_difference_of_means(
    values: FloatArray, other_values: FloatArray, items: IntArray, bootstrap: ClusterBootstrap
) -> ItemEstimate:
    """Estimate the difference between the means of two arrays, with a 95 % interval.

    Values are averaged within items first. Both arrays have an entry for each of `items`, NaN where an entry
    belongs to the other array or to neither.
    """
    first = average_within_items(values, items)
    second = average_within_items(other_values, items)
    pairs = int((~np.isnan(values) | ~np.isnan(other_values)).sum())
    smaller_count = min(len(first.means), len(second.means))
    if smaller_count == 0:
        return ItemEstimate(np.nan, np.nan, np.nan, pairs)
    difference = float(first.means.mean() - second.means.mean())
    if smaller_count < 2:
        return ItemEstimate(difference, np.nan, np.nan, pairs)
    low, high = percentile_interval(first.resample_mean(bootstrap) - second.resample_mean(bootstrap))
    widening = float(compute_interval_widening_factor(np.array([smaller_count]))[0])
    return ItemEstimate(
        difference,
        difference + float(low[0] - difference) * widening,
        difference + float(high[0] - difference) * widening,
        pairs,
    )
