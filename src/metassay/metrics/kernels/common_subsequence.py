"""Lengths of longest common subsequences, 64 positions at a time on bit vectors (Hyyrö, 2004).

A loop over rapidfuzz instead makes ROUGE-L a third slower.
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


@kernel
def compute_longest_common_subsequence_lengths(
    token_ids: TokenIds,
    sequence_offsets: Offsets,
    vocabulary_size: int,
    output_numbers: Positions,
    reference_numbers: Positions,
) -> NDArray[np.int64]:
    """Compute the length of the longest common subsequence of each output and its reference, in tokens.

    Returns [inputs].

    Inputs with the same reference should follow each other, because each reference is prepared only when it
    differs from the one before.
    """
    row_of_token = np.zeros(vocabulary_size, np.int32)
    most_distinct = find_maximum_distinct_token_count(
        token_ids, sequence_offsets, vocabulary_size, reference_numbers
    )
    most_blocks = count_blocks_of_64_bits(find_length_of_longest_sequence(sequence_offsets))
    position_bitmasks = np.zeros((most_distinct + 1, most_blocks), np.uint64)
    subsequence_bits = np.empty(most_blocks, np.uint64)
    lengths = np.zeros(len(output_numbers), np.int64)
    for k in range(len(output_numbers)):
        reference = get_sequence(token_ids, sequence_offsets, reference_numbers[k])
        block_count = count_blocks_of_64_bits(len(reference))
        if k == 0 or reference_numbers[k] != reference_numbers[k - 1]:
            if k > 0:
                previous = reference_numbers[k - 1]
                set_token_rows_to_zero(get_sequence(token_ids, sequence_offsets, previous), row_of_token)
            fill_token_position_bitmasks(reference, row_of_token, position_bitmasks)
        output = get_sequence(token_ids, sequence_offsets, output_numbers[k])
        for block in range(block_count):
            subsequence_bits[block] = ALL_BITS
        for j in range(len(output)):
            row = row_of_token[output[j]]
            if row > 0:
                _update_common_subsequence_with_token(position_bitmasks[row], block_count, subsequence_bits)
        lengths[k] = _count_zero_bits(subsequence_bits, len(reference))
    return lengths


@kernel
def _update_common_subsequence_with_token(
    token_position_bits: BitVectors, block_count: int, subsequence_bits: BitVectors
) -> None:
    """Update the bit vector of the longest common subsequence with the next token of the output."""
    carry = ZERO_BITS
    for block in range(block_count):
        old = subsequence_bits[block]
        matched = old & token_position_bits[block]
        # The bits are one long number: an addition that overflows a block carries into the next.
        added = old + matched
        added_with_carry = added + carry
        has_overflow = added < old or added_with_carry < added
        carry = ONE_BIT if has_overflow else ZERO_BITS
        subsequence_bits[block] = added_with_carry | (old - matched)


@kernel
def _count_zero_bits(bit_vector: BitVectors, bit_count: int) -> int:
    """Count the bits of a bit vector that are 0."""
    count = 0
    for i in range(bit_count):
        count += 1 - int((bit_vector[i >> 6] >> (np.uint64(i) & LAST_BIT)) & ONE_BIT)
    return count
