"""Rank agreement of score vectors, higher scores first: AP correlation, weighted and plain Kendall.

The functions of two vectors take `(reference, estimate)`, one score per item in the same order. What is not
defined, such as the agreement of two vectors one of which is all tied, is NaN.

`correlate_rows` and `correlate_all_rows` give the same values for many vectors at once. There a score that is
NaN is left out of a comparison together with its partner, and fewer than two common items give NaN.

Hierarchical clustering from a matrix of agreements: a readable order, and a division into groups.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform

from metassay.errors import InputError, TiedScores, UnknownName
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.compilation import kernel


def tau_ap(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Rank agreement that weighs the top more (Yilmaz, Aslam and Robertson, 2008).

    With C(i) the items above rank i of `estimate` that `reference` also puts above the item at rank i:

        tau_ap = 2 / (n - 1) * sum over i = 2..n of C(i) / (i - 1)  -  1

    Not symmetric. Ties raise `TiedScores`: use `tau_ap_a` or `tau_ap_b`.

    >>> tau_ap([3, 2, 1], [3, 2, 1])
    1.0
    >>> tau_ap([1, 2, 3], [3, 2, 1])
    -1.0
    """
    truth, guess = _scores(reference, estimate)
    _refuse_ties(truth, "the reference", "tau_ap_b")
    _refuse_ties(guess, "the estimate", "tau_ap_a or tau_ap_b")
    return tau_ap_a(truth, guess)


def tau_ap_a(reference: ArrayLike, estimate: ArrayLike) -> float:
    """AP correlation with ties in the estimate: `tau_ap` averaged over all orders of the tied items.

    A tie group of t items behind q others fills the ranks q + 1 … q + t. With c the mean number of the q
    that the reference also puts above a member, and half of the group's earlier members right on average,
    rank q + s contributes (c + (s - 1) / 2) / (q + s - 1) (Urbano and Marrero, 2017). Ties in the reference
    raise `TiedScores`; an estimate that is all tied is undefined.

    >>> tau_ap_a([3, 2, 1], [2, 2, 1])
    0.5
    """
    truth, guess = _scores(reference, estimate)
    _refuse_ties(truth, "the reference", "tau_ap_b")
    if _all_tied(guess):
        return float("nan")
    total = 0.0
    for score in np.unique(guess):
        members, above = truth[guess == score], truth[guess > score]
        concordant = (above[:, None] > members).sum() / len(members)
        first = 1 if len(above) == 0 else 0  # the very top rank has nobody above it
        earlier = np.arange(first, len(members))
        total += float(((concordant + earlier / 2) / (len(above) + earlier)).sum())
    return 2 / (len(truth) - 1) * total - 1


def tau_ap_b(reference: ArrayLike, estimate: ArrayLike) -> float:
    """AP correlation with ties on either side, symmetric (Urbano and Marrero, 2017).

    The mean of both directions. Within a direction, each item below the top tie group is compared with the
    p - 1 items that precede its own tie group, of which C are also above it on the other side:
    2 * mean of C / (p - 1) - 1 over those items. Undefined when either side is all tied.

    >>> tau_ap_b([3, 2, 2, 1], [3, 2, 2, 1])
    1.0
    """
    truth, guess = _scores(reference, estimate)
    if _all_tied(truth) or _all_tied(guess):
        return float("nan")
    return (_below_top_group(truth, guess) + _below_top_group(guess, truth)) / 2


def weighted_tau(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Kendall's tau with weight 1 / (r + 1) for rank r from 0, added over a pair (Shieh, 1998; Vigna, 2015).

    The mean of the ranks taken from either side: `scipy.stats.weightedtau`.

    >>> weighted_tau([3, 2, 1], [3, 2, 1])
    1.0
    """
    truth, guess = _scores(reference, estimate)
    if _all_tied(truth) or _all_tied(guess):
        return float("nan")
    from scipy.stats import weightedtau

    return float(weightedtau(truth, guess).statistic)


def kendall_tau(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Kendall's tau-b: concordant less discordant pairs over the geometric mean of the untied ones.

    >>> kendall_tau([1, 2, 3], [3, 2, 1])
    -1.0
    """
    truth, guess = _scores(reference, estimate)
    if _all_tied(truth) or _all_tied(guess):
        return float("nan")
    from scipy.stats import kendalltau

    return float(kendalltau(truth, guess).statistic)


def _scores(reference: ArrayLike, estimate: ArrayLike) -> tuple[FloatArray, FloatArray]:
    truth, guess = np.asarray(reference, dtype=np.float64), np.asarray(estimate, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != guess.shape:
        message = f"two score vectors of one length are needed, not shapes {truth.shape} and {guess.shape}."
        raise InputError(message)
    if len(truth) < 2:
        raise InputError("rank agreement needs at least two items.")
    if not (np.isfinite(truth).all() and np.isfinite(guess).all()):
        raise InputError("rank agreement needs finite scores.", remedy="Leave out the items that have none.")
    return truth, guess


def _refuse_ties(scores: FloatArray, side: str, remedy: str) -> None:
    if len(np.unique(scores)) < len(scores):
        raise TiedScores(f"{side} has tied scores.", remedy=f"Use {remedy}.")


def _all_tied(scores: FloatArray) -> bool:
    return bool((scores == scores[0]).all())


def _below_top_group(truth: FloatArray, guess: FloatArray) -> float:
    """One direction of `tau_ap_b`."""
    precedes = guess[:, None] > guess  # [above, below]
    concordant = (precedes & (truth[:, None] > truth)).sum(axis=0)
    above = precedes.sum(axis=0)
    below_top = above > 0
    return float(2 * (concordant[below_top] / above[below_top]).mean() - 1)


STATISTICS = {"tau_ap_b": 0, "weighted_tau": 1, "kendall": 2}


def correlate_rows(left: FloatArray, right: FloatArray, statistic: str) -> FloatArray:
    """Agreement of row i of `left` with row i of `right`, [rows, items] each; one row is repeated."""
    left, right = np.broadcast_arrays(np.atleast_2d(left), np.atleast_2d(right))
    return _row_agreements(np.ascontiguousarray(left), np.ascontiguousarray(right), _code(statistic))


def correlate_all_rows(rows: FloatArray, statistic: str) -> FloatArray:
    """Agreement of every two rows of [rows, items]; 1 on the diagonal wherever it is defined."""
    return _agreement_matrix(np.ascontiguousarray(rows, dtype=np.float64), _code(statistic))


def _code(statistic: str) -> int:
    if statistic not in STATISTICS:
        raise UnknownName("rank agreement", statistic, STATISTICS)
    return STATISTICS[statistic]


@kernel
def _row_agreements(left: FloatArray, right: FloatArray, statistic: int) -> FloatArray:
    values = np.empty(len(left), np.float64)
    for row in range(len(left)):
        values[row] = _agreement(left[row], right[row], statistic)
    return values


@kernel
def _agreement_matrix(rows: FloatArray, statistic: int) -> FloatArray:
    matrix = np.empty((len(rows), len(rows)), np.float64)
    for i in range(len(rows)):
        for j in range(i, len(rows)):
            matrix[i, j] = _agreement(rows[i], rows[j], statistic)
            matrix[j, i] = matrix[i, j]
    return matrix


@kernel
def _agreement(x: FloatArray, y: FloatArray, statistic: int) -> float:
    x, y = _in_common(x, y)
    differ_x, differ_y = False, False
    for place in range(len(x)):
        differ_x |= x[place] != x[0]
        differ_y |= y[place] != y[0]
    if not (differ_x and differ_y):
        return np.nan
    if statistic == 0:
        return _tau_ap_b(x, y)
    if statistic == 1:
        return (_weighted_tau(x, y) + _weighted_tau(y, x)) / 2
    halves = np.empty(len(x), np.float64)
    for place in range(len(x)):
        halves[place] = 0.5
    return _pair_agreement(x, y, halves)


@kernel
def _in_common(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What is known of both."""
    kept_x, kept_y, kept = np.empty(len(x), np.float64), np.empty(len(x), np.float64), 0
    for place in range(len(x)):
        if not (math.isnan(x[place]) or math.isnan(y[place])):
            kept_x[kept], kept_y[kept], kept = x[place], y[place], kept + 1
    return kept_x[:kept], kept_y[:kept]


@kernel
def _tau_ap_b(x: FloatArray, y: FloatArray) -> float:
    total_x, total_y, below_x, below_y = 0.0, 0.0, 0, 0
    for here in range(len(x)):
        above_x, above_y, above_both = 0, 0, 0
        for other in range(len(x)):
            in_x, in_y = x[other] > x[here], y[other] > y[here]
            above_x += in_x
            above_y += in_y
            above_both += in_x & in_y
        if above_x > 0:
            total_x += above_both / above_x
            below_x += 1
        if above_y > 0:
            total_y += above_both / above_y
            below_y += 1
    return total_x / below_x + total_y / below_y - 1


@kernel
def _weighted_tau(x: FloatArray, y: FloatArray) -> float:
    """Hyperbolic weights by rank in x, ties broken by y, then by position from the end, as scipy does."""
    weights = np.empty(len(x), np.float64)
    for here in range(len(x)):
        rank = 0
        for other in range(len(x)):
            if x[other] != x[here]:
                rank += x[other] > x[here]
            elif y[other] != y[here]:
                rank += y[other] > y[here]
            else:
                rank += other > here
        weights[here] = 1 / (rank + 1)
    return _pair_agreement(x, y, weights)


@kernel
def _pair_agreement(x: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """Concordant less discordant weight over the geometric mean of the weights untied in x and in y."""
    agree, untied_x, untied_y = 0.0, 0.0, 0.0
    for i in range(1, len(x)):
        for j in range(i):
            weight = weights[i] + weights[j]
            sign_x, sign_y = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
            agree += weight * sign_x * sign_y
            untied_x += weight * abs(sign_x)
            untied_y += weight * abs(sign_y)
    return float(agree / np.sqrt(untied_x * untied_y))


_MOST_GROUPS = 10


def cluster_rows(agreement: FloatArray) -> tuple[LongArray, LongArray]:
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
