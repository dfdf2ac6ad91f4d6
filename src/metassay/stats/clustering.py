"""Hierarchical clustering from a matrix of agreements: a readable order, and a division into groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform

from metassay.stats.arrays import FloatArray, LongArray

# The number of groups is chosen between 2 and this one.
_MAX_GROUPS = 10


def group_similar_rows(agreement_matrix: FloatArray) -> tuple[LongArray, LongArray]:
    """Group and order the rows of a symmetric matrix by similarity.

    The matrix says how much every two rows agree. Returns the order of the leaves, and the group of each row,
    numbered from 0 in that order. Average linkage on the distance 1 - agreement, leaves ordered so that
    neighbours are close (Bar-Joseph, Gifford and Jaakkola, 2001). The number of groups maximises the mean
    silhouette (Rousseeuw, 1987); it is one if no division has a positive silhouette. An undefined agreement
    counts as 0.
    """
    count = len(agreement_matrix)
    if count < 3:
        return np.arange(count), np.zeros(count, dtype=np.int64)
    distance = 1 - np.nan_to_num(agreement_matrix)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), method="average", optimal_ordering=True)
    order = leaves_list(tree).astype(np.int64)
    return order, _cut_tree_by_silhouette(tree, distance, order)


def _cut_tree_by_silhouette(tree: FloatArray, distances: FloatArray, leaf_order: LongArray) -> LongArray:
    """Divide the leaves of a cluster tree into the 2 to 10 groups that separate them best.

    Returns the group of each leaf. All rows are in one group if no cut has a positive silhouette. Groups are
    numbered in the order of the leaves.
    """
    best_division = np.zeros(len(leaf_order), dtype=np.int64)
    best_silhouette = 0.0
    for group_count in range(2, min(_MAX_GROUPS, len(leaf_order) - 1) + 1):
        division = fcluster(tree, group_count, criterion="maxclust")
        silhouette = mean_silhouette(distances, division)
        if silhouette > best_silhouette + 1e-12:
            best_division = division
            best_silhouette = silhouette
    in_leaf_order = dict.fromkeys(best_division[leaf_order].tolist())
    number_of_group = {group: number for number, group in enumerate(in_leaf_order)}
    return np.array([number_of_group[group] for group in best_division.tolist()], dtype=np.int64)


def mean_silhouette(distances: FloatArray, group_of_row: NDArray[np.integer]) -> float:
    """Compute how well rows fit their own group compared with the nearest other group, from -1 to 1.

    The mean over rows of (b - a) / max(a, b) (Rousseeuw, 1987): a is the mean distance to the other rows of
    the same group, b that to the nearest other group; a row that is alone in its group counts as 0.
    """
    groups = np.unique(group_of_row)
    membership = (group_of_row[:, None] == groups).astype(np.float64)
    distance_sums = distances @ membership
    group_sizes = membership.sum(axis=0)
    own_size = membership @ group_sizes
    a = (distance_sums * membership).sum(axis=1) / np.maximum(own_size - 1, 1)
    b = np.where(membership > 0, np.inf, distance_sums / group_sizes).min(axis=1)
    larger = np.maximum(a, b)
    defined = (own_size > 1) & np.isfinite(b) & (larger > 0)
    silhouettes = np.divide(b - a, larger, out=np.zeros_like(a), where=defined)
    return float(silhouettes.mean())
