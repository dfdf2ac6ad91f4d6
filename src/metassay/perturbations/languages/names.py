"""Lists of names and helpers to find names in texts, shared by all languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metassay.text.word_lists import WordLists

_LISTS = {
    language: WordLists("metassay.perturbations.languages", language) for language in ("en", "de", "ru")
}
_ENGLISH_LISTS = _LISTS["en"]
_GERMAN_LISTS = _LISTS["de"]
_LATIN_LISTS = WordLists("metassay.perturbations.languages", "latin")

# Given names of women in Latin script.
FEMALE_NAMES = _LATIN_LISTS.read_words("female_names")
# Given names of men in Latin script.
MALE_NAMES = _LATIN_LISTS.read_words("male_names")
# Family names of well-known people.
FAMILY_NAMES = _LATIN_LISTS.read_words("family_names")
# East Asian family names, which come before the given name.
FAMILY_NAMES_FIRST = _LATIN_LISTS.read_words("family_names_first")

# Places in English and German; in German those without an article.
PLACES = {language: _LISTS[language].read_words("places") for language in ("en", "de")}
# German places with an article, by gender or `plural`; those in `masc` are also used without one.
GERMAN_PLACES_WITH_ARTICLE = _GERMAN_LISTS.read_sets_by_first_cell("places_with_article")
# English words that end the name of a place: "River".
PLACE_WORDS = _ENGLISH_LISTS.read_words("place_words")

# Companies and products, which have no article in any language.
COMPANIES = _LATIN_LISTS.read_words("companies")
# Organisations in English, many of them abbreviations.
ORGANISATIONS = _ENGLISH_LISTS.read_words("bodies")
# German abbreviations of organisations, by the gender of their article.
GERMAN_ORGANISATIONS = _GERMAN_LISTS.read_sets_by_first_cell("bodies")
# English words that end the name of an organisation: "University".
ORGANISATION_WORDS = _ENGLISH_LISTS.read_words("organisation_words")

PERSON_TITLES = {language: _LISTS[language].read_words("person_titles") for language in ("en", "de")}
# Capitalised words that are not names.
NOT_NAMES = {language: _LISTS[language].read_words("not_names") for language in ("en", "de")}

# Adjectives of nationality; in German and Russian without their ending, which is the same for all.
NATIONALITIES = {language: lists.read_words("peoples") for language, lists in _LISTS.items()}
# Kind and form of days and months. Russian days are in the form after *в* (*вторник* would need *во*).
CALENDAR = {
    language: {
        word: (kind, form.strip("-")) for kind, form, word in lists.read_tab_separated_rows("calendar", 3)
    }
    for language, lists in _LISTS.items()
}
MAXIMUM_NAME_WORDS = 4

# Start, end, kind and form of a name in a text.
#
# The kind is PER, LOC or ORG; `PER?` or `LOC?` if only the neighbouring words suggest it; else NAME. Names
# of the same kind and form can replace each other. A name whose form ends in a question mark can be
# replaced, but does not replace others.
Mention = tuple[int, int, str, str]

WordMatch = re.Match[str]

CAPITALISED_WORD = re.compile(r"(?<![\w#@&/-])[^\W\d_a-zß][\w’'-]*(?![\w#])")
_WORD_BEFORE = re.compile(r"([\w’'-]+)\.? $")
_WORD_AFTER = re.compile(r" ([\w’'-]+)")
_LONGEST_WORD_BEFORE = 24
_SUFFIX = re.compile(r"['’-]+$|['’]s$")
_SUFFIX_CHARACTERS = frozenset("'’-")


def find_previous_word(text: str, position: int) -> str:
    """Find the word before a position in a text, or an empty text if more than a space or full stop lies
    between.
    """
    if text[position - 1 : position] != " ":
        return ""
    match = _WORD_BEFORE.search(text, max(0, position - _LONGEST_WORD_BEFORE), position)
    return match[1] if match else ""


def find_next_word(text: str, position: int) -> str:
    """Find the word after a position in a text, or an empty text if more than a space lies between."""
    if text[position : position + 1] != " ":
        return ""
    match = _WORD_AFTER.match(text, position)
    return match[1] if match else ""


def strip_genitive_ending(word: WordMatch) -> str:
    """Return a word without the English genitive 's and without apostrophes and hyphens at its end."""
    if _SUFFIX_CHARACTERS.isdisjoint(word[0][-2:]):
        return word[0]
    return _SUFFIX.sub("", word[0])


def find_end_of_name(last_word_match: WordMatch) -> int:
    """Return the position in the text where a name ends, without the genitive or punctuation of its last
    word.
    """
    return last_word_match.start() + len(strip_genitive_ending(last_word_match))


@dataclass(frozen=True)
class NameRules:
    """The functions of a language that decide which capitalised words are names, and of which kind."""

    can_be_in_name: Callable[[str, WordMatch, str], bool]
    """Whether a word of a text can be part of a name that begins with `first_word` (empty: with itself)."""

    is_fragment: Callable[[str, int, int], bool]
    """Whether the characters from `start` to `end` of a text are only a part of a name, or of a title."""

    decide_kind: Callable[[str, Sequence[str]], str]
    """PER, LOC, ORG, NAME or empty, given the word before the name and its words."""

    decide_form: Callable[[str, Sequence[str], str], str | None]
    """The form of a name, given the word before it, its words and its kind; None if it is not a name."""

    guess_kind: Callable[[str, int, int, Sequence[str]], str]
    """The kind of a NAME that its neighbours suggest; empty if it should not be replaced."""

    places_before_nouns: frozenset[str] = frozenset()
    """Places that can precede other capitalised words: the *Beijing* Winter Olympics."""
