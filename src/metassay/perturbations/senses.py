"""A word replaced by one that a thesaurus puts beside it: synonyms, opposites, sisters, the general."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.base import View
from metassay.perturbations.languages import english, german, russian
from metassay.perturbations.random_replacement import RandomReplacement, Replacement
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
class Sense(RandomReplacement):
    """Replaces a random word by one that WordNet puts in some relation to its first sense, in its form."""

    default: ClassVar[bool] = False
    languages: ClassVar[frozenset[str] | None] = frozenset({"en"})
    relation: ClassVar[english.Relation]

    def describe_missing_resource(self, language: str) -> str | None:
        """WordNet, where it is not here."""
        return resources.describe_missing("WordNet", language=language)

    def find_replacements(self, view: View[str]) -> list[Replacement]:
        """Return every word that has a related word which fits its place."""
        text = view.output
        words = find_dictionary_words(text)
        # One call of `lower` for all words is faster than one for each.
        lower_words = "\n".join([word[0] for word in words]).lower().split("\n") if words else []
        replacements = []
        for i, lower_word in enumerate(lower_words):
            if english.related(lower_word, self.relation) is None:
                continue
            word = words[i]
            form = lower_word if word[0] == lower_word else dictionary_form(text, word, "en")
            if not form:
                continue
            previous_word = lower_words[i - 1] if i else ""
            next_word = lower_words[i + 1] if i + 1 < len(lower_words) else ""
            related_words = english.fitting(self.relation, previous_word, form, next_word)
            if related_words and word[0][:1].isupper():
                related_words = tuple(copy_case(word[0], related) for related in related_words)
            if related_words:
                replacements.append(Replacement(word.span(), related_words))
        return replacements


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
