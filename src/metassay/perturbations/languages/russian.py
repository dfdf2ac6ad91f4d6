"""Russian grammar: pronouns, synonyms, words that can be negated.

Synonyms come from the MyThes thesaurus and are inflected by pymorphy3 like the word they replace.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from metassay.text.russian_morphology import load_russian_analyser
from metassay.text.thesaurus import open_thesaurus
from metassay.text.word_lists import WordLists

_LISTS = WordLists("metassay.perturbations.languages", "ru")

FUNCTION_WORDS = _LISTS.read_words("function_words")

# Pronouns that can replace each other: subjects by the verb they take, then by case and kind.
PRONOUNS = _LISTS.read_tab_separated_rows("pronouns")

THIRD_PERSON_SUBJECTS = 0
MASCULINE_SUBJECTS = 1
FEMININE_SUBJECTS = 2
PLURAL_SUBJECTS = 3
ACCUSATIVE_OBJECTS = 4
POSSESSIVES = 6
DATIVE_OBJECTS = 7
# The row of a pronoun that no other pronoun can replace in its sentence.
NO_ROW = -1

# Pronouns that are replaced but do not replace others: "свой" is often better than "ваш".
NEVER_CHOSEN = _LISTS.read_words("never_chosen")

# Pronouns that mean "you". Replacing one of them by another is not an error.
FORMS_OF_ADDRESS = _LISTS.read_words("address")

# Common verbs, modals and predicates.
NEGATABLE_WORDS = _LISTS.read_words("negatable_words")
# Endings of verbs, for words of at least five letters.
NEGATABLE_ENDINGS = _LISTS.read_lines("negatable_endings")
# Words that end like verbs but are not verbs.
NOT_NEGATABLE = _LISTS.read_words("not_negatable")

_PREPOSITIONS = _LISTS.read_words("prepositions")
# Pronouns with ё, by their usual spelling with е.
_SPELLINGS_WITH_YO = _LISTS.read_mapping_from_list("with_yo")
_THIRD_PERSON_ENDINGS = ("ет", "ит", "ёт", "ется", "ится", "ётся")
_MASCULINE_ENDINGS = ("л", "лся")
_FEMININE_ENDINGS = ("ла", "лась")
_PLURAL_ENDINGS = ("ли", "лись", "ны", "ты")

_CYRILLIC_WORD = re.compile(r"[а-яё]{3,}(?:-[а-яё]+)*")
_NAME_GRAMMEMES = frozenset({"Name", "Surn", "Patr", "Geox", "Orgn", "Trad", "Abbr", "Init"})
# How probable the part of speech of a word must be.
DOMINANT_PROBABILITY = 0.8
# How many synonyms of a meaning are used; a thesaurus lists the nearest first.
NEAREST_SYNONYMS = 4

# Grammatical categories in which a synonym must equal the word it replaces, by part of speech.
AGREEMENT_CATEGORIES = {
    "NOUN": ("gender", "animacy"),
    "VERB": ("aspect", "transitivity"),
    "INFN": ("aspect", "transitivity"),
}
# Grammatical categories that inflection copies from the replaced word, by part of speech.
INFLECTED_CATEGORIES = {
    "NOUN": ("case", "number"),
    "ADJF": ("case", "number", "gender", "animacy"),
    "VERB": ("tense", "person", "number", "gender", "mood", "involvement"),
}
_UNINFLECTED = frozenset({"ADVB", "INFN"})
# The part of speech of the dictionary form, if it differs from that of the word.
LEMMA_PARTS_OF_SPEECH = {"VERB": "INFN"}
_CACHED_WORDS = 1 << 16


def classify_pronoun_role(previous_word: str, pronoun: str, next_word: str, clause: str) -> int:  # noqa: ARG001
    """Return the row of the pronoun table (by case) to which a pronoun belongs, or -1 if that is not clear.

    A subject is replaced only by subjects that agree with the next word: past tenses show gender and number,
    but not the person. After a preposition, его, ему … begin with н-. его, её, их can be possessive.
    """
    pronoun = _SPELLINGS_WITH_YO.get(pronoun, pronoun)
    if any(pronoun in row for row in PRONOUNS[:ACCUSATIVE_OBJECTS]):
        return _classify_role_of_subject_pronoun(pronoun, next_word)
    if pronoun in PRONOUNS[POSSESSIVES]:
        return POSSESSIVES
    for row in range(ACCUSATIVE_OBJECTS, len(PRONOUNS)):
        if pronoun in PRONOUNS[row]:
            has_row_after_preposition = row in {ACCUSATIVE_OBJECTS, DATIVE_OBJECTS}
            return row + 1 if has_row_after_preposition and previous_word in _PREPOSITIONS else row
    return NO_ROW


def _classify_role_of_subject_pronoun(pronoun: str, next_word: str) -> int:
    """Return the row of the pronoun table for a subject by the ending of its verb, or -1 if no such verb
    follows.
    """
    if pronoun in PRONOUNS[PLURAL_SUBJECTS]:
        return PLURAL_SUBJECTS if next_word.endswith(_PLURAL_ENDINGS) else NO_ROW
    if next_word.endswith(_FEMININE_ENDINGS):
        return FEMININE_SUBJECTS
    if next_word.endswith(_MASCULINE_ENDINGS):
        return MASCULINE_SUBJECTS
    is_third_person = pronoun in PRONOUNS[THIRD_PERSON_SUBJECTS] and next_word.endswith(_THIRD_PERSON_ENDINGS)
    return THIRD_PERSON_SUBJECTS if is_third_person else NO_ROW


def can_follow_russian_negation(word: str) -> bool:
    """Return whether "не" (not) can stand before a word, because the word is a verb or a predicate."""
    if word in NEGATABLE_WORDS:
        return True
    return len(word) > 4 and word.endswith(NEGATABLE_ENDINGS) and word not in NOT_NEGATABLE


def find_fitting_synonyms(previous_word: str, word_form: str, next_word: str) -> tuple[str, ...]:  # noqa: ARG001
    """Find the synonyms of a lower-case word form, in the same case, number, gender, tense and so on."""
    return _find_inflected_synonyms(word_form)


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _find_inflected_synonyms(word_form: str) -> tuple[str, ...]:
    """Find the synonyms of a word form in the same inflected form. Only its first meaning with synonyms is
    used.
    """
    if word_form in FUNCTION_WORDS or not _CYRILLIC_WORD.fullmatch(word_form):
        return ()
    parses = load_russian_analyser().parse(word_form)
    # Forms such as «включите» are orders far more often than statements about the future.
    parse = next((parse for parse in parses if "impr" in parse.tag.grammemes), parses[0])
    lemma = parse.normal_form
    meanings = _list_synonyms_by_meaning(lemma)
    if not meanings or lemma in FUNCTION_WORDS or parse.tag.grammemes & _NAME_GRAMMEMES:
        return ()
    part_of_speech = _get_part_of_speech(parse.tag)
    if part_of_speech not in INFLECTED_CATEGORIES and part_of_speech not in _UNINFLECTED:
        return ()
    # Readings of one part of speech differ mostly in case and number, so their probabilities are added.
    probability = sum(other.score for other in parses if _get_part_of_speech(other.tag) == part_of_speech)
    if probability < DOMINANT_PROBABILITY:
        return ()
    for meaning in meanings:
        synonyms = []
        for word in meaning:
            inflected = inflect_russian_word_like(word, parse.tag, part_of_speech)
            if inflected is not None and inflected != word_form:
                synonyms.append(inflected)
        if synonyms:
            return tuple(synonyms)
    return ()


def inflect_russian_word_like(lemma: str, tag: Any, part_of_speech: str) -> str | None:
    """Inflect the dictionary form of a word as a grammatical tag describes. None if a category such as gender
    does not match.
    """
    parse = parse_russian_lemma(lemma, LEMMA_PARTS_OF_SPEECH.get(part_of_speech, part_of_speech))
    if parse is None:
        return None
    if _list_categories_that_must_agree(parse.tag, part_of_speech) != _list_categories_that_must_agree(
        tag, part_of_speech
    ):
        return None
    if part_of_speech in _UNINFLECTED:
        return str(parse.word)
    grammemes = _get_inflected_grammemes(tag, part_of_speech)
    if not parse.is_known:
        inflected = parse.inflect(grammemes)
        return None if inflected is None else str(inflected.word)
    # pymorphy's `inflect` analyses the word anew. The paradigm of a known word gives the same form at once.
    _, _, paradigm, form_number = parse.methods_stack[0]
    affixes = _find_affixes_of_word_form(paradigm, parse.tag, grammemes)
    if affixes is None:
        return None
    prefix, suffix = affixes
    dictionary = load_russian_analyser().dictionary
    stem = dictionary.build_stem(dictionary.paradigms[paradigm], form_number, parse.word)
    return f"{prefix}{stem}{suffix}"


# The following functions are cached: words share tags and paradigms, and word forms share synonyms.


@functools.cache
def _get_part_of_speech(tag: Any) -> str:
    """Return the part of speech in a tag of pymorphy."""
    return str(tag.POS)


@functools.cache
def _list_categories_that_must_agree(tag: Any, part_of_speech: str) -> tuple[str | None, ...]:
    """Return the grammatical categories of a tag, such as gender, in which a word and its synonym must be the
    same.
    """
    return tuple(getattr(tag, category) for category in AGREEMENT_CATEGORIES.get(part_of_speech, ()))


@functools.cache
def _get_inflected_grammemes(tag: Any, part_of_speech: str) -> frozenset[str]:
    """Return the grammatical values of a tag, such as the case, in which a synonym must be inflected."""
    values = (getattr(tag, category) for category in INFLECTED_CATEGORIES[part_of_speech])
    return frozenset(filter(None, values))


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _list_synonyms_by_meaning(lemma: str) -> list[list[str]]:
    """List the closest synonyms of a word for each of its meanings."""
    thesaurus = open_thesaurus("ru")
    assert thesaurus is not None
    return [meaning[:NEAREST_SYNONYMS] for meaning in thesaurus.list_synonyms_by_meaning(lemma)]


@functools.lru_cache(maxsize=_CACHED_WORDS)
def parse_russian_lemma(lemma: str, part_of_speech: str) -> Any:
    """Find the dictionary entry of a base form with a part of speech, or return None for function words."""
    if lemma in FUNCTION_WORDS:
        return None
    for parse in load_russian_analyser().parse(lemma):
        if _get_part_of_speech(parse.tag) == part_of_speech and parse.normal_form == lemma:
            return parse
    return None


@functools.cache
def _load_word_forms_of_paradigm(paradigm: int) -> list[tuple[str, Any, str]]:
    """Load the prefix, tag and suffix of every word form of an inflection pattern."""
    return list(load_russian_analyser().dictionary.build_paradigm_info(paradigm))


@functools.cache
def _find_affixes_of_word_form(paradigm: int, tag: Any, grammemes: frozenset[str]) -> tuple[str, str] | None:
    """Find the prefix and suffix of that form of a word which has the given grammatical values and is most
    similar to a tag.

    Similarity is measured as in pymorphy's `inflect`.
    """
    forms = _load_word_forms_of_paradigm(paradigm)
    fitting_forms = [form for form in forms if grammemes <= form[1].grammemes]
    if not fitting_forms:
        # Few words have the rare cases of pymorphy, such as the second genitive. Others have the usual case
        # instead.
        grammemes = type(tag).fix_rare_cases(grammemes)
        fitting_forms = [form for form in forms if grammemes <= form[1].grammemes]
    target = tag.updated_grammemes(grammemes)

    def count_shared_grammemes(form: tuple[str, Any, str]) -> float:
        form_grammemes = form[1].grammemes
        # The weight 0.1 is that of pymorphy: grammemes that differ only decide between forms that share
        # equally many.
        return len(target & form_grammemes) - 0.1 * len(target ^ form_grammemes)

    best = max(fitting_forms, key=count_shared_grammemes, default=None)
    return None if best is None else (best[0], best[2])
