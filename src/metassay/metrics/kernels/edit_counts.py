"""Edits and common subsequences of token sequences, 64 positions at a time on bit vectors.

The distance matrix is computed as by Myers (1999) and Hyyrö (2003). Of the optimal alignments, which decides
how many edits are substitutions, the one that rapidfuzz (and so jiwer) reads off the bit vectors is taken:
common beginnings and ends first, then from the end a deletion where the matrix falls, else an insertion where
it does, else a match or substitution. The longest common subsequence is Hyyrö's (2004).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.text_arrays import Ids, Offsets, most_distinct
from metassay.stats.compilation import kernel

Bits = NDArray[np.uint64]

HITS, SUBSTITUTIONS, DELETIONS, INSERTIONS = range(4)

SPLIT_MATRIX = 1 << 20
"""From a matrix of this many bytes on, rapidfuzz divides the problem, and may align differently."""

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_ALL = ~np.uint64(0)
_SIX = np.uint64(6)
_LAST = np.uint64(63)


@kernel
def edit_counts(
    ids: Ids, offsets: Offsets, size: int, outputs: Offsets, references: Offsets
) -> NDArray[np.int64]:
    """Hits, substitutions, deletions, insertions of each couple: [couples, 4].

    The first entry is −1 where both sequences are so long that rapidfuzz itself must be asked.
    """
    longest = 1
    for k in range(len(offsets) - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    blocks = (longest + 63) // 64
    # row 0 of the pattern table stands for all tokens that the reference lacks
    row_of = np.zeros(size, np.int32)
    patterns = np.zeros((most_distinct(ids, offsets, size, references) + 1, blocks), np.uint64)
    most = min(longest * blocks, SPLIT_MATRIX // 8 + longest + 64 * blocks)
    rising, falling = np.empty(most, np.uint64), np.empty(most, np.uint64)
    counts = np.zeros((len(outputs), 4), np.int64)
    for c in range(len(outputs)):
        reference = ids[offsets[references[c]] : offsets[references[c] + 1]]
        output = ids[offsets[outputs[c]] : offsets[outputs[c] + 1]]
        before = _common_beginning(reference, output)
        after = _common_end(reference[before:], output[before:])
        counts[c, HITS] = before + after
        reference = reference[before : len(reference) - after]
        output = output[before : len(output) - after]
        if len(reference) == 0 or len(output) == 0:
            counts[c, DELETIONS], counts[c, INSERTIONS] = len(reference), len(output)
        elif _is_divided(len(reference), len(output)):
            counts[c, HITS] = -1
        else:
            _set_patterns(reference, row_of, patterns)
            _fill_matrix(len(reference), output, row_of, patterns, rising, falling)
            _trace(reference, output, rising, falling, counts[c])
            for i in range(len(reference)):
                row_of[reference[i]] = 0
    return counts


@kernel
def _common_beginning(first: Ids, second: Ids) -> int:
    n = 0
    while n < len(first) and n < len(second) and first[n] == second[n]:
        n += 1
    return n


@kernel
def _common_end(first: Ids, second: Ids) -> int:
    n = 0
    while n < len(first) and n < len(second) and first[len(first) - 1 - n] == second[len(second) - 1 - n]:
        n += 1
    return n


@kernel
def _is_divided(reference: int, output: int) -> bool:
    """Whether rapidfuzz divides the alignment of sequences of these lengths (Hirschberg, 1975)."""
    return reference >= 65 and output >= 10 and 2 * reference * output // 8 >= SPLIT_MATRIX


@kernel
def _set_patterns(reference: Ids, row_of: Ids, patterns: Bits) -> None:
    """Bit i of the pattern of a token says whether it stands at position i of the reference."""
    blocks = (len(reference) + 63) // 64
    rows = 0
    for i in range(len(reference)):
        row = row_of[reference[i]]
        if row == 0:
            rows += 1
            row_of[reference[i]] = row = rows
            patterns[row, :blocks] = _ZERO
        patterns[row, i >> 6] |= _ONE << (np.uint64(i) & _LAST)


@kernel
def _fill_matrix(length: int, output: Ids, row_of: Ids, patterns: Bits, rising: Bits, falling: Bits) -> None:
    """Where the distance rises and falls by one from row to row, for each token of the output."""
    blocks = (length + 63) // 64
    for j in range(len(output)):
        row = row_of[output[j]]
        carry_up, carry_down = _ONE, _ZERO
        for b in range(blocks):
            here = j * blocks + b
            up = rising[here - blocks] if j > 0 else _ALL
            down = falling[here - blocks] if j > 0 else _ZERO
            equal = patterns[row, b] | carry_down if row > 0 else carry_down
            zero = (((equal & up) + up) ^ up) | equal | down
            right_up = down | ~(zero | up)
            right_down = zero & up
            next_up, next_down = right_up >> _LAST, right_down >> _LAST
            right_up = (right_up << _ONE) | carry_up
            right_down = (right_down << _ONE) | carry_down
            carry_up, carry_down = next_up, next_down
            rising[here] = right_down | ~(zero | right_up)
            falling[here] = right_up & zero


@kernel
def _trace(reference: Ids, output: Ids, rising: Bits, falling: Bits, counts: NDArray[np.int64]) -> None:
    """Reads the alignment off the matrix, from the end."""
    blocks = (len(reference) + 63) // 64
    i, j = len(reference), len(output)
    while i > 0 and j > 0:
        block, bit = (i - 1) >> 6, np.uint64(i - 1) & _LAST
        if (rising[(j - 1) * blocks + block] >> bit) & _ONE:
            counts[DELETIONS] += 1
            i -= 1
            continue
        j -= 1
        if j > 0 and (falling[(j - 1) * blocks + block] >> bit) & _ONE:
            counts[INSERTIONS] += 1
            continue
        i -= 1
        counts[HITS if reference[i] == output[j] else SUBSTITUTIONS] += 1
    counts[DELETIONS] += i
    counts[INSERTIONS] += j


@kernel
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
            _set_lcs_patterns(reference, blocks, row_of, patterns)
        output = ids[offsets[outputs[c]] : offsets[outputs[c] + 1]]
        for b in range(blocks):
            state[b] = _ALL
        for j in range(len(output)):
            if row_of[output[j]] > 0:
                _step(patterns[row_of[output[j]]], blocks, state)
        lengths[c] = _zeros(state, len(reference))
    return lengths


@kernel
def _set_lcs_patterns(reference: Ids, blocks: int, row_of: Ids, patterns: NDArray[np.uint64]) -> None:
    """Bit i of the pattern of a token says whether it stands at position i of the reference."""
    rows = 0
    for i in range(len(reference)):
        row = row_of[reference[i]]
        if row == 0:
            rows += 1
            row_of[reference[i]] = row = rows
            for b in range(blocks):
                patterns[row, b] = _ZERO
        patterns[row, i >> 6] |= _ONE << (np.uint64(i) & _LAST)


@kernel
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


@kernel
def _zeros(state: NDArray[np.uint64], length: int) -> int:
    count = 0
    for i in range(length):
        count += 1 - int((state[i >> 6] >> (np.uint64(i) & _LAST)) & _ONE)
    return count
