"""The words of many texts as numbers, so that each distinct word is examined once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from metassay.stats.arrays import BoolArray, LongArray

_WORD = re.compile(r"\w+")
_WORD_WITH_HYPHENS = re.compile(r"[\w-]+")
_NON_SPACE = re.compile(r"\S+")


@dataclass(frozen=True)
class IndexedWords:
    """The words of many texts as numbers: word `i` of all texts is `vocabulary[numbers[i]]`."""

    vocabulary: list[str]
    numbers: LongArray
    offsets: LongArray
    """The words of text `k` are those from `offsets[k]` to `offsets[k + 1]`."""
    positions: LongArray
    """Where each word begins in its text."""

    def find_matching_vocabulary(self, predicate: Callable[[str], bool]) -> BoolArray:
        """Return a mask of the distinct words that satisfy a predicate."""
        return np.fromiter(map(predicate, self.vocabulary), np.bool_, len(self.vocabulary))

    def find_texts_with_word(self, predicate: Callable[[str], bool]) -> BoolArray:
        """Return a mask of the texts that have a word which satisfies a predicate."""
        return self.find_texts_with_marked_words(self.find_matching_vocabulary(predicate)[self.numbers])

    def find_texts_with_marked_words(self, is_hit: BoolArray) -> BoolArray:
        """Return a mask of the texts that have a marked word; `is_hit` marks words of all texts."""
        hits_before = np.concatenate([[0], np.cumsum(is_hit)])[self.offsets]
        return np.asarray(hits_before[1:] > hits_before[:-1])


def index_words(texts: Sequence[str], *, hyphens: bool = False) -> IndexedWords:
    r"""Split texts into words (runs of `\w` and, with `hyphens`, of hyphens) and number the words.

    >>> words = index_words(["Well-known words.", "words"], hyphens=True)
    >>> words.vocabulary, words.numbers.tolist(), words.find_texts_with_word("words".__eq__).tolist()
    (['Well-known', 'words'], [0, 1, 1], [True, True])
    """
    return _index_matches(texts, _WORD_WITH_HYPHENS if hyphens else _WORD)


def index_non_space_runs(texts: Sequence[str]) -> IndexedWords:
    """Split texts at white space and number the distinct parts."""
    return _index_matches(texts, _NON_SPACE)


def _index_matches(texts: Sequence[str], pattern: re.Pattern[str]) -> IndexedWords:
    """Number the distinct matches of a pattern in texts."""
    number_of: dict[str, int] = {}
    numbers: list[int] = []
    positions: list[int] = []
    offsets = [0]
    for text in texts:
        for match in pattern.finditer(text):
            numbers.append(number_of.setdefault(match[0], len(number_of)))
            positions.append(match.start())
        offsets.append(len(numbers))
    return IndexedWords(
        vocabulary=list(number_of),
        numbers=np.array(numbers, np.int64),
        offsets=np.array(offsets, np.int64),
        positions=np.array(positions, np.int64),
    )
