"""Length of the longest common subsequence, 64 positions at a time (Hyyrö, 2004)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metassay.metrics.kernels.packing import Ids, Offsets, most_distinct

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_ALL = ~np.uint64(0)
_LAST = np.uint64(63)


@njit(cache=True, nogil=True)
def lcs_lengths(
    ids: Ids, offsets: Offsets, size: int, outputs: Offsets, references: Offsets
) -> NDArray[np.int64]:
    """For each couple, how many tokens both have in the same order; equal references should be neighbours."""
    longest = 1
    for k in range(len(offsets) - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    row_of = np.zeros(size, np.int32)
    rows = most_distinct(ids, offsets, size, references) + 1
    patterns = np.zeros((rows, (longest + 63) // 64), np.uint64)
    state = np.empty((longest + 63) // 64, np.uint64)
    lengths = np.zeros(len(outputs), np.int64)
    for c in range(len(outputs)):
        reference = ids[offsets[references[c]] : offsets[references[c] + 1]]
        blocks = (len(reference) + 63) // 64
        if c == 0 or references[c] != references[c - 1]:
            if c > 0:
                before = ids[offsets[references[c - 1]] : offsets[references[c - 1] + 1]]
                for i in range(len(before)):
                    row_of[before[i]] = 0
            _set_patterns(reference, blocks, row_of, patterns)
        output = ids[offsets[outputs[c]] : offsets[outputs[c] + 1]]
        state[:blocks] = _ALL
        for j in range(len(output)):
            if row_of[output[j]] > 0:
                _step(patterns[row_of[output[j]]], blocks, state)
        lengths[c] = _zeros(state, len(reference))
    return lengths


@njit(cache=True, nogil=True)
def _set_patterns(reference: Ids, blocks: int, row_of: Ids, patterns: NDArray[np.uint64]) -> None:
    """Bit i of the pattern of a token says whether it stands at position i of the reference."""
    rows = 0
    for i in range(len(reference)):
        row = row_of[reference[i]]
        if row == 0:
            rows += 1
            row_of[reference[i]] = row = rows
            patterns[row, :blocks] = _ZERO
        patterns[row, i >> 6] |= _ONE << (np.uint64(i) & _LAST)


@njit(cache=True, nogil=True)
def _step(pattern: NDArray[np.uint64], blocks: int, state: NDArray[np.uint64]) -> None:
    """One token of the output: a zero bit of the state marks one more common token."""
    carry = _ZERO
    for b in range(blocks):
        old = state[b]
        matched = old & pattern[b]
        once = old + matched
        twice = once + carry
        carry = _ONE if once < old or twice < once else _ZERO
        state[b] = twice | (old - matched)


@njit(cache=True, nogil=True)
def _zeros(state: NDArray[np.uint64], length: int) -> int:
    count = 0
    for i in range(length):
        count += 1 - int((state[i >> 6] >> (np.uint64(i) & _LAST)) & _ONE)
    return count
