"""German synonyms from OpenThesaurus, put into the form of the word they replace.

No free tool inflects German, so a form is built by the regular rules and used only if simplemma's dictionary
knows it as a form of the synonym. Nouns are exchanged within a gender that their endings give away.
"""

from __future__ import annotations

import functools

from metassay.perturbations.languages.german import (
    ADJECTIVE_ENDINGS,
    ADVERBS_IN_EN,
    FUNCTION_WORDS,
    GENDERS,
    NOT_FEMININE,
    NOUNS,
    PLURALS,
)
from metassay.text.morphology import german_lemma
from metassay.text.thesaurus import open_thesaurus

CENTRAL_MEANINGS = 2


def candidates(previous: str, form: str, following: str) -> tuple[str, ...]:  # noqa: ARG001
    """Synonyms in the form of a word (with its capital, if it is a noun)."""
    return _candidates(form)


@functools.cache
def _candidates(form: str) -> tuple[str, ...]:
    if len(form) < 4 or form.lower() in FUNCTION_WORDS:
        return ()
    lemma = german_lemma(form)
    if lemma is None or lemma.lower() in FUNCTION_WORDS or lemma[0].isupper() != form[0].isupper():
        return ()
    inflect = _noun if form[0].isupper() else _adjective
    for meaning in _meanings(lemma):
        same_case = [word for word in meaning if word[0].isupper() == form[0].isupper() and word != lemma]
        forms = [inflect(word, lemma, form) for word in same_case if word.lower() not in FUNCTION_WORDS]
        found = tuple(word for word in forms if word is not None and word != form)
        if found:
            return found
    return ()


def _meanings(lemma: str) -> list[list[str]]:
    thesaurus = open_thesaurus("de")
    assert thesaurus is not None
    return thesaurus.meanings(lemma.lower())[:CENTRAL_MEANINGS]


def _noun(word: str, lemma: str, form: str) -> str | None:
    """Nouns of the same gender; plurals only of the endings that all form it alike."""
    gender = _gender(lemma)
    if gender is None or _gender(word) != gender:
        return None
    if form == lemma:
        return word if german_lemma(word) == word else None
    if gender == "f" and form in {f"{lemma}en", f"{lemma}n"} and word.endswith(PLURALS):
        plural = f"{word}n" if word.endswith("e") else f"{word}en"
        return plural if german_lemma(plural) == word else None
    return None


@functools.cache
def _gender(noun: str) -> str | None:
    listed = next((gender for gender, nouns in NOUNS.items() if noun in nouns), None)
    if listed is not None:
        return listed
    if noun.endswith("e") and (noun in NOT_FEMININE or noun.startswith("Ge")):
        return None
    return next((gender for gender, endings in GENDERS.items() if noun.endswith(endings)), None)


def _adjective(word: str, lemma: str, form: str) -> str | None:
    """Adjectives and adverbs. Verbs have no synonyms here: few take the same objects and prepositions."""
    if german_lemma(word) != word or _is_infinitive(word) or _is_infinitive(lemma):
        return None
    if form == lemma:
        return word
    ending = form.removeprefix(lemma)
    if ending not in ADJECTIVE_ENDINGS:
        return None
    stem = f"{word[:-2]}l" if word.endswith("el") else word.removesuffix("e")
    return _checked(stem + ending, word)


def _is_infinitive(word: str) -> bool:
    return word.endswith(("en", "ern", "eln")) and word not in ADVERBS_IN_EN


def _checked(form: str, word: str) -> str | None:
    return form if german_lemma(form) == word else None
