"""Edits of whole sentences, for long texts: one goes, two change places, one comes twice, one is foreign.

And of clauses, for all texts: one goes.
"""

from __future__ import annotations

import functools
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metassay.perturbations.base import Perturbation, View
from metassay.perturbations.facts import Exchange, Options
from metassay.perturbations.words import words_of
from metassay.stats.random import Stream
from metassay.text.tokens import token_spans
from metassay.text.words import Span, WordLists, replace_spans, sentence_spans, without

FOREIGN = 20_000
"""So many sentences of the data set are kept to borrow from."""
SHARED = 0.6
"""A sentence that has more of its words from the item's own texts may belong to them."""
TRIES = 8


@dataclass(frozen=True)
class SentenceEdit(Perturbation[str]):
    """A perturbation that applies to texts of two sentences or more."""

    by_words: ClassVar[bool] = False

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The text with its sentences edited."""
        spans = sentence_spans(view.output)
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
        return without(view.output, [stream.choice(spans)]).strip()


@dataclass(frozen=True)
class SentenceSwapping(SentenceEdit):
    """Exchanges two random sentences that differ."""

    name: ClassVar[str] = "sentence_swapping"
    summary: ClassVar[str] = "exchanges two random sentences"

    def edit(self, view: View[str], spans: Sequence[Span], stream: Stream) -> str | None:
        """The text with the two sentences drawn exchanged."""
        texts = [view.output[start:end] for start, end in spans]
        first = stream.below(len(texts))
        others = [i for i, text in enumerate(texts) if text != texts[first]]
        if not others:
            return None
        second = stream.choice(others)
        texts[first], texts[second] = texts[second], texts[first]
        return replace_spans(view.output, zip(spans, texts))


@dataclass(frozen=True)
class SentenceRepetition(SentenceEdit):
    """Says a random sentence twice."""

    name: ClassVar[str] = "sentence_repetition"
    summary: ClassVar[str] = "says a random sentence twice"

    def edit(self, view: View[str], spans: Sequence[Span], stream: Stream) -> str | None:
        """The text with the sentence drawn repeated behind itself, apart as it is from its neighbour."""
        place = stream.below(len(spans))
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
    needs: ClassVar[frozenset[str]] = frozenset({"siblings"})

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

    def collect(self, texts: Sequence[str], language: str | None, workers: int = 1) -> Any:  # noqa: ARG002
        """The distinct sentences of the data set, sorted; of a large one evenly spread ones."""
        found = sorted({text[start:end] for text in texts for start, end in sentence_spans(text)})
        kept = min(len(found), FOREIGN)
        return [found[i * len(found) // kept] for i in range(kept)]


def _words(text: str) -> set[str]:
    return {text[start:end].lower() for start, end in token_spans(text)}


_CLAUSE = re.compile(
    r"(?:[,;]\s|[，、；،؛]\s?)((?:[^,;.!?，、；。！？،؛\n]|[.,](?=\d))+)(?=[,;.!?](?:[\s\"”“’»)]|$)|[，；。！？،؛]|$)"
)
_PAIRED = re.compile(r"[\"“”„«»()\[\]「」『』（）]")
SHORTEST = 3
"""Words of a clause, and of what must stay."""


@dataclass(frozen=True)
class ClauseRemoval(Exchange):
    """Drops a random clause of at least three words that begins after a comma and ends before a mark.

    In English, German and Russian only one that a conjunction, a relative pronoun or the like opens, so that
    the main clause stays.
    """

    name: ClassVar[str] = "clause_removal"
    by_words: ClassVar[bool] = False
    summary: ClassVar[str] = "drops a clause between commas"

    def found(self, view: View[str]) -> list[Options]:
        """Every such clause with the comma before it; none that a quotation or a bracket enters or leaves."""
        text = view.output
        spans, openers = words_of(view)[0], _openers(view.language)
        found: list[Options] = []
        for match in _CLAUSE.finditer(text):
            inside = sum(match.start() <= start < match.end() for start, _ in spans)
            opened = openers is None or (match[1].split() or [""])[0].lower() in openers
            stays = len(spans) - inside >= SHORTEST and not _PAIRED.search(match[1])
            if opened and stays and inside >= SHORTEST:
                found.append((match.span(), ("",)))
        return found


@functools.cache
def _openers(language: str | None) -> frozenset[str] | None:
    known = language in {"en", "de", "ru"}
    return (
        WordLists("metassay.perturbations.languages", language or "").words("clause_openers")
        if known
        else None
    )


PERTURBATIONS = (SentenceRemoval, SentenceSwapping, SentenceRepetition, SentenceBorrowing, ClauseRemoval)
