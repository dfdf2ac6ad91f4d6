"""A word replaced by one that means nearly the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.languages import english, german, russian
from metassay.perturbations.view import View
from metassay.perturbations.words import WordEdit
from metassay.stats.random import Stream
from metassay.text import resources
from metassay.text.analysers import german_lemma
from metassay.text.words import replace_spans, starts_sentence, with_case_of, with_next

Finder = Callable[[str, str, str], tuple[str, ...]]

_FINDERS: dict[str, Finder] = {
    "en": english.synonyms,
    "de": german.synonyms,
    "ru": russian.synonyms,
}
_NEEDS = {
    "en": ("WordNet",),
    "de": ("OpenThesaurus", "simplemma"),
    "ru": ("Russian thesaurus", "pymorphy3"),
}


@dataclass(frozen=True)
class Synonym(WordEdit):
    """Replaces the first word, in order, that has a synonym which can take its form (the first n of them).

    English WordNet, German OpenThesaurus, Russian thesaurus. A word "has" a synonym only if its part of
    speech is beyond doubt and the synonym can be inflected like it; names and function words have none.
    """

    name: ClassVar[str] = "synonym"
    languages: ClassVar[frozenset[str] | None] = frozenset(_FINDERS)
    summary: ClassVar[str] = "replaces the first word that has a synonym (en, de, ru)"

    def missing(self, language: str) -> str | None:
        """The thesaurus or the analyser that is not here."""
        return resources.missing(*_NEEDS[language], language=language)

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the first words that have synonyms replaced."""
        text, language = view.output, view.language or ""
        find = _FINDERS[language]
        edits, previous = [], ""
        for term, following in with_next(text):
            form = _dictionary_form(text, term, language)
            options = find(previous, form, following) if form else ()
            previous = term[0].lower()
            if options:
                edits.append((term.span(), with_case_of(term[0], stream.choice(options))))
                if len(edits) == self.strength:
                    return replace_spans(text, edits)
        return None


def _dictionary_form(text: str, term: re.Match[str], language: str) -> str:
    """The word as a dictionary lists it, or nothing for what looks like a name.

    A capital is taken off at the start of a sentence and off words all in capitals; German nouns keep it.
    """
    word, start = term[0], term.start()
    lower = word.lower()
    if word == lower:
        return word
    if word[1:] == lower[1:]:
        if language == "de":
            return lower if starts_sentence(text, start) and german_lemma(lower) is not None else word
        is_name = language == "en" and english.is_name(word)
        return lower if starts_sentence(text, start) and not is_name else ""
    return ""


PERTURBATIONS = (Synonym,)
