"""`synonym`, `antonym`, `cohyponym`, `hypernym`, `wrong_sense`: replace a word by a related one."""

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
    iterate_words_with_next_word,
    replace_spans,
    starts_sentence,
)

_SYNONYM_FINDERS: dict[str, Callable[[str, str, str], tuple[str, ...]]] = {
    "en": english.find_fitting_synonyms,
    "de": german.find_fitting_synonyms,
    "ru": russian.find_fitting_synonyms,
}
_RESOURCES = {
    "en": ("WordNet",),
    "de": ("OpenThesaurus", "simplemma"),
    "ru": ("Russian thesaurus", "pymorphy3"),
}


@dataclass(frozen=True)
class Synonym(WordEdit):
    """Replaces the first `strength` words of a text that have a synonym in the same inflected form.

    Synonyms come from WordNet (English), OpenThesaurus (German) and a Russian thesaurus. A word is replaced
    only if its part of speech is clear; names and function words are not replaced. This is not a default,
    because many perturbed outputs are as good as the original (see `label_errors.tsv`).
    """

    name: ClassVar[str] = "synonym"
    default: ClassVar[bool] = False
    languages: ClassVar[frozenset[str] | None] = frozenset(_SYNONYM_FINDERS)
    summary: ClassVar[str] = "replaces the first word that has a synonym (en, de, ru)"

    def get_installation_hint_for_language(self, language: str) -> str | None:
        """Return how to install the thesaurus or analyser that a language needs, or None if none is
        missing.
        """
        return resources.describe_missing_resource(*_RESOURCES[language], language=language)

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the output with the first words that have synonyms replaced."""
        text = output_view.output
        language = output_view.language or ""
        find_fitting_synonyms = _SYNONYM_FINDERS[language]
        edits = []
        previous_word = ""
        for word, next_word in iterate_words_with_next_word(text):
            form = lower_word_at_sentence_start(text, word, language)
            synonyms = find_fitting_synonyms(previous_word, form, next_word) if form else ()
            previous_word = word[0].lower()
            if synonyms:
                edits.append((word.span(), copy_case(word[0], random_stream.choice(synonyms))))
                if len(edits) == self.strength:
                    return replace_spans(text, edits)
        return None


def lower_word_at_sentence_start(text: str, word: re.Match[str], language: str) -> str:
    """Return a word in lower case if its capital only marks the start of a sentence, or an empty text if the
    word looks like a name.

    German nouns keep their capital.
    """
    lower_word = word[0].lower()
    if word[0] == lower_word:
        return lower_word
    # A capital after the first letter: an abbreviation or a brand.
    if word[0][1:] != lower_word[1:]:
        return ""
    is_first = starts_sentence(text, word.start())
    if language == "de":
        is_lower_case_word = is_first and find_lemma(lower_word, "de") is not None
        return lower_word if is_lower_case_word else word[0]
    if language == "en" and english.is_proper_name(word[0]):
        return ""
    return lower_word if is_first else ""


@dataclass(frozen=True)
class RelatedWord(RandomReplacement):
    """Replaces a random word by a word that is related to its most frequent sense in WordNet, such as an
    antonym.
    """

    default: ClassVar[bool] = False
    languages: ClassVar[frozenset[str] | None] = frozenset({"en"})
    relation: ClassVar[english.Relation]

    def get_installation_hint_for_language(self, language: str) -> str | None:
        """Return how to install WordNet, or None if it is installed."""
        return resources.describe_missing_resource("WordNet", language=language)

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every word of the output that has related words, with those that fit between its
        neighbours.
        """
        text = output_view.output
        words = find_dictionary_words(text)
        # One call of `lower` for all words is faster than one for each.
        lower_words = "\n".join([word[0] for word in words]).lower().split("\n") if words else []
        replacements = []
        for i, lower_word in enumerate(lower_words):
            # The cached look-up rejects most words before their capitals are examined.
            if english.find_related_words(lower_word, self.relation) is None:
                continue
            word = words[i]
            form = lower_word if word[0] == lower_word else lower_word_at_sentence_start(text, word, "en")
            if not form:
                continue
            previous_word = lower_words[i - 1] if i else ""
            next_word = lower_words[i + 1] if i + 1 < len(lower_words) else ""
            related_words = english.find_fitting_related_words(self.relation, previous_word, form, next_word)
            if related_words and word[0][:1].isupper():
                related_words = tuple(copy_case(word[0], related) for related in related_words)
            if related_words:
                replacements.append(Replacement(word.span(), related_words))
        return replacements


@dataclass(frozen=True)
class Antonym(RelatedWord):
    """Replaces a random word by a word with the opposite meaning (of its most frequent sense in WordNet)."""

    name: ClassVar[str] = "antonym"
    relation: ClassVar[english.Relation] = "antonym"
    summary: ClassVar[str] = "replaces a word by one of opposite meaning (en)"


@dataclass(frozen=True)
class Cohyponym(RelatedWord):
    """Replaces a random noun by another kind of the same thing, such as Monday by Friday or apple by pear."""

    name: ClassVar[str] = "cohyponym"
    relation: ClassVar[english.Relation] = "cohyponym"
    summary: ClassVar[str] = "replaces a noun by a similar kind of thing (en)"


@dataclass(frozen=True)
class Hypernym(RelatedWord):
    """Replaces a random noun by a more general one, such as apple by fruit."""

    name: ClassVar[str] = "hypernym"
    relation: ClassVar[english.Relation] = "hypernym"
    summary: ClassVar[str] = "replaces a noun by a more general one (en)"


@dataclass(frozen=True)
class WrongSense(RelatedWord):
    """Replaces a random noun by a word for another of its meanings, such as interest (on a loan) by hobby."""

    name: ClassVar[str] = "wrong_sense"
    relation: ClassVar[english.Relation] = "wrong_sense"
    summary: ClassVar[str] = "replaces a noun by a word for another of its meanings (en)"


PERTURBATIONS = (Synonym, Antonym, Cohyponym, Hypernym, WrongSense)
