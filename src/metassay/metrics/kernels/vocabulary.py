"""A hash table that gives every distinct word an integer, for use inside kernels.

Numbering is exact: a hash only says where to look, and the code points decide whether two words are equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.text_arrays import CodePoints, Offsets, TokenIds
from metassay.stats.compilation import kernel

# FNV-1a, 64 bits
_FNV_BASIS = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_EMPTY_SLOT = np.uint64(0)
# A power of two, because slots are found with a bit mask.
_INITIAL_CAPACITY = 1 << 12


class Vocabulary(NamedTuple):
    """A hash table, for compiled code, that gives every distinct word an integer.

    Word w is `code_points[word_offsets[w] : word_offsets[w + 1]]`.
    """

    hashes: NDArray[np.uint64]
    """The hash of the word in each slot; 0 where the slot is empty."""
    word_in_slot: TokenIds
    word_offsets: Offsets
    code_points: CodePoints


@kernel
def create_vocabulary() -> Vocabulary:
    """Create an empty hash table that will give every distinct word an integer."""
    return Vocabulary(
        np.zeros(_INITIAL_CAPACITY, np.uint64),
        np.zeros(_INITIAL_CAPACITY, np.int32),
        np.zeros(_INITIAL_CAPACITY // 2 + 1, np.int64),
        np.zeros(8 * _INITIAL_CAPACITY, np.uint32),
    )


@kernel
def look_up_word_ids(
    text: CodePoints,
    word_starts: Offsets,
    word_ends: Offsets,
    first_word: int,
    word_count: int,
    vocabulary: Vocabulary,
    vocabulary_size: int,
    word_ids: TokenIds,
) -> tuple[int, int]:
    """Find the integer of each word of a text. New words get the next free integers.

    It begins with word `first_word`. Word i is `text[word_starts[i] : word_ends[i]]`. Stops early when the
    table is full: enlarge it, and call again. Returns how many of the `word_count` words have an id, and how
    many words the vocabulary has then.
    """
    hashes, word_in_slot, word_offsets, pool = vocabulary
    slot_mask = np.uint64(len(hashes) - 1)
    for i in range(first_word, word_count):
        start = word_starts[i]
        length = word_ends[i] - start
        hash_value = _FNV_BASIS
        for k in range(length):
            hash_value = (hash_value ^ np.uint64(text[start + k])) * _FNV_PRIME
        # The lowest bit is set so that no hash is 0, which marks an empty slot.
        hash_value = (hash_value ^ (hash_value >> np.uint64(32))) | np.uint64(1)
        slot = (hash_value >> np.uint64(1)) & slot_mask
        word = -1
        while hashes[slot] != _EMPTY_SLOT:
            if hashes[slot] == hash_value:
                candidate = word_in_slot[slot]
                candidate_start = word_offsets[candidate]
                equal = word_offsets[candidate + 1] - candidate_start == length
                k = 0
                while equal and k < length:
                    equal = pool[candidate_start + k] == text[start + k]
                    k += 1
                if equal:
                    word = int(candidate)
                    break
            slot = (slot + np.uint64(1)) & slot_mask
        if word < 0:
            pool_end = word_offsets[vocabulary_size]
            if vocabulary_size + 1 >= len(word_offsets) or pool_end + length > len(pool):
                return i, vocabulary_size
            hashes[slot] = hash_value
            word_in_slot[slot] = vocabulary_size
            for k in range(length):
                pool[pool_end + k] = text[start + k]
            word_offsets[vocabulary_size + 1] = pool_end + length
            word = vocabulary_size
            vocabulary_size += 1
        word_ids[i] = word
    return word_count, vocabulary_size


@kernel
def copy_to_larger_vocabulary(vocabulary: Vocabulary, word_count: int, next_word_length: int) -> Vocabulary:
    """Copy the words of a vocabulary to one with four times as much room."""
    capacity = 4 * len(vocabulary.hashes)
    word_offsets = np.zeros(capacity // 2 + 1, np.int64)
    for word in range(word_count + 1):
        word_offsets[word] = vocabulary.word_offsets[word]
    pool = np.zeros(4 * len(vocabulary.code_points) + next_word_length, np.uint32)
    for position in range(word_offsets[word_count]):
        pool[position] = vocabulary.code_points[position]
    hashes = np.zeros(capacity, np.uint64)
    word_in_slot = np.zeros(capacity, np.int32)
    slot_mask = np.uint64(capacity - 1)
    for old_slot in range(len(vocabulary.hashes)):
        if vocabulary.hashes[old_slot] != _EMPTY_SLOT:
            slot = (vocabulary.hashes[old_slot] >> np.uint64(1)) & slot_mask
            while hashes[slot] != _EMPTY_SLOT:
                slot = (slot + np.uint64(1)) & slot_mask
            hashes[slot] = vocabulary.hashes[old_slot]
            word_in_slot[slot] = vocabulary.word_in_slot[old_slot]
    return Vocabulary(hashes, word_in_slot, word_offsets, pool)
