"""Isotonic fits of a whole and of its groups, once and on resamples: what system dependence is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.bootstrap import few_clusters_stretch
from metassay.stats.isotonic import Counts, fit_isotonic, group_means_by_value, predict, resampled_group_means
from metassay.stats.score_order import SortedScores, sort_scores


@dataclass(frozen=True)
class GroupFits:
    """Means by group of a rising function of the scores, fitted to the whole or to the group alone.

    `remapped` are those of one fit to the whole. The others are `[resamples, groups]`, NaN where a resample
    misses a group: `pooled` means of the resampled fit over the group's outputs as they are, `replicated`
    over those drawn, `own` of the group's own fit, `drawn` the mean value of those drawn. `fit` is the fit to
    the whole, `fitted` what it gives each output, `few` how much wider errors are for few clusters.
    """

    remapped: FloatArray
    pooled: FloatArray
    replicated: FloatArray
    own: FloatArray
    drawn: FloatArray
    fit: FloatArray
    fitted: FloatArray
    few: float


def group_fits(
    order: SortedScores,
    scores: FloatArray,
    values: FloatArray,
    weight: FloatArray,
    group: LongArray,
    cluster: LongArray,
    counts: Counts,
) -> GroupFits:
    """All fits of `values` on `scores`, sorted in `order`; resample b has cluster c `counts[b, c]` times."""
    groups, clusters = int(group.max()) + 1, int(cluster.max()) + 1
    remapped = group_means_by_value(order, values[np.newaxis], weight, group, groups)[0]
    pooled, replicated = resampled_group_means(order, values, weight, group, groups, cluster, counts)
    own = np.empty((len(counts), groups))
    drawn = np.empty_like(own)
    for k in range(groups):
        mine = np.flatnonzero(group == k)
        original, resampled = resampled_group_means(
            sort_scores(scores[mine]),
            values[mine],
            weight[mine],
            np.zeros(len(mine), dtype=np.int64),
            1,
            cluster[mine],
            counts,
        )
        own[:, k], drawn[:, k] = original[:, 0], resampled[:, 0]
    fit = fit_isotonic(order, values, weight)
    few = float(few_clusters_stretch(np.array(clusters)))
    return GroupFits(remapped, pooled, replicated, own, drawn, fit, predict(order, fit, scores), few)
