"""Rank agreement of score vectors, higher scores first: AP correlation, weighted and plain Kendall.

The functions of two vectors take `(reference, estimate)`, one score per item in the same order. They return
NaN where the agreement is not defined, as for a vector whose scores are all tied.

`correlate_rows` and `correlate_all_rows` compute the same values for many vectors at once. There, an item
whose score is NaN in either vector is left out, and fewer than two common items give NaN.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from metassay.errors import InputError, TiedScores, UnknownName
from metassay.stats.arrays import FloatArray
from metassay.stats.compilation import kernel


def tau_ap(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Compute the AP correlation, which weights the top more (Yilmaz, Aslam and Robertson, 2008).

    With C(i) the items above rank i of `estimate` that `reference` also puts above the item at rank i:

        tau_ap = 2 / (n - 1) * sum over i = 2..n of C(i) / (i - 1)  -  1

    Not symmetric. Ties raise `TiedScores`: use `tau_ap_a` or `tau_ap_b`.

    >>> tau_ap([3, 2, 1], [3, 2, 1])
    1.0
    >>> tau_ap([1, 2, 3], [3, 2, 1])
    -1.0
    """
    reference_scores, estimated_scores = _check_scores(reference, estimate)
    _check_no_ties(reference_scores, "the reference", "tau_ap_b")
    _check_no_ties(estimated_scores, "the estimate", "tau_ap_a or tau_ap_b")
    return tau_ap_a(reference_scores, estimated_scores)


def tau_ap_a(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Compute the AP correlation with ties in the estimate: the mean of `tau_ap` over all ways to break them.

    A tie group of t items behind q others fills the ranks q + 1 … q + t. With c the mean number of the q
    items that the reference also puts above a member, and half of the group's earlier members right on
    average, rank q + s contributes (c + (s - 1) / 2) / (q + s - 1) (Urbano and Marrero, 2017). Ties in the
    reference raise `TiedScores`; an estimate that is all tied is undefined.

    >>> tau_ap_a([3, 2, 1], [2, 2, 1])
    0.5
    """
    reference_scores, estimated_scores = _check_scores(reference, estimate)
    _check_no_ties(reference_scores, "the reference", "tau_ap_b")
    if _are_all_scores_tied(estimated_scores):
        return float("nan")
    total = 0.0
    for score in np.unique(estimated_scores):
        members = reference_scores[estimated_scores == score]
        above = reference_scores[estimated_scores > score]
        concordant = (above[:, None] > members).sum() / len(members)
        first = 1 if len(above) == 0 else 0  # nothing is above the very first rank
        earlier = np.arange(first, len(members))
        total += float(((concordant + earlier / 2) / (len(above) + earlier)).sum())
    return 2 / (len(reference_scores) - 1) * total - 1


def tau_ap_b(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Compute the symmetric AP correlation with ties on either side (Urbano and Marrero, 2017).

    The mean of both directions. Within a direction, each item below the top tie group is compared with the p
    - 1 items that precede its own tie group, of which C are also above it on the other side:

        2 * mean over these items of C / (p - 1)  -  1

    Undefined if either side is all tied.

    >>> tau_ap_b([3, 2, 2, 1], [3, 2, 2, 1])
    1.0
    """
    reference_scores, estimated_scores = _check_scores(reference, estimate)
    if _are_all_scores_tied(reference_scores) or _are_all_scores_tied(estimated_scores):
        return float("nan")
    forward = _tau_ap_b_one_direction(reference_scores, estimated_scores)
    backward = _tau_ap_b_one_direction(estimated_scores, reference_scores)
    return (forward + backward) / 2


def weighted_tau(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Compute Kendall's tau with weight 1 / (r + 1) for rank r from 0 (Shieh, 1998; Vigna, 2015).

    The weight of a pair is the sum of its two weights. The mean over ranks taken from either side:
    `scipy.stats.weightedtau`.

    >>> weighted_tau([3, 2, 1], [3, 2, 1])
    1.0
    """
    reference_scores, estimated_scores = _check_scores(reference, estimate)
    if _are_all_scores_tied(reference_scores) or _are_all_scores_tied(estimated_scores):
        return float("nan")
    from scipy.stats import weightedtau

    return float(weightedtau(reference_scores, estimated_scores).statistic)


def kendall_tau(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Compute Kendall's tau-b (1945): (concordant - discordant) / √(pairs untied in x · pairs untied in y).

    >>> kendall_tau([1, 2, 3], [3, 2, 1])
    -1.0
    """
    reference_scores, estimated_scores = _check_scores(reference, estimate)
    if _are_all_scores_tied(reference_scores) or _are_all_scores_tied(estimated_scores):
        return float("nan")
    from scipy.stats import kendalltau

    return float(kendalltau(reference_scores, estimated_scores).statistic)


def _check_scores(reference: ArrayLike, estimate: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Convert two score vectors to float64; raise an error unless they are finite and of one length."""
    x = np.asarray(reference, dtype=np.float64)
    y = np.asarray(estimate, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError(f"two score vectors of one length are needed, not shapes {x.shape} and {y.shape}.")
    if len(x) < 2:
        raise InputError("rank agreement needs at least two items.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("rank agreement needs finite scores.", remedy="Leave out the items that have none.")
    return x, y


def _check_no_ties(scores: FloatArray, scores_name: str, alternative: str) -> None:
    """Raise an error if two scores are equal."""
    if len(np.unique(scores)) < len(scores):
        raise TiedScores(f"{scores_name} has tied scores.", remedy=f"Use {alternative}.")


def _are_all_scores_tied(scores: FloatArray) -> bool:
    """Return whether all scores are equal."""
    return bool((scores == scores[0]).all())


def _tau_ap_b_one_direction(reference: FloatArray, estimate: FloatArray) -> float:
    """Compute the AP correlation with ties, with one of the two vectors as the reference."""
    precedes = estimate[:, None] > estimate  # [above, below]
    concordant = (precedes & (reference[:, None] > reference)).sum(axis=0)
    above = precedes.sum(axis=0)
    below_top = above > 0
    return float(2 * (concordant[below_top] / above[below_top]).mean() - 1)


def correlate_rows(first_rows: FloatArray, second_rows: FloatArray, statistic: str) -> FloatArray:
    """Compute the rank correlation of each row of one array with the same row of another.

    `statistic` is tau_ap_b, tau_ap, weighted_tau or kendall. For tau_ap, which is not symmetric, `first_rows`
    is the reference. A single row is compared with all rows of the other side.
    """
    if statistic not in STATISTICS:
        raise UnknownName("rank agreement", statistic, STATISTICS)
    first_rows, second_rows = np.broadcast_arrays(np.atleast_2d(first_rows), np.atleast_2d(second_rows))
    values = np.empty(len(first_rows))
    STATISTICS[statistic](
        np.ascontiguousarray(first_rows, dtype=np.float64),
        np.ascontiguousarray(second_rows, dtype=np.float64),
        values,
    )
    return values


def correlate_all_rows(rows: FloatArray, statistic: str) -> FloatArray:
    """Compute the rank correlation of every two rows of an array [rows, items]; 1 on the diagonal.

    The matrix is symmetric: for tau_ap, the earlier of two rows is the reference.
    """
    first, second = np.triu_indices(len(rows))
    values = correlate_rows(rows[first], rows[second], statistic)
    matrix = np.empty((len(rows), len(rows)))
    matrix[first, second] = values
    matrix[second, first] = values
    return matrix


# These kernels serve thousands of resamples of short vectors, for which NumPy is ten times slower. Each
# statistic has a kernel of its own, so that a run compiles only the one that it uses.


@kernel
def _fill_tau_ap_b(left: FloatArray, right: FloatArray, values: FloatArray) -> None:
    for row in range(len(left)):
        x, y, is_defined = _select_items_scored_by_both(left[row], right[row])
        values[row] = _tau_ap_b(x, y) if is_defined else np.nan


@kernel
def _fill_tau_ap(left: FloatArray, right: FloatArray, values: FloatArray) -> None:
    for row in range(len(left)):
        x, y, is_defined = _select_items_scored_by_both(left[row], right[row])
        values[row] = _tau_ap(x, y) if is_defined else np.nan


@kernel
def _fill_weighted_tau(left: FloatArray, right: FloatArray, values: FloatArray) -> None:
    for row in range(len(left)):
        x, y, is_defined = _select_items_scored_by_both(left[row], right[row])
        values[row] = np.nan
        if is_defined:
            by_x = _weighted_kendall_tau(x, y, _hyperbolic_weights(x, y))
            by_y = _weighted_kendall_tau(y, x, _hyperbolic_weights(y, x))
            values[row] = (by_x + by_y) / 2


@kernel
def _fill_kendall_tau(left: FloatArray, right: FloatArray, values: FloatArray) -> None:
    for row in range(len(left)):
        x, y, is_defined = _select_items_scored_by_both(left[row], right[row])
        values[row] = _weighted_kendall_tau(x, y, np.full(len(x), 0.5)) if is_defined else np.nan


@kernel
def _select_items_scored_by_both(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """Return the items with a score in both vectors, and whether both vectors vary over them."""
    common_x = np.empty(len(x))
    common_y = np.empty(len(x))
    count = 0
    for i in range(len(x)):
        if not (math.isnan(x[i]) or math.isnan(y[i])):
            common_x[count] = x[i]
            common_y[count] = y[i]
            count += 1
    x_varies = False
    y_varies = False
    for i in range(count):
        x_varies |= common_x[i] != common_x[0]
        y_varies |= common_y[i] != common_y[0]
    return common_x[:count], common_y[:count], x_varies and y_varies


@kernel
def _tau_ap_b(x: FloatArray, y: FloatArray) -> float:
    """Compute the symmetric AP correlation of two vectors in compiled code."""
    total_x = 0.0
    total_y = 0.0
    below_top_x = 0
    below_top_y = 0
    for i in range(len(x)):
        above_x = 0
        above_y = 0
        above_both = 0
        for j in range(len(x)):
            is_above_x = x[j] > x[i]
            is_above_y = y[j] > y[i]
            above_x += is_above_x
            above_y += is_above_y
            above_both += is_above_x & is_above_y
        if above_x > 0:
            total_x += above_both / above_x
            below_top_x += 1
        if above_y > 0:
            total_y += above_both / above_y
            below_top_y += 1
    return total_x / below_top_x + total_y / below_top_y - 1


@kernel
def _tau_ap(reference: FloatArray, estimate: FloatArray) -> float:
    """Compute the AP correlation of two vectors in compiled code, averaged over all orders of ties."""
    count = len(reference)
    total = 0.0
    for i in range(count):
        above = 0
        tied = 0
        concordant_above = 0
        concordant_tied = 0
        for j in range(count):
            if estimate[j] > estimate[i]:
                above += 1
                concordant_above += reference[j] > reference[i]
            elif j != i and estimate[j] == estimate[i]:
                tied += 1
                concordant_tied += reference[j] > reference[i]
        # item i has each of the ranks of its tie group with the same probability
        expected = 0.0
        for earlier in range(tied + 1):
            if above + earlier > 0:
                share = earlier / tied if tied > 0 else 0.0
                expected += (concordant_above + share * concordant_tied) / (above + earlier)
        total += expected / (tied + 1)
    return 2 * total / (count - 1) - 1


@kernel
def _hyperbolic_weights(x: FloatArray, y: FloatArray) -> FloatArray:
    """Compute the weight 1 / (rank + 1) of each item by its rank in x."""
    weights = np.empty(len(x))
    for i in range(len(x)):
        rank = 0
        for j in range(len(x)):
            if x[j] != x[i]:
                rank += x[j] > x[i]
            elif y[j] != y[i]:
                rank += y[j] > y[i]
            else:
                rank += j > i
        weights[i] = 1 / (rank + 1)
    return weights


@kernel
def _weighted_kendall_tau(x: FloatArray, y: FloatArray, item_weights: FloatArray) -> float:
    """Compute Kendall's tau, with the sum of the weights of two items as the weight of a pair."""
    agreement = 0.0
    untied_x = 0.0
    untied_y = 0.0
    for i in range(1, len(x)):
        for j in range(i):
            weight = item_weights[i] + item_weights[j]
            sign_x = np.sign(x[i] - x[j])
            sign_y = np.sign(y[i] - y[j])
            agreement += weight * sign_x * sign_y
            untied_x += weight * abs(sign_x)
            untied_y += weight * abs(sign_y)
    return float(agreement / np.sqrt(untied_x * untied_y))


# The statistics of `correlate_rows` by name.
STATISTICS = {
    "tau_ap_b": _fill_tau_ap_b,
    "tau_ap": _fill_tau_ap,
    "weighted_tau": _fill_weighted_tau,
    "kendall": _fill_kendall_tau,
}
