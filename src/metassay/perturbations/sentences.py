"""Edits of whole sentences, for long texts: one goes, two change places, one comes twice, one is foreign.

And of clauses and spans, for all texts: a clause goes, a span is another system's.
"""

from __future__ import annotations

import functools
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
from metassay.text.segmentation import is_written_without_spaces, segment, segment_with_signs
from metassay.text.sentences import find_sentences
from metassay.text.tokens import find_tokens
from metassay.text.word_lists import WordLists, find_folders_with
from metassay.text.words import (
    WITHOUT_SPACES,
    Span,
    find_dictionary_words,
    find_words,
    remove_words,
    replace_spans,
)

FOREIGN = 20_000
"""So many sentences of the data set are kept to borrow from."""
SHARED = 0.6
"""A sentence that has more of its words from the item's own texts may belong to them."""
TRIES = 8
LEANING = 4
"""Among so many first words one that points back is looked for."""
PACKS = "metassay.perturbations.languages"


@dataclass(frozen=True)
class SentenceEdit(Perturbation[str]):
    """A perturbation that applies to texts of two sentences or more."""

    needs_spaces: ClassVar[bool] = False

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The text with its sentences edited."""
        spans = find_sentences(view.output)
        return self.edit(view, spans, stream) if len(spans) > 1 else None

    @abstractmethod
    def edit(self, view: View[str], spans: Sequence[Span], stream: Stream) -> str | None:
        """The edit of a text that has at least two sentences."""


@dataclass(frozen=True)
class SentenceRemoval(SentenceEdit):
    """Drops a random sentence."""

    name: ClassVar[str] = "sentence_removal"
    summary: ClassVar[str] = "drops a random sentence"

    def edit(self, view: View[str], spans: Sequence[Span], stream: Stream) -> str | None:
        """The text without the sentence drawn."""
        return remove_words(view.output, [stream.choice(spans)]).strip()


@dataclass(frozen=True)
class SentenceSwapping(SentenceEdit):
    """Exchanges the first sentence with a random one that leans on what was said before it.

    Two sentences that do not need each other can often stand in either order. One with a pronoun, a pointing
    word or a connective among its first words (`leaning.txt` of the language, of any where it is unknown)
    cannot come first.
    """

    name: ClassVar[str] = "sentence_swapping"
    summary: ClassVar[str] = "exchanges the first sentence with one that leans on it"

    def edit(self, view: View[str], spans: Sequence[Span], stream: Stream) -> str | None:
        """The text with the first sentence and the one drawn exchanged."""
        texts = [view.output[start:end] for start, end in spans]
        leaning = [i for i, text in enumerate(texts) if _leans(text, view.language)]
        if not leaning or leaning[0] == 0:
            return None
        drawn = stream.choice(leaning)
        texts[0], texts[drawn] = texts[drawn], texts[0]
        return replace_spans(view.output, zip(spans, texts))


def _leans(sentence: str, language: str | None) -> bool:
    """Whether one of the first words of a sentence points back."""
    words, beginnings = _leaning(language)
    if is_written_without_spaces(sentence, language):
        return sentence.lstrip("「『“（").startswith(beginnings)
    return not words.isdisjoint(term[0].lower() for term in find_dictionary_words(sentence)[:LEANING])


@functools.cache
def _leaning(language: str | None) -> tuple[frozenset[str], tuple[str, ...]]:
    """What points back, where words are found by spaces and where sentences begin with it."""
    packs = sorted(find_folders_with(PACKS, "leaning.txt"))
    own = [pack for pack in packs if language in {pack, None}]
    spaced = (WordLists(PACKS, pack).read_words("leaning") for pack in own if pack not in WITHOUT_SPACES)
    unspaced = (WordLists(PACKS, pack).read_lines("leaning") for pack in own if pack in WITHOUT_SPACES)
    return frozenset[str]().union(*spaced), tuple(word for words in unspaced for word in words)


@dataclass(frozen=True)
class SentenceRepetition(SentenceEdit):
    """Says a random sentence twice."""

    name: ClassVar[str] = "sentence_repetition"
    summary: ClassVar[str] = "says a random sentence twice"

    def edit(self, view: View[str], spans: Sequence[Span], stream: Stream) -> str | None:
        """The text with the sentence drawn repeated behind itself, apart as it is from its neighbour."""
        place = stream.draw_below(len(spans))
        start, end = spans[place]
        said = view.output[start:end]
        left = min(place, len(spans) - 2)
        between = view.output[spans[left][1] : spans[left + 1][0]]
        space = between if not between.strip() else " "
        return replace_spans(view.output, [((start, end), f"{said}{space}{said}")])


@dataclass(frozen=True)
class SentenceBorrowing(SentenceEdit):
    """Replaces a random sentence by one that the data set has in a text for another item."""

    name: ClassVar[str] = "sentence_borrowing"
    summary: ClassVar[str] = "replaces a sentence by one from another item's text"
    needed_fields: ClassVar[frozenset[str]] = frozenset({"siblings"})

    def edit(self, view: View[str], spans: Sequence[Span], stream: Stream) -> str | None:
        """The text with the sentence drawn replaced by one that is not about the same matter."""
        texts = (view.output, view.source or "", *view.references)
        own = _words(" ".join(texts))
        span = stream.choice(spans)
        for _ in range(TRIES):
            drawn: str = stream.choice(view.collected[self.name])
            words = _words(drawn)
            at_home = any(drawn in text for text in (*texts, *view.siblings))
            if not at_home and len(words & own) <= SHARED * len(words):
                return replace_spans(view.output, [(span, drawn)])
        return None

    def collect(self, texts: Sequence[str], language: str | None, analyses: Iterable[Any]) -> Any:  # noqa: ARG002
        """The distinct sentences of the data set, sorted; of a large one evenly spread ones."""
        found = sorted({text[start:end] for text in texts for start, end in find_sentences(text)})
        kept = min(len(found), FOREIGN)
        return [found[i * len(found) // kept] for i in range(kept)]


def _words(text: str) -> set[str]:
    return {text[start:end].lower() for start, end in find_tokens(text)}


_CLAUSE = re.compile(
    r"(?:[,;]\s|[，、；،؛]\s?)((?:[^,;.!?，、；。！？،؛\n]|[.,](?=\d))+)(?=[,;.!?](?:[\s\"”“’»)]|$)|[，；。！？،؛]|$)"
)
_PAIRED = re.compile(r"[\"“”„«»()\[\]「」『』（）]")
SHORTEST = 3
"""Words of a clause, and of what must stay."""


@dataclass(frozen=True)
class ClauseRemoval(RandomReplacement):
    """Drops a random clause of at least three words that begins after a comma and ends before a mark.

    In languages whose pack lists them only one that a conjunction, a relative pronoun or the like opens, so
    that the main clause stays.
    """

    name: ClassVar[str] = "clause_removal"
    default: ClassVar[bool] = False
    needs_spaces: ClassVar[bool] = False
    summary: ClassVar[str] = "drops a clause between commas"

    def find_replacements(self, view: View[str]) -> list[Replacement]:
        """Return every such clause with the comma before it, unless it has a quotation mark or bracket."""
        word_starts = [start for start, _ in _find_words(view)]
        openers = _openers(view.language)
        replacements = []
        for match in _CLAUSE.finditer(view.output):
            words_inside = _count_between(word_starts, match.start(), match.end())
            words_outside = len(word_starts) - words_inside
            is_long_enough = words_inside >= SHORTEST and words_outside >= SHORTEST
            first_word = (match[1].split() or [""])[0].lower()
            can_be_removed = openers is None or first_word in openers
            if is_long_enough and can_be_removed and not _PAIRED.search(match[1]):
                replacements.append(Replacement(match.span(), ("",)))
        return replacements


def _count_between(sorted_positions: list[int], start: int, end: int) -> int:
    """Count the positions from `start` to before `end`."""
    return bisect_left(sorted_positions, end) - bisect_left(sorted_positions, start)


def _find_words(view: View[str]) -> list[Span]:
    """Find the words of an output, to measure its clauses; in texts without spaces they may be inexact."""
    if is_written_without_spaces(view.output, view.language):
        return segment(view.output, view.language)
    return find_words(view.output)


@functools.cache
def _openers(language: str | None) -> frozenset[str] | None:
    """What opens a clause that can go; None where the pack of a language, or the pack itself, is missing."""
    if language not in find_folders_with(PACKS, "clause_openers.txt"):
        return None
    return WordLists(PACKS, language or "").read_words("clause_openers")


@dataclass(frozen=True)
class HallucinatedClause(RandomReplacement):
    """Adds a clause that nothing supports to a random sentence: ", as two neighbours later confirmed".

    The clauses are those of the pack, which go with any statement; a sentence gets one before its full stop,
    in scripts without spaces at its start.
    """

    name: ClassVar[str] = "hallucinated_clause"
    default: ClassVar[bool] = False
    needs_spaces: ClassVar[bool] = False
    languages: ClassVar[frozenset[str] | None] = find_folders_with(PACKS, "hallucinated_clauses.txt")
    summary: ClassVar[str] = "adds a clause that says what is not there"

    def find_replacements(self, view: View[str]) -> list[Replacement]:
        """Return the place for a clause in every statement of more than three words, without quotations."""
        text = view.output
        all_clauses = WordLists(PACKS, view.language or "").read_lines("hallucinated_clauses")
        clauses = tuple(clause for clause in all_clauses if clause.strip(" ,，、") not in text)
        if not clauses:
            return []
        word_starts = [start for start, _ in _find_words(view)]
        replacements = []
        for start, end in find_sentences(text):
            is_statement = text[end - 1] in ".。" and text[end - 2] not in ".…"
            is_long_enough = _count_between(word_starts, start, end) > SHORTEST
            if is_statement and is_long_enough and not _PAIRED.search(text[start:end]):
                place = end - 1 if clauses[0].startswith(",") else start
                replacements.append(Replacement((place, place), clauses))
        return replacements


_RUN = re.compile(r"\S+")


@dataclass(frozen=True)
class BorrowedSpan(Perturbation[str]):
    """Replaces a span of words by what another output, known to be worse, has in its place.

    Worse is an output of the item that people scored lower or, where this item was not rated, one of a system
    that they scored lower on average. The result is fluent where systems are, so it is harder to tell
    from the original than what rules make. Spans longer than `longest` words are left alone.
    """

    name: ClassVar[str] = "borrowed_span"
    needs_spaces: ClassVar[bool] = False
    needed_fields: ClassVar[frozenset[str]] = frozenset({"rivals"})
    default: ClassVar[bool] = False
    summary: ClassVar[str] = "takes a span from a worse output of the same item (needs human scores)"

    longest: int = 8

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise InputError(f"the longest span of {self.name} is {self.longest}, less than 1 word.")

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with one span drawn from one rival drawn."""
        for i in stream.sample(len(view.rivals), len(view.rivals)):
            options = [
                (span, text)
                for span, text in _differences(view.output, view.rivals[i], view.language)
                if len(_runs(text, view.language)) <= self.longest
            ]
            if options:
                return replace_spans(view.output, [stream.choice(options)])
        return None


def _runs(text: str, language: str | None) -> list[Span]:
    """What stands between spaces or, where a text has none, its words and signs."""
    if is_written_without_spaces(text, language):
        return segment_with_signs(text)
    return [match.span() for match in _RUN.finditer(text)]


def _differences(text: str, other: str, language: str | None) -> list[tuple[Span, str]]:
    """Every span of a text where another has other words, with these words; both sides have at least one."""
    here, there = _runs(text, language), _runs(other, language)
    operations = Levenshtein.opcodes([text[a:b] for a, b in here], [other[a:b] for a, b in there])
    blocks: list[list[int]] = []
    open_block = False
    for operation in operations:
        if operation.tag == "equal":
            open_block = False
            continue
        if not open_block:
            blocks.append([operation.src_start, operation.src_end, operation.dest_start, operation.dest_end])
        blocks[-1][1], blocks[-1][3] = operation.src_end, operation.dest_end
        open_block = True
    return [
        ((here[a][0], here[b - 1][1]), other[there[c][0] : there[d - 1][1]])
        for a, b, c, d in blocks
        if a < b and c < d
    ]


PERTURBATIONS = (
    *(SentenceRemoval, SentenceSwapping, SentenceRepetition, SentenceBorrowing),
    *(ClauseRemoval, HallucinatedClause, BorrowedSpan),
)
