"""Texts and token sequences as flat arrays, the form that kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CodePoints = NDArray[np.uint32]
TokenIds = NDArray[np.int32]
# Where each text or sequence begins in a flat array, and where the last one ends: n + 1 entries.
Offsets = NDArray[np.int64]
# Numbers of texts or sequences, counted from 0.
Positions = NDArray[np.int64]


class PackedTexts(NamedTuple):
    """Many texts in one array of Unicode code points, with the position at which each text begins.

    Text k is `code_points[offsets[k] : offsets[k + 1]]`.
    """

    code_points: CodePoints
    offsets: Offsets


class TokenSequences(NamedTuple):
    """Many token sequences as one array of integers, with the position at which each sequence begins.

    Sequence k is `ids[offsets[k] : offsets[k + 1]]`. Equal tokens have equal ids, and all ids are below
    `vocabulary_size`.
    """

    ids: TokenIds
    offsets: Offsets
    vocabulary_size: int


def convert_texts_to_code_points(texts: Sequence[str]) -> PackedTexts:
    """Convert a list of texts to one array of Unicode code points, with the position at which each text
    begins.

    Lone surrogates are kept as they are.
    """
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    np.cumsum(lengths, out=offsets[1:])
    encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
    return PackedTexts(np.frombuffer(encoded, np.uint32), offsets)


def convert_code_points_to_texts(packed_texts: PackedTexts) -> list[str]:
    """Convert an array of Unicode code points back to a list of texts."""
    joined = packed_texts.code_points.tobytes().decode("utf-32-le", "surrogatepass")
    return [joined[start:end] for start, end in zip(packed_texts.offsets[:-1], packed_texts.offsets[1:])]
