"""128-bit hashes in two columns of 64 bits: sort them, find the distinct ones, look them up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import LongArray

# One hash per row: [n, 2].
Hashes = NDArray[np.uint64]


class DistinctHashes(NamedTuple):
    """The distinct hashes of an array, numbered in the order of their first occurrence.

    `first_rows` is the row where each occurs first, `numbers` the number of each row's hash, and
    `sorted_numbers` the numbers in the order of the hashes.
    """

    first_rows: LongArray
    numbers: LongArray
    sorted_numbers: LongArray


def argsort_hashes(hashes: Hashes) -> LongArray:
    """Return the positions that sort 128-bit hashes. Equal hashes keep their order.

    >>> argsort_hashes(np.array([[7, 2], [3, 9], [7, 1]], dtype=np.uint64)).tolist()
    [1, 2, 0]
    """
    high = hashes[:, 0]
    if (high[1:] > high[:-1]).all():
        return np.arange(len(hashes))
    order = np.argsort(high, kind="stable")
    sorted_high, sorted_low = hashes[order].T
    # Two different hashes hardly ever share their upper half, so one column is nearly always enough.
    misplaced = (sorted_high[1:] == sorted_high[:-1]) & (sorted_low[1:] < sorted_low[:-1])
    if misplaced.any():
        return np.lexsort((hashes[:, 1], high))
    return order


def find_distinct_hashes(hashes: Hashes) -> DistinctHashes:
    """Find the distinct hashes in an array of 128-bit hashes.

    They are numbered in the order of their first occurrence.

    >>> hashes = np.array([[7, 2], [3, 9], [7, 2]], dtype=np.uint64)
    >>> [part.tolist() for part in find_distinct_hashes(hashes)]
    [[0, 1], [0, 1, 0], [1, 0]]
    """
    order = argsort_hashes(hashes)
    ordered = hashes[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first_rows = order[is_new]
    sorted_numbers = np.empty(len(first_rows), dtype=np.int64)
    sorted_numbers[np.argsort(first_rows)] = np.arange(len(first_rows))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = sorted_numbers[np.cumsum(is_new) - 1]
    return DistinctHashes(np.sort(first_rows), numbers, sorted_numbers)


def look_up_hashes(
    hashes: Hashes, sorted_upper_halves: NDArray[np.uint64], sorted_lower_halves: NDArray[np.uint64]
) -> LongArray:
    """Return the position of each 128-bit hash in a sorted list of hashes, or -1 if it is not there.

    The sorted hashes are given as two columns, as tables hold them.

    >>> high = np.array([3, 7, 7], dtype=np.uint64)
    >>> low = np.array([9, 1, 2], dtype=np.uint64)
    >>> look_up_hashes(np.array([[7, 2], [7, 3], [3, 9]], dtype=np.uint64), high, low).tolist()
    [2, -1, 0]
    """
    count = len(sorted_upper_halves)
    if count == 0:
        return np.full(len(hashes), -1)
    positions = np.searchsorted(sorted_upper_halves, hashes[:, 0])
    while True:
        positions = positions.clip(max=count - 1)
        same_high = sorted_upper_halves[positions] == hashes[:, 0]
        is_found = same_high & (sorted_lower_halves[positions] == hashes[:, 1])
        next_may_match = same_high & ~is_found & (positions + 1 < count)
        if not next_may_match.any():
            return np.where(is_found, positions, -1)
        positions += next_may_match
