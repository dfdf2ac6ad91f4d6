"""Isotonic regression that sorts once and then fits many times: with other values, or on resamples.

The fit is the non-decreasing function of x that is closest to y in weighted squares, found by pooling
adjacent violators. Equal x are one knot; between knots the function is linear, outside them constant:
the same function as scikit-learn's `IsotonicRegression(out_of_bounds="clip")`.

A resample is a vector of multiplicities, one per cluster. Nothing is sorted again: a value that a resample
does not contain weighs nothing, and is read off the line between its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Scores closer than scikit-learn's absolute tolerance are one knot: averages of the same numbers, taken in
# another order, differ in the last digit. The relative bound keeps scores apart that are merely very small.
ROUNDING = 1e-15
RELATIVE_ROUNDING = 1e-14

DIGIT_BITS = 11
DIGITS = 1 << DIGIT_BITS
PASSES = 6  # × 11 bits hold the 64 of a float


@dataclass(frozen=True)
class SortedScores:
    """Scores in ascending order, with their distinct values.

    `order` sorts the scores; `level[p]` is the knot of the p-th smallest score, `beyond[p]` how far it lies
    above that knot (0, or a rounding error); `knots` are the distinct values.
    """

    order: IntArray
    level: IntArray
    beyond: FloatArray
    knots: FloatArray


def sort_scores(x: ArrayLike) -> SortedScores:
    """Sort scores for any number of fits.

    >>> sort_scores([3.0, 1.0, 3.0]).knots
    array([1., 3.])
    """
    x = np.asarray(x, dtype=np.float64) + 0.0
    order = _stable_order(x.view(np.uint64))
    ascending = x[order]
    starts = _starts_knot(ascending)
    level = np.cumsum(starts, dtype=np.int64) - 1
    knots = ascending[starts]
    return SortedScores(order, level, ascending - knots[level], knots)


def fit_isotonic(scores: SortedScores, y: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """The fitted value at each knot, by pooling adjacent violators.

    >>> fit_isotonic(sort_scores([1, 2, 3, 4]), [1, 3, 2, 4])
    array([1. , 2.5, 2.5, 4. ])
    """
    y = np.asarray(y, dtype=np.float64)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    fitted: FloatArray = _fit_sorted(scores.level, scores.knots, y[scores.order], w[scores.order])
    return fitted


def predict(scores: SortedScores, fitted: FloatArray, at: ArrayLike) -> FloatArray:
    """The fitted function anywhere: linear between knots, clipped outside them."""
    values: FloatArray = np.interp(np.asarray(at, dtype=np.float64), scores.knots, fitted)
    return values


def fitted_group_means(
    scores: SortedScores, y: FloatArray, weights: FloatArray, group: IntArray, groups: int
) -> FloatArray:
    """Weighted mean, per group, of the function fitted to all the groups together: float64[groups]."""
    order = scores.order
    means: FloatArray = _group_means(
        scores.level, scores.beyond, scores.knots, y[order], weights[order], group[order], np.empty(groups)
    )
    return means


def resampled_group_means(
    scores: SortedScores,
    y: FloatArray,
    weights: FloatArray,
    group: IntArray,
    groups: int,
    cluster: IntArray,
    counts: NDArray[np.uint32],
) -> tuple[FloatArray, FloatArray]:
    """Fit every resample, and average each fit over each group: two arrays float64[resamples, groups].

    `counts[b, c]` is how often resample b holds cluster c. The first array averages over the original
    values of a group, the second over its resampled ones. A group that a resample misses altogether has NaN
    in the second array; a resample without any weight has NaN in both.
    """
    order = scores.order
    original = np.empty((len(counts), groups))
    resampled = np.empty((len(counts), groups))
    _resampled_means(
        scores.level,
        scores.beyond,
        scores.knots,
        y[order],
        weights[order],
        group[order],
        cluster[order],
        counts,
        original,
        resampled,
    )
    return original, resampled


@njit(cache=True, nogil=True)
def _stable_order(bits: NDArray[np.uint64]) -> IntArray:
    """The order of float64 scores, equal ones as they come: a radix sort, four times as fast as NumPy's.

    The bits of a float sort like an integer once the sign is flipped, and for negative ones all bits.
    """
    scores, sign, mask = len(bits), np.uint64(1) << np.uint64(63), np.uint64(DIGITS - 1)
    keys = np.empty(scores, dtype=np.uint64)
    starts = np.zeros((PASSES, DIGITS), dtype=np.int64)
    for p in range(scores):
        keys[p] = ~bits[p] if bits[p] & sign else bits[p] | sign
        for turn in range(PASSES):
            starts[turn, (keys[p] >> np.uint64(DIGIT_BITS * turn)) & mask] += 1
    order, other, sorted_keys = np.arange(scores), np.empty(scores, dtype=np.int64), np.empty_like(keys)
    for turn in range(PASSES):
        place, shift = np.cumsum(starts[turn]) - starts[turn], np.uint64(DIGIT_BITS * turn)
        for p in range(scores):
            digit = (keys[p] >> shift) & mask
            sorted_keys[place[digit]], other[place[digit]] = keys[p], order[p]
            place[digit] += 1
        keys, sorted_keys, order, other = sorted_keys, keys, other, order
    return order


@njit(cache=True, nogil=True)
def _starts_knot(ascending: FloatArray) -> NDArray[np.bool_]:
    """Whether each score opens a new knot, being more than rounding away from the last one."""
    starts = np.ones(len(ascending), dtype=np.bool_)
    for p in range(1, len(ascending)):
        if p == 1 or starts[p - 1]:
            knot = ascending[p - 1]
        gap = ascending[p] - knot
        starts[p] = gap > 0.0 and gap >= min(ROUNDING, RELATIVE_ROUNDING * abs(knot))
    return starts


@njit(cache=True, nogil=True)
def _fit_sorted(level: IntArray, knots: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    """Fitted value per knot, from values and weights in the order of the scores."""
    totals = np.zeros(len(knots))
    fitted = np.zeros(len(knots))
    for p in range(len(level)):
        totals[level[p]] += w[p]
        fitted[level[p]] += w[p] * y[p]
    _pool(fitted, totals, np.empty(len(knots)), np.empty(len(knots)), np.empty(len(knots), dtype=np.int64))
    _fill_gaps(knots, totals, fitted)
    return fitted


@njit(cache=True, nogil=True)
def _pool(
    sums: FloatArray, totals: FloatArray, block_sum: FloatArray, block_total: FloatArray, block_end: IntArray
) -> None:
    """Pool adjacent violators; `sums` becomes the fit. Knots without weight take part in nothing."""
    blocks = 0
    for knot in range(len(sums)):
        if totals[knot] == 0.0:
            continue
        block_sum[blocks], block_total[blocks], block_end[blocks] = sums[knot], totals[knot], knot
        while (
            blocks > 0
            and block_sum[blocks - 1] * block_total[blocks] >= block_sum[blocks] * block_total[blocks - 1]
        ):
            block_sum[blocks - 1] += block_sum[blocks]
            block_total[blocks - 1] += block_total[blocks]
            block_end[blocks - 1] = knot
            blocks -= 1
        blocks += 1
    start = 0
    for block in range(blocks):
        value = block_sum[block] / block_total[block]
        for knot in range(start, block_end[block] + 1):
            sums[knot] = value
        start = block_end[block] + 1


@njit(cache=True, nogil=True)
def _fill_gaps(knots: FloatArray, totals: FloatArray, fitted: FloatArray) -> None:
    """Knots without weight: on the line between their neighbours, or clipped to the nearest one."""
    last = -1
    for knot in range(len(knots)):
        if totals[knot] == 0.0:
            continue
        for gap in range(last + 1, knot):
            if last < 0:
                fitted[gap] = fitted[knot]
            else:
                slope = (fitted[knot] - fitted[last]) / (knots[knot] - knots[last])
                fitted[gap] = fitted[last] + slope * (knots[gap] - knots[last])
        last = knot
    for gap in range(last + 1, len(knots)):
        fitted[gap] = np.nan if last < 0 else fitted[last]


@njit(cache=True, nogil=True)
def _at(fitted: FloatArray, knots: FloatArray, level: int, beyond: float) -> float:
    """The fit at a score of this level; past the last knot it is clipped."""
    if beyond == 0.0 or level == len(knots) - 1:
        return fitted[level]  # type: ignore[no-any-return]
    slope = (fitted[level + 1] - fitted[level]) / (knots[level + 1] - knots[level])
    return fitted[level] + beyond * slope  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _group_means(
    level: IntArray,
    beyond: FloatArray,
    knots: FloatArray,
    y: FloatArray,
    w: FloatArray,
    group: IntArray,
    means: FloatArray,
) -> FloatArray:
    """Fit, and average the fit by group into `means`; everything is in the order of the scores."""
    fitted = _fit_sorted(level, knots, y, w)
    totals = np.zeros(len(means))
    means[:] = 0.0
    for p in range(len(level)):
        means[group[p]] += w[p] * _at(fitted, knots, level[p], beyond[p])
        totals[group[p]] += w[p]
    for g in range(len(means)):
        means[g] = means[g] / totals[g] if totals[g] > 0.0 else np.nan
    return means


@njit(cache=True, nogil=True)
def _resampled_means(
    level: IntArray,
    beyond: FloatArray,
    knots: FloatArray,
    y: FloatArray,
    w: FloatArray,
    group: IntArray,
    cluster: IntArray,
    counts: NDArray[np.uint32],
    original: FloatArray,
    resampled: FloatArray,
) -> None:
    """Fit each resample, and average the fits by group into `original` and `resampled`."""
    groups = original.shape[1]
    drawn = np.empty(len(w))
    own, drawn_total = np.zeros(groups), np.empty(groups)
    for p in range(len(w)):
        own[group[p]] += w[p]
    for b in range(len(counts)):
        for p in range(len(w)):
            drawn[p] = w[p] * counts[b, cluster[p]]
        fitted = _fit_sorted(level, knots, y, drawn)
        original[b], resampled[b], drawn_total[:] = 0.0, 0.0, 0.0
        for p in range(len(w)):
            value = _at(fitted, knots, level[p], beyond[p])
            original[b, group[p]] += w[p] * value
            resampled[b, group[p]] += drawn[p] * value
            drawn_total[group[p]] += drawn[p]
        for g in range(groups):
            original[b, g] = original[b, g] / own[g] if own[g] > 0.0 else np.nan
            resampled[b, g] = resampled[b, g] / drawn_total[g] if drawn_total[g] > 0.0 else np.nan
