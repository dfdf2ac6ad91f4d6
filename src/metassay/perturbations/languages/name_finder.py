"""Find names in English and German texts by rules; nationalities, dates and years also in Russian ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from metassay.perturbations.languages.english_names import ENGLISH_NAME_RULES
from metassay.perturbations.languages.german_names import GERMAN_NAME_RULES
from metassay.perturbations.languages.names import (
    CALENDAR,
    CAPITALISED_WORD,
    NATIONALITIES,
    PERSON_TITLES,
    Mention,
    WordMatch,
    find_end_of_name,
    find_next_word,
    find_previous_word,
    strip_genitive_ending,
)
from metassay.text.spacy_models import Entity
from metassay.text.word_lists import build_regex_for_words
from metassay.text.words import starts_sentence

_RULES = {"en": ENGLISH_NAME_RULES, "de": GERMAN_NAME_RULES}
# If a larger share of the words of a text is capitalised, capitals do not show names.
HEADLINE_SHARE = 0.6
# Months that are also other words, unless a number is beside them.
_AMBIGUOUS_MONTHS = {"March", "May"}


def find_grammatical_forms_of_names(text: str, names: Sequence[Entity], language: str) -> list[Mention]:
    """Return the names that a model found in a text, each with the grammatical form that its article shows.
    Names whose form is not clear are left out.
    """
    mentions = []
    for start, end, kind in names:
        words = text[start:end].split()
        form = _RULES[language].decide_form(find_previous_word(text, start), words, kind)
        if form is not None:
            mentions.append(_make_name_mention(start, end, kind, form))
    return mentions


def _make_name_mention(start: int, end: int, entity_type: str, grammatical_form: str) -> Mention:
    """Return a name in a text as start, end, entity type and form. The -s of a German genitive is not part of
    the name.
    """
    name_end = end - 1 if grammatical_form.endswith("gent") else end
    return start, name_end, entity_type, grammatical_form


def find_names(text: str, language: str) -> Iterator[Mention]:
    """Find the names in an English or German text by rules about capitals, word lists and neighbouring
    words.
    """
    rules = _RULES[language]
    capitalised_words = [
        word for word in CAPITALISED_WORD.finditer(text) if word[0].lower() not in {"i", "a"}
    ]
    if _is_headline(text, capitalised_words):
        for word in capitalised_words:
            if strip_genitive_ending(word) in rules.places_before_nouns:
                yield _describe_place_name(word)
        return
    for candidate in _find_capitalised_sequences(text, capitalised_words, language):
        start = candidate[0].start()
        end = find_end_of_name(candidate[-1])
        if rules.is_fragment(text, start, end):
            continue
        previous_word = find_previous_word(text, start)
        words = [strip_genitive_ending(word) for word in candidate]
        kind = rules.decide_kind(previous_word, words)
        form = rules.decide_form(previous_word, words, kind)
        if not kind and words[0] in rules.places_before_nouns:
            yield _describe_place_name(candidate[0])
        elif form is not None:
            if kind == "NAME":
                kind = rules.guess_kind(text, start, end, words)
            if kind:
                yield _make_name_mention(start, end, kind, form)


def _is_headline(text: str, capitalised_words: Sequence[WordMatch]) -> bool:
    """Return whether most words of a text are capitalised, as in English headlines."""
    # At least 3, because a short text can consist of a name.
    maximum = max(HEADLINE_SHARE * len(text.split()), 3)
    # Cheap test first: most texts have few capitals.
    if len(capitalised_words) <= maximum:
        return False
    return sum(not starts_sentence(text, word.start()) for word in capitalised_words) > maximum


def _describe_place_name(word: WordMatch) -> Mention:
    """Describe a place name that is one word by its span, kind and form."""
    return word.start(), find_end_of_name(word), "LOC", ""


def _find_capitalised_sequences(
    text: str, capitalised_words: list[WordMatch], language: str
) -> Iterator[list[WordMatch]]:
    """Find the sequences of capitalised words, separated by single spaces, that can be names."""
    rules = _RULES[language]
    candidate: list[WordMatch] = []
    for word in capitalised_words:
        if candidate and text[find_end_of_name(candidate[-1]) : word.start()] != " ":
            yield candidate
            candidate = []
        first_word = strip_genitive_ending(candidate[0]) if candidate else ""
        if rules.can_be_in_name(text, word, first_word):
            candidate.append(word)
        elif candidate:
            yield candidate
            candidate = []
    if candidate:
        yield candidate


def find_nationalities_and_dates(text: str, language: str) -> list[Mention]:
    """Find the adjectives of nationality, days, months and years in a text.

    The span of a German or Russian adjective of nationality is its stem.
    """
    return sorted(
        [*_find_nationalities(text, language), *_find_dates(text, language), *_find_years(text, language)]
    )


def _find_nationalities(text: str, language: str) -> Iterator[Mention]:
    """Find the adjectives of nationality in a text."""
    for match in _NATIONALITY_PATTERNS[language].finditer(text):
        start, end = match.span(1)
        if language != "en":
            yield start, end, "PEOPLE", "stem"
        elif not _is_nationality_part_of_name(text, start, end):
            previous_word = find_previous_word(text, start).lower()
            yield start, end, "PEOPLE", previous_word if previous_word in {"a", "an"} else ""


def _is_nationality_part_of_name(text: str, start: int, end: int) -> bool:
    """Return whether an English nationality is part of a name, as in British Museum, or is the verb
    "polish".
    """
    next_word = find_next_word(text, end)
    if next_word[:1].isupper() and next_word not in PERSON_TITLES["en"]:
        return True
    previous_word = find_previous_word(text, start)
    if previous_word[:1].isupper() and not starts_sentence(text, start - len(previous_word) - 1):
        return True
    return text[start:end] == "Polish" and starts_sentence(text, start)


def _find_dates(text: str, language: str) -> Iterator[Mention]:
    """Find the days and months in a text."""
    for match in _DATE_PATTERNS[language].finditer(text):
        kind, form = CALENDAR[language][match[0]]
        # The list has weekdays in the form that follows «в».
        if language == "ru" and kind != "MONTH" and find_previous_word(text, match.start()).lower() != "в":
            continue
        if match[0] in _AMBIGUOUS_MONTHS and not _has_day_or_number_beside(text, *match.span()):
            continue
        yield *match.span(), kind, form


def _has_day_or_number_beside(text: str, start: int, end: int) -> bool:
    """Return whether the number of a day stands before a month (21st of May), or a number after the month
    (May 21).
    """
    before = text[max(0, start - _LONGEST_DAY) : start]
    return bool(_DAY_BEFORE.search(before) or _NUMBER_AFTER.match(text, end))


def _find_years(text: str, language: str) -> Iterator[Mention]:
    """Find the years in a text."""
    for match in _YEAR_PATTERNS[language].finditer(text):
        yield *match.span("year"), "YEAR", "digits"


def _compile_word_pattern(words: Iterable[str], endings: Sequence[str] = ("",)) -> re.Pattern[str]:
    """Compile a regular expression that finds any of the words, with any of the endings, as a separate
    word.
    """
    return re.compile(rf"(?<![\w-])({build_regex_for_words(words)})(?:{'|'.join(endings)})(?![\w-]|\.\w)")


_DAY_BEFORE = re.compile(r"\d\w{0,2}(?: of)? \Z")
_LONGEST_DAY = len("1st of ")
_NUMBER_AFTER = re.compile(r",? \d")
_NATIONALITY_ENDINGS = {
    "en": ("",),
    "de": ("", "e", "en", "er", "es", "em"),
    "ru": ("ий", "ая", "ое", "ие", "ого", "ому", "им", "ом", "ой", "ую", "их", "ими"),
}
_NATIONALITY_PATTERNS = {
    language: _compile_word_pattern(stems, _NATIONALITY_ENDINGS[language])
    for language, stems in NATIONALITIES.items()
}
_DATE_PATTERNS = {language: _compile_word_pattern(dates) for language, dates in CALENDAR.items()}


def _build_month_pattern(language: str) -> str:
    """Build a regular expression that finds the months of a language."""
    return "|".join(sorted(word for word, (kind, _) in CALENDAR[language].items() if kind == "MONTH"))


_YEAR = r"(?P<year>1[5-9]\d\d|20\d\d)(?![\w%/-]|[.,]\d)"
_WORDS_BEFORE_YEAR = {
    "en": rf"[Ii]n|[Ss]ince|of|by|from|until|before|after|year|{_build_month_pattern('en')}",
    "de": rf"Jahre?s?|[Ss]eit|bis|von|Ende|Anfang|Mitte|{_build_month_pattern('de')}",
}
_YEAR_PATTERNS = {
    "en": re.compile(rf"\b(?:{_WORDS_BEFORE_YEAR['en']}),? {_YEAR}"),
    "de": re.compile(rf"\b(?:{_WORDS_BEFORE_YEAR['de']}) {_YEAR}"),
    "ru": re.compile(rf"\b{_YEAR}(?= год(?:а|у|ом|е)?\b| г\.)"),
}
