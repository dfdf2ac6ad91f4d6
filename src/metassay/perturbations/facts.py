"""Edits that change what is said: number, date, unit, sex, how many, when, a word left over.

All on request. Each changes a fact and leaves the sentence as grammatical as it was, so that a copy is worse
whatever the taste of the reader.
"""

from __future__ import annotations

import functools
import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.base import View
from metassay.perturbations.languages import german
from metassay.perturbations.replacement import pronoun_row
from metassay.perturbations.words import WordEdit
from metassay.stats.streams import Stream
from metassay.text.segmentation import describe_missing_segmenter, is_written_without_spaces, segment
from metassay.text.word_lists import WordLists, build_pattern, find_folders_with
from metassay.text.words import WITHOUT_SPACES, Span, copy_case, find_dictionary_words, replace_spans

Options = tuple[Span, tuple[str, ...]]
_PACKS = "metassay.perturbations.languages"


@dataclass(frozen=True)
class Exchange(WordEdit):
    """Replaces something random by something random of its kind."""

    default: ClassVar[bool] = False

    @abstractmethod
    def found(self, view: View[str]) -> list[Options]:
        """What can be replaced, in order, and by what."""

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with what was drawn replaced."""
        found = self.found(view)
        if len(found) < self.strength:
            return None
        drawn = [found[i] for i in sorted(stream.sample(len(found), self.strength))]
        return replace_spans(view.output, [(span, stream.choice(options)) for span, options in drawn])


_NUMBER = re.compile(
    r"(?<![A-Za-z\u00c0-\u04ff\d_.,:/@#&=-])\d+(?:[.,]\d+)*(?![A-Za-z\u00c0-\u04ff_@#&=-]|[.,:/]?\d)",
    re.ASCII,
)
_ALIKE = ("234", "567890")
"""Last digits after which Russian nouns have one form; 1 has its own."""


@dataclass(frozen=True)
class Number(Exchange):
    """Changes one digit of a random number written in digits; separators and length stay.

    No number becomes 1 or stops being 1, nor changes its last digit in Russian but among those after which
    nouns have the same form: agreement stays. Numbers of a list ("2.") and parts of names are left alone.
    """

    name: ClassVar[str] = "number"
    needs_spaces: ClassVar[bool] = False
    summary: ClassVar[str] = "changes a digit of a random number"

    def found(self, view: View[str]) -> list[Options]:
        """Every number with all that differ in one digit."""
        text = view.output
        numbers = (match for match in _NUMBER.finditer(text) if not _is_label(text, match))
        options = ((match.span(), _other_numbers(match[0], view.language)) for match in numbers)
        return [(span, others) for span, others in options if others]


def _is_label(text: str, match: re.Match[str]) -> bool:
    return text[: match.start()].strip() == "" and text[match.end() : match.end() + 1] in {".", ")"}


@functools.lru_cache(maxsize=1 << 14)
def _other_numbers(number: str, language: str | None) -> tuple[str, ...]:
    if number.strip("0") in {"", "1"} and len(number) < 2:
        return ()
    found = []
    for i, old in enumerate(number):
        if not old.isdigit():
            continue
        allowed = "023456789" if i == len(number) - 1 else "0123456789"
        if language == "ru" and i == len(number) - 1:
            allowed = next((digits for digits in _ALIKE if old in digits), "")
        if language == "ru" and i == len(number) - 2:
            allowed = "" if old == "1" else allowed.replace("1", "")
        barred = {old, "0"} if i == 0 else {old}
        found += [number[:i] + new + number[i + 1 :] for new in allowed if new not in barred]
    return tuple(found)


@functools.cache
def _rows(language: str, name: str) -> dict[str, tuple[str, ...]]:
    """Every word of a list with the others of its rows."""
    rows: dict[str, tuple[str, ...]] = {}
    for row in WordLists(_PACKS, language).read_rows(name):
        for word in row:
            rows[word] = (*rows.get(word, ()), *(other for other in row if other != word))
    return rows


@functools.cache
def _calendar(language: str) -> dict[str, tuple[str, ...]]:
    kinds: dict[tuple[str, str], list[str]] = {}
    for kind, form, word in WordLists(_PACKS, language).read_rows("calendar", 3):
        kinds.setdefault((kind, form), []).append(word)
    return {word: tuple(w for w in words if w != word) for words in kinds.values() for word in words}


_VERBS_TOO = frozenset({"May", "March", "мая", "марта"})
_BEFORE_MONTH = re.compile(
    r"(?:\d(?:st|nd|rd|th)?|\b(?:in|of|since|until|by|this|last|next|to|and|early|late))\s+$"
)
_BEFORE_DAY = re.compile(r"\b[Вв]\s+$")


@dataclass(frozen=True)
class Date(Exchange):
    """Replaces a random weekday or month by another one in the same form."""

    name: ClassVar[str] = "date"
    languages: ClassVar[frozenset[str] | None] = find_folders_with(_PACKS, "calendar.tsv")
    summary: ClassVar[str] = "replaces a weekday or month by another one"

    def found(self, view: View[str]) -> list[Options]:
        """Every day and month; Russian days after «в», and May and March where a date is meant."""
        text, calendar = view.output, _calendar(view.language or "")
        return [
            (term.span(), calendar[term[0]])
            for term in find_dictionary_words(text)
            if term[0] in calendar and _is_date(text, term, view.language or "")
        ]


def _is_date(text: str, term: re.Match[str], language: str) -> bool:
    before = text[max(0, term.start() - 12) : term.start()]
    if language == "ru" and not term[0].endswith(
        ("ря", "ля", "та", "ая", "ня", "ре", "ле", "те", "ае", "не")
    ):
        return _BEFORE_DAY.search(before) is not None
    dated = (
        _BEFORE_MONTH.search(before) is not None or text[term.end() : term.end() + 2].strip()[:1].isdigit()
    )
    return language != "en" or term[0] not in _VERBS_TOO or dated


_UNIT = re.compile(r"(?<=\d)[\s\u00a0-]?([^\W\d_]+)|(?<![\w$€£])([$€£])(?=\d)")
_SIGNS = {"$": ("€", "£"), "€": ("$", "£"), "£": ("$", "€")}


@dataclass(frozen=True)
class Unit(Exchange):
    """Replaces the unit after a random number, or the currency sign before it, by another of its kind."""

    name: ClassVar[str] = "unit"
    languages: ClassVar[frozenset[str] | None] = find_folders_with(_PACKS, "units.tsv")
    summary: ClassVar[str] = "replaces a unit or currency by another one"

    def found(self, view: View[str]) -> list[Options]:
        """Every unit beside digits."""
        rows = _rows(view.language or "", "units")
        found = []
        for match in _UNIT.finditer(view.output):
            group = 1 if match[1] else 2
            options = rows.get(match[1], ()) if match[1] else _SIGNS[match[2]]
            if options:
                found.append((match.span(group), options))
        return found


@dataclass(frozen=True)
class Gender(Exchange):
    """Makes a man of a woman or a woman of a man: he and she, er and sie, он and она, son and daughter."""

    name: ClassVar[str] = "gender"
    languages: ClassVar[frozenset[str] | None] = find_folders_with(_PACKS, "genders.tsv")
    summary: ClassVar[str] = "exchanges words for men and women (en, de, ru)"

    def found(self, view: View[str]) -> list[Options]:
        """Every word that has a counterpart which agrees with what stands around it."""
        text, language = view.output, view.language or ""
        words = _rows_one_way(language)
        found: list[Options] = []
        for term in find_dictionary_words(text):
            word = term[0] if term[0] in words else term[0].lower()
            if word in words or (word == "her" and language == "en"):
                other = _counterpart(text, term, word, language)
                if other:
                    found.append((term.span(), (copy_case(term[0], other),)))
        return found


@functools.cache
def _rows_one_way(language: str) -> dict[str, str]:
    return WordLists(_PACKS, language).read_mapping("genders")


def _counterpart(text: str, term: re.Match[str], word: str, language: str) -> str | None:
    """The word for the other sex; none where the pronoun's case or verb leaves it open."""
    if len(term[0]) > 1 and term[0].isupper() and not text.isupper():
        return None
    if language == "en":
        if word == "her":
            return {2: "him", 3: "his"}.get(pronoun_row(text, term, language))
        return _rows_one_way(language)[word]
    subjects = {"er", "sie", "он", "она"}
    if word in subjects and pronoun_row(text, term, language) != 0:
        return None
    if language == "de" and term[0] != term[0].lower() and term[0] in german.FORMAL:
        return None
    return _rows_one_way(language)[word]


@dataclass(frozen=True)
class Listed(Exchange):
    """Replaces words by others of their row in a list of the pack, whose first cell says what must follow."""

    needs_spaces: ClassVar[bool] = False
    rows: ClassVar[str]

    def found(self, view: View[str]) -> list[Options]:
        """Every word of the list in its place; earlier rows win."""
        text = view.output
        found: dict[Span, tuple[str, ...]] = {}
        for pattern, words in _listed(view.language or "", self.rows):
            for match in pattern.finditer(text):
                if all(match.end() <= start or end <= match.start() for start, end in found):
                    others = (word for word in words if word != match[0].lower())
                    found[match.span()] = tuple(copy_case(match[0], word) for word in others)
        return sorted(found.items())


@functools.cache
def _listed(language: str, name: str) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """The rows of a list as patterns, each with its words."""
    edge = "" if language in WITHOUT_SPACES else r"(?![\w'’-])"
    rows = []
    for follows, *words in WordLists(_PACKS, language).read_rows(name):
        ahead = "" if follows == "*" else f"(?={follows})"
        before = edge.replace("(?!", "(?<!")
        rows.append((re.compile(f"{before}{build_pattern(words)}{edge}{ahead}", re.IGNORECASE), tuple(words)))
    return tuple(rows)


@dataclass(frozen=True)
class Quantifier(Listed):
    """Changes how many or how often: all and few, more and less, always and sometimes."""

    name: ClassVar[str] = "quantifier"
    rows: ClassVar[str] = "quantifiers"
    languages: ClassVar[frozenset[str] | None] = find_folders_with(_PACKS, "quantifiers.tsv")
    summary: ClassVar[str] = "changes how many or how often"


@dataclass(frozen=True)
class Tense(Listed):
    """Moves an auxiliary or another common verb from the present to the past, or back."""

    name: ClassVar[str] = "tense"
    rows: ClassVar[str] = "tenses"
    languages: ClassVar[frozenset[str] | None] = find_folders_with(_PACKS, "tenses.tsv")
    summary: ClassVar[str] = "moves a verb to another time"


@dataclass(frozen=True)
class Untranslated(Exchange):
    """Leaves a word untranslated: one of the source takes the place of what stands about where it does.

    Both have four letters or more (two signs in scripts without spaces) and the output has not the source's.
    """

    name: ClassVar[str] = "untranslated"
    needs_spaces: ClassVar[bool] = False
    summary: ClassVar[str] = "puts a word of the source in the place of one of the output"

    def describe_missing_resource(self, language: str) -> str | None:
        """Return how to get the package that finds the words of a language without spaces."""
        return describe_missing_segmenter(language)

    def found(self, view: View[str]) -> list[Options]:
        """Every long word of the output that some foreign word of the source stands level with."""
        here, there = _content(view.output, view.language), _content(view.source or "", None)
        if not here or not there:
            return []
        said = view.output.lower()
        pairs: dict[Span, tuple[str, ...]] = {}
        for i, (start, end) in enumerate(there):
            word = (view.source or "")[start:end]
            if word.lower() not in said:
                span = here[min(i * len(here) // len(there), len(here) - 1)]
                pairs[span] = (*pairs.get(span, ()), word)
        return sorted(pairs.items())


def _content(text: str, language: str | None) -> list[Span]:
    if is_written_without_spaces(text, language):
        return [(start, end) for start, end in segment(text, language) if end - start > 1]
    return [term.span() for term in find_dictionary_words(text) if len(term[0]) > 3]


PERTURBATIONS = (Number, Date, Unit, Gender, Quantifier, Tense, Untranslated)
