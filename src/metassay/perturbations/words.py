"""Edits of whole words that need no knowledge of the language: removal, insertion, swapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metassay.errors import InputError
from metassay.perturbations import word_kernels
from metassay.perturbations.base import Perturbation, View
from metassay.stats.random import Keys, Stream
from metassay.text.words import replace_spans, without, word_list, word_spans


@dataclass(frozen=True)
class WordEdit(Perturbation[str]):
    """A perturbation of words that is made `strength` times over, on different words."""

    strength: int = 1

    def __post_init__(self) -> None:
        if self.strength < 1:
            raise InputError(f"the strength of {self.name} is {self.strength}, less than 1.")


@dataclass(frozen=True)
class Removal(WordEdit):
    """Drops one random word. At least one word must stay, so outputs of a single word are left alone."""

    name: ClassVar[str] = "removal"
    summary: ClassVar[str] = "drops a random word"

    def words_to_drop(self, words: int) -> int:
        """How many of this many words go."""
        return self.strength if words > self.strength else 0

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output without the words drawn."""
        spans = word_spans(view.output)
        count = self.words_to_drop(len(spans))
        if count == 0:
            return None
        return without(view.output, [spans[i] for i in sorted(stream.sample(len(spans), count))])

    def apply_all(self, views: Sequence[View[str]], keys: Keys) -> list[str | None]:
        """The same, in compiled code."""
        return word_kernels.remove([view.output for view in views], keys, self.words_to_drop)


@dataclass(frozen=True)
class RemovalShare(Removal):
    """Drops 20 % of the words, rounded to the nearest whole number; texts under three words lose none."""

    name: ClassVar[str] = "removal_20"
    default: ClassVar[bool] = False
    summary: ClassVar[str] = "drops 20 % of the words"

    def words_to_drop(self, words: int) -> int:
        """A fifth; never halfway between two whole numbers."""
        return min(round(words * self.strength / 5), max(words - 1, 0))


@dataclass(frozen=True)
class Insertion(WordEdit):
    """Inserts a random word of the language, taken from the data set's own texts, at a random place.

    Places are before each word, and the end when the text does not close with punctuation.
    """

    name: ClassVar[str] = "insertion"
    summary: ClassVar[str] = "inserts a random word from the data set's own list"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the words drawn put in."""
        text, words = view.output, view.collected[self.name]
        spans = word_spans(text)
        if not spans or not words:
            return None
        places = [(start, start) for start, _ in spans]
        if text[-1].isalnum():
            places.append((len(text), len(text)))
        drawn = [(stream.below(len(places)), stream.choice(words)) for _ in range(self.strength)]
        drawn.sort(key=lambda pair: pair[0])
        return replace_spans(
            text, [(places[i], f"{word} " if i < len(spans) else f" {word}") for i, word in drawn]
        )

    def apply_all(self, views: Sequence[View[str]], keys: Keys) -> list[str | None]:
        """The same, in compiled code, for views that share one word list."""
        if not views:
            return []
        words = views[0].collected[self.name]
        return word_kernels.insert([view.output for view in views], keys, words, self.strength)

    def collect(self, texts: Sequence[str], language: str | None, workers: int = 1) -> Any:  # noqa: ARG002
        """The words of the data set in this language."""
        return word_list(texts, language)


@dataclass(frozen=True)
class Swapping(WordEdit):
    """Exchanges two random words that differ, each with the punctuation attached to it."""

    name: ClassVar[str] = "swapping"
    summary: ClassVar[str] = "exchanges two random words"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the words drawn exchanged; no word is moved twice."""
        spans = word_spans(view.output)
        words = [view.output[start:end] for start, end in spans]
        free = list(range(len(words)))
        for _ in range(self.strength):
            if not free:
                return None
            first = stream.choice(free)
            others = [i for i in free if words[i] != words[first]]
            if not others:
                return None
            second = stream.choice(others)
            words[first], words[second] = words[second], words[first]
            free = [i for i in free if i not in {first, second}]
        return replace_spans(view.output, zip(spans, words))

    def apply_all(self, views: Sequence[View[str]], keys: Keys) -> list[str | None]:
        """The same, in compiled code."""
        return word_kernels.swap([view.output for view in views], keys, self.strength)


PERTURBATIONS = (Removal, Insertion, Swapping, RemovalShare)
