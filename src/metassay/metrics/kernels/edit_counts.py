"""Count the hits, substitutions, deletions and insertions between token sequences.

The edit distance matrix is computed 64 rows at a time on bit vectors (Myers, 1999; Hyyrö, 2003). Several
alignments can have the fewest edits, and differ in how many of these are substitutions. The one counted here
is the one that rapidfuzz, and so jiwer, finds: common beginnings and ends first, then from the end a deletion
where the matrix allows one, else an insertion, else a hit or substitution. (Calling rapidfuzz for each input
instead doubles the time of WER.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.bit_vectors import (
    ALL_BITS,
    LAST_BIT,
    ONE_BIT,
    ZERO_BITS,
    BitVectors,
    count_blocks_of_64_bits,
    fill_token_position_bitmasks,
    set_token_rows_to_zero,
)
from metassay.metrics.kernels.sequences import (
    find_length_of_longest_sequence,
    find_maximum_distinct_token_count,
    get_sequence,
)
from metassay.metrics.kernels.text_arrays import Offsets, Positions, TokenIds
from metassay.stats.compilation import kernel

HITS, SUBSTITUTIONS, DELETIONS, INSERTIONS = range(4)

# From a matrix of this size on, rapidfuzz divides the problem, and may choose another alignment.
SPLIT_MATRIX_BYTES = 1 << 20


@kernel
def count_token_edits_by_kind(
    token_ids: TokenIds,
    sequence_offsets: Offsets,
    vocabulary_size: int,
    output_numbers: Positions,
    reference_numbers: Positions,
) -> NDArray[np.int64]:
    """Count the hits, substitutions, deletions and insertions that turn each reference into its output.

    Returns [inputs, 4]. The first entry is −1 where both sequences are so long that the caller must ask
    rapidfuzz itself.
    """
    longest = find_length_of_longest_sequence(sequence_offsets)
    blocks = count_blocks_of_64_bits(longest)
    # Row 0 of the bits stands for all tokens that do not occur in the reference.
    row_of_token = np.zeros(vocabulary_size, np.int32)
    most_distinct = find_maximum_distinct_token_count(
        token_ids, sequence_offsets, vocabulary_size, reference_numbers
    )
    position_bits = np.zeros((most_distinct + 1, blocks), np.uint64)
    most_vectors = min(longest * blocks, SPLIT_MATRIX_BYTES // 8 + longest + 64 * blocks)
    increases = np.empty(most_vectors, np.uint64)
    decreases = np.empty(most_vectors, np.uint64)
    counts = np.zeros((len(output_numbers), 4), np.int64)
    for k in range(len(output_numbers)):
        reference = get_sequence(token_ids, sequence_offsets, reference_numbers[k])
        output = get_sequence(token_ids, sequence_offsets, output_numbers[k])
        prefix = _compute_common_prefix_length(reference, output)
        suffix = _compute_common_suffix_length(reference[prefix:], output[prefix:])
        counts[k, HITS] = prefix + suffix
        reference = reference[prefix : len(reference) - suffix]
        output = output[prefix : len(output) - suffix]
        if len(reference) == 0 or len(output) == 0:
            counts[k, DELETIONS] = len(reference)
            counts[k, INSERTIONS] = len(output)
        elif _must_be_aligned_by_rapidfuzz(len(reference), len(output)):
            counts[k, HITS] = -1
        else:
            fill_token_position_bitmasks(reference, row_of_token, position_bits)
            _compute_bit_parallel_edit_distance(
                len(reference), output, row_of_token, position_bits, increases, decreases
            )
            _count_edits_along_best_alignment(reference, output, increases, decreases, counts[k])
            set_token_rows_to_zero(reference, row_of_token)
    return counts


@kernel
def _compute_common_prefix_length(first_sequence: TokenIds, second_sequence: TokenIds) -> int:
    """Return how many tokens at the start of two sequences are equal."""
    n = 0
    while n < len(first_sequence) and n < len(second_sequence) and first_sequence[n] == second_sequence[n]:
        n += 1
    return n


@kernel
def _compute_common_suffix_length(first_sequence: TokenIds, second_sequence: TokenIds) -> int:
    """Return how many tokens at the end of two sequences are equal."""
    n = 0
    while (
        n < len(first_sequence)
        and n < len(second_sequence)
        and first_sequence[len(first_sequence) - 1 - n] == second_sequence[len(second_sequence) - 1 - n]
    ):
        n += 1
    return n


@kernel
def _must_be_aligned_by_rapidfuzz(reference_length: int, output_length: int) -> bool:
    """Return whether two sequences are so long that the library rapidfuzz splits them and may find another
    alignment.
    """
    matrix_bytes = 2 * reference_length * output_length // 8
    return reference_length >= 65 and output_length >= 10 and matrix_bytes >= SPLIT_MATRIX_BYTES


@kernel
def _compute_bit_parallel_edit_distance(
    reference_length: int,
    output: TokenIds,
    row_of_token: TokenIds,
    token_position_bitmasks: BitVectors,
    distance_increases: BitVectors,
    distance_decreases: BitVectors,
) -> None:
    """Compute the edit distance matrix of two token sequences as bit vectors, which say where the distance
    rises and falls.

    Bit i of block b of `distance_increases` (`distance_decreases`) is set where the distance grows (falls) by
    one from reference position 64·b + i − 1 to the next. Names of the vectors in Hyyrö (2003):
    VP, VN, D0, HP and HN.
    """
    blocks = count_blocks_of_64_bits(reference_length)
    for j in range(len(output)):
        row = row_of_token[output[j]]
        carry_horizontal_increase = ONE_BIT
        carry_horizontal_decrease = ZERO_BITS
        for b in range(blocks):
            vector = j * blocks + b
            increase = distance_increases[vector - blocks] if j > 0 else ALL_BITS
            decrease = distance_decreases[vector - blocks] if j > 0 else ZERO_BITS
            match = (
                token_position_bitmasks[row, b] | carry_horizontal_decrease
                if row > 0
                else carry_horizontal_decrease
            )
            diagonal_zero = (((match & increase) + increase) ^ increase) | match | decrease
            horizontal_increase = decrease | ~(diagonal_zero | increase)
            horizontal_decrease = diagonal_zero & increase
            next_carry_increase = horizontal_increase >> LAST_BIT
            next_carry_decrease = horizontal_decrease >> LAST_BIT
            horizontal_increase = (horizontal_increase << ONE_BIT) | carry_horizontal_increase
            horizontal_decrease = (horizontal_decrease << ONE_BIT) | carry_horizontal_decrease
            carry_horizontal_increase = next_carry_increase
            carry_horizontal_decrease = next_carry_decrease
            distance_increases[vector] = horizontal_decrease | ~(diagonal_zero | horizontal_increase)
            distance_decreases[vector] = horizontal_increase & diagonal_zero


@kernel
def _count_edits_along_best_alignment(
    reference: TokenIds,
    output: TokenIds,
    distance_increases: BitVectors,
    distance_decreases: BitVectors,
    counts_by_kind: NDArray[np.int64],
) -> None:
    """Count the edits of each kind in the alignment of two token sequences with the fewest edits.

    The alignment is followed from its end to its start.
    """
    blocks = count_blocks_of_64_bits(len(reference))
    i = len(reference)
    j = len(output)
    while i > 0 and j > 0:
        block = (i - 1) >> 6
        bit = np.uint64(i - 1) & LAST_BIT
        if (distance_increases[(j - 1) * blocks + block] >> bit) & ONE_BIT:
            counts_by_kind[DELETIONS] += 1
            i -= 1
            continue
        j -= 1
        if j > 0 and (distance_decreases[(j - 1) * blocks + block] >> bit) & ONE_BIT:
            counts_by_kind[INSERTIONS] += 1
            continue
        i -= 1
        counts_by_kind[HITS if reference[i] == output[j] else SUBSTITUTIONS] += 1
    counts_by_kind[DELETIONS] += i
    counts_by_kind[INSERTIONS] += j
