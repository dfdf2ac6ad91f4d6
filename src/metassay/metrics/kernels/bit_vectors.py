"""Where each token stands in a sequence, as bit vectors of 64 positions per block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.text_arrays import TokenIds
from metassay.stats.compilation import kernel

BitVectors = NDArray[np.uint64]

ZERO_BITS = np.uint64(0)
ONE_BIT = np.uint64(1)
ALL_BITS = ~np.uint64(0)
# The highest position in a block; also the mask that takes a position to its place in its block.
LAST_BIT = np.uint64(63)


@kernel
def count_blocks_of_64_bits(bit_count: int) -> int:
    """Return how many 64-bit integers a vector with this number of bits needs."""
    return (bit_count + 63) // 64


@kernel
def fill_token_position_bitmasks(
    token_ids: TokenIds, row_of_token: TokenIds, position_bitmasks: BitVectors
) -> None:
    """Set the bits of all positions at which each token of a sequence occurs.

    Tokens get rows from 1 on, in the order in which they occur; `row_of_token` must be 0 for all of them
    before. Row 0 is left to tokens that do not occur.
    """
    blocks = count_blocks_of_64_bits(len(token_ids))
    rows = 0
    for i in range(len(token_ids)):
        row = row_of_token[token_ids[i]]
        if row == 0:
            rows += 1
            row = rows
            row_of_token[token_ids[i]] = row
            for block in range(blocks):
                position_bitmasks[row, block] = ZERO_BITS
        position_bitmasks[row, i >> 6] |= ONE_BIT << (np.uint64(i) & LAST_BIT)


@kernel
def set_token_rows_to_zero(token_ids: TokenIds, row_of_token: TokenIds) -> None:
    """Set the entries of a sequence's tokens back to 0, so that the array can be used for another
    sequence.
    """
    for i in range(len(token_ids)):
        row_of_token[token_ids[i]] = 0
