"""Isotonic regression that sorts once and then fits many times: with other values, or on resamples.

The fit is the non-decreasing function of x that is closest to y in weighted squares, found by pooling
adjacent violators. Equal x are one knot; between knots the function is linear, outside them constant:
the same function as scikit-learn's `IsotonicRegression(out_of_bounds="clip")`.

A resample is a vector of multiplicities, one per cluster. Nothing is sorted again: a value that a resample
does not contain weighs nothing, and is read off the line between its neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.score_order import (
    BitArray,
    SortedScores,
    levels_for,
    order_buffers,
    put_levels,
    put_order,
)

Counts = NDArray[np.uint32]


def fit_isotonic(scores: SortedScores, y: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """The fitted value at each knot, by pooling adjacent violators; NaN where nothing has weight.

    >>> from metassay.stats.score_order import sort_scores
    >>> fit_isotonic(sort_scores([1, 2, 3, 4]), [1, 3, 2, 4])
    array([1. , 2.5, 2.5, 4. ])
    """
    y = np.asarray(y, dtype=np.float64)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    fitted = np.empty(len(scores.knots))
    _fit(scores.level, scores.knots, y[scores.order], w[scores.order], fitted, *_room(len(scores.knots)))
    return fitted


def predict_isotonic(scores: SortedScores, fitted: FloatArray, at: ArrayLike) -> FloatArray:
    """The fitted function anywhere: linear between knots, clipped outside them."""
    values: FloatArray = np.interp(np.asarray(at, dtype=np.float64), scores.knots, fitted)
    return values


def fit_values_by_group(
    scores: SortedScores, y: FloatArray, weights: FloatArray, group: LongArray, groups: int
) -> FloatArray:
    """Fit each row of y, and average each fit over each group: float64[rows, groups]."""
    order, size = scores.order, len(scores.knots)
    means = np.empty((len(y), groups))
    _fit_values(
        scores.level,
        scores.beyond,
        scores.knots,
        np.ascontiguousarray(y[:, order]),
        weights[order],
        group[order],
        means,
        np.empty(size),
        *_room(size),
    )
    return means


def fit_scores_by_group(
    x: FloatArray, y: FloatArray, weights: FloatArray, group: LongArray, groups: int
) -> FloatArray:
    """Fit y on each row of x, and average each fit over each group: float64[rows, groups]."""
    size = x.shape[1]
    means = np.empty((len(x), groups))
    _fit_scores(
        x,
        (x + 0.0).view(np.uint64),
        y,
        weights,
        group,
        means,
        (np.empty(size, dtype=np.int64), *order_buffers(size)),
        levels_for(size),
        np.empty((3, size)),
        *_room(size),
    )
    return means


def fit_resamples_by_group(
    scores: SortedScores,
    y: FloatArray,
    weights: FloatArray,
    group: LongArray,
    groups: int,
    cluster: LongArray,
    counts: Counts,
) -> tuple[FloatArray, FloatArray]:
    """Fit every resample, and average each fit over each group: two arrays float64[resamples, groups].

    `counts[b, c]` is how often resample b holds cluster c. The first array averages over the original
    values of a group, the second over its resampled ones. A group that a resample misses altogether has NaN
    in the second array; a resample without any weight has NaN in both.
    """
    order, size = scores.order, len(scores.knots)
    original, resampled = np.empty((len(counts), groups)), np.empty((len(counts), groups))
    _fit_resamples(
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
        np.empty(size),
        *_room(size),
    )
    return original, resampled


def _room(size: int) -> tuple[FloatArray, LongArray]:
    """Scratch of `_fit`: made once, since making it takes longer than fitting."""
    return np.empty((6, size + 1)), np.empty((3, size + 1), dtype=np.int64)


@kernel
def _fit(
    level: LongArray,
    knots: FloatArray,
    y: FloatArray,
    w: FloatArray,
    fitted: FloatArray,
    numbers: FloatArray,
    places: LongArray,
) -> bool:
    """Put the fitted value of every knot into `fitted`; false, and NaN, where nothing has weight.

    On a block the fit has the block's value, between blocks it is a line, outside them the nearest value.
    """
    size = len(knots)
    sums, totals = numbers[4, :size], numbers[5, :size]
    sums[:], totals[:] = 0.0, 0.0
    for p in range(len(level)):
        sums[level[p]] += w[p] * y[p]
        totals[level[p]] += w[p]
    blocks = _pool(sums, totals, numbers, places)
    if blocks == 0:
        fitted[:] = np.nan
        return False
    value, first, last = numbers[0], places[0], places[1]
    fitted[: first[0]] = value[0]
    for block in range(blocks - 1):
        fitted[first[block] : last[block] + 1] = value[block]
        start, end = knots[last[block]], knots[first[block + 1]]
        slope = (value[block + 1] - value[block]) / (end - start)
        for knot in range(last[block] + 1, first[block + 1]):
            fitted[knot] = value[block] + slope * (knots[knot] - start)
    fitted[first[blocks - 1] :] = value[blocks - 1]
    return True


@kernel
def _pool(sums: FloatArray, totals: FloatArray, numbers: FloatArray, places: LongArray) -> int:
    """Pool adjacent violators: from sums of values and weights per knot to blocks; returns their number.

    Block b, a step of the fit, has the value `numbers[0, b]` and rests on the knots from `places[0, b]` to
    `places[1, b]`. Knots without weight take part in nothing. The time goes into wrong guesses of the
    processor, so present knots are gathered without a branch, and a block takes in all that follows and does
    not rise before it looks back.
    """
    value, total, present_sum, present_total = numbers[0], numbers[1], numbers[2], numbers[3]
    first, last, present = places
    knots = 0
    for knot in range(len(sums)):
        present_sum[knots], present_total[knots], present[knots] = sums[knot], totals[knot], knot
        knots += totals[knot] > 0.0
    blocks, k = 0, 0
    while k < knots:
        block_sum, block_total, start = present_sum[k], present_total[k], present[k]
        k += 1
        while True:
            while k < knots and present_sum[k] * block_total <= block_sum * present_total[k]:
                block_sum += present_sum[k]
                block_total += present_total[k]
                k += 1
            if blocks == 0 or value[blocks - 1] * block_total < block_sum * total[blocks - 1]:
                break
            blocks -= 1
            block_sum += value[blocks]
            block_total += total[blocks]
            start = first[blocks]
        value[blocks], total[blocks], first[blocks], last[blocks] = (
            block_sum,
            block_total,
            start,
            present[k - 1],
        )
        blocks += 1
    for block in range(blocks):
        value[block] /= total[block]
    return blocks


@kernel
def _average(
    level: LongArray,
    beyond: FloatArray,
    knots: FloatArray,
    fitted: FloatArray,
    w: FloatArray,
    group: LongArray,
    means: FloatArray,
) -> None:
    """Put the weighted mean of the fit, by group, into `means`; NaN for a group without weight."""
    totals = np.zeros(len(means), np.float64)
    means[:] = 0.0
    for p in range(len(level)):
        means[group[p]] += w[p] * fitted[level[p]]
        totals[group[p]] += w[p]
    for off in np.flatnonzero(beyond):
        p = int(off)
        if level[p] + 1 < len(knots):
            run = knots[level[p] + 1] - knots[level[p]]
            means[group[p]] += w[p] * beyond[p] * (fitted[level[p] + 1] - fitted[level[p]]) / run
    for g in range(len(means)):
        means[g] = means[g] / totals[g] if totals[g] > 0.0 else np.nan


@kernel
def _fit_values(
    level: LongArray,
    beyond: FloatArray,
    knots: FloatArray,
    y: FloatArray,
    w: FloatArray,
    group: LongArray,
    means: FloatArray,
    fitted: FloatArray,
    numbers: FloatArray,
    places: LongArray,
) -> None:
    for row in range(len(y)):
        _fit(level, knots, y[row], w, fitted, numbers, places)
        _average(level, beyond, knots, fitted, w, group, means[row])


@kernel
def _fit_scores(
    x: FloatArray,
    bits: BitArray,
    y: FloatArray,
    w: FloatArray,
    group: LongArray,
    means: FloatArray,
    sorting: tuple[LongArray, LongArray, BitArray, BitArray],
    levels: tuple[LongArray, FloatArray, FloatArray],
    moved: FloatArray,
    numbers: FloatArray,
    places: LongArray,
) -> None:
    order, other, keys, other_keys = sorting
    level, beyond, knots = levels
    moved_group = np.empty(len(y), np.int64)
    for row in range(len(x)):
        put_order(bits[row], order, other, keys, other_keys)
        distinct = put_levels(x[row], order, level, beyond, knots)
        for p in range(len(y)):
            moved[0, p], moved[1, p], moved_group[p] = y[order[p]], w[order[p]], group[order[p]]
        fitted = moved[2, :distinct]
        _fit(level, knots[:distinct], moved[0], moved[1], fitted, numbers, places)
        _average(level, beyond, knots[:distinct], fitted, moved[1], moved_group, means[row])


@kernel
def _fit_resamples(
    level: LongArray,
    beyond: FloatArray,
    knots: FloatArray,
    y: FloatArray,
    w: FloatArray,
    group: LongArray,
    cluster: LongArray,
    counts: Counts,
    original: FloatArray,
    resampled: FloatArray,
    fitted: FloatArray,
    numbers: FloatArray,
    places: LongArray,
) -> None:
    drawn = np.empty(len(w), np.float64)
    for b in range(len(counts)):
        for p in range(len(w)):
            drawn[p] = w[p] * counts[b, cluster[p]]
        _fit(level, knots, y, drawn, fitted, numbers, places)
        _average(level, beyond, knots, fitted, w, group, original[b])
        _average(level, beyond, knots, fitted, drawn, group, resampled[b])
