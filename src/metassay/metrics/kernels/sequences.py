"""Read token sequences that are stored one after the other in a single array."""

from __future__ import annotations

import numpy as np

from metassay.metrics.kernels.text_arrays import Offsets, Positions, TokenIds
from metassay.stats.compilation import kernel


@kernel
def get_sequence(token_ids: TokenIds, sequence_offsets: Offsets, sequence_number: int) -> TokenIds:
    """Return the token ids of the sequence with this number."""
    return token_ids[sequence_offsets[sequence_number] : sequence_offsets[sequence_number + 1]]


@kernel
def find_length_of_longest_sequence(sequence_offsets: Offsets) -> int:
    """Return the length of the longest token sequence, or 1 if all sequences are empty."""
    longest = 1
    for k in range(len(sequence_offsets) - 1):
        longest = max(longest, sequence_offsets[k + 1] - sequence_offsets[k])
    return longest


@kernel
def find_maximum_distinct_token_count(
    token_ids: TokenIds, sequence_offsets: Offsets, vocabulary_size: int, sequence_numbers: Positions
) -> int:
    """Return the highest number of distinct tokens in any of the given token sequences."""
    last_seen_in = np.full(vocabulary_size, -1, np.int64)
    largest = 0
    for sequence in sequence_numbers:
        distinct = 0
        for i in range(sequence_offsets[sequence], sequence_offsets[sequence + 1]):
            if last_seen_in[token_ids[i]] != sequence:
                last_seen_in[token_ids[i]] = sequence
                distinct += 1
        largest = max(largest, distinct)
    return largest
