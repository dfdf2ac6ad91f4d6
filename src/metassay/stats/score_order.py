"""Scores and orders: sorted once for many fits, and how far values are from following a given order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.compilation import kernel

BitArray = NDArray[np.uint64]

# Scores closer than scikit-learn's absolute tolerance are one knot: averages of the same numbers, taken in
# another order, differ in the last digit. The relative bound keeps scores apart that are merely very small.
ROUNDING = 1e-15
RELATIVE_ROUNDING = 1e-14

DIGIT_BITS = 11
DIGITS = 1 << DIGIT_BITS
PASSES = 6  # of 11 bits hold the 64 of a float; an even number leaves the result where it began


@dataclass(frozen=True)
class SortedScores:
    """Scores in ascending order, with their distinct values.

    `order` sorts the scores; `level[p]` is the knot of the p-th smallest score, `beyond[p]` how far it lies
    above that knot (0, or a rounding error); `knots` are the distinct values.
    """

    order: LongArray
    level: LongArray
    beyond: FloatArray
    knots: FloatArray


def sort_scores(x: ArrayLike) -> SortedScores:
    """Sort scores for any number of fits.

    >>> sort_scores([3.0, 1.0, 3.0]).knots
    array([1., 3.])
    """
    x = np.asarray(x, dtype=np.float64) + 0.0
    order, level, beyond, knots = np.empty(len(x), dtype=np.int64), *levels_for(len(x))
    put_order(x.view(np.uint64), order, *order_buffers(len(x)))
    distinct = put_levels(x, order, level, beyond, knots)
    return SortedScores(order, level, beyond, knots[:distinct].copy())


def order_buffers(size: int) -> tuple[LongArray, BitArray, BitArray]:
    """What `put_order` needs room for, made once for any number of sorts of this size."""
    return np.empty(size, dtype=np.int64), np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.uint64)


def levels_for(size: int) -> tuple[LongArray, FloatArray, FloatArray]:
    """Room for what `put_levels` finds: level, beyond, knots."""
    return np.empty(size, dtype=np.int64), np.empty(size), np.empty(size)


@kernel
def put_order(bits: BitArray, order: LongArray, other: LongArray, keys: BitArray, moved: BitArray) -> None:
    """Put the order of float64 scores into `order`, equal ones as they come.

    A radix sort, four times as fast as NumPy's stable one. The bits of a float sort like an integer once the
    sign is flipped, and for negative ones every bit.
    """
    sign, mask = np.uint64(1) << np.uint64(63), np.uint64(DIGITS - 1)
    starts = np.zeros((PASSES, DIGITS), np.int64)
    for p in range(len(bits)):
        order[p] = p
        keys[p] = ~bits[p] if bits[p] & sign else bits[p] | sign
        for turn in range(PASSES):
            starts[turn, (keys[p] >> np.uint64(DIGIT_BITS * turn)) & mask] += 1
    for turn in range(PASSES):
        place, shift = np.cumsum(starts[turn]) - starts[turn], np.uint64(DIGIT_BITS * turn)
        for p in range(len(bits)):
            digit = (keys[p] >> shift) & mask
            moved[place[digit]], other[place[digit]] = keys[p], order[p]
            place[digit] += 1
        keys, moved, order, other = moved, keys, other, order


@kernel
def put_levels(
    x: FloatArray, order: LongArray, level: LongArray, beyond: FloatArray, knots: FloatArray
) -> int:
    """Find the knots of sorted scores; returns how many there are.

    A score opens a new knot when it is more than rounding away from the last one.
    """
    distinct = 0
    for p in range(len(order)):
        score = x[order[p]]
        gap = score - knots[distinct - 1] if distinct else np.inf
        if gap > 0.0 and (
            distinct == 0 or gap >= min(ROUNDING, RELATIVE_ROUNDING * abs(knots[distinct - 1]))
        ):
            knots[distinct] = score
            distinct += 1
        level[p] = distinct - 1
        beyond[p] = score - knots[distinct - 1]
    return distinct


def fit_monotone_rows(rows: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each row the nearest values that never fall along it, and the distance to them.

    Nearest by weighted least squares; the distance is Σ weight · (value - nearest)². Pool-adjacent-violators.

    >>> nearest, distance = fit_monotone_rows(np.array([[1.0, 3.0, 2.0]]), np.ones(3))
    >>> nearest.tolist(), distance.tolist()
    ([[1.0, 2.5, 2.5]], [0.5])
    """
    rows = np.ascontiguousarray(np.atleast_2d(rows), dtype=np.float64)
    nearest = _pool_rows(rows, np.ascontiguousarray(weights, dtype=np.float64))
    return nearest, ((rows - nearest) ** 2 * weights).sum(axis=1)


@kernel
def _pool_rows(rows: FloatArray, weights: FloatArray) -> FloatArray:
    nearest = np.empty(rows.shape, np.float64)
    count = rows.shape[1]
    level, mass, first = np.empty(count, np.float64), np.empty(count, np.float64), np.empty(count, np.int64)
    for row in range(len(rows)):
        blocks = 0
        for place in range(count):
            level[blocks], mass[blocks], first[blocks] = rows[row, place], weights[place], place
            blocks += 1
            while blocks > 1 and level[blocks - 2] > level[blocks - 1]:
                total = mass[blocks - 2] + mass[blocks - 1]
                pooled = mass[blocks - 2] * level[blocks - 2] + mass[blocks - 1] * level[blocks - 1]
                level[blocks - 2], mass[blocks - 2] = pooled / total, total
                blocks -= 1
        for block in range(blocks):
            end = first[block + 1] if block + 1 < blocks else count
            for place in range(first[block], end):
                nearest[row, place] = level[block]
    return nearest
