"""Isotonic fits of all outputs and of each group, once and on resamples: the basis of system dependence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.intervals import compute_interval_widening_factor
from metassay.stats.isotonic import (
    Counts,
    fit_isotonic,
    fit_isotonic_to_each_value_row,
    fit_isotonic_to_resamples,
)
from metassay.stats.sorted_scores import SortedScores, sort_scores


@dataclass(frozen=True)
class GroupFits:
    """Isotonic fits (non-decreasing functions of a score) to all outputs and to each group, averaged by
    group.

    Arrays are [groups] or [resamples, groups]; NaN where a resample does not contain a group.
    """

    pooled_fit: FloatArray
    """The fit to all outputs, at each knot."""
    pooled_means: FloatArray
    """Means of the fit to all outputs, [groups]."""
    resampled_fit_means: FloatArray
    """Means of the resampled fit to all outputs, over the original outputs of each group."""
    resampled_means: FloatArray
    """Means of the resampled fit to all outputs, over the resampled outputs of each group."""
    group_fit_means: FloatArray
    """Means of the resampled fit to the group alone, over its original outputs."""
    group_means: FloatArray
    """Means of the resampled values of each group."""
    interval_widening_factor: float
    """By how much errors are larger because of few clusters."""


def fit_isotonic_by_group(
    sorted_scores: SortedScores,
    scores: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    groups: LongArray,
    clusters: LongArray,
    resample_counts: Counts,
) -> GroupFits:
    """Fit a non-decreasing function of the scores to all outputs and to each group, also on resamples."""
    group_count = int(groups.max()) + 1
    cluster_count = int(clusters.max()) + 1
    pooled_means = fit_isotonic_to_each_value_row(
        sorted_scores, values[np.newaxis], weights, groups, group_count
    )[0]
    resampled_fit_means, resampled_means = fit_isotonic_to_resamples(
        sorted_scores, values, weights, groups, group_count, clusters, resample_counts
    )
    group_fit_means = np.empty((len(resample_counts), group_count))
    group_means = np.empty((len(resample_counts), group_count))
    for group in range(group_count):
        members = np.flatnonzero(groups == group)
        original, resampled = fit_isotonic_to_resamples(
            sort_scores(scores[members]),
            values[members],
            weights[members],
            np.zeros(len(members), dtype=np.int64),
            1,
            clusters[members],
            resample_counts,
        )
        group_fit_means[:, group] = original[:, 0]
        # Pooling adjacent violators keeps the mean, so the mean of the fit is that of the values.
        group_means[:, group] = resampled[:, 0]
    return GroupFits(
        pooled_fit=fit_isotonic(sorted_scores, values, weights),
        pooled_means=pooled_means,
        resampled_fit_means=resampled_fit_means,
        resampled_means=resampled_means,
        group_fit_means=group_fit_means,
        group_means=group_means,
        interval_widening_factor=float(compute_interval_widening_factor(np.array(cluster_count))),
    )
