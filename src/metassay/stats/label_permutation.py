"""Permutation test that groups do not differ in their share of right ones, when units come in blocks.

Labels are exchanged between whole units, and only inside a block: what the units of a block share (an item's
difficulty, a document's) is then the same on both sides of every comparison. With one block that holds
everything, whole units are exchanged freely.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from metassay.stats.arrays import FloatArray, IntArray, LongArray
from metassay.stats.contingency import chi_square_statistic
from metassay.stats.random import STEP, mixed, next_below

_AT_LEAST = 1 - 1e-9  # equal statistics differ by rounding
_CHUNK = 37  # permutations per task


def permutation_p_values(
    right: IntArray,
    total: IntArray,
    labels: IntArray,
    block_starts: LongArray,
    *,
    rng: np.random.Generator,
    permutations: int = 999,
    workers: int = 1,
) -> FloatArray:
    """One p-value per column of `right` [units, columns]: the share of arrangements as uneven as ours.

    `total` is [units, columns], or [units, 1] where all columns share it. Units are sorted by block;
    block b is `block_starts[b]:block_starts[b + 1]`. The statistic is chi-square on groups × (right, wrong);
    p = (1 + as extreme) / (1 + permutations). The result does not depend on `workers`.
    """
    groups = int(labels.max()) + 1
    key = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
    counts = np.ascontiguousarray(np.concatenate([right, total], axis=1), dtype=np.int32)
    arguments = (counts, labels.astype(np.int32), block_starts.astype(np.int64), groups)
    observed = _statistics(_group_sums(*arguments, key, 0, 0)[None], right.shape[1])

    def extreme(first: int) -> LongArray:
        count = min(_CHUNK, permutations - first)
        tables = np.stack([_group_sums(*arguments, key, first + step, 1) for step in range(count)])
        return np.asarray((_statistics(tables, right.shape[1]) >= observed * _AT_LEAST).sum(axis=0))

    with ThreadPoolExecutor(workers) as pool:
        exceeding = sum(pool.map(extreme, range(0, permutations, _CHUNK)), np.zeros(right.shape[1], np.int64))
    return np.asarray((1 + exceeding) / (1 + permutations))


def _statistics(tables: LongArray, columns: int) -> FloatArray:
    """Chi-square [tables, columns] of sums [tables, groups, columns + totals]."""
    sums = np.moveaxis(tables.astype(np.float64), 1, -1)
    return chi_square_statistic(
        sums[:, :columns], np.broadcast_to(sums[:, columns:], sums[:, :columns].shape)
    )


@njit(cache=True, nogil=True)
def _group_sums(
    counts: IntArray,
    labels: IntArray,
    block_starts: LongArray,
    groups: int,
    key: np.uint64,
    permutation: int,
    shuffled: int,
) -> LongArray:
    """Column sums per group under one arrangement of the labels; as given when not shuffled."""
    arranged = labels.copy()
    state = mixed(key + np.uint64(permutation) * STEP)
    if shuffled:
        for block in range(len(block_starts) - 1):
            first = block_starts[block]
            for last in range(block_starts[block + 1] - 1, first, -1):  # Fisher–Yates
                state, step = next_below(state, last - first + 1)
                other = first + step
                arranged[last], arranged[other] = arranged[other], arranged[last]
    sums = np.zeros((groups, counts.shape[1]), dtype=np.int64)
    for unit in range(len(arranged)):
        group = arranged[unit]
        for column in range(counts.shape[1]):
            sums[group, column] += counts[unit, column]
    return sums
