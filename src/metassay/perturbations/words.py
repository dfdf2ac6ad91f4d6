"""Remove, insert and swap words, in any language.

Words are found by spaces. In languages without spaces they are found by a package such as jieba, and an edit
leaves no space behind. Without such a package the perturbations do not apply, because a rule would cut words
in two.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metassay.errors import InputError
from metassay.perturbations.base import Perturbation, View
from metassay.stats.streams import Keys, Stream
from metassay.text.segmentation import (
    add_spaces_around_inserted_word,
    describe_missing_word_segmenter,
    find_words_in_text_without_spaces,
    is_word_segmenter_installed,
    is_written_without_spaces,
    list_distinct_words,
    remove_words_from_text_without_spaces,
)
from metassay.text.words import Span, find_words, remove_words, replace_spans

# Up to this many outputs are edited in Python, because it takes several seconds to compile the edits.
_MAX_UNCOMPILED = 2_000


@dataclass(frozen=True)
class WordEdit(Perturbation[str]):
    """A perturbation that makes a text worse by changing `strength` different words."""

    strength: int = 1

    def __post_init__(self) -> None:
        if self.strength < 1:
            raise InputError(f"the strength of {self.name} is {self.strength}, less than 1.")


@dataclass(frozen=True)
class AnyLanguageEdit(WordEdit):
    """A perturbation of words in any language. Many texts with spaces between words are changed together in
    compiled code.
    """

    needs_spaces: ClassVar[bool] = False

    def get_installation_hint_for_language(self, language: str) -> str | None:
        """Return how to install the package that splits texts without spaces into words, or None if it is not
        needed.
        """
        return describe_missing_word_segmenter(language)

    def perturb_many_outputs(self, output_views: Sequence[View[str]], random_keys: Keys) -> list[str | None]:
        """Perturb many outputs at once. All of them must share the data that was collected from all texts."""
        if len(output_views) <= _MAX_UNCOMPILED:
            return super().perturb_many_outputs(output_views, random_keys)
        # A data set in a language with spaces may still have single outputs in a script without.
        has_spaces = np.array([not _is_output_without_spaces(view) for view in output_views], np.bool_)
        if has_spaces.all():
            return self.perturb_outputs_with_numba(output_views, random_keys)
        spaced_views = [view for view in output_views if not _is_output_without_spaces(view)]
        spaced_outputs = iter(self.perturb_outputs_with_numba(spaced_views, random_keys[has_spaces]))
        perturbed = []
        for view, key, is_spaced in zip(output_views, random_keys.tolist(), has_spaces.tolist()):
            perturbed.append(next(spaced_outputs) if is_spaced else self.apply(view, Stream(key)))
        return perturbed

    @abstractmethod
    def perturb_outputs_with_numba(
        self, output_views: Sequence[View[str]], random_keys: Keys
    ) -> list[str | None]:
        """Perturb outputs with spaces between words in compiled code. The results are the same as those of
        `apply`.
        """


def _is_output_without_spaces(output_view: View[str]) -> bool:
    """Return whether an output is written in a script without spaces between words."""
    return is_written_without_spaces(output_view.output, output_view.language)


def _find_words_of_output(output_view: View[str]) -> list[Span]:
    """Find the words of an output. There are none if it is written without spaces and no package is installed
    to split it.
    """
    if not _is_output_without_spaces(output_view):
        return find_words(output_view.output)
    if not is_word_segmenter_installed(output_view.language):
        return []
    return find_words_in_text_without_spaces(output_view.output, output_view.language)


@dataclass(frozen=True)
class Removal(AnyLanguageEdit):
    """Removes random words, but never all words of a text."""

    name: ClassVar[str] = "removal"
    summary: ClassVar[str] = "removes a random word"

    def get_removal_count(self, word_count: int) -> int:
        """Return how many words are removed from a text with `word_count` words, or 0 if the text is too
        short.
        """
        return self.strength if word_count > self.strength else 0

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the output with random words removed."""
        spans = _find_words_of_output(output_view)
        count = self.get_removal_count(len(spans))
        if count == 0:
            return None
        removed = [spans[i] for i in sorted(random_stream.sample(len(spans), count))]
        if _is_output_without_spaces(output_view):
            return remove_words_from_text_without_spaces(output_view.output, removed)
        return remove_words(output_view.output, removed)

    def perturb_outputs_with_numba(
        self, output_views: Sequence[View[str]], random_keys: Keys
    ) -> list[str | None]:
        """Remove random words from outputs with spaces, in compiled code."""
        from metassay.perturbations.word_kernels import remove_random_words

        return remove_random_words(
            [view.output for view in output_views], random_keys, self.get_removal_count
        )


@dataclass(frozen=True)
class RemovalShare(Removal):
    """Removes 20 % of the words of a text. Texts of less than three words are not changed."""

    name: ClassVar[str] = "removal_20"
    default: ClassVar[bool] = False
    summary: ClassVar[str] = "removes 20 % of the words"

    def get_removal_count(self, word_count: int) -> int:
        """Return how many words are removed from a text: a fifth of them for each unit of strength."""
        # At least one word stays at any strength.
        return min(round(word_count * self.strength / 5), max(word_count - 1, 0))


@dataclass(frozen=True)
class Insertion(AnyLanguageEdit):
    """Inserts random words of the data set at random positions.

    Places are before each word, and the end if the text does not end with punctuation.
    """

    name: ClassVar[str] = "insertion"
    summary: ClassVar[str] = "inserts a random word from the data set"

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the output with random words inserted."""
        text = output_view.output
        vocabulary = output_view.collected[self.name]
        spans = _find_words_of_output(output_view)
        if not spans or not vocabulary:
            return None
        places = [start for start, _ in spans]
        if text[-1].isalnum():
            places.append(len(text))
        drawn = []
        for _ in range(self.strength):
            place = places[random_stream.draw_integer_below(len(places))]
            drawn.append((place, random_stream.choice(vocabulary)))
        # Sorted by place alone: words at the same place stay in the order drawn, as in the compiled code.
        drawn.sort(key=lambda insertion: insertion[0])
        edits = []
        for place, word in drawn:
            if _is_output_without_spaces(output_view):
                inserted = add_spaces_around_inserted_word(text, place, word)
            else:
                inserted = f" {word}" if place == len(text) else f"{word} "
            edits.append(((place, place), inserted))
        return replace_spans(text, edits)

    def perturb_outputs_with_numba(
        self, output_views: Sequence[View[str]], random_keys: Keys
    ) -> list[str | None]:
        """Insert random words into outputs with spaces, in compiled code."""
        from metassay.perturbations.word_kernels import insert_random_words

        if not output_views:
            return []
        # All outputs of a batch have one language, and share what was collected in it.
        vocabulary = output_views[0].collected[self.name]
        return insert_random_words(
            [view.output for view in output_views], random_keys, vocabulary, self.strength
        )

    def collect_replacement_material(
        self,
        texts: Sequence[str],
        language: str | None,
        text_analyses: Iterable[Any],  # noqa: ARG002
    ) -> Any:
        """Collect the distinct words of all texts in a language."""
        return list_distinct_words(iter(texts), language)


@dataclass(frozen=True)
class Swapping(AnyLanguageEdit):
    """Swaps two random words of a text that differ, each with its punctuation."""

    name: ClassVar[str] = "swapping"
    summary: ClassVar[str] = "exchanges two random words"

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the output with random words swapped. No word is moved twice."""
        spans = _find_words_of_output(output_view)
        words = [output_view.output[start:end] for start, end in spans]
        free_words = list(range(len(words)))
        for _ in range(self.strength):
            if not free_words:
                return None
            first = random_stream.choice(free_words)
            candidates = [i for i in free_words if words[i] != words[first]]
            if not candidates:
                return None
            second = random_stream.choice(candidates)
            words[first], words[second] = words[second], words[first]
            free_words = [i for i in free_words if i not in {first, second}]
        return replace_spans(output_view.output, zip(spans, words))

    def perturb_outputs_with_numba(
        self, output_views: Sequence[View[str]], random_keys: Keys
    ) -> list[str | None]:
        """Swap random words of outputs with spaces, in compiled code."""
        from metassay.perturbations.word_kernels import swap_random_words

        return swap_random_words([view.output for view in output_views], random_keys, self.strength)


PERTURBATIONS = (Removal, Insertion, Swapping, RemovalShare)
