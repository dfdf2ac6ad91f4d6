"""Orders of worsened rankings in compiled code: the draws of `Stream`, for all lists at once.

An order says for each entry of the new lists which entry of the old ones stands there.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metassay.stats.arrays import LongArray
from metassay.stats.random import Keys, next_below, next_high

Codes = NDArray[np.int32]


@njit(cache=True, nogil=True)
def _restarted(state: np.uint64, copy: int) -> np.uint64:
    """The state of the stream for a further copy: the number drawn last becomes the key."""
    for _ in range(copy - 1):
        state, high = next_high(state)
        state, low = next_high(state)
        state = (high << np.uint64(32)) | low
    return state


@njit(cache=True, nogil=True)
def _sample(order: LongArray, size: int, count: int, state: np.uint64) -> None:
    """Draw `count` different numbers below `size` into the front of `order` (partial Fisher–Yates)."""
    for place in range(size):
        order[place] = place
    for place in range(count):
        state, step = next_below(state, size - place)
        other = place + step
        order[place], order[other] = order[other], order[place]


@njit(cache=True, nogil=True)
def swapped_orders(offsets: LongArray, keys: Keys, swaps: LongArray, copy: int) -> LongArray:
    """`RankSwapping.order` for every list; `swaps[i]` pairs of entries of list i change places."""
    order = np.arange(offsets[-1])
    drawn = np.empty(np.max(np.diff(offsets)) if len(keys) else 0, np.int64)
    for i in range(len(keys)):
        start, size = offsets[i], offsets[i + 1] - offsets[i]
        _sample(drawn, size, 2 * swaps[i], _restarted(keys[i], copy))
        for swap in range(swaps[i]):
            one, other = start + drawn[2 * swap], start + drawn[2 * swap + 1]
            order[one], order[other] = order[other], order[one]
    return order


@njit(cache=True, nogil=True)
def shuffled_orders(offsets: LongArray, keys: Keys, top: int, copy: int) -> LongArray:
    """`Shuffle.order` for every list: the first `top` entries in random order."""
    order = np.arange(offsets[-1])
    drawn = np.empty(np.max(np.diff(offsets)) if len(keys) else 0, np.int64)
    for i in range(len(keys)):
        start = offsets[i]
        size = min(offsets[i + 1] - start, top)
        _sample(drawn, size, size, _restarted(keys[i], copy))
        for place in range(size):
            order[start + place] = start + drawn[place]
    return order


@njit(cache=True, nogil=True)
def place_copies(
    offsets: LongArray,
    order: LongArray,
    rows: LongArray,
    starts: LongArray,
    documents: Codes,
    grades: Codes,
    new_documents: Codes,
    new_grades: Codes,
) -> None:
    """Write list `rows[i]` in its new order to the entries from `starts[i]` on."""
    for i in range(len(rows)):
        first = offsets[rows[i]]
        for place in range(offsets[rows[i] + 1] - first):
            old = order[first + place]
            new_documents[starts[i] + place] = documents[old]
            new_grades[starts[i] + place] = grades[old]
