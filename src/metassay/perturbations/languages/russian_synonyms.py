"""Russian synonyms from the MyThes thesaurus, inflected by pymorphy3 as the word they replace."""

from __future__ import annotations

import functools
import re
from typing import Any

from metassay.perturbations.languages.ru import FUNCTION_WORDS
from metassay.text.morphology import russian
from metassay.text.thesaurus import open_thesaurus

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


def candidates(previous: str, form: str, following: str) -> tuple[str, ...]:  # noqa: ARG001
    """Synonyms in the case, number, gender, tense … of a lower-case word form."""
    return _candidates(form)


@functools.cache
def _candidates(form: str) -> tuple[str, ...]:
    if not _CYRILLIC.fullmatch(form):
        return ()
    thesaurus = open_thesaurus("ru")
    assert thesaurus is not None
    readings = russian().parse(form)
    # Forms such as «включите» are orders far more often than statements about the future.
    reading = next((r for r in readings if r.tag.mood == "impr"), readings[0])
    if reading.normal_form in FUNCTION_WORDS or set(reading.tag.grammemes) & NAMES:
        return ()
    if reading.tag.POS not in _CARRY and reading.tag.POS not in _SAME_FORM:
        return ()
    if sum(other.score for other in readings if other.tag.POS == reading.tag.POS) < DOMINANT:
        return ()
    for meaning in thesaurus.meanings(reading.normal_form):
        forms = [_inflect(word, reading) for word in meaning[:CENTRAL]]
        found = tuple(word for word in forms if word is not None and word != form)
        if found:
            return found
    return ()


def _inflect(word: str, model: Any) -> str | None:
    """The synonym in the form of the model; None where part of speech, gender or aspect differ."""
    pos = model.tag.POS
    fitting = [
        p for p in russian().parse(word) if _LEMMA.get(pos, pos) == p.tag.POS and p.normal_form == word
    ]
    if not fitting or word in FUNCTION_WORDS:
        return None
    reading = fitting[0]
    if any(getattr(reading.tag, name) != getattr(model.tag, name) for name in _AGREE.get(pos, ())):
        return None
    if pos in _SAME_FORM:
        return str(reading.word)
    wanted = {getattr(model.tag, name) for name in _CARRY[pos]} - {None}
    inflected = reading.inflect(wanted)
    return None if inflected is None else str(inflected.word)
