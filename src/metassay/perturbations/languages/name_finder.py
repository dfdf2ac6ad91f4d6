"""Finds names in English and German texts by capitals, HanTa's tags and small lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metassay.perturbations.languages.de import DETERMINERS, FUNCTION_WORDS
from metassay.perturbations.languages.names import (
    GIVEN_NAMES,
    NOT_NAMES,
    ORGANISATION_WORDS,
    PERSON_TITLES,
    PLACE_WORDS,
    PLACES,
    SURNAMES,
)
from metassay.text.morphology import german_lemma
from metassay.text.taggers import Entity, word_tags
from metassay.text.words import starts_sentence

_CAPITALISED = re.compile(r"(?<![\w#@&/])[^\W\d_a-zß][\w’'-]*(?![\w#])")
_PROPER = {"en": "NP0", "de": "NE"}
_BEFORE = re.compile(r"(\w+)\.? $")
_MOST_WORDS = 4
HEADLINE = 0.6
"""Above this share of capitalised words, capitals say nothing."""


def find_names(texts: list[str], language: str) -> list[list[Entity]]:
    """Names with their places and types: PER, LOC, ORG, or NAME where the lists do not tell."""
    return [list(_names(text, language)) for text in texts]


def _names(text: str, language: str) -> Iterator[Entity]:
    capitals = [m for m in _CAPITALISED.finditer(text) if m[0].lower() not in {"i", "a"}]
    words = max(len(text.split()), 1)
    if text.isupper() or len(capitals) > max(HEADLINE * words, 2):
        return
    for run in _runs(text, capitals, language):
        start, end = run[0].start(), _end(run[-1])
        yield start, end, _type(text, start, [_bare(word) for word in run], language)


def _runs(text: str, capitals: list[re.Match[str]], language: str) -> Iterator[list[re.Match[str]]]:
    """Capitalised words in a row that hold at least one proper noun."""
    run: list[re.Match[str]] = []
    for word in capitals:
        if run and text[_end(run[-1]) : word.start()] != " ":
            yield from _checked(run, language)
            run = []
        if _may_belong(text, word, language):
            run.append(word)
        else:
            yield from _checked(run, language)
            run = []
    yield from _checked(run, language)


def _may_belong(text: str, word: re.Match[str], language: str) -> bool:
    bare = _bare(word)
    if len(bare) < 2 or bare in NOT_NAMES[language] or "'" in bare or "’" in bare:
        return False
    if language == "de":  # every noun has a capital
        return _is_proper(bare, language) and (_is_surely_german(bare) or not _is_noun(text, word))
    return _is_proper(bare, language) or not starts_sentence(text, word.start())


def _is_surely_german(word: str) -> bool:
    """Whether a German word is a name in any place: on a list, an abbreviation, or never a noun."""
    listed = _is_place(word, "de") or word in ORGANISATION_WORDS or word in GIVEN_NAMES
    return listed or (len(word) > 2 and word.isupper())


def is_genitive(name: str) -> bool:
    """Whether a German name is a listed place with the -s of the genitive."""
    return name not in PLACES["de"] and _is_place(name, "de")


def _is_place(word: str, language: str) -> bool:
    return word in PLACES[language] or (language == "de" and word.removesuffix("s") in PLACES[language])


def _is_noun(text: str, word: re.Match[str]) -> bool:
    """Whether a German word that the tagger takes for a name is a noun after all."""
    before = _BEFORE.search(text, max(0, word.start() - 20), word.start())
    determined = before is not None and before[1].lower() in DETERMINERS
    lower = _bare(word).lower()
    first = starts_sentence(text, word.start()) and german_lemma(lower) is not None
    if determined or first or "-" in word[0] or lower in FUNCTION_WORDS:
        return True
    return "NN" in word_tags(_bare(word), "de") and german_lemma(_bare(word)) is not None


def _checked(run: list[re.Match[str]], language: str) -> Iterator[list[re.Match[str]]]:
    words = [_bare(word) for word in run]
    listing = len(run) > 1 and (all(map(str.isupper, words)) or all(_is_place(w, language) for w in words))
    if 0 < len(run) <= _MOST_WORDS and not listing and any(_is_proper(word, language) for word in words):
        yield run


def _is_proper(word: str, language: str) -> bool:
    if _is_place(word, language) or word in GIVEN_NAMES:
        return True
    return word_tags(word, language)[:1] == (_PROPER[language],)


def _bare(word: re.Match[str]) -> str:
    return re.sub(r"['’-]+$|['’]s$", "", word[0])


def _end(word: re.Match[str]) -> int:
    return word.start() + len(_bare(word))


def _type(text: str, start: int, words: list[str], language: str) -> str:
    before = _BEFORE.search(text, max(0, start - 20), start)
    if before and before[1] in PERSON_TITLES[language]:
        return "PER"
    if words[-1] in PLACE_WORDS or "_".join(words) in PLACES[language] or _is_place(words[-1], language):
        return "LOC"
    if not ORGANISATION_WORDS.isdisjoint(words):
        return "ORG"
    if words[0] in GIVEN_NAMES or (len(words) > 1 and words[0] in SURNAMES):
        return "PER"
    return "NAME"
