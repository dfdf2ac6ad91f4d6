"""Names in texts: those that lists know, what a name in a text is, and what a language says about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metassay.text.word_lists import WordLists

_LISTS = {
    language: WordLists("metassay.perturbations.languages", language) for language in ("en", "de", "ru")
}
_ENGLISH, _GERMAN = _LISTS["en"], _LISTS["de"]
_LATIN = WordLists("metassay.perturbations.languages", "latin")

FEMALE = _LATIN.read_words("female_names")
"""Given names in Latin script."""
MALE = _LATIN.read_words("male_names")
FAMILY_NAMES = _LATIN.read_words("family_names")
"""People known by their family names."""
FAMILY_NAMES_FIRST = _LATIN.read_words("family_names_first")
"""East Asian family names."""

PLACES = {language: _LISTS[language].read_words("places") for language in ("en", "de")}
"""Places as English and German write them; German ones without an article."""
GERMAN_ARTICLES = _GERMAN.read_word_groups("places_with_article")
"""Places with an article; those in `masc` stand without one too, in the plural only those that never bend."""
PLACE_WORDS = _ENGLISH.read_words("place_words")

COMPANIES = _LATIN.read_words("companies")
"""Companies and what they run: without an article in every language."""
BODIES = _ENGLISH.read_words("bodies")
"""Bodies in English, many by their letters."""
GERMAN_BODIES = _GERMAN.read_word_groups("bodies")
"""Bodies known by their letters, by the article they take."""
ORGANISATION_WORDS = _ENGLISH.read_words("organisation_words")

PERSON_TITLES = {language: _LISTS[language].read_words("person_titles") for language in ("en", "de")}
NOT_NAMES = {language: _LISTS[language].read_words("not_names") for language in ("en", "de")}
"""Words with capitals that are no names."""

PEOPLES = {language: lists.read_words("peoples") for language, lists in _LISTS.items()}
"""Adjectives of peoples; in German and Russian without their ending, which is the same for all."""
CALENDAR = {
    language: {word: (kind, form.strip("-")) for kind, form, word in lists.read_rows("calendar", 3)}
    for language, lists in _LISTS.items()
}
"""Kind and form of days and months. Russian days stand after *в* (*вторник* would need *во*)."""
Mention = tuple[int, int, str, str]
"""Start, end, kind and form of a name.

The kind is PER, LOC or ORG; `PER?` or `LOC?` where only the words around it hint at it; NAME where nothing
does. Names of one kind and form can stand in each other's place. A name whose form ends in a question mark
can be replaced, but does not replace another.
"""

Word = re.Match[str]

CAPITALISED = re.compile(r"(?<![\w#@&/-])[^\W\d_a-zß][\w’'-]*(?![\w#])")
_BEFORE = re.compile(r"([\w’'-]+)\.? $")
_AFTER = re.compile(r" ([\w’'-]+)")


def word_before(text: str, start: int) -> str:
    """The word just before a place, if nothing but a space or a full stop lies between."""
    found = _BEFORE.search(text, max(0, start - 24), start) if text[start - 1 : start] == " " else None
    return found[1] if found else ""


def word_after(text: str, end: int) -> str:
    """The word just after a place, if nothing but a space lies between."""
    found = _AFTER.match(text, end) if text[end : end + 1] == " " else None
    return found[1] if found else ""


def bare_name(word: Word) -> str:
    """A word without apostrophes and hyphens at its end, and without the English genitive."""
    return word[0] if _MARKS.isdisjoint(word[0][-2:]) else _TAIL.sub("", word[0])


_TAIL = re.compile(r"['’-]+$|['’]s$")
_MARKS = frozenset("'’-")


def end_of_name(word: Word) -> int:
    """Where the bare word ends."""
    return word.start() + len(bare_name(word))


_NO_CAPITALS = frozenset("abcdefghijklmnopqrstuvwxyzß_-")
_HYPHEN = re.compile("(?<!-)-|(?<!-)$")

MOST_WORDS = 4
"""The longest name."""


@dataclass(frozen=True)
class NameRules:
    """The questions that the finder of names asks."""

    may_belong: Callable[[str, Word, str], bool]
    """Whether a word of a text may belong to a name, given the first word of the name so far."""

    is_part: Callable[[str, int, int], bool]
    """Whether what stands between two places is only a part of a name, or of another thing."""

    kind: Callable[[str, Sequence[str]], str]
    """PER, LOC, ORG, NAME, or nothing, from the word before and the name's words."""

    form: Callable[[str, Sequence[str], str], str | None]
    """The form, from the word before, the words and the kind; None where it stands as no name of its kind."""

    hint: Callable[[str, int, int, Sequence[str]], str]
    """What the words around a name say of its kind; nothing where it is better left alone."""

    may_be_named: Callable[[str], bool]
    """Whether a word, bare, may be of a name wherever it stands: every name has such a word, or such a start
    of a word up to a hyphen. Texts without one need no search."""

    modifiers: frozenset[str] = frozenset()
    """Places that may stand before other words with capitals: the *Beijing* Winter Olympics."""

    def is_telling(self, word: str) -> bool:
        """Whether a word begins as those of `CAPITALISED` do, and it or its start up to a hyphen is such."""
        if word[0] in _NO_CAPITALS or word[0].isdecimal():
            return False
        if "-" not in word:
            return self.may_be_named(word)
        return any(self.may_be_named(word[: hyphen.start()]) for hyphen in _HYPHEN.finditer(word))
