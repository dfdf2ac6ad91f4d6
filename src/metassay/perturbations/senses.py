"""A word replaced by one that a thesaurus puts beside it: synonyms, opposites, sisters, the general."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.base import View
from metassay.perturbations.facts import Exchange, Options
from metassay.perturbations.languages import english, german, russian
from metassay.perturbations.words import WordEdit
from metassay.stats.streams import Stream
from metassay.text import resources
from metassay.text.lemmas import find_lemma
from metassay.text.words import (
    copy_case,
    find_dictionary_words,
    iterate_with_next_word,
    replace_spans,
    starts_sentence,
)

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
    On request: many copies are as good (see `label_errors.tsv`).
    """

    name: ClassVar[str] = "synonym"
    default: ClassVar[bool] = False
    languages: ClassVar[frozenset[str] | None] = frozenset(_FINDERS)
    summary: ClassVar[str] = "replaces the first word that has a synonym (en, de, ru)"

    def describe_missing_resource(self, language: str) -> str | None:
        """The thesaurus or the analyser that is not here."""
        return resources.describe_missing(*_NEEDS[language], language=language)

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the first words that have synonyms replaced."""
        text, language = view.output, view.language or ""
        find = _FINDERS[language]
        edits, previous = [], ""
        for term, following in iterate_with_next_word(text):
            form = dictionary_form(text, term, language)
            options = find(previous, form, following) if form else ()
            previous = term[0].lower()
            if options:
                edits.append((term.span(), copy_case(term[0], stream.choice(options))))
                if len(edits) == self.strength:
                    return replace_spans(text, edits)
        return None


def dictionary_form(text: str, term: re.Match[str], language: str) -> str:
    """The word as a dictionary lists it, or nothing for what looks like a name.

    A capital is taken off at the start of a sentence and off words all in capitals; German nouns keep it.
    """
    word, start = term[0], term.start()
    lower = word.lower()
    if word == lower:
        return word
    if word[1:] == lower[1:]:
        if language == "de":
            return lower if starts_sentence(text, start) and find_lemma(lower, "de") is not None else word
        is_name = language == "en" and english.is_name(word)
        return lower if starts_sentence(text, start) and not is_name else ""
    return ""


@dataclass(frozen=True)
class Sense(Exchange):
    """Replaces a random word by one that WordNet puts in some relation to its first sense, in its form."""

    languages: ClassVar[frozenset[str] | None] = frozenset({"en"})
    relation: ClassVar[english.Relation]

    def describe_missing_resource(self, language: str) -> str | None:
        """WordNet, where it is not here."""
        return resources.describe_missing("WordNet", language=language)

    def found(self, view: View[str]) -> list[Options]:
        """Every word with such others."""
        text, found = view.output, []
        words, related, relation = find_dictionary_words(text), english.related, self.relation
        lower = "\n".join([term[0] for term in words]).lower().split("\n")
        for i, small in enumerate(lower if words else ()):
            if related(small, relation) is None:
                continue
            term = words[i]
            form = small if term[0] == small else dictionary_form(text, term, "en")
            previous = lower[i - 1] if i else ""
            following = lower[i + 1] if i + 1 < len(lower) else ""
            options = english.fitting(self.relation, previous, form, following) if form else ()
            if options and term[0][:1].isupper():
                options = tuple(copy_case(term[0], word) for word in options)
            if options:
                found.append((term.span(), options))
        return found


@dataclass(frozen=True)
class Antonym(Sense):
    """Replaces a random word by its opposite, in its form: WordNet's antonyms of its first sense."""

    name: ClassVar[str] = "antonym"
    relation: ClassVar[english.Relation] = "antonym"
    summary: ClassVar[str] = "replaces a word by one of opposite meaning (en)"


@dataclass(frozen=True)
class Cohyponym(Sense):
    """Replaces a random noun by another kind of the same thing: Monday by Friday, an apple by a pear."""

    name: ClassVar[str] = "cohyponym"
    relation: ClassVar[english.Relation] = "cohyponym"
    summary: ClassVar[str] = "replaces a noun by another kind of the same thing (en)"


@dataclass(frozen=True)
class Hypernym(Sense):
    """Replaces a random noun by what it is a kind of, which says less."""

    name: ClassVar[str] = "hypernym"
    relation: ClassVar[english.Relation] = "hypernym"
    summary: ClassVar[str] = "replaces a noun by a more general one (en)"


@dataclass(frozen=True)
class WrongSense(Sense):
    """Replaces a random noun by a word for another of its meanings: an interest rate by a hobby rate."""

    name: ClassVar[str] = "wrong_sense"
    relation: ClassVar[english.Relation] = "wrong_sense"
    summary: ClassVar[str] = "replaces a noun by a word for another of its meanings (en)"


PERTURBATIONS = (Synonym, Antonym, Cohyponym, Hypernym, WrongSense)
