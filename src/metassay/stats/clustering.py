"""Hierarchical clustering from a matrix of agreements: a readable order, and a division into groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform

from metassay.stats.arrays import FloatArray, LongArray

_MOST_GROUPS = 10


def cluster_order(agreement: FloatArray) -> tuple[LongArray, LongArray]:
    """Leaf order and group number (from 0, in leaf order) of each row of a symmetric agreement matrix.

    Average linkage on the distance 1 - agreement, leaves in the order that minimises the distance of
    neighbours (Bar-Joseph, Gifford and Jaakkola, 2001). The number of groups maximises the mean silhouette
    (Rousseeuw, 1987), and is one where no division has a positive one. An undefined agreement counts as none
    (0).
    """
    count = len(agreement)
    if count < 3:
        return np.arange(count), np.zeros(count, dtype=np.int64)
    distance = 1 - np.nan_to_num(agreement)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), method="average", optimal_ordering=True)
    order = leaves_list(tree).astype(np.int64)
    return order, _best_division(tree, distance, order)


def _best_division(tree: FloatArray, distance: FloatArray, order: LongArray) -> LongArray:
    best, best_width = np.zeros(len(order), dtype=np.int64), 0.0
    for groups in range(2, min(_MOST_GROUPS, len(order) - 1) + 1):
        division = fcluster(tree, groups, criterion="maxclust")
        width = mean_silhouette(distance, division)
        if width > best_width + 1e-12:
            best, best_width = division, width
    first_seen = dict.fromkeys(best[order].tolist())  # dictionaries keep the order of arrival
    number = {group: rank for rank, group in enumerate(first_seen)}
    return np.array([number[group] for group in best.tolist()], dtype=np.int64)


def mean_silhouette(distance: FloatArray, division: NDArray[np.integer]) -> float:
    """Mean over rows of (b - a) / max(a, b): a to its own group, b to the nearest; 0 for a row alone."""
    groups = np.unique(division)
    member = (division[:, None] == groups).astype(np.float64)
    sums, sizes = distance @ member, member.sum(axis=0)
    own_size = member @ sizes
    own = (sums * member).sum(axis=1) / np.maximum(own_size - 1, 1)
    other = np.where(member > 0, np.inf, sums / sizes).min(axis=1)
    widest = np.maximum(own, other)
    defined = (own_size > 1) & np.isfinite(other) & (widest > 0)
    width = np.divide(other - own, widest, out=np.zeros_like(own), where=defined)
    return float(width.mean())
