"""The grammatical form (gender, number and cases) of Russian names that a model found.

The dictionary of pymorphy has places and most given names. Family names are analysed by their endings.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from metassay.perturbations.languages.names import COMPANIES, Mention, find_next_word, find_previous_word
from metassay.text.russian_morphology import load_russian_analyser
from metassay.text.spacy_models import Entity
from metassay.text.word_lists import WordLists
from metassay.text.words import starts_sentence

_LISTS = WordLists("metassay.perturbations.languages", "ru")

CASES = ("nomn", "gent", "datv", "accs", "ablt", "loct")
# Rare cases of pymorphy, and the usual case of each.
_VARIANT_CASES = {"gen2": "gent", "loc2": "loct", "acc2": "accs"}
_GRAMMEMES_BY_KIND = {"PER": {"Name", "Surn", "Patr"}, "LOC": {"Geox"}, "ORG": {"Orgn"}}
_CYRILLIC_NAME = re.compile(r"[А-ЯЁ][а-яё'’]+(?:-[А-ЯЁа-яё]+)*|О'[А-ЯЁ][а-яё]+|Д?е[А-ЯЁ][а-яё]+")
_LATIN_NAME = re.compile(r"[A-Z][A-Za-z]{2,}(?: [A-Z][a-z]{2,})?")
# Forms of prepositions that only some names can follow.
_LONG_PREPOSITIONS = {"во", "со", "ко", "обо"}

_PREPOSITIONS_BY_CASE = _LISTS.read_sets_by_first_cell("case_prepositions")
_NOT_NAMES = _LISTS.read_words("not_names")

# Given names that pymorphy does not have, or has with another gender; by gender.
_GIVEN_NAMES = _LISTS.read_sets_by_first_cell("given_names")
_GIVEN_NAME_STEMS = tuple(name[:-1] for names in _GIVEN_NAMES.values() for name in names)

# The possible cases of a man's family name by its ending; the first ending that fits counts.
_MASCULINE_ENDINGS = (
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
# The possible cases of a woman's family name, which is not inflected if it ends in a consonant.
_FEMININE_ENDINGS = (
    (("ая", "а", "я"), "nomn"),
    (("ую", "у", "ю"), "accs"),
    (("ой", "ей"), "gent,datv,ablt,loct"),
    (("",), ",".join(CASES)),
)

# Shorter abbreviations in Latin letters are ambiguous.
MINIMUM_ABBREVIATION = 4

# The part of a family name that changes with its case.
FAMILY_NAME_ENDING = re.compile(r"(?:ого|ому|ым|им|ий|ый|ой|ом|ем|[аяуюеи])$")
_CACHED_WORDS = 1 << 16


def add_grammatical_forms_to_names(text: str, entities: Sequence[Entity]) -> list[Mention]:
    """Return the names that a model found in a text, each with its gender, number, length and possible
    grammatical cases.

    Names whose form is not clear are left out.
    """
    mentions = []
    ends = {end for _, end, _ in entities}
    for start, end, entity_kind in entities:
        name = text[start:end]
        # An abbreviation that the dictionary has as an organisation is one, whatever the model says.
        is_organisation = name.isupper() and bool(_find_grammatical_analyses_as_name(name, "ORG"))
        kind = "ORG" if is_organisation else entity_kind
        form = _find_form_of_name(name, kind)
        # Only single words that are persons or places can get a form from their neighbours below.
        if form is None and (entity_kind == "ORG" or " " in name):
            continue
        previous_word = find_previous_word(text, start)
        next_word = find_next_word(text, end)
        follows_other_entity = start - 1 in ends
        if _is_next_to_slash_or_latin_word(text, start, end, next_word):
            continue
        if not follows_other_entity and _does_name_begin_earlier(text, start, previous_word):
            continue
        if form is None and entity_kind == "PER":
            kind = "NAME"
            form = _find_form_of_family_name(name, previous_word, next_word)
        if entity_kind == "LOC":
            form = _restrict_cases_by_preposition(name, previous_word.lower(), form)
        # «во», «со» depend on the first sounds of the name that follows, and would not fit another one.
        if form is not None and previous_word.lower() not in _LONG_PREPOSITIONS:
            mentions.append((start, end, kind, form))
    return mentions


def _restrict_cases_by_preposition(name: str, preposition: str, grammatical_form: str | None) -> str | None:
    """Return the grammatical form of a place name after a preposition that determines its case. None if the
    name cannot have this case.

    The gender is left out, because no other word agrees with it.
    """
    if preposition == "на" and grammatical_form is not None and "loct" in grammatical_form:
        return None  # islands and mountains, which other places cannot replace
    if preposition == "в":
        # «в» takes the locative (where) or the accusative (where to). The ending shows which.
        case = "loct" if name.endswith(("е", "и")) else "accs"
    else:
        case = _find_case_after_preposition(preposition)
    if not case or name.isupper() or (grammatical_form is None and not _CYRILLIC_NAME.fullmatch(name)):
        return grammatical_form
    if grammatical_form is None:
        # The question mark says that the grammatical_form is a guess: the name does not replace others.
        return f"sing words {case}?"
    return f"sing words {case}" if " sing " in grammatical_form and case in grammatical_form else None


def _find_case_after_preposition(preposition: str) -> str:
    """Return the grammatical case of a name after a preposition, or an empty text if several cases are
    possible.
    """
    for case, prepositions in _PREPOSITIONS_BY_CASE.items():
        if preposition in prepositions:
            return case
    return ""


def _is_next_to_slash_or_latin_word(text: str, start: int, end: int, next_word: str) -> bool:
    """Return whether a name is next to a hyphen or slash, or is followed by a capitalised word in Latin
    letters.
    """
    if text[end : end + 1] in {"-", "/"} or text[start - 1 : start] in {"-", "/"}:
        return True
    return next_word[:1].isupper() and next_word.isascii()


def _does_name_begin_earlier(text: str, start: int, previous_word: str) -> bool:
    """Return whether the capitalised word before a name seems to be a part of the name."""
    follows_full_stop = text[start - 2 : start] == ". "
    is_capitalised = previous_word[:1].isupper() and not previous_word.isupper()
    if not is_capitalised or follows_full_stop:
        return False
    return not starts_sentence(text, start - len(previous_word) - 1)


class _WordAnalysis(NamedTuple):
    """One grammatical analysis of a word by pymorphy. Its attributes are stored because reading them from a
    tag is slow.
    """

    tag: Any
    grammemes: frozenset[str]
    part_of_speech: str | None
    case: str | None
    number: str | None
    gender: str | None


@functools.cache
def _parse_pymorphy_tag(tag: Any) -> _WordAnalysis:
    """Read the grammatical attributes from a tag of pymorphy."""
    categories = (value and str(value) for value in (tag.POS, tag.case, tag.number, tag.gender))
    return _WordAnalysis(tag, tag.grammemes, *categories)


@functools.cache
def _load_grammar_of_word_form(paradigm: int, form_number: int) -> _WordAnalysis:
    """Load the grammatical analysis of one word form from the dictionary of pymorphy."""
    return _parse_pymorphy_tag(load_russian_analyser().dictionary.build_tag_info(paradigm, form_number))


def _look_up_grammatical_analyses(lower_case_word: str) -> list[_WordAnalysis]:
    """Return all grammatical analyses of a lower-case word in the dictionary, in no particular order."""
    analyser = load_russian_analyser()
    readings = []
    # The substitutes let a word with е find its entry with ё.
    entries = analyser.dictionary.words.similar_item_values(lower_case_word, analyser.char_substitutes)
    for forms in entries:
        for paradigm, form_number in forms:
            readings.append(_load_grammar_of_word_form(paradigm, form_number))
    return readings


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _list_word_analyses_by_probability(word: str) -> tuple[_WordAnalysis, ...]:
    """Return the grammatical analyses of a word in the dictionary, the most probable first, as pymorphy
    does.
    """
    lower_word = word.lower()
    readings = _look_up_grammatical_analyses(lower_word)
    # pymorphy ranks readings by probability. For a single reading, the look-up is saved.
    if len(readings) > 1:
        probabilities = load_russian_analyser().prob_estimator.p_t_given_w
        readings.sort(key=lambda reading: probabilities.prob(lower_word, reading.tag), reverse=True)
    return tuple(readings)


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _rank_grammatical_analyses(word: str) -> tuple[_WordAnalysis, ...]:
    """Return the grammatical analyses of a word, the most probable first. For words that are not in the
    dictionary, they are guessed from the ending.
    """
    readings = _list_word_analyses_by_probability(word)
    if readings:
        return readings
    return tuple(_parse_pymorphy_tag(parse.tag) for parse in load_russian_analyser().parse(word))


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _find_form_of_name(name: str, kind: str) -> str | None:
    """Find the gender, number and cases of a name of the given kind in the dictionary. None if the dictionary
    does not contain it.
    """
    if name in _NOT_NAMES:
        return None
    if kind == "ORG" and name.replace(" ", "_") in COMPANIES:
        return "latin"
    is_short_abbreviation = name.isupper() and len(name) < MINIMUM_ABBREVIATION
    if kind == "ORG" and _LATIN_NAME.fullmatch(name) and not is_short_abbreviation:
        return "latin?"
    words = name.split()
    if kind == "PER":
        return _find_form_of_full_name(words) if len(words) > 1 else _find_form_of_given_name(name)
    *adjectives, noun = words
    readings = list(_find_grammatical_analyses_as_name(noun, kind))
    for adjective in adjectives:
        agreeing = _list_noun_forms_that_agree(adjective)
        readings = [
            reading for reading in readings if (reading.case, reading.number, reading.gender) in agreeing
        ]
    return _format_common_grammatical_form(readings, "letters" if name.isupper() else "words")


def _list_noun_forms_that_agree(adjective: str) -> set[tuple[str | None, str | None, str | None]]:
    """List the case, number and gender of the nouns that an adjective can stand with."""
    agreeing = set()
    for reading in _rank_grammatical_analyses(adjective):
        if reading.part_of_speech != "ADJF":
            continue
        agreeing.add((reading.case, reading.number, reading.gender))
        if reading.number == "plur":
            # In the plural, adjectives have no gender but nouns do.
            agreeing.update((reading.case, "plur", gender) for gender in _GIVEN_NAMES)
    return agreeing


def _find_form_of_full_name(name_words: list[str]) -> str | None:
    """Find the grammatical form of a person's full name, or return None if the given name is not known."""
    if len(name_words) > 3 or not all(_CYRILLIC_NAME.fullmatch(word) for word in name_words):
        return None
    given_name, *family_names = name_words
    given_name_cases = _find_gender_and_cases_of_given_name(given_name)
    if given_name_cases is None or any(_is_verb(word) for word in family_names):
        return None
    gender, cases = given_name_cases
    for family_name in family_names:
        cases = cases & _list_cases_of_family_name(family_name, gender)
    if {"nomn", "gent"} <= cases < set(CASES):
        cases = cases - {"nomn"}  # the given name has no cases and the family name ends in -а: Ури Геллера
    return _format_grammatical_form(gender, "sing", "more", cases) if cases else None


def _find_form_of_given_name(given_name: str) -> str | None:
    """Find the grammatical form of a given name that stands alone, or return None if the name is not
    known.
    """
    readings = _find_grammatical_analyses_as_name(given_name, "PER")
    if readings:
        return _format_common_grammatical_form(readings, "one")
    if not _CYRILLIC_NAME.fullmatch(given_name):
        return None
    gender_and_cases = _find_gender_and_cases_of_given_name(given_name)
    if gender_and_cases is None:
        return None
    gender, cases = gender_and_cases
    return _format_grammatical_form(gender, "sing", "one", cases)


def _find_gender_and_cases_of_given_name(given_name: str) -> tuple[str, set[str]] | None:
    """Find the gender and the possible cases of a given name, or return None if the name is not known."""
    if given_name.startswith(_GIVEN_NAME_STEMS):
        for gender, names in _GIVEN_NAMES.items():
            for name in names:
                # Without its last letter, a name is the stem of all its cases, whose endings have at most two
                # letters more.
                if given_name.startswith(name[:-1]) and len(given_name) <= len(name) + 2:
                    return gender, _list_cases_of_family_name(given_name, gender)
    readings = _find_grammatical_analyses_as_name(given_name, "PER")
    # A family name in the first place is not a given name.
    if not readings or readings[0].number != "sing" or "Surn" in readings[0].grammemes:
        return None
    return str(readings[0].gender), _list_grammatical_cases(readings)


def _is_verb(word: str) -> bool:
    """Return whether the most probable analysis of a word in the dictionary is a verb."""
    readings = _list_word_analyses_by_probability(word)
    return bool(readings) and readings[0].part_of_speech == "VERB"


def _list_cases_of_family_name(family_name: str, gender: str) -> set[str]:
    """List the grammatical cases that a family name can have by its ending and the gender of the person."""
    for endings, cases in _MASCULINE_ENDINGS if gender == "masc" else _FEMININE_ENDINGS:
        if family_name.endswith(endings):
            return set(cases.split(","))
    raise AssertionError("the last row fits every name")


def _find_form_of_family_name(family_name: str, previous_word: str, next_word: str) -> str | None:
    """Find the grammatical form of a man's family name that no dictionary has, or return None if it is not
    clear.

    Its case must show, or a verb with a masculine ending must stand beside it.
    """
    if not _CYRILLIC_NAME.fullmatch(family_name) or _list_word_analyses_by_probability(family_name):
        return None
    reading = _rank_grammatical_analyses(family_name)[0]
    if reading.part_of_speech != "NOUN" or reading.gender != "masc":
        return None
    cases = (
        {"gent", "accs"}
        if reading.case in {"gent", "accs"}
        else _list_cases_of_family_name(family_name, "masc")
    )
    if "nomn" in cases and not (_is_masculine_verb(previous_word) or _is_masculine_verb(next_word)):
        return None
    return _format_grammatical_form("masc", "sing", "one", cases) if len(cases) < len(CASES) else None


def _is_masculine_verb(word: str) -> bool:
    """Return whether the most probable analysis of a word is a verb with a masculine ending."""
    if not word.islower():
        return False
    reading = _rank_grammatical_analyses(word)[0]
    return reading.part_of_speech == "VERB" and reading.gender == "masc"


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _find_grammatical_analyses_as_name(word: str, kind: str) -> tuple[_WordAnalysis, ...]:
    """Find the grammatical analyses of a word as a name of this kind, in its most probable gender and
    number.
    """
    if not word[:1].isupper():
        return ()
    # pymorphy marks colloquial forms with Infr.
    readings = [
        reading for reading in _list_word_analyses_by_probability(word) if "Infr" not in reading.grammemes
    ]
    grammemes = _GRAMMEMES_BY_KIND[kind]
    if not readings or grammemes.isdisjoint(readings[0].grammemes):
        return ()
    names = [reading for reading in readings if not grammemes.isdisjoint(reading.grammemes)]
    gender_and_number = (names[0].gender, names[0].number)
    return tuple(name for name in names if (name.gender, name.number) == gender_and_number)


def _format_common_grammatical_form(word_analyses: Sequence[_WordAnalysis], name_length: str) -> str | None:
    """Describe the gender, number and cases that grammatical analyses of a name have in common, or return
    None if there are none.
    """
    if not word_analyses or (name_length == "one" and {"plur", "anim"} <= word_analyses[0].grammemes):
        return None
    return _format_grammatical_form(
        word_analyses[0].gender or "any",
        word_analyses[0].number,
        name_length,
        _list_grammatical_cases(word_analyses),
    )


def _list_grammatical_cases(analyses: Sequence[_WordAnalysis]) -> set[str]:
    """List the grammatical cases of several analyses, without pymorphy's rare variants of cases."""
    cases = {reading.case or "" for reading in analyses}
    return {_VARIANT_CASES.get(case, case) for case in cases}


def _format_grammatical_form(gender: str, number: str | None, length: str, cases: set[str]) -> str:
    """Format gender, number, length and cases of a name as one text, such as `masc sing one gent,accs`."""
    return f"{gender} {number} {length} {','.join(case for case in CASES if case in cases)}"
