"""Russian names that a model found, with the form in which they stand, as far as it can be told.

pymorphy's dictionary knows places and most given names; family names follow their endings.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.perturbations.languages.names import COMPANIES, Mention, word_after, word_before
from metassay.text.indexed_words import IndexedWords
from metassay.text.russian_morphology import load_analyser
from metassay.text.slovnet_names import has_capital
from metassay.text.spacy_models import Entity
from metassay.text.word_lists import WordLists
from metassay.text.words import starts_sentence

_LISTS = WordLists("metassay.perturbations.languages", "ru")

CASES = ("nomn", "gent", "datv", "accs", "ablt", "loct")
_SAME_CASE = {"gen2": "gent", "loc2": "loct", "acc2": "accs"}
_TAGS = {"PER": {"Name", "Surn", "Patr"}, "LOC": {"Geox"}, "ORG": {"Orgn"}}
_ALL_TAGS = frozenset().union(*_TAGS.values())
_NAME = re.compile(r"[А-ЯЁ][а-яё'’]+(?:-[А-ЯЁа-яё]+)*|О'[А-ЯЁ][а-яё]+|Д?е[А-ЯЁ][а-яё]+")
_LONG_PREPOSITIONS = {"во", "со", "ко", "обо"}
"""These stand before some names and not before others."""

_PREPOSITIONS = _LISTS.read_word_groups("case_prepositions")
_GOVERNING = frozenset({"в"}).union(*_PREPOSITIONS.values())
_NO_NAMES = _LISTS.read_words("not_names")
_LATIN = re.compile(r"[A-Z][A-Za-z]{2,}(?: [A-Z][a-z]{2,})?")

_GIVEN = _LISTS.read_word_groups("given_names")
"""Given names that the dictionary lacks, or takes for others."""
_GIVEN_STEMS = tuple(name[:-1] for names in _GIVEN.values() for name in names)

_MASCULINE = (
    (("ом", "ем", "ым", "им"), "ablt"),
    (("ого", "его"), "gent,accs"),
    (("ому", "ему"), "datv"),
    (("ий", "ый"), "nomn"),
    (("ой", "ей"), "nomn,gent,datv,ablt,loct"),
    (("а", "я"), "nomn,gent,accs"),
    (("у", "ю"), "datv"),
    (("е",), "loct"),
    (("и", "о", "ы", "э"), ",".join(CASES)),
    (("",), "nomn"),
)
"""The cases of a man's family name by its last letters."""
_FEMININE = (
    (("ая", "а", "я"), "nomn"),
    (("ую", "у", "ю"), "accs"),
    (("ой", "ей"), "gent,datv,ablt,loct"),
    (("",), ",".join(CASES)),
)
"""The same for women, whose family names never bend after a consonant."""

LETTERS = 4
"""Fewer capitals than this may stand for anything."""

ENDING = re.compile(r"(?:ого|ому|ым|им|ий|ый|ой|ом|ем|[аяуюеи])$")
"""What the forms of one family name differ in."""


def may_be_mentioned(texts: Sequence[str], words: IndexedWords) -> NDArray[np.bool_]:
    """Which texts may hold a name that has a form, whatever a model finds: the others need none.

    Such a name has a word with a capital that the dictionary lacks or may read as a name, that begins as one
    of our own, or that stands after a preposition. Words with apostrophes are several here, so that a text
    with one is not judged.
    """
    capital, governing = (
        words.test_vocabulary(has_capital),
        words.test_vocabulary(lambda word: word.lower() in _GOVERNING),
    )
    telling = words.test_vocabulary(lambda word: has_capital(word) and _could_be_name(word))
    follows = np.roll(governing[words.numbers], 1)
    follows[words.offsets[words.offsets < len(follows)]] = False
    hits = telling[words.numbers] | (follows & capital[words.numbers])
    return words.find_texts_with_hits(hits) | np.array(
        ["'" in text or "’" in text for text in texts], np.bool_
    )


def _could_be_name(word: str) -> bool:
    """Whether a word with a capital is no common word of the dictionary's alone."""
    known = _looked_up(word.lower())
    named = any(not _ALL_TAGS.isdisjoint(reading.grammemes) for reading in known)
    return named or not known or word.startswith(_GIVEN_STEMS)


def russian_mentions(text: str, found: Sequence[Entity]) -> list[Mention]:
    """The names with their forms: gender, number, number of words and the cases in which they may stand."""
    return list(_with_forms(text, found)) if found else []


def _with_forms(text: str, found: Sequence[Entity]) -> Iterator[Mention]:
    ends = {end for _, end, _ in found}
    for start, end, kind in found:
        name = text[start:end]
        known = "ORG" if name.isupper() and _readings(name, "ORG") else kind
        form = _form(name, known)
        if form is None and (kind == "ORG" or " " in name):
            continue
        before, after = word_before(text, start), word_after(text, end)
        if _is_part(text, start, end, after) or (start - 1 not in ends and _has_begun(text, start, before)):
            continue
        if form is None and kind == "PER":
            known, form = "NAME", _family_name_form(name, before, after)
        if kind == "LOC":
            form = _after_preposition(name, before.lower(), form)
        if form is not None and before.lower() not in _LONG_PREPOSITIONS:
            yield start, end, known, form


def _after_preposition(name: str, preposition: str, form: str | None) -> str | None:
    """The form of a place: after most prepositions its gender does not matter, and the case is certain."""
    if preposition == "на" and form is not None and "loct" in form:
        return None  # islands and mountains
    case = next((case for case, own in _PREPOSITIONS.items() if preposition in own), "")
    if preposition == "в":
        case = "loct" if name.endswith(("е", "и")) else "accs"
    if not case or name.isupper() or (form is None and not _NAME.fullmatch(name)):
        return form
    if form is None:
        return f"sing words {case}?"
    return f"sing words {case}" if " sing " in form and case in form else None


def _is_part(text: str, start: int, end: int, after: str) -> bool:
    """Whether a name stands beside a stroke, or goes on in Latin letters."""
    strokes = text[end : end + 1] in {"-", "/"} or text[start - 1 : start] in {"-", "/"}
    return strokes or (after[:1].isupper() and after.isascii())


def _has_begun(text: str, start: int, before: str) -> bool:
    """Whether a name has begun before: with a capital that is not the sentence's, a title or letters."""
    capital = before[:1].isupper() and not before.isupper() and text[start - 2 : start] != ". "
    return capital and not starts_sentence(text, start - len(before) - 1)


class _Reading(NamedTuple):
    """What a tag of pymorphy's says, and itself; its own attributes are sought anew each time."""

    tag: Any
    grammemes: frozenset[str]
    part_of_speech: str | None
    case: str | None
    number: str | None
    gender: str | None


@functools.cache
def _reading(tag: Any) -> _Reading:
    categories = (value and str(value) for value in (tag.POS, tag.case, tag.number, tag.gender))
    return _Reading(tag, tag.grammemes, *categories)


@functools.cache
def _at(paradigm: int, index: int) -> _Reading:
    return _reading(load_analyser().dictionary.build_tag_info(paradigm, index))


def _looked_up(word: str) -> list[_Reading]:
    """The readings that the dictionary has of a word in small letters."""
    analyser = load_analyser()
    found = analyser.dictionary.words.similar_item_values(word, analyser.char_substitutes)
    return [_at(*place) for own in found for place in own]


@functools.lru_cache(maxsize=1 << 16)
def _known(word: str) -> tuple[_Reading, ...]:
    """The readings of a word that the dictionary has, the likeliest first, as pymorphy orders them."""
    small = word.lower()
    found = _looked_up(small)
    if len(found) > 1:
        chances = load_analyser().prob_estimator.p_t_given_w
        found.sort(key=lambda reading: chances.prob(small, reading.tag), reverse=True)
    return tuple(found)


@functools.lru_cache(maxsize=1 << 16)
def _guessed(word: str) -> tuple[_Reading, ...]:
    """The readings of a word, by its ending where the dictionary has none."""
    return _known(word) or tuple(_reading(parse.tag) for parse in load_analyser().parse(word))


@functools.lru_cache(maxsize=1 << 16)
def _form(name: str, kind: str) -> str | None:
    """The form of a name that the dictionary knows as one of its kind, else None."""
    if name in _NO_NAMES:
        return None
    if kind == "ORG" and name.replace(" ", "_") in COMPANIES:
        return "latin"
    if kind == "ORG" and _LATIN.fullmatch(name) and not (name.isupper() and len(name) < LETTERS):
        return "latin?"
    words = name.split()
    if kind == "PER":
        return _full_name_form(words) if len(words) > 1 else _given_name_form(name)
    *adjectives, head = words
    readings = list(_readings(head, kind))
    for word in adjectives:
        tags = [reading for reading in _guessed(word) if reading.part_of_speech == "ADJF"]
        known = {(tag.case, tag.number, tag.gender) for tag in tags}
        known |= {(tag.case, "plur", gender) for tag in tags if tag.number == "plur" for gender in _GIVEN}
        readings = [tag for tag in readings if (tag.case, tag.number, tag.gender) in known]
    return _written(readings, "letters" if name.isupper() else "words")


def _full_name_form(words: list[str]) -> str | None:
    """A given name that is known, then family names by their endings."""
    if len(words) > 3 or not all(_NAME.fullmatch(word) for word in words):
        return None
    first = _given_name(words[0])
    if first is None or any(_is_verb(word) for word in words[1:]):
        return None
    gender, cases = first
    for word in words[1:]:
        cases = cases & _by_ending(word, gender)
    if {"nomn", "gent"} <= cases < set(CASES):
        cases = cases - {"nomn"}  # the given name does not bend and the family name ends in -а: Ури Геллера
    return _as_form(gender, "sing", "more", cases) if cases else None


def _given_name_form(name: str) -> str | None:
    if _readings(name, "PER"):
        return _written(_readings(name, "PER"), "one")
    known = _given_name(name) if _NAME.fullmatch(name) else None
    return _as_form(known[0], "sing", "one", known[1]) if known else None


def _given_name(word: str) -> tuple[str, set[str]] | None:
    for gender, names in _GIVEN.items() if word.startswith(_GIVEN_STEMS) else ():
        if any(word.startswith(name[:-1]) and len(word) <= len(name) + 2 for name in names):
            return gender, _by_ending(word, gender)
    readings = _readings(word, "PER")
    if not readings or readings[0].number != "sing" or "Surn" in readings[0].grammemes:
        return None
    return str(readings[0].gender), _cases(readings)


def _is_verb(word: str) -> bool:
    return any(reading.part_of_speech == "VERB" for reading in _known(word)[:1])


def _by_ending(word: str, gender: str) -> set[str]:
    endings = _MASCULINE if gender == "masc" else _FEMININE
    return set(next(cases for letters, cases in endings if word.endswith(letters)).split(","))


def _family_name_form(name: str, before: str, after: str) -> str | None:
    """A man's family name that no dictionary knows, in a case that shows, or beside a verb that does."""
    if not _NAME.fullmatch(name) or _known(name):
        return None
    reading = _guessed(name)[0]
    if reading.part_of_speech != "NOUN" or reading.gender != "masc":
        return None
    cases = _by_ending(name, "masc") if reading.case not in {"gent", "accs"} else {"gent", "accs"}
    if "nomn" in cases and not (_is_mans_verb(before) or _is_mans_verb(after)):
        return None
    return _as_form("masc", "sing", "one", cases) if len(cases) < len(CASES) else None


def _is_mans_verb(word: str) -> bool:
    likeliest = _guessed(word)[:1] if word.islower() else ()
    return any(reading.part_of_speech == "VERB" and reading.gender == "masc" for reading in likeliest)


@functools.lru_cache(maxsize=1 << 16)
def _readings(word: str, kind: str) -> tuple[_Reading, ...]:
    """A word's readings as a name of this kind, of one gender and number: the likeliest."""
    known = [r for r in _known(word) if "Infr" not in r.grammemes] if word[:1].isupper() else ()
    if not known or _TAGS[kind].isdisjoint(known[0].grammemes):
        return ()
    own = [r for r in known if not _TAGS[kind].isdisjoint(r.grammemes)]
    return tuple(r for r in own if (r.gender, r.number) == (own[0].gender, own[0].number))


def _written(readings: Sequence[_Reading], length: str) -> str | None:
    if not readings or (length == "one" and {"plur", "anim"} <= readings[0].grammemes):
        return None
    return _as_form(readings[0].gender or "any", readings[0].number, length, _cases(readings))


def _cases(readings: Sequence[_Reading]) -> set[str]:
    return {_SAME_CASE.get(reading.case or "", reading.case or "") for reading in readings}


def _as_form(gender: str, number: str | None, length: str, cases: set[str]) -> str:
    return f"{gender} {number} {length} {','.join(case for case in CASES if case in cases)}"
