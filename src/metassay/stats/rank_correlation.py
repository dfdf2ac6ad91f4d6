"""Rank agreement of score vectors, higher scores first: AP correlation, weighted and plain Kendall.

The functions of two vectors take `(reference, estimate)`, one score per item in the same order. They return
NaN where the agreement is not defined, as for a vector whose scores are all tied.

`correlate_rows` and `correlate_all_rows` compute the same values for many vectors at once. There, an item
whose score is NaN in either vector is left out, and fewer than two common items give NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.errors import InputError, TiedScores, UnknownName
from metassay.stats.arrays import BoolArray, FloatArray, IntArray


def tau_ap(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Compute the AP (average precision) correlation of two rankings (Yilmaz, Aslam and Robertson, 2008).

    Disagreements at the top count more than those at the bottom. With C(i) the items above rank i of
    `estimate` that `reference` also puts above the item at rank i:

        tau_ap = 2 / (n - 1) * sum over i = 2..n of C(i) / (i - 1)  -  1

    It is not symmetric. Ties raise `TiedScores`: use `tau_ap_a` or `tau_ap_b`.

    >>> tau_ap([3, 2, 1], [3, 2, 1])
    1.0
    >>> tau_ap([1, 2, 3], [3, 2, 1])
    -1.0
    """
    reference_scores, estimated_scores = _convert_to_checked_vectors(reference, estimate)
    _reject_tied_scores(reference_scores, "the reference", "tau_ap_b")
    _reject_tied_scores(estimated_scores, "the estimate", "tau_ap_a or tau_ap_b")
    return tau_ap_a(reference_scores, estimated_scores)


def tau_ap_a(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Compute the AP correlation for an estimate with tied scores.

    It is the mean of `tau_ap` over all ways to break the ties. A tie group of t items behind q others fills
    the ranks q + 1 … q + t. With c the mean number of the q items that the reference also puts above a
    member, and half of the group's earlier members right on average, rank q + s contributes (c + (s - 1) / 2)
    / (q + s - 1) (Urbano and Marrero, 2017). Ties in the reference raise `TiedScores`; an estimate that is
    all tied is undefined.

    >>> tau_ap_a([3, 2, 1], [2, 2, 1])
    0.5
    """
    reference_scores, estimated_scores = _convert_to_checked_vectors(reference, estimate)
    _reject_tied_scores(reference_scores, "the reference", "tau_ap_b")
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
    """Compute a symmetric AP correlation of two score vectors that may both have ties (Urbano and Marrero,
    2017).

    The mean of both directions. Within a direction, each item below the top tie group is compared with the p
    - 1 items that precede its own tie group, of which C are also above it on the other side:

        2 * mean over these items of C / (p - 1)  -  1

    Undefined if either side is all tied.

    >>> tau_ap_b([3, 2, 2, 1], [3, 2, 2, 1])
    1.0
    """
    reference_scores, estimated_scores = _convert_to_checked_vectors(reference, estimate)
    if _are_all_scores_tied(reference_scores) or _are_all_scores_tied(estimated_scores):
        return float("nan")
    forward = _compute_tau_ap_b_for_reference(reference_scores, estimated_scores)
    backward = _compute_tau_ap_b_for_reference(estimated_scores, reference_scores)
    return (forward + backward) / 2


def weighted_tau(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Compute Kendall's tau in which pairs with items at the top count more (Shieh, 1998; Vigna, 2015).

    An item of rank r from 0 has the weight 1 / (r + 1). The weight of a pair is the sum of its two weights.
    The mean over ranks taken from either side: `scipy.stats.weightedtau`.

    >>> weighted_tau([3, 2, 1], [3, 2, 1])
    1.0
    """
    reference_scores, estimated_scores = _convert_to_checked_vectors(reference, estimate)
    if _are_all_scores_tied(reference_scores) or _are_all_scores_tied(estimated_scores):
        return float("nan")
    from scipy.stats import weightedtau

    return float(weightedtau(reference_scores, estimated_scores).statistic)


def kendall_tau(reference: ArrayLike, estimate: ArrayLike) -> float:
    """Compute Kendall's tau-b (1945), the rank correlation of two score vectors with a correction for ties.

    It is (concordant - discordant) / √(pairs untied in x · pairs untied in y).

    >>> kendall_tau([1, 2, 3], [3, 2, 1])
    -1.0
    """
    reference_scores, estimated_scores = _convert_to_checked_vectors(reference, estimate)
    if _are_all_scores_tied(reference_scores) or _are_all_scores_tied(estimated_scores):
        return float("nan")
    from scipy.stats import kendalltau

    return float(kendalltau(reference_scores, estimated_scores).statistic)


def _convert_to_checked_vectors(
    reference_scores: ArrayLike, estimated_scores: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Convert two score vectors to arrays. Raise an error unless they are finite and equally long."""
    x = np.asarray(reference_scores, dtype=np.float64)
    y = np.asarray(estimated_scores, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError(f"two score vectors of one length are needed, not shapes {x.shape} and {y.shape}.")
    if len(x) < 2:
        raise InputError("rank agreement needs at least two items.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("rank agreement needs finite scores.", remedy="Leave out the items that have none.")
    return x, y


def _reject_tied_scores(scores: FloatArray, scores_name: str, alternative: str) -> None:
    """Raise an error that names an alternative correlation if two scores of a vector are equal."""
    if len(np.unique(scores)) < len(scores):
        raise TiedScores(f"{scores_name} has tied scores.", remedy=f"Use {alternative}.")


def _are_all_scores_tied(scores: FloatArray) -> bool:
    """Return whether all scores are equal."""
    return bool((scores == scores[0]).all())


def _compute_tau_ap_b_for_reference(reference: FloatArray, estimate: FloatArray) -> float:
    """Compute one of the two directions of `tau_ap_b`, in which `reference` decides which items are ordered
    right.
    """
    precedes = estimate[:, None] > estimate  # [above, below]
    concordant = (precedes & (reference[:, None] > reference)).sum(axis=0)
    above = precedes.sum(axis=0)
    below_top = above > 0
    return float(2 * (concordant[below_top] / above[below_top]).mean() - 1)


def correlate_rows(first_rows: FloatArray, second_rows: FloatArray, statistic: str) -> FloatArray:
    """Compute the rank correlation of each row of one array with the row at the same position of another.

    `statistic` is tau_ap_b, tau_ap, weighted_tau or kendall. For tau_ap, which is not symmetric, `first_rows`
    is the reference. A single row is compared with all rows of the other side.
    """
    if statistic not in STATISTICS:
        raise UnknownName("rank agreement", statistic, STATISTICS)
    first_rows, second_rows = np.broadcast_arrays(np.atleast_2d(first_rows), np.atleast_2d(second_rows))
    is_missing = np.isnan(first_rows) | np.isnan(second_rows)
    # One row per item, so that NumPy compares an item with another in all vectors at once.
    x = np.ascontiguousarray(np.where(is_missing, np.nan, first_rows).T, dtype=np.float64)
    y = np.ascontiguousarray(np.where(is_missing, np.nan, second_rows).T, dtype=np.float64)
    is_defined = _find_non_constant_columns(x) & _find_non_constant_columns(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(is_defined, STATISTICS[statistic](x, y), np.nan)


def correlate_all_rows(rows: FloatArray, statistic: str) -> FloatArray:
    """Compute the rank correlation of every two rows of an array.

    The matrix is symmetric: for tau_ap, the earlier of two rows is the reference.
    """
    first, second = np.triu_indices(len(rows))
    values = correlate_rows(rows[first], rows[second], statistic)
    matrix = np.empty((len(rows), len(rows)))
    matrix[first, second] = values
    matrix[second, first] = values
    return matrix


def _find_non_constant_columns(scores: FloatArray) -> BoolArray:
    """Return for each column of an array whether it has two scores that differ."""
    return np.asarray(np.fmin.reduce(scores, initial=np.inf) < np.fmax.reduce(scores, initial=-np.inf))


# The functions below expect [items, vectors]. Comparisons with NaN are false, so that missing items add 0.


def _count_true_in_columns(mask: BoolArray) -> IntArray:
    """Count the true values in each column of an array."""
    # Small integers, because NumPy adds these several times faster than truth values.
    return np.asarray(mask.view(np.int8).sum(axis=0, dtype=np.int32))


def _compute_tau_ap_b_of_columns(x: FloatArray, y: FloatArray) -> FloatArray:
    """Compute `tau_ap_b` of each column of one array with the same column of another."""
    total_x, total_y = np.zeros((2, x.shape[1]))
    below_top_x, below_top_y = np.zeros((2, x.shape[1]), np.int64)
    for i in range(len(x)):
        is_above_x = x > x[i]
        is_above_y = y > y[i]
        above_x = _count_true_in_columns(is_above_x)
        above_y = _count_true_in_columns(is_above_y)
        above_both = _count_true_in_columns(is_above_x & is_above_y)
        total_x += above_both / np.maximum(above_x, 1)
        total_y += above_both / np.maximum(above_y, 1)
        below_top_x += above_x > 0
        below_top_y += above_y > 0
    return np.asarray(total_x / below_top_x + total_y / below_top_y - 1)


def _compute_tau_ap_of_columns(reference: FloatArray, estimate: FloatArray) -> FloatArray:
    """Compute `tau_ap_a` of each column of one array with the same column of another."""
    count = _count_true_in_columns(~np.isnan(reference))
    total = np.zeros(reference.shape[1])
    for i in range(len(reference)):
        is_above = estimate > estimate[i]
        is_tied = estimate == estimate[i]
        is_concordant = reference > reference[i]
        above = _count_true_in_columns(is_above)
        tied = _count_true_in_columns(is_tied) - 1  # the item itself
        concordant_above = _count_true_in_columns(is_above & is_concordant)
        concordant_tied = _count_true_in_columns(is_tied & is_concordant)
        # Item i has each of the ranks of its tie group with the same probability.
        expected = np.zeros(reference.shape[1])
        for earlier in range(int(tied.max(initial=0)) + 1):
            concordant = concordant_above + earlier / np.maximum(tied, 1) * concordant_tied
            is_rank = (earlier <= tied) & (above + earlier > 0)
            expected += np.where(is_rank, concordant / np.maximum(above + earlier, 1), 0)
        total += expected / np.maximum(tied + 1, 1)
    return np.asarray(2 * total / (count - 1) - 1)


def _compute_kendall_tau_of_columns(x: FloatArray, y: FloatArray) -> FloatArray:
    """Compute `kendall_tau` of each column of one array with the same column of another."""
    agreement, untied_x, untied_y = np.zeros((3, x.shape[1]))
    for i in range(len(x)):
        is_above_x = x > x[i]
        is_above_y = y > y[i]
        agreement += _count_true_in_columns(is_above_x & is_above_y)
        agreement -= _count_true_in_columns(is_above_x & (y < y[i]))
        untied_x += _count_true_in_columns(is_above_x)
        untied_y += _count_true_in_columns(is_above_y)
    return np.asarray(agreement / np.sqrt(untied_x * untied_y))


def _compute_weighted_tau_of_columns(x: FloatArray, y: FloatArray) -> FloatArray:
    """Compute `weighted_tau` of each column of one array with the same column of another."""
    by_x = _compute_tau_with_item_weights(x, y, _compute_item_weights_from_ranks(x, y))
    by_y = _compute_tau_with_item_weights(x, y, _compute_item_weights_from_ranks(y, x))
    return (by_x + by_y) / 2


def _compute_tau_with_item_weights(x: FloatArray, y: FloatArray, item_weights: FloatArray) -> FloatArray:
    """Compute Kendall's tau of columns, where the weight of a pair is the sum of its item weights."""
    agreement, untied_x, untied_y = np.zeros((3, x.shape[1]))
    for i in range(1, len(x)):
        for j in range(i):
            weights = item_weights[i] + item_weights[j]
            sign_x = _find_signs_of_differences(x[i], x[j])
            sign_y = _find_signs_of_differences(y[i], y[j])
            agreement += weights * (sign_x * sign_y)
            untied_x += weights * np.abs(sign_x)
            untied_y += weights * np.abs(sign_y)
    return np.asarray(agreement / np.sqrt(untied_x * untied_y))


def _find_signs_of_differences(first: FloatArray, second: FloatArray) -> NDArray[np.int8]:
    """Return 1 where the first score is higher, -1 where the second is higher, else 0."""
    return (first > second).view(np.int8) - (first < second).view(np.int8)


def _compute_item_weights_from_ranks(scores: FloatArray, tie_breaking_scores: FloatArray) -> FloatArray:
    """Compute the weight 1 / (rank + 1) of each item, with ranks from 0 by descending score.

    Equal scores are ranked by `tie_breaking_scores`.
    """
    places = np.arange(len(scores))[:, None]
    ranks = []
    for i in range(len(scores)):
        is_above_if_tied = (tie_breaking_scores > tie_breaking_scores[i]) | (
            (tie_breaking_scores == tie_breaking_scores[i]) & (places > i)
        )
        ranks.append(
            _count_true_in_columns((scores > scores[i]) | ((scores == scores[i]) & is_above_if_tied))
        )
    return 1 / (np.array(ranks) + 1)


# The statistics of `correlate_rows` by name.
STATISTICS = {
    "tau_ap_b": _compute_tau_ap_b_of_columns,
    "tau_ap": _compute_tau_ap_of_columns,
    "weighted_tau": _compute_weighted_tau_of_columns,
    "kendall": _compute_kendall_tau_of_columns,
}
