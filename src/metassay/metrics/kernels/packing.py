"""Texts as arrays of code points, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Codes = NDArray[np.uint32]
Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]


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


@njit(cache=True, nogil=True)
def most_distinct(ids: Ids, offsets: Offsets, size: int, sequences: Offsets) -> int:
    """The largest number of distinct tokens that one of the named sequences has."""
    seen_in = np.full(size, -1, np.int64)
    most = 0
    for k in sequences:
        distinct = 0
        for i in range(offsets[k], offsets[k + 1]):
            if seen_in[ids[i]] != k:
                seen_in[ids[i]] = k
                distinct += 1
        most = max(most, distinct)
    return most
