"""Perturbations that change a fact: a number, date, unit, gender, quantity, tense or untranslated word.

The sentence stays grammatical, so that the perturbed output is worse whatever the taste of the reader. None
of these perturbations is a default.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.base import View
from metassay.perturbations.languages import german
from metassay.perturbations.pronoun import classify_pronoun_role
from metassay.perturbations.random_replacement import DisjointSpans, RandomReplacement, Replacement
from metassay.text.segmentation import (
    describe_missing_word_segmenter,
    find_words_in_text_without_spaces,
    is_written_without_spaces,
)
from metassay.text.word_lists import WordLists, build_regex_for_words, find_folders_with_file
from metassay.text.words import WITHOUT_SPACES, Span, copy_case, find_dictionary_words

_PACKS = "metassay.perturbations.languages"
# Longer runs of digits are not numbers that people read, and have too many variants to list.
_LONGEST_NUMBER = 40


# Digits that are attached to letters or to signs such as "/", ":" and "@" are parts of names, times, dates
# and addresses, not quantities.
_NUMBER = re.compile(
    r"(?<![A-Za-z\u00c0-\u04ff\d_.,:/@#&=-])\d+(?:[.,]\d+)*(?![A-Za-z\u00c0-\u04ff_@#&=-]|[.,:/]?\d)",
    re.ASCII,
)
# Last digits after which Russian nouns have one form; 1 has its own.
_DIGITS_WITH_SAME_FORM = ("234", "567890")


@dataclass(frozen=True)
class Number(RandomReplacement):
    """Changes one digit of a random number. Separators and the length of the number stay the same.

    No number becomes 0 or 1 or stops being one of them. In Russian the last digit only becomes another after
    which nouns have the same form: agreement stays. Numbers of a list ("2.") and parts of names are left
    alone.
    """

    name: ClassVar[str] = "number"
    default: ClassVar[bool] = False
    needs_spaces: ClassVar[bool] = False
    summary: ClassVar[str] = "changes a digit of a random number"

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every number of the output, with the numbers that differ from it in one digit."""
        text = output_view.output
        replacements = []
        for match in _NUMBER.finditer(text):
            if len(match[0]) > _LONGEST_NUMBER or _does_number_begin_list_entry(text, match):
                continue
            other_numbers = _list_numbers_with_one_other_digit(match[0], output_view.language)
            if other_numbers:
                replacements.append(Replacement(match.span(), other_numbers))
        return replacements


def _does_number_begin_list_entry(text: str, number: re.Match[str]) -> bool:
    """Return whether a number at the start of a text numbers a list entry, such as `2.`."""
    return text[: number.start()].strip() == "" and text[number.end() : number.end() + 1] in {".", ")"}


@functools.lru_cache(maxsize=1 << 14)
def _list_numbers_with_one_other_digit(number: str, language: str | None) -> tuple[str, ...]:
    """List the numbers that differ from a number in one digit. Numbers after which a noun would need another
    form are left out.

    Empty for 0 and 1: after 1, and in French also after 0, nouns are in the singular.
    """
    if number in {"0", "1"}:
        return ()
    numbers = []
    for i, old in enumerate(number):
        if not old.isdigit():
            continue
        # A number that ends in 1 may ask for the singular.
        allowed = "023456789" if i == len(number) - 1 else "0123456789"
        if language == "ru" and i == len(number) - 1:
            allowed = next((digits for digits in _DIGITS_WITH_SAME_FORM if old in digits), "")
        # 11 to 19 take another form of the noun than 1 to 9 in Russian, so a 1 before the last digit neither
        # comes nor goes.
        if language == "ru" and i == len(number) - 2:
            allowed = "" if old == "1" else allowed.replace("1", "")
        # A leading zero would shorten the number.
        excluded = {old, "0"} if i == 0 else {old}
        numbers += [number[:i] + new + number[i + 1 :] for new in allowed if new not in excluded]
    return tuple(numbers)


@functools.cache
def _load_units(language: str) -> dict[str, tuple[str, ...]]:
    """Load the units of a language, each with the other units of the same kind."""
    rows: dict[str, tuple[str, ...]] = {}
    for row in WordLists(_PACKS, language).read_tab_separated_rows("units"):
        for word in row:
            rows[word] = (*rows.get(word, ()), *(other for other in row if other != word))
    return rows


@functools.cache
def _load_days_and_months(language: str) -> dict[str, tuple[str, ...]]:
    """Load the names of days and months, each with the names of the same kind and form, which can
    replace it.
    """
    kinds: dict[tuple[str, str], list[str]] = {}
    for kind, form, word in WordLists(_PACKS, language).read_tab_separated_rows("calendar", 3):
        # Only words of one form replace each other: a case or an abbreviation would not fit its place
        # otherwise.
        kinds.setdefault((kind, form), []).append(word)
    calendar = {}
    for words in kinds.values():
        for word in words:
            calendar[word] = tuple(other for other in words if other != word)
    return calendar


# English months that are also other words.
_AMBIGUOUS_MONTHS = frozenset({"May", "March"})
_BEFORE_MONTH = re.compile(
    r"(?:\d(?:st|nd|rd|th)?|\b(?:in|of|since|until|by|this|last|next|to|and|early|late))\s+$"
)
_RUSSIAN_MONTH_ENDINGS = ("ря", "ля", "та", "ая", "ня", "ре", "ле", "те", "ае", "не")
_BEFORE_DAY = re.compile(r"\b[Вв]\s+$")


@dataclass(frozen=True)
class Date(RandomReplacement):
    """Replaces a random weekday or month by another weekday or month in the same grammatical form."""

    name: ClassVar[str] = "date"
    default: ClassVar[bool] = False
    languages: ClassVar[frozenset[str] | None] = find_folders_with_file(_PACKS, "calendar.tsv")
    summary: ClassVar[str] = "replaces a weekday or month by another one"

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every day and month of the output, with other days or months that can replace it.

        Russian days count only after «в», and the English "May" and "March" only in dates.
        """
        language = output_view.language or ""
        calendar = _load_days_and_months(language)
        words = [word for word in find_dictionary_words(output_view.output) if word[0] in calendar]
        dates = [word for word in words if _is_part_of_date(output_view.output, word, language)]
        return [Replacement(word.span(), calendar[word[0]]) for word in dates]


def _is_part_of_date(text: str, word: re.Match[str], language: str) -> bool:
    """Return whether a word that can name a day or month is used as a date, unlike the verb "may"."""
    # The longest word that the patterns look for fits into 12 characters, with its spaces.
    before = text[max(0, word.start() - 12) : word.start()]
    if language == "ru" and not word[0].endswith(_RUSSIAN_MONTH_ENDINGS):
        return _BEFORE_DAY.search(before) is not None
    if language != "en" or word[0] not in _AMBIGUOUS_MONTHS:
        return True
    precedes_number = text[word.end() : word.end() + 2].strip()[:1].isdigit()
    return precedes_number or _BEFORE_MONTH.search(before) is not None


_UNIT = re.compile(r"(?<=\d)[\s\u00a0-]?([^\W\d_]+)|(?<![\w$€£])([$€£])(?=\d)")
_SIGNS = {"$": ("€", "£"), "€": ("$", "£"), "£": ("$", "€")}


@dataclass(frozen=True)
class Unit(RandomReplacement):
    """Replaces the unit after a random number, or the currency sign before it, by another unit of the same
    kind.
    """

    name: ClassVar[str] = "unit"
    default: ClassVar[bool] = False
    languages: ClassVar[frozenset[str] | None] = find_folders_with_file(_PACKS, "units.tsv")
    summary: ClassVar[str] = "replaces a unit or currency by another one"

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every unit after a number and every currency sign before one, with other units that can
        replace it.
        """
        units = _load_units(output_view.language or "")
        replacements = []
        for match in _UNIT.finditer(output_view.output):
            group = 1 if match[1] else 2
            alternatives = units.get(match[1], ()) if match[1] else _SIGNS[match[2]]
            if alternatives:
                replacements.append(Replacement(match.span(group), alternatives))
        return replacements


@dataclass(frozen=True)
class Gender(RandomReplacement):
    """Replaces a random word for a man by one for a woman, or the reverse: he by she, son by daughter."""

    name: ClassVar[str] = "gender"
    default: ClassVar[bool] = False
    languages: ClassVar[frozenset[str] | None] = find_folders_with_file(_PACKS, "genders.tsv")
    summary: ClassVar[str] = "exchanges words for men and women (en, de, ru)"

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every word of the output that has a counterpart for the other gender, with this
        counterpart.
        """
        text = output_view.output
        language = output_view.language or ""
        counterparts = _load_gender_counterparts(language)
        replacements = []
        for match in find_dictionary_words(text):
            word = match[0] if match[0] in counterparts else match[0].lower()
            if word in counterparts or (word == "her" and language == "en"):
                counterpart = _find_gender_counterpart(text, match, word, language)
                if counterpart:
                    replacements.append(Replacement(match.span(), (copy_case(match[0], counterpart),)))
        return replacements


@functools.cache
def _load_gender_counterparts(language: str) -> dict[str, str]:
    """Load the words for men and women of a language, each with the word for the other gender."""
    return WordLists(_PACKS, language).read_mapping_from_list("genders")


def _find_gender_counterpart(text: str, match: re.Match[str], word: str, language: str) -> str | None:
    """Return the word for the other gender, such as "she" for "he", or None if it is not clear which word
    fits.
    """
    # A word in capitals among others is probably an abbreviation.
    if len(match[0]) > 1 and match[0].isupper() and not text.isupper():
        return None
    if language == "en":
        # "her" is him or his, so the list has no counterpart of it, and the words around it decide.
        if word == "her":
            return {2: "him", 3: "his"}.get(classify_pronoun_role(text, match, language))
        return _load_gender_counterparts(language)[word]
    # Replaced only where they are clearly the subject: "sie" is she, her or they.
    subjects = {"er", "sie", "он", "она"}
    if word in subjects and classify_pronoun_role(text, match, language) != 0:
        return None
    # A capital makes "Sie" the polite "you", which has no gender.
    if language == "de" and match[0] != match[0].lower() and match[0] in german.FORMAL_PRONOUNS:
        return None
    return _load_gender_counterparts(language)[word]


@dataclass(frozen=True)
class ListReplacement(RandomReplacement):
    """Replaces a random word by another word from the same row of a word list for the language.

    The first cell of a row says what must follow the word.
    """

    default: ClassVar[bool] = False
    needs_spaces: ClassVar[bool] = False
    rows: ClassVar[str]

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every word of the output that is in the word list, with the words that can replace it."""
        replacements = []
        used_spans = DisjointSpans()
        for pattern, words in _load_word_list_as_patterns(output_view.language or "", self.rows):
            for match in pattern.finditer(output_view.output):
                if used_spans.overlaps_no_stored_span(match.span()):
                    used_spans.add_span(match.span())
                    others = [word for word in words if word != match[0].lower()]
                    alternatives = tuple(copy_case(match[0], word) for word in others)
                    replacements.append(Replacement(match.span(), alternatives))
        return sorted(replacements)


@functools.cache
def _load_word_list_as_patterns(
    language: str, list_name: str
) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """Load the rows of a word list. For each row, return a regular expression that finds its words, and the
    words themselves.
    """
    edge = "" if language in WITHOUT_SPACES else r"(?![\w'’-])"
    rows = []
    for follows, *words in WordLists(_PACKS, language).read_tab_separated_rows(list_name):
        ahead = "" if follows == "*" else f"(?={follows})"
        # The same characters must not stand before the word.
        before = edge.replace("(?!", "(?<!")
        rows.append(
            (re.compile(f"{before}{build_regex_for_words(words)}{edge}{ahead}", re.IGNORECASE), tuple(words))
        )
    return tuple(rows)


@dataclass(frozen=True)
class Quantifier(ListReplacement):
    """Replaces a random word for a quantity or frequency by another one: all by few, always by sometimes."""

    name: ClassVar[str] = "quantifier"
    rows: ClassVar[str] = "quantifiers"
    languages: ClassVar[frozenset[str] | None] = find_folders_with_file(_PACKS, "quantifiers.tsv")
    summary: ClassVar[str] = "changes a word for how many or how often, such as all or never"


@dataclass(frozen=True)
class Tense(ListReplacement):
    """Changes the tense of an auxiliary or another common verb from present to past, or the reverse."""

    name: ClassVar[str] = "tense"
    rows: ClassVar[str] = "tenses"
    languages: ClassVar[frozenset[str] | None] = find_folders_with_file(_PACKS, "tenses.tsv")
    summary: ClassVar[str] = "changes the tense of an auxiliary verb"


@dataclass(frozen=True)
class Untranslated(RandomReplacement):
    """Replaces a word of the output by a word of the source text at about the same position, as if it were
    not translated.

    Both have four letters or more (two signs in scripts without spaces) and the output has not the source's.
    """

    name: ClassVar[str] = "untranslated"
    default: ClassVar[bool] = False
    needs_spaces: ClassVar[bool] = False
    summary: ClassVar[str] = "replaces a word of the output by a word of the source"

    def get_installation_hint_for_language(self, language: str) -> str | None:
        """Return how to install the package that splits texts without spaces into words, or None if it is not
        needed.
        """
        return describe_missing_word_segmenter(language)

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every long word of the output, with the word at about the same position of the source that
        can replace it.
        """
        source = output_view.source or ""
        output_spans = _find_long_words(output_view.output, output_view.language)
        source_spans = _find_long_words(source, None)
        if not output_spans or not source_spans:
            return []
        lower_output = output_view.output.lower()
        words_by_span: dict[Span, tuple[str, ...]] = {}
        for i, (start, end) in enumerate(source_spans):
            word = source[start:end]
            if word.lower() not in lower_output:
                # Without a word alignment, the relative position in the sentence is the best guess of what
                # corresponds.
                position = min(i * len(output_spans) // len(source_spans), len(output_spans) - 1)
                span = output_spans[position]
                words_by_span[span] = (*words_by_span.get(span, ()), word)
        return [Replacement(span, words) for span, words in sorted(words_by_span.items())]


def _find_long_words(text: str, language: str | None) -> list[Span]:
    """Find the words of at least four letters in a text, or of at least two characters in scripts without
    spaces.
    """
    if is_written_without_spaces(text, language):
        return [
            (start, end)
            for start, end in find_words_in_text_without_spaces(text, language)
            if end - start > 1
        ]
    return [term.span() for term in find_dictionary_words(text) if len(term[0]) > 3]


PERTURBATIONS = (Number, Date, Unit, Gender, Quantifier, Tense, Untranslated)
