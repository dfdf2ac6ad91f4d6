"""Edits of whole words that need no knowledge of the language: removal, insertion, swapping.

Words stand between spaces. In languages written without them, and in texts of unknown language whose script
is, they are found by segmentation, and an edit leaves no space behind.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metassay.errors import InputError
from metassay.perturbations import word_kernels
from metassay.perturbations.base import Perturbation, View
from metassay.stats.streams import Keys, Stream
from metassay.text.segmentation import (
    add_needed_spaces,
    is_segmented_by_script,
    is_written_without_spaces,
    list_insertable_words,
    remove_words_without_spaces,
    segment,
)
from metassay.text.words import Span, find_words, remove_words, replace_spans


@dataclass(frozen=True)
class WordEdit(Perturbation[str]):
    """A perturbation of words that is made `strength` times over, on different words."""

    strength: int = 1

    def __post_init__(self) -> None:
        if self.strength < 1:
            raise InputError(f"the strength of {self.name} is {self.strength}, less than 1.")


@dataclass(frozen=True)
class AnyLanguageEdit(WordEdit):
    """A word edit for every language and script, compiled for texts with spaces."""

    needs_spaces: ClassVar[bool] = False

    def apply_all(self, views: Sequence[View[str]], keys: Keys) -> list[str | None]:
        """The same, in compiled code but for texts that a segmenter cuts; views share what was collected."""
        spaceless = [
            i for i, view in enumerate(views) if is_written_without_spaces(view.output, view.language)
        ]
        if not spaceless:
            return self.compiled(views, keys, spaced=True)
        by_script = [i for i in spaceless if is_segmented_by_script(views[i].output, views[i].language)]
        if len(by_script) == len(views):
            return self.compiled(views, keys, spaced=False)
        worse: list[str | None] = [None] * len(views)
        for i in set(spaceless).difference(by_script):
            worse[i] = self.apply(views[i], Stream(int(keys[i])))
        rest = sorted(set(range(len(views))).difference(spaceless))
        for own, spaced in ((by_script, False), (rest, True)):
            for i, text in zip(own, self.compiled([views[i] for i in own], keys[own], spaced=spaced)):
                worse[i] = text
        return worse

    @abstractmethod
    def compiled(self, views: Sequence[View[str]], keys: Keys, *, spaced: bool) -> list[str | None]:
        """`apply` in compiled code, on texts with spaces or on such as are cut by their scripts."""


def words_of(view: View[str]) -> tuple[list[Span], bool]:
    """The words of an output, and whether it is written with spaces."""
    if is_written_without_spaces(view.output, view.language):
        return segment(view.output, view.language), False
    return find_words(view.output), True


@dataclass(frozen=True)
class Removal(AnyLanguageEdit):
    """Drops one random word. At least one word must stay, so outputs of a single word are left alone."""

    name: ClassVar[str] = "removal"
    summary: ClassVar[str] = "drops a random word"

    def words_to_drop(self, words: int) -> int:
        """How many of this many words go."""
        return self.strength if words > self.strength else 0

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output without the words drawn."""
        spans, spaced = words_of(view)
        count = self.words_to_drop(len(spans))
        if count == 0:
            return None
        cut = remove_words if spaced else remove_words_without_spaces
        return cut(view.output, [spans[i] for i in sorted(stream.sample(len(spans), count))])

    def compiled(self, views: Sequence[View[str]], keys: Keys, *, spaced: bool) -> list[str | None]:
        """The same, in compiled code."""
        return word_kernels.remove([view.output for view in views], keys, self.words_to_drop, spaced=spaced)


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
class Insertion(AnyLanguageEdit):
    """Inserts a random word of the language, taken from the data set's own texts, at a random place.

    Places are before each word, and the end when the text does not close with punctuation.
    """

    name: ClassVar[str] = "insertion"
    summary: ClassVar[str] = "inserts a random word from the data set's own list"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the words drawn put in."""
        text, words = view.output, view.collected[self.name]
        spans, spaced = words_of(view)
        if not spans or not words:
            return None
        places = [(start, start) for start, _ in spans]
        if text[-1].isalnum():
            places.append((len(text), len(text)))
        drawn = [(stream.draw_below(len(places)), stream.choice(words)) for _ in range(self.strength)]
        drawn.sort(key=lambda pair: pair[0])
        if not spaced:
            return replace_spans(
                text, [(places[i], add_needed_spaces(text, places[i][0], word)) for i, word in drawn]
            )
        return replace_spans(
            text, [(places[i], f"{word} " if i < len(spans) else f" {word}") for i, word in drawn]
        )

    def compiled(self, views: Sequence[View[str]], keys: Keys, *, spaced: bool) -> list[str | None]:
        """The same, in compiled code, for views that share one word list."""
        if not views:
            return []
        words = views[0].collected[self.name]
        return word_kernels.insert([view.output for view in views], keys, words, self.strength, spaced=spaced)

    def collect(self, texts: Sequence[str], language: str | None, analyses: Iterable[Any]) -> Any:  # noqa: ARG002
        """The words of the data set in this language."""
        return list_insertable_words(iter(texts), language)


@dataclass(frozen=True)
class Swapping(AnyLanguageEdit):
    """Exchanges two random words that differ, each with the punctuation attached to it."""

    name: ClassVar[str] = "swapping"
    summary: ClassVar[str] = "exchanges two random words"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the words drawn exchanged; no word is moved twice."""
        spans, _ = words_of(view)
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

    def compiled(self, views: Sequence[View[str]], keys: Keys, *, spaced: bool) -> list[str | None]:
        """The same, in compiled code."""
        return word_kernels.swap([view.output for view in views], keys, self.strength, spaced=spaced)


PERTURBATIONS = (Removal, Insertion, Swapping, RemovalShare)
