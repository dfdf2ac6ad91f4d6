"""A hash table from texts to numbers that compiled code can search letter by letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import LongArray, compute_row_offsets
from metassay.stats.compilation import kernel

CodePoints = NDArray[np.uint32]


class HashTable(NamedTuple):
    """A hash table from texts to integers, searched by the hash of a text."""

    hashes: NDArray[np.uint64]
    numbers: LongArray


def get_code_points(text: str) -> CodePoints:
    """Return the Unicode code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def build_hash_table(texts: Sequence[str]) -> HashTable:
    """Build a hash table from distinct texts to their positions in a sequence."""
    hashes, numbers = _fill_hash_table(get_code_points("".join(texts)), compute_row_offsets(texts))
    return HashTable(hashes, numbers)


@kernel
def extend_hash(text_hash: np.uint64, code_point: np.uint32) -> np.uint64:
    """Return the hash of a text with one more character; the hash of the empty text is 1.

    With 64 bits, no two texts have the same hash in practice.
    """
    # 2**64 divided by the golden ratio, the usual factor of multiplicative hashing (Knuth). The shift brings
    # high bits down, because slots are chosen by the low ones.
    mixed = (text_hash ^ np.uint64(code_point)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))


@kernel
def look_up_hash(text_hash: np.uint64, table: HashTable) -> np.int64:
    """Return the integer of the text with a hash; -1 if the table does not contain it."""
    last_slot = len(table.hashes) - 1
    slot = np.int64(text_hash & np.uint64(last_slot))
    while table.numbers[slot] >= 0 and table.hashes[slot] != text_hash:
        slot = (slot + 1) & last_slot
    return np.int64(table.numbers[slot])


@kernel
def _fill_hash_table(code_points: CodePoints, offsets: LongArray) -> tuple[NDArray[np.uint64], LongArray]:
    """Enter the hash of each text and its number into the arrays of a hash table."""
    size = 4
    # A power of two lets a bit mask replace the division. At most half of the slots are used, so that
    # searches end soon.
    while size < 2 * len(offsets):
        size *= 2
    hashes = np.zeros(size, np.uint64)
    numbers = np.full(size, -1, np.int64)
    for number in range(len(offsets) - 1):
        text_hash = np.uint64(1)
        for position in range(offsets[number], offsets[number + 1]):
            text_hash = extend_hash(text_hash, code_points[position])
        slot = np.int64(text_hash & np.uint64(size - 1))
        while numbers[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        hashes[slot] = text_hash
        numbers[slot] = number
    return hashes, numbers
