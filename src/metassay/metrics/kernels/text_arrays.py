"""Texts as arrays: code points one after another, and words as integers, one for each distinct word.

The numbering is exact: a hash only says where to look, the code points decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.stats.compilation import kernel

Codes = NDArray[np.uint32]
Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]
_FNV_BASIS = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_FREE = np.uint64(0)
_FIRST_CAPACITY = 1 << 12


class Packed(NamedTuple):
    """Text k is `codes[offsets[k] : offsets[k + 1]]`."""

    codes: Codes
    offsets: Offsets


class Tokens(NamedTuple):
    """Token sequences as integers: sequence k is `ids[offsets[k] : offsets[k + 1]]`, ids lie below `size`."""

    ids: Ids
    offsets: Offsets
    size: int


def pack(texts: Sequence[str]) -> Packed:
    """The code points of the texts. Lone surrogates are code points like others."""
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    return Packed(np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32), offsets)


def unpack(packed: Packed) -> list[str]:
    """The texts again."""
    text = packed.codes.tobytes().decode("utf-32-le", "surrogatepass")
    return [text[start:end] for start, end in zip(packed.offsets[:-1], packed.offsets[1:])]


@kernel
def most_distinct(ids: Ids, offsets: Offsets, size: int, sequences: Offsets) -> int:
    """The largest number of distinct tokens that one of the named sequences has."""
    seen_in = np.empty(size, np.int64)
    for token in range(size):
        seen_in[token] = -1
    most = 0
    for k in sequences:
        distinct = 0
        for i in range(offsets[k], offsets[k + 1]):
            if seen_in[ids[i]] != k:
                seen_in[ids[i]] = k
                distinct += 1
        most = max(most, distinct)
    return most


class Vocabulary(NamedTuple):
    """An open-addressing table of words, at most half full: word w is `pool[starts[w] : starts[w + 1]]`."""

    hashes: NDArray[np.uint64]
    """0 where a slot is free."""
    words: Ids
    starts: Offsets
    pool: Codes


@kernel
def new_vocabulary() -> Vocabulary:
    """A table without words."""
    return Vocabulary(
        np.zeros(_FIRST_CAPACITY, np.uint64),
        np.zeros(_FIRST_CAPACITY, np.int32),
        np.zeros(_FIRST_CAPACITY // 2 + 1, np.int64),
        np.zeros(8 * _FIRST_CAPACITY, np.uint32),
    )


@kernel
def number_words(
    text: Codes,
    starts: Offsets,
    ends: Offsets,
    first: int,
    count: int,
    table: Vocabulary,
    size: int,
    ids: Ids,
) -> tuple[int, int]:
    """Numbers the words from `first` on, entering new ones, until all are done or the table is full.

    Returns how many of the `count` words are done and how many the table holds.
    """
    hashes, words, word_starts, pool = table
    mask = np.uint64(len(hashes) - 1)
    for i in range(first, count):
        start, length = starts[i], ends[i] - starts[i]
        value = _FNV_BASIS
        for k in range(length):
            value = (value ^ np.uint64(text[start + k])) * _FNV_PRIME
        value = (value ^ (value >> np.uint64(32))) | np.uint64(1)
        slot = (value >> np.uint64(1)) & mask
        word = -1
        while hashes[slot] != _FREE:
            if hashes[slot] == value:
                candidate = words[slot]
                begin = word_starts[candidate]
                same = word_starts[candidate + 1] - begin == length
                k = 0
                while same and k < length:
                    same = pool[begin + k] == text[start + k]
                    k += 1
                if same:
                    word = int(candidate)
                    break
            slot = (slot + np.uint64(1)) & mask
        if word < 0:
            used = word_starts[size]
            if size + 1 >= len(word_starts) or used + length > len(pool):
                return i, size
            hashes[slot], words[slot] = value, size
            for k in range(length):
                pool[used + k] = text[start + k]
            word_starts[size + 1] = used + length
            word = size
            size += 1
        ids[i] = word
    return count, size


@kernel
def enlarged(table: Vocabulary, size: int, length: int) -> Vocabulary:
    """A copy of the table with room for more words, one of this length among them."""
    capacity = 4 * len(table.hashes)
    starts = np.zeros(capacity // 2 + 1, np.int64)
    for word in range(size + 1):
        starts[word] = table.starts[word]
    pool = np.zeros(4 * len(table.pool) + length, np.uint32)
    for place in range(starts[size]):
        pool[place] = table.pool[place]
    hashes, words = np.zeros(capacity, np.uint64), np.zeros(capacity, np.int32)
    mask = np.uint64(capacity - 1)
    for old in range(len(table.hashes)):
        if table.hashes[old] != _FREE:
            slot = (table.hashes[old] >> np.uint64(1)) & mask
            while hashes[slot] != _FREE:
                slot = (slot + np.uint64(1)) & mask
            hashes[slot], words[slot] = table.hashes[old], table.words[old]
    return Vocabulary(hashes, words, starts, pool)
