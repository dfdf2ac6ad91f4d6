"""Texts as arrays of code points, and the words in them, for compiled code: as `text.words` finds them where
there are spaces, as the rule of `text.segmentation` does where there are none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import LongArray
from metassay.stats.compilation import kernel
from metassay.text.segmentation import HAN, HIRAGANA, KATAKANA, SINGLE_HAN

OTHER, SPACE, LETTER, SINGLE, PAIRED, SOFT, HARD, JOINT = range(8)
"""Kinds of characters; the last five where there are no spaces: Han that stands alone or in pairs, Hiragana,
Katakana, and what joins two runs of letters."""

Codes = NDArray[np.uint32]
Kinds = NDArray[np.uint8]
"""What kind of character each code point is, as far as the texts hold it."""

_UNSPACED = tuple(
    (kind, re.compile(f"[{characters}]"))
    for kind, characters in (
        (SINGLE, SINGLE_HAN),
        (PAIRED, HAN),
        (SOFT, HIRAGANA),
        (HARD, KATAKANA),
        (JOINT, "-'’.,"),
    )
)


def pack(texts: Sequence[str], *, spaced: bool) -> tuple[Codes, LongArray, Kinds]:
    """Code points of all texts, where each text starts, and the kinds of characters."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    kinds = np.zeros(int(codes.max(initial=0)) + 1, np.uint8)
    kinds[codes] = 1
    for code in np.flatnonzero(kinds).tolist():
        kinds[code] = kind_of(chr(code), spaced=spaced)
    return codes, offsets, kinds


def kind_of(character: str, *, spaced: bool) -> int:
    """The kind of a character in texts with spaces between words, or without."""
    if not spaced:
        own = next((kind for kind, pattern in _UNSPACED if pattern.match(character)), None)
        if own is not None:
            return own
    return SPACE if character.isspace() else LETTER if character.isalnum() else OTHER


def unpack(out: Codes, lengths: LongArray) -> list[str | None]:
    """The texts that a kernel wrote one after the other; None for a length below zero."""
    ends = np.cumsum(np.maximum(lengths, 0))
    text = out[: ends[-1] if ends.size else 0].tobytes().decode("utf-32-le", "surrogatepass")
    spans = zip(lengths.tolist(), ends.tolist())
    return [None if length < 0 else text[end - length : end] for length, end in spans]


@kernel
def find_words(
    codes: Codes, kinds: Kinds, start: int, stop: int, starts: LongArray, ends: LongArray, spaced: bool
) -> int:
    """Fills in the word spans of one text and returns how many there are."""
    count, i = 0, start
    while i < stop:
        begin = i
        if spaced:
            while i < stop and kinds[codes[i]] == SPACE:
                i += 1
            begin, is_word = i, False
            while i < stop and kinds[codes[i]] != SPACE:
                is_word |= kinds[codes[i]] == LETTER
                i += 1
        else:
            i = _after_word(codes, kinds, i, stop)
            is_word = i > begin
            i = max(i, begin + 1)
        if is_word:
            starts[count], ends[count] = begin, i
            count += 1
    return count


@kernel
def _after_word(codes: Codes, kinds: Kinds, start: int, stop: int) -> int:
    """Where the word ends that starts here, in a text without spaces; here, where none does."""
    kind, i = kinds[codes[start]], start + 1
    if kind == SINGLE:
        return i
    if kind == PAIRED:
        return i + 1 if i < stop and kinds[codes[i]] == PAIRED else i
    if kind in (SOFT, HARD, LETTER):
        while i < stop and (
            kinds[codes[i]] == kind
            or (
                kind == LETTER and i + 1 < stop and kinds[codes[i]] == JOINT and kinds[codes[i + 1]] == LETTER
            )
        ):
            i += 1
        return i
    return start


@kernel
def room(offsets: LongArray, spaced: bool) -> int:
    """The most words any one text can have."""
    longest = 0
    for i in range(offsets.size - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest // 2 + 2 if spaced else longest + 1
