"""Texts as arrays of code points, and the words in them as `text.words` finds them, for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import LongArray
from metassay.stats.compilation import kernel

# Kinds of characters. Digits are letters.
PUNCTUATION, SPACE, LETTER = range(3)

CodePoints = NDArray[np.uint32]
# The kind of each code point, up to the largest one in the texts.
CharacterKinds = NDArray[np.uint8]


class ClassifiedTexts(NamedTuple):
    """Many texts as one array of code points (characters as numbers), with the position at which each text
    begins.

    Text k is `code_points[offsets[k] : offsets[k + 1]]`.
    """

    code_points: CodePoints
    offsets: LongArray
    kinds: CharacterKinds


def classify_characters_of_texts(texts: Sequence[str]) -> ClassifiedTexts:
    """Concatenate texts to one array of code points."""
    # Four bytes for each character, so that positions are the same as in the text. Texts may have lone
    # surrogates, which the usual encoder refuses.
    encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
    code_points = np.frombuffer(encoded, dtype=np.uint32)
    offsets = np.zeros(len(texts) + 1, np.int64)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    np.cumsum(lengths, out=offsets[1:])
    kinds = np.zeros(int(code_points.max(initial=0)) + 1, np.uint8)
    kinds[code_points] = 1  # marks the characters that occur, because a look at all of Unicode is slow
    for code_point in np.flatnonzero(kinds).tolist():
        kinds[code_point] = _classify_character(chr(code_point))
    return ClassifiedTexts(code_points, offsets, kinds)


def _classify_character(character: str) -> int:
    """Return whether a character is a space, a letter or digit, or punctuation, as an integer."""
    if character.isspace():
        return SPACE
    return LETTER if character.isalnum() else PUNCTUATION


def split_code_points_into_texts(code_points: CodePoints, lengths: LongArray) -> list[str | None]:
    """Split an array of code points into texts of the given lengths. A negative length stands for None."""
    ends = np.cumsum(np.maximum(lengths, 0))
    used = code_points[: ends[-1] if ends.size else 0]
    joined = used.tobytes().decode("utf-32-le", "surrogatepass")
    texts: list[str | None] = []
    for length, end in zip(lengths.tolist(), ends.tolist()):
        texts.append(None if length < 0 else joined[end - length : end])
    return texts


@kernel
def write_word_boundaries(
    code_points: CodePoints,
    character_kinds: CharacterKinds,
    text_start: int,
    text_end: int,
    word_starts: LongArray,
    word_ends: LongArray,
) -> int:
    """Write the start and end of each word of a text to two arrays, and return the number of words."""
    count = 0
    i = text_start
    while i < text_end:
        while i < text_end and character_kinds[code_points[i]] == SPACE:
            i += 1
        word_start = i
        is_word = False
        while i < text_end and character_kinds[code_points[i]] != SPACE:
            is_word |= character_kinds[code_points[i]] == LETTER
            i += 1
        if is_word:
            word_starts[count] = word_start
            word_ends[count] = i
            count += 1
    return count


@kernel
def find_maximum_word_count(text_offsets: LongArray) -> int:
    """Return a number that the number of words of no text exceeds.

    `text_offsets` says where each text begins in an array of characters.
    """
    longest = 0
    for i in range(text_offsets.size - 1):
        longest = max(longest, text_offsets[i + 1] - text_offsets[i])
    # Words are separated by at least one space, so that at most every second character begins one.
    return longest // 2 + 2
