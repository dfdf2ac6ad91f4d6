"""Perturbations of sentences, clauses and spans of words.

Sentences of long texts are removed, swapped, repeated or replaced. Clauses of any text are removed or added,
and spans are replaced by those of another system.
"""

from __future__ import annotations

import functools
import itertools
import re
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rapidfuzz.distance import Levenshtein

from metassay.errors import InputError
from metassay.perturbations.base import Perturbation, View
from metassay.perturbations.random_replacement import RandomReplacement, Replacement
from metassay.stats.streams import Stream
from metassay.text.segmentation import (
    find_words_and_punctuation,
    find_words_in_text_without_spaces,
    is_written_without_spaces,
)
from metassay.text.sentences import find_sentences
from metassay.text.tokens import find_token_spans
from metassay.text.word_lists import WordLists, find_folders_with_file
from metassay.text.words import (
    WITHOUT_SPACES,
    Span,
    find_dictionary_words,
    find_words,
    remove_words,
    replace_spans,
)

# How many sentences of the data set are collected to replace others.
MAXIMUM_COLLECTED_SENTENCES = 20_000
# A sentence with a larger share of its words in the texts of an item may be about the same subject.
MAXIMUM_SHARED_WORDS = 0.6
# How many sentences are drawn until one is about another subject.
MAXIMUM_DRAWS = 8
# How many first words of a sentence are searched for one that refers to an earlier sentence.
FIRST_WORDS = 4
# Words that a clause must have, and words that must remain without it.
MINIMUM_WORDS = 3
PACKS = "metassay.perturbations.languages"
# From a comma or semicolon to the next punctuation mark. A dot or comma before a digit belongs to a number
# ("1,000"), so it does not end the clause.
_CLAUSE = re.compile(
    r"(?:[,;]\s|[，、；،؛]\s?)((?:[^,;.!?，、；。！？،؛\n]|[.,](?=\d))+)(?=[,;.!?](?:[\s\"”“’»)]|$)|[，；。！？،؛]|$)"
)
_QUOTE_OR_BRACKET = re.compile(r"[\"“”„«»()\[\]「」『』（）]")
_UNSPACED = re.compile(r"\S+")


@dataclass(frozen=True)
class SentenceEdit(Perturbation[str]):
    """A perturbation that changes whole sentences, and needs outputs of at least two sentences."""

    needs_spaces: ClassVar[bool] = False

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the output with its sentences changed, or None if it has only one sentence."""
        sentence_spans = find_sentences(output_view.output)
        if len(sentence_spans) < 2:
            return None
        return self.perturb_sentences(output_view, sentence_spans, random_stream)

    @abstractmethod
    def perturb_sentences(
        self, output_view: View[str], sentence_spans: Sequence[Span], random_stream: Stream
    ) -> str | None:
        """Return the output with its sentences changed, or None if the perturbation does not apply."""


@dataclass(frozen=True)
class SentenceRemoval(SentenceEdit):
    """Removes a random sentence."""

    name: ClassVar[str] = "sentence_removal"
    summary: ClassVar[str] = "removes a random sentence"

    def perturb_sentences(
        self, output_view: View[str], sentence_spans: Sequence[Span], random_stream: Stream
    ) -> str | None:
        """Return the output with a random sentence removed."""
        return remove_words(output_view.output, [random_stream.choice(sentence_spans)]).strip()


@dataclass(frozen=True)
class SentenceSwapping(SentenceEdit):
    """Exchanges the first sentence with a later one that refers to a sentence before it.

    Independent sentences can often stand in either order. A sentence with a pronoun, a demonstrative or a
    connective among its first words cannot come first (`leaning.txt` of the language; of all languages if
    the language is not known).
    """

    name: ClassVar[str] = "sentence_swapping"
    summary: ClassVar[str] = "exchanges the first sentence with one that refers to it"

    def perturb_sentences(
        self, output_view: View[str], sentence_spans: Sequence[Span], random_stream: Stream
    ) -> str | None:
        """Return the output with its first sentence exchanged with a random one that refers to an earlier
        sentence.
        """
        sentences = [output_view.output[start:end] for start, end in sentence_spans]
        dependent = [
            i
            for i, sentence in enumerate(sentences)
            if _refers_to_earlier_sentence(sentence, output_view.language)
        ]
        # If the first sentence refers back too, a sentence that refers back comes first before and after the
        # swap, and the output need not get worse.
        if not dependent or dependent[0] == 0:
            return None
        drawn = random_stream.choice(dependent)
        sentences[0], sentences[drawn] = sentences[drawn], sentences[0]
        return replace_spans(output_view.output, zip(sentence_spans, sentences))


def _refers_to_earlier_sentence(sentence: str, language: str | None) -> bool:
    """Return whether a sentence begins with words that refer to an earlier sentence, such as "therefore"."""
    words, beginnings = _load_referring_words(language)
    # Words cannot be found here without a segmenter, so only the beginning of the sentence is compared.
    if is_written_without_spaces(sentence, language):
        return sentence.lstrip("「『“（").startswith(beginnings)
    first_words = find_dictionary_words(sentence)[:FIRST_WORDS]
    return not words.isdisjoint(word[0].lower() for word in first_words)


@functools.cache
def _load_referring_words(
    language: str | None,
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Load the words that refer to an earlier sentence, such as "therefore": those of languages with spaces
    between words, and those of others.

    Without a language, those of all language packs.
    """
    words: set[str] = set()
    beginnings: list[str] = []
    for pack in sorted(find_folders_with_file(PACKS, "leaning.txt")):
        if language not in {pack, None}:
            continue
        pack_words = WordLists(PACKS, pack).read_lines("leaning")
        if pack in WITHOUT_SPACES:
            beginnings += pack_words
        else:
            words.update(pack_words)
    return frozenset(words), tuple(beginnings)


@dataclass(frozen=True)
class SentenceRepetition(SentenceEdit):
    """Repeats a random sentence directly after itself."""

    name: ClassVar[str] = "sentence_repetition"
    summary: ClassVar[str] = "repeats a random sentence"

    def perturb_sentences(
        self, output_view: View[str], sentence_spans: Sequence[Span], random_stream: Stream
    ) -> str | None:
        """Return the output with a random sentence repeated. The two copies are separated like other
        sentences of the output.
        """
        drawn = random_stream.draw_integer_below(len(sentence_spans))
        start, end = sentence_spans[drawn]
        sentence = output_view.output[start:end]
        # There is no separator after the last sentence, so the one before it is used.
        left = min(drawn, len(sentence_spans) - 2)
        separator = output_view.output[sentence_spans[left][1] : sentence_spans[left + 1][0]]
        # Text between two sentences that is not white space would be repeated as well.
        if separator.strip():
            separator = " "
        return replace_spans(output_view.output, [((start, end), f"{sentence}{separator}{sentence}")])


@dataclass(frozen=True)
class SentenceBorrowing(SentenceEdit):
    """Replaces a random sentence by a sentence from a text of another item."""

    name: ClassVar[str] = "sentence_borrowing"
    summary: ClassVar[str] = "replaces a sentence by one from another item's text"
    needed_fields: ClassVar[frozenset[str]] = frozenset({"siblings"})

    def perturb_sentences(
        self, output_view: View[str], sentence_spans: Sequence[Span], random_stream: Stream
    ) -> str | None:
        """Return the output with a random sentence replaced by a sentence about another subject."""
        texts = (output_view.output, output_view.source or "", *output_view.references)
        item_words = _list_distinct_words(" ".join(texts))
        span = random_stream.choice(sentence_spans)
        for _ in range(MAXIMUM_DRAWS):
            sentence: str = random_stream.choice(output_view.collected[self.name])
            words = _list_distinct_words(sentence)
            is_of_item = any(sentence in text for text in (*texts, *output_view.siblings))
            if not is_of_item and len(words & item_words) <= MAXIMUM_SHARED_WORDS * len(words):
                return replace_spans(output_view.output, [(span, sentence)])
        return None

    def collect_replacement_material(
        self,
        texts: Sequence[str],
        language: str | None,  # noqa: ARG002
        text_analyses: Iterable[Any],  # noqa: ARG002
    ) -> Any:
        """Collect the distinct sentences of all texts, sorted. Of too many sentences, evenly spread ones are
        kept.
        """
        distinct_sentences: set[str] = set()
        for text in texts:
            distinct_sentences.update(text[start:end] for start, end in find_sentences(text))
        # Sorted, so that neither the order of the texts nor that of the set changes which sentences are
        # collected.
        sentences = sorted(distinct_sentences)
        count = min(len(sentences), MAXIMUM_COLLECTED_SENTENCES)
        return [sentences[i * len(sentences) // count] for i in range(count)]


def _list_distinct_words(text: str) -> set[str]:
    """List the distinct words of a text in lower case."""
    return {text[start:end].lower() for start, end in find_token_spans(text)}


@dataclass(frozen=True)
class ClauseRemoval(RandomReplacement):
    """Removes a random clause of at least three words between a comma and the next punctuation mark.

    If the language pack has a list of conjunctions and relative pronouns (`clause_openers.txt`), only clauses
    that begin with one of them are removed, so that the main clause stays.
    """

    name: ClassVar[str] = "clause_removal"
    default: ClassVar[bool] = False
    needs_spaces: ClassVar[bool] = False
    summary: ClassVar[str] = "removes a clause between commas"

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every clause that can be removed, with the comma before it. Clauses with quotes or brackets
        are left out.
        """
        word_starts = [start for start, _ in _find_words_even_if_inexact(output_view)]
        clause_openers = _load_words_that_open_clauses(output_view.language)
        replacements = []
        for match in _CLAUSE.finditer(output_view.output):
            words_inside = _count_positions_in_range(word_starts, match.start(), match.end())
            words_outside = len(word_starts) - words_inside
            is_long_enough = words_inside >= MINIMUM_WORDS and words_outside >= MINIMUM_WORDS
            first_word = (match[1].split() or [""])[0].lower()
            can_be_removed = clause_openers is None or first_word in clause_openers
            if is_long_enough and can_be_removed and not _QUOTE_OR_BRACKET.search(match[1]):
                replacements.append(Replacement(match.span(), ("",)))
        return replacements


def _count_positions_in_range(sorted_positions: list[int], start: int, end: int) -> int:
    """Count how many of the sorted positions lie from `start` up to, but not including, `end`."""
    return bisect_left(sorted_positions, end) - bisect_left(sorted_positions, start)


def _find_words_even_if_inexact(output_view: View[str]) -> list[Span]:
    """Find the spans of the words of an output. In a text without spaces they may be inexact."""
    if is_written_without_spaces(output_view.output, output_view.language):
        return find_words_in_text_without_spaces(output_view.output, output_view.language)
    return find_words(output_view.output)


@functools.cache
def _load_words_that_open_clauses(language: str | None) -> frozenset[str] | None:
    """Load the words that begin a removable clause, such as "which". Returns None if the language has no such
    list.
    """
    if language not in find_folders_with_file(PACKS, "clause_openers.txt"):
        return None
    return WordLists(PACKS, language or "").read_words("clause_openers")


@dataclass(frozen=True)
class HallucinatedClause(RandomReplacement):
    """Adds an invented clause to a random sentence, such as ", as two neighbours later confirmed".

    The language pack lists clauses that fit any statement. The clause is added before the full stop of the
    sentence; in scripts without spaces, at its start.
    """

    name: ClassVar[str] = "hallucinated_clause"
    default: ClassVar[bool] = False
    needs_spaces: ClassVar[bool] = False
    languages: ClassVar[frozenset[str] | None] = find_folders_with_file(PACKS, "hallucinated_clauses.txt")
    summary: ClassVar[str] = "adds a clause that nothing in the source supports"

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return the places where an invented clause can be inserted: in statements of more than three words
        without quotes.
        """
        text = output_view.output
        all_clauses = WordLists(PACKS, output_view.language or "").read_lines("hallucinated_clauses")
        # A clause that the text already has would only repeat it.
        clauses = tuple(clause for clause in all_clauses if clause.strip(" ,，、") not in text)
        if not clauses:
            return []
        word_starts = [start for start, _ in _find_words_even_if_inexact(output_view)]
        replacements = []
        for start, end in find_sentences(text):
            # A sentence that ends with an ellipsis is not complete.
            is_statement = text[end - 1] in ".。" and text[end - 2] not in ".…"
            is_long_enough = _count_positions_in_range(word_starts, start, end) > MINIMUM_WORDS
            if is_statement and is_long_enough and not _QUOTE_OR_BRACKET.search(text[start:end]):
                # The lists of languages with spaces have clauses that begin with a comma; others begin the
                # sentence.
                position = end - 1 if clauses[0].startswith(",") else start
                replacements.append(Replacement((position, position), clauses))
        return replacements


@dataclass(frozen=True)
class BorrowedSpan(Perturbation[str]):
    """Replaces words of an output by the words at the same place of an output with a lower human score.

    If the item has no human scores, the other output is one of a system with a lower mean human score. The
    perturbed output is as fluent as the outputs of systems, so it is harder to recognise than an output that
    rules changed. Spans longer than `longest` words are not replaced.
    """

    name: ClassVar[str] = "borrowed_span"
    needs_spaces: ClassVar[bool] = False
    needed_fields: ClassVar[frozenset[str]] = frozenset({"rivals"})
    default: ClassVar[bool] = False
    summary: ClassVar[str] = "takes words from an output of the same item that people rated lower"

    longest: int = 8

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise InputError(f"the longest span of {self.name} is {self.longest}, less than 1 word.")

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the output with a random span replaced by the corresponding span of a worse output."""
        # All worse outputs in random order, because the first ones drawn may have no span that is short
        # enough.
        for i in random_stream.sample(len(output_view.rivals), len(output_view.rivals)):
            edits = []
            for span, replacement in _find_differing_spans(
                output_view.output, output_view.rivals[i], output_view.language
            ):
                if len(_find_words_with_punctuation(replacement, output_view.language)) <= self.longest:
                    edits.append((span, replacement))
            if edits:
                return replace_spans(output_view.output, [random_stream.choice(edits)])
        return None


def _find_words_with_punctuation(text: str, language: str | None) -> list[Span]:
    """Find the spans of the words of a text, including their punctuation. In a text without spaces, every
    sign is separate.
    """
    if is_written_without_spaces(text, language):
        return find_words_and_punctuation(text)
    return [match.span() for match in _UNSPACED.finditer(text)]


def _find_differing_spans(text: str, other_text: str, language: str | None) -> list[tuple[Span, str]]:
    """Find the spans in which a text differs from another text, each with the words of the other text in its
    place.

    Words that only one of the texts has are left out.
    """
    text_units = _find_words_with_punctuation(text, language)
    other_units = _find_words_with_punctuation(other_text, language)
    operations = Levenshtein.opcodes(
        [text[start:end] for start, end in text_units],
        [other_text[start:end] for start, end in other_units],
    )
    differences = []
    # Neighbouring replacements, insertions and deletions are one difference.
    for is_equal, group in itertools.groupby(operations, key=lambda operation: operation.tag == "equal"):
        if is_equal:
            continue
        block = list(group)
        first, last = block[0], block[-1]
        # Both sides need at least one word: an empty side would make the edit an insertion or a removal.
        if first.src_start < last.src_end and first.dest_start < last.dest_end:
            span = (text_units[first.src_start][0], text_units[last.src_end - 1][1])
            other_start = other_units[first.dest_start][0]
            other_end = other_units[last.dest_end - 1][1]
            differences.append((span, other_text[other_start:other_end]))
    return differences


PERTURBATIONS = (
    SentenceRemoval,
    SentenceSwapping,
    SentenceRepetition,
    SentenceBorrowing,
    ClauseRemoval,
    HallucinatedClause,
    BorrowedSpan,
)
