"""Finds names in texts: by capitals, HanTa's tags and lists; peoples and dates by lists and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from metassay.perturbations.languages import english_names, german
from metassay.perturbations.languages.names import (
    CALENDAR,
    CAPITALISED,
    PEOPLES,
    PERSON_TITLES,
    Mention,
    Word,
    bare_name,
    end_of_name,
    word_after,
    word_before,
)
from metassay.text.thesauri import Entity
from metassay.text.words import starts_sentence

_RULES = {"en": english_names.RULES, "de": german.RULES}
HEADLINE = 0.6
"""Above this share of words with a capital inside a sentence, capitals say nothing."""
_BESIDE_A_NUMBER = {"March", "May"}
"""Other words, unless a number stands beside them."""


def find_names(texts: list[str], language: str) -> list[list[Mention]]:
    """The names of each text."""
    return [list(_names(text, language)) for text in texts]


def with_articles(text: str, found: Sequence[Entity], language: str) -> list[Mention]:
    """Names that a model found, with the form that the word before them gives."""
    named = []
    for start, end, kind in found:
        form = _RULES[language].form(word_before(text, start), text[start:end].split(), kind)
        if form is not None:
            named.append((start, end - form.endswith("gent"), kind, form))
    return named


def _names(text: str, language: str) -> Iterator[Mention]:
    rules = _RULES[language]
    capitals = [m for m in CAPITALISED.finditer(text) if m[0].lower() not in {"i", "a"}]
    inner = sum(not starts_sentence(text, word.start()) for word in capitals)
    if inner > max(HEADLINE * len(text.split()), 3):
        yield from (_place(word) for word in capitals if bare_name(word) in rules.modifiers)
        return
    for run in _runs(text, capitals, language):
        start, end = run[0].start(), end_of_name(run[-1])
        if rules.is_part(text, start, end):
            continue
        before, names = word_before(text, start), [bare_name(word) for word in run]
        kind = rules.kind(before, names)
        form = rules.form(before, names, kind)
        if not kind and names[0] in rules.modifiers:
            yield _place(run[0])
        elif form is not None:
            kind = rules.hint(text, start, end, names) if kind == "NAME" else kind
            yield from [(start, end - form.endswith("gent"), kind, form)] if kind else []


def _place(word: Word) -> Mention:
    return word.start(), end_of_name(word), "LOC", ""


def _runs(text: str, capitals: list[Word], language: str) -> Iterator[list[Word]]:
    """Words in a row, each of which may belong to a name."""
    rules = _RULES[language]
    run: list[Word] = []
    for word in capitals:
        if run and text[end_of_name(run[-1]) : word.start()] != " ":
            yield run
            run = []
        if rules.may_belong(text, word, bare_name(run[0]) if run else ""):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def listed_names(text: str, language: str) -> list[Mention]:
    """The peoples and dates of a text. Of German and Russian adjectives the span is the stem."""
    years = ((*found.span("year"), "YEAR", "digits") for found in _YEARS[language].finditer(text))
    return sorted([*_peoples(text, language), *_dates(text, language), *years])


def _peoples(text: str, language: str) -> Iterator[Mention]:
    for found in _PEOPLES[language].finditer(text):
        start, end = found.span(1)
        if language != "en":
            yield start, end, "PEOPLE", "stem"
        elif not _is_inside_a_name(text, start, end):
            before = word_before(text, start).lower()
            yield start, end, "PEOPLE", before if before in {"a", "an"} else ""


def _is_inside_a_name(text: str, start: int, end: int) -> bool:
    """British Museum, Latin American; or the verb to polish."""
    before, after = word_before(text, start), word_after(text, end)
    goes_on = after[:1].isupper() and after not in PERSON_TITLES["en"]
    begun = before[:1].isupper() and not starts_sentence(text, start - len(before) - 1)
    return goes_on or begun or (text[start:end] == "Polish" and starts_sentence(text, start))


def _dates(text: str, language: str) -> Iterator[Mention]:
    for found in _DATES[language].finditer(text):
        kind, form = CALENDAR[language][found[0]]
        after_in = language != "ru" or kind == "MONTH" or word_before(text, found.start()).lower() == "в"
        beside = found[0] not in _BESIDE_A_NUMBER or _NUMBER_BESIDE.search(text, max(0, found.start() - 5))
        if after_in and beside:
            yield *found.span(), kind, form


def _whole(words: Iterable[str], ending: str = "") -> re.Pattern[str]:
    """A pattern for any of these words, with one of these endings, and nothing but space around them."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(rf"(?<![\w-])({'|'.join(longest_first)}){ending}(?![\w-]|\.\w)")


_NUMBER_BESIDE = re.compile(r"\d\w{0,2}(?: of)? (?:March|May)\b|(?:March|May),? \d")
_PEOPLES = {
    "en": _whole(PEOPLES["en"]),
    "de": _whole(PEOPLES["de"], "(?:e|en|er|es|em)?"),
    "ru": _whole(PEOPLES["ru"], "(?:ий|ая|ое|ие|ого|ому|им|ом|ой|ую|их|ими)"),
}
_DATES = {language: _whole(own) for language, own in CALENDAR.items()}
_MONTHS = {
    language: "|".join(sorted(word for word, (kind, _) in own.items() if kind == "MONTH"))
    for language, own in CALENDAR.items()
    if language != "ru"
}
_YEAR = r"(?P<year>1[5-9]\d\d|20\d\d)(?![\w%/-]|[.,]\d)"
_YEARS = {
    "en": re.compile(rf"\b(?:[Ii]n|[Ss]ince|of|by|from|until|before|after|year|{_MONTHS['en']}),? {_YEAR}"),
    "de": re.compile(rf"\b(?:Jahre?s?|[Ss]eit|bis|von|Ende|Anfang|Mitte|{_MONTHS['de']}) {_YEAR}"),
    "ru": re.compile(rf"\b{_YEAR}(?= год(?:а|у|ом|е)?\b| г\.)"),
}
