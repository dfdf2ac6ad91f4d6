"""Russian: synonyms, pronouns and what may replace them, words that can be negated.

Synonyms come from the MyThes thesaurus and are inflected by pymorphy3 as the word they replace.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from metassay.text.russian_morphology import load_analyser
from metassay.text.thesaurus import open_thesaurus
from metassay.text.word_lists import WordLists

_LISTS = WordLists("metassay.perturbations.languages", "ru")

FUNCTION_WORDS = _LISTS.read_words("function_words")

PRONOUNS = _LISTS.read_rows("pronouns")
"""Pronouns that can stand in each other's place: subjects by the verb they take, then by case and kind."""

NEVER_CHOSEN = _LISTS.read_words("never_chosen")
"""Pronouns that are replaced but replace no other: "свой" in the place of "ваш" is often the better word."""

ADDRESS = _LISTS.read_words("address")
"""Two ways to say you: one in the place of the other is no error."""

_PREPOSITIONS = _LISTS.read_words("prepositions")
_WITH_YO = _LISTS.read_mapping("with_yo")
"""Pronouns as people write them without ё."""
_THIRD_PERSON = ("ет", "ит", "ёт", "ется", "ится", "ётся")
_MASCULINE, _FEMININE, _PLURAL = ("л", "лся"), ("ла", "лась"), ("ли", "лись", "ны", "ты")


def pronoun_class(previous: str, pronoun: str, following: str, rest: str) -> int:  # noqa: ARG001
    """Which row of `PRONOUNS` a pronoun belongs to.

    A subject changes only with others that the verb after it agrees with: past tenses show gender and number,
    not person. After a preposition forms with н- take the place of его, ему …; его, её, их may be possessive.
    """
    pronoun = _WITH_YO.get(pronoun, pronoun)
    if any(pronoun in row for row in PRONOUNS[:4]):
        return _subject_class(pronoun, following)
    row = next((row for row, words in enumerate(PRONOUNS[4:], 4) if pronoun in words), -1)
    if pronoun in PRONOUNS[6]:
        return 6
    return row + 1 if row in {4, 7} and previous in _PREPOSITIONS else row


def _subject_class(pronoun: str, following: str) -> int:
    singular = pronoun not in PRONOUNS[3]
    if singular and following.endswith(_MASCULINE + _FEMININE):
        return 2 if following.endswith(_FEMININE) else 1
    if pronoun in PRONOUNS[0] and following.endswith(_THIRD_PERSON):
        return 0
    return 3 if not singular and following.endswith(_PLURAL) else -1


NEGATABLE_WORDS = _LISTS.read_words("negatable_words")
"""Common verbs, modals and predicates."""
NEGATABLE_ENDINGS = _LISTS.read_lines("negatable_endings")
"""Endings of verbs, for words of five letters and more."""
NOT_NEGATABLE = _LISTS.read_words("not_negatable")
"""Words that end like verbs and are none."""


def is_negatable(word: str) -> bool:
    """Whether "не" can stand before this lower-case word: a verb or a predicate."""
    if word in NEGATABLE_WORDS:
        return True
    return len(word) > 4 and word.endswith(NEGATABLE_ENDINGS) and word not in NOT_NEGATABLE


_CYRILLIC = re.compile(r"[а-яё]{3,}(?:-[а-яё]+)*")
NAMES = frozenset({"Name", "Surn", "Patr", "Geox", "Orgn", "Trad", "Abbr", "Init"})
DOMINANT = 0.8
"""How sure the part of speech must be."""
CENTRAL = 4
"""How many synonyms of a meaning are close enough; thesauri list the nearest first."""

# What must agree before inflection, and what inflection then carries over, by part of speech.
_AGREE = {
    "NOUN": ("gender", "animacy"),
    "VERB": ("aspect", "transitivity"),
    "INFN": ("aspect", "transitivity"),
}
_CARRY = {
    "NOUN": ("case", "number"),
    "ADJF": ("case", "number", "gender", "animacy"),
    "VERB": ("tense", "person", "number", "gender", "mood", "involvement"),
}
_SAME_FORM = frozenset({"ADVB", "INFN"})
_LEMMA = {"VERB": "INFN"}


def synonyms(previous: str, form: str, following: str) -> tuple[str, ...]:  # noqa: ARG001
    """Synonyms in the case, number, gender, tense … of a lower-case word form."""
    return _candidates(form)


@functools.lru_cache(maxsize=1 << 16)
def _candidates(form: str) -> tuple[str, ...]:
    if form in FUNCTION_WORDS or not _CYRILLIC.fullmatch(form):
        return ()
    readings = load_analyser().parse(form)
    # Forms such as «включите» are orders far more often than statements about the future.
    reading = next((r for r in readings if "impr" in r.tag.grammemes), readings[0])
    meanings = _meanings(reading.normal_form)
    if not meanings or reading.normal_form in FUNCTION_WORDS or reading.tag.grammemes & NAMES:
        return ()
    pos = _part_of_speech(reading.tag)
    if pos not in _CARRY and pos not in _SAME_FORM:
        return ()
    if sum(other.score for other in readings if _part_of_speech(other.tag) == pos) < DOMINANT:
        return ()
    for meaning in meanings:
        forms = [_inflect(word, reading.tag, pos) for word in meaning]
        found = tuple(word for word in forms if word is not None and word != form)
        if found:
            return found
    return ()


def _inflect(word: str, model: Any, pos: str) -> str | None:
    """The synonym in the form of the model; None where part of speech, gender or aspect differ."""
    reading = _reading(word, _LEMMA.get(pos, pos))
    if reading is None or _agreeing(reading.tag, pos) != _agreeing(model, pos):
        return None
    if pos in _SAME_FORM:
        return str(reading.word)
    wanted = _carried(model, pos)
    if not reading.is_known:
        inflected = reading.inflect(wanted)
        return None if inflected is None else str(inflected.word)
    _, _, paradigm, place = reading.methods_stack[0]
    ending = _ending(paradigm, reading.tag, wanted)
    if ending is None:
        return None
    dictionary = load_analyser().dictionary
    stem = dictionary.build_stem(dictionary.paradigms[paradigm], place, reading.word)
    return f"{ending[0]}{stem}{ending[1]}"


# What follows is asked many times over: words share tags and paradigms, and forms share synonyms.


@functools.cache
def _part_of_speech(tag: Any) -> str:
    return str(tag.POS)


@functools.cache
def _agreeing(tag: Any, pos: str) -> tuple[str | None, ...]:
    return tuple(getattr(tag, name) for name in _AGREE.get(pos, ()))


@functools.cache
def _carried(tag: Any, pos: str) -> frozenset[str]:
    return frozenset(filter(None, (getattr(tag, name) for name in _CARRY[pos])))


@functools.lru_cache(maxsize=1 << 16)
def _meanings(lemma: str) -> list[list[str]]:
    """The nearest synonyms of each meaning."""
    thesaurus = open_thesaurus("ru")
    assert thesaurus is not None
    return [meaning[:CENTRAL] for meaning in thesaurus.list_meanings(lemma)]


@functools.lru_cache(maxsize=1 << 16)
def _reading(lemma: str, pos: str) -> Any:
    """A dictionary form's reading as this part of speech; None for function words and where there is none."""
    if lemma in FUNCTION_WORDS:
        return None
    readings = load_analyser().parse(lemma)
    return next((r for r in readings if _part_of_speech(r.tag) == pos and r.normal_form == lemma), None)


@functools.cache
def _paradigm(number: int) -> list[tuple[str, Any, str]]:
    """Prefix, tag and suffix of every form of the words that bend alike."""
    return list(load_analyser().dictionary.build_paradigm_info(number))


@functools.cache
def _ending(paradigm: int, tag: Any, wanted: frozenset[str]) -> tuple[str, str] | None:
    """Prefix and suffix of the form with these values that is most like `tag`, as pymorphy chooses it."""
    forms = _paradigm(paradigm)
    fitting = [form for form in forms if wanted <= form[1].grammemes]
    if not fitting:
        wanted = type(tag).fix_rare_cases(wanted)
        fitting = [form for form in forms if wanted <= form[1].grammemes]
    like = tag.updated_grammemes(wanted)

    def similarity(form: tuple[str, Any, str]) -> float:
        return len(like & form[1].grammemes) - 0.1 * len(like ^ form[1].grammemes)

    best = max(fitting, key=similarity, default=None)
    return None if best is None else (best[0], best[2])
