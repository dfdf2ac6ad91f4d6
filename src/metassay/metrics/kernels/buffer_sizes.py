"""How large the buffers of a kernel must be."""

from __future__ import annotations

import numpy as np

from metassay.metrics.kernels.text_arrays import Offsets, Positions, TokenIds
from metassay.stats.compilation import kernel


@kernel
def find_longest_sequence_length(offsets: Offsets) -> int:
    """Return the length of the longest sequence, but at least 1, so that a buffer of this size is never
    empty.
    """
    longest = 1
    for k in range(len(offsets) - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    return longest


@kernel
def find_maximum_distinct_token_count(
    ids: TokenIds, offsets: Offsets, vocabulary_size: int, sequences: Positions
) -> int:
    """Return the highest number of distinct tokens that any of the given sequences has."""
    last_seen_in = np.full(vocabulary_size, -1, np.int64)
    largest = 0
    for sequence in sequences:
        distinct = 0
        for i in range(offsets[sequence], offsets[sequence + 1]):
            if last_seen_in[ids[i]] != sequence:
                last_seen_in[ids[i]] = sequence
                distinct += 1
        largest = max(largest, distinct)
    return largest
