"""A negation taken out or turned positive."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.languages import english, german, russian
from metassay.perturbations.view import View
from metassay.perturbations.words import WordEdit
from metassay.stats.random import Stream
from metassay.text.words import Span, replace_spans, with_case_of


@dataclass(frozen=True)
class NegationRemoval(WordEdit):
    """Removes a random negation (did not, never, no …) or turns it positive (nothing: everything)."""

    name: ClassVar[str] = "negation_removal"
    languages: ClassVar[frozenset[str] | None] = frozenset({"en", "de", "ru"})
    summary: ClassVar[str] = "removes a negation or turns it positive (en, de, ru)"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the negations drawn removed."""
        signs, _ = _rules(view.language or "")
        if signs.search(view.output) is None:
            return None
        found = list(_negations(view.output, view.language or ""))
        if len(found) < self.strength:
            return None
        return replace_spans(
            view.output, [found[i] for i in sorted(stream.sample(len(found), self.strength))]
        )


def _negations(text: str, language: str) -> Iterator[tuple[Span, str]]:
    """Where a negation stands and what takes its place; earlier rules win, places in order."""
    _, rules = _rules(language)
    taken: list[tuple[Span, str | None]] = []
    for pattern, replacement in rules:
        for match in pattern.finditer(text):
            if all(match.end() <= start or end <= match.start() for (start, end), _ in taken):
                new = None if replacement is None else match.expand(replacement).replace("  ", " ")
                taken.append((match.span(), new))
    for span, new in sorted(taken, key=lambda edit: edit[0]):
        if new is not None:
            yield _tidied(text, span, new)


def _tidied(text: str, span: Span, new: str) -> tuple[Span, str]:
    """The edit with the casing of what it replaces; what moves to the start of the text gets its capital."""
    start, end = span
    old = text[start:end]
    if not old[:1].isupper():
        return span, new
    if new.strip():
        return span, with_case_of(old[:1], new) if not old.isupper() else new.upper()
    return (start, end + 1), text[end : end + 1].upper()


_WRITTEN = {
    "en": (english.NEGATION_SIGNS, english.NEGATION_REMOVAL),
    "de": (german.NEGATION_SIGNS, german.NEGATION_REMOVAL),
    "ru": (russian.NEGATION_SIGNS, russian.NEGATION_REMOVAL),
}


@functools.cache
def _rules(language: str) -> tuple[re.Pattern[str], tuple[tuple[re.Pattern[str], str | None], ...]]:
    signs, rules = _WRITTEN[language]
    compiled = ((re.compile(pattern, re.IGNORECASE), new) for pattern, new in rules)
    return re.compile(signs, re.IGNORECASE), tuple(compiled)


PERTURBATIONS = (NegationRemoval,)
