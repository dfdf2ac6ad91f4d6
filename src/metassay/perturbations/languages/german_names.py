"""Rules to find German names. All nouns are capitalised: lists and neighbouring words show a name."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from metassay.perturbations.languages.german import DETERMINERS, FUNCTION_WORDS
from metassay.perturbations.languages.names import (
    COMPANIES,
    FAMILY_NAMES,
    FEMALE_NAMES,
    GERMAN_ORGANISATIONS,
    GERMAN_PLACES_WITH_ARTICLE,
    MALE_NAMES,
    MAXIMUM_NAME_WORDS,
    NOT_NAMES,
    PERSON_TITLES,
    PLACE_WORDS,
    PLACES,
    NameRules,
    WordMatch,
    find_next_word,
    find_previous_word,
    strip_genitive_ending,
)
from metassay.text.lemmas import find_lemma, is_common_word
from metassay.text.tagged_words import rank_pos_tags_of_word
from metassay.text.word_lists import WordLists
from metassay.text.words import starts_sentence

_TWO_WORD_NAMES = {name for name in PLACES["de"] | COMPANIES if "_" in name}
_LISTED_NAMES = frozenset(name.partition("_")[0] for name in _TWO_WORD_NAMES).union(
    FEMALE_NAMES,
    MALE_NAMES,
    FAMILY_NAMES,
    COMPANIES,
    *GERMAN_PLACES_WITH_ARTICLE.values(),
    *GERMAN_ORGANISATIONS.values(),
)
_VERBS_OF_SAYING = WordLists("metassay.perturbations.languages", "de").read_words("saying")
_PLACE_PREPOSITIONS = {"in", "nach", "aus"}
_WORDS_INSIDE_NAMES = {"de", "da", "di", "del", "van", "al", "bin", "the", "of", "and"}
_OPENING_QUOTES = set("\"„“”»«'‚")
_CLOSING_QUOTES = set("\"“”»«'‘")
_STROKES = set("/-−®™")
_CACHED_WORDS = 1 << 16


def _can_word_be_in_name(text: str, word: WordMatch, first_word: str) -> bool:
    """Return whether a word of a text can be part of a name that begins with `first_word`."""
    name = strip_genitive_ending(word)
    if len(name) < 2 or name in NOT_NAMES["de"] or "'" in name or "’" in name or word[0].endswith("-"):
        return False
    if (first_word in FEMALE_NAMES or first_word in MALE_NAMES) and all(
        find_lemma(part, "de") is None for part in name.split("-")
    ):
        return True  # a family name
    if f"{first_word}_{name}" in _TWO_WORD_NAMES:
        return True
    if not _could_be_name(name):
        return False
    return _is_in_german_name_lists(name) or not _is_common_noun_in_text(text, word.start(), name)


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _could_be_name(word: str) -> bool:
    """Return whether a word is a listed name, or is a name according to the part-of-speech tagger and not in
    the dictionary.
    """
    if len(word) < 2 or word in NOT_NAMES["de"]:
        return False
    if _is_in_german_name_lists(word):
        return True
    if "-" in word or word.lower() in FUNCTION_WORDS:
        return False
    return rank_pos_tags_of_word(word, "de")[:1] == ("NE",) and not _is_german_word(word)


def _is_in_german_name_lists(word: str) -> bool:
    """Return whether a word is a listed name, or the first word of a listed name of two words."""
    return word in _LISTED_NAMES or _is_listed_place(word)


def _is_listed_place(name: str) -> bool:
    """Return whether a name is a listed place, possibly with the -s of the genitive."""
    return name in PLACES["de"] or name.removesuffix("s") in PLACES["de"]


def _is_common_noun_in_text(text: str, start: int, word: str) -> bool:
    """Return whether a word that can be a name is used as a common noun at this place in the text."""
    if starts_sentence(text, start) and find_lemma(word.lower(), "de") is not None:
        return True
    return find_previous_word(text, start).lower() in DETERMINERS


def _is_german_word(word: str) -> bool:
    """Return whether a word is a common German word or a noun in the dictionary."""
    if is_common_word(word, "de"):
        return True
    return "NN" in rank_pos_tags_of_word(word, "de") and find_lemma(word, "de") is not None


def _is_part_of_longer_name(text: str, start: int, end: int) -> bool:
    """Return whether a name found in a text is only a part of a longer name, is quoted like a title, or is
    next to a slash.
    """
    left = text[start - 1 : start]
    right = text[end : end + 1]
    if (left in _OPENING_QUOTES and right in _CLOSING_QUOTES) or left in _STROKES or right in _STROKES:
        return True
    previous_word = find_previous_word(text, start)
    next_word = find_next_word(text, end)
    if previous_word in _WORDS_INSIDE_NAMES or next_word in _WORDS_INSIDE_NAMES - {"al"}:
        return True
    if _is_capitalised_but_no_noun(next_word):
        return True
    if next_word.istitle() and find_lemma(next_word, "de") is None:
        return True
    previous_word_starts_sentence = starts_sentence(text, start - len(previous_word) - 1)
    return (
        _is_capitalised_but_no_noun(previous_word)
        and previous_word not in PERSON_TITLES["de"]
        and not previous_word_starts_sentence
    )


def _is_capitalised_but_no_noun(word: str) -> bool:
    """Return whether a word is capitalised, but no noun according to the part-of-speech tagger."""
    return word[:1].isupper() and rank_pos_tags_of_word(word, "de")[:1] != ("NN",)


def _decide_kind_of_name(previous_word: str, name_words: Sequence[str]) -> str:
    """Return whether lists and titles show that a name is a person, place or organisation, or NAME if they do
    not show it.
    """
    name = "_".join(name_words)
    has_several_words = len(name_words) > 1
    if len(name_words) > MAXIMUM_NAME_WORDS or (has_several_words and all(map(_is_listed_place, name_words))):
        return "NAME"
    if _is_listed_place(name) or any(name in places for places in GERMAN_PLACES_WITH_ARTICLE.values()):
        return "LOC"
    if name in COMPANIES or any(name in names for names in GERMAN_ORGANISATIONS.values()):
        return "ORG"
    begins_with_given_name = name_words[0] in FEMALE_NAMES or name_words[0] in MALE_NAMES
    if previous_word in PERSON_TITLES["de"] or name in FAMILY_NAMES or begins_with_given_name:
        return "PER"
    return "LOC" if has_several_words and name_words[-1] in PLACE_WORDS else "NAME"


def _find_form_of_name(previous_word: str, name_words: Sequence[str], kind: str) -> str | None:
    """Return the gender that the article of a name shows, `gent` for a genitive in -s, or an empty text.

    None if the name does not stand in its sentence as names of its kind do.
    """
    has_determiner = previous_word.lower() in DETERMINERS
    name = "_".join(name_words)
    names_by_gender = GERMAN_ORGANISATIONS if kind == "ORG" else GERMAN_PLACES_WITH_ARTICLE
    for gender, names in names_by_gender.items():
        if name in names:
            # A word with one of these endings is probably an adjective between article and name.
            if has_determiner or previous_word.endswith(("en", "er", "e")) or gender == "plural":
                return gender
            # Masculine names such as Irak are also used without an article.
            return "" if gender == "masc" else None
    if has_determiner:
        return None
    is_genitive = kind == "LOC" and name not in PLACES["de"] and _is_listed_place(name)
    return "gent" if is_genitive else ""


def _guess_kind_of_name(text: str, start: int, end: int, name_words: Sequence[str]) -> str:
    """Guess from its neighbours whether a name is a person (beside "sagte") or a place (after "nach").
    Guesses end in a question mark.
    """
    for word in name_words:
        if word.isupper() or _is_german_word(word) or rank_pos_tags_of_word(word, "en")[:1] != ("NP0",):
            return "NAME"
    previous_word = find_previous_word(text, start)
    if previous_word in _VERBS_OF_SAYING or find_next_word(text, end) in _VERBS_OF_SAYING:
        return "PER?"
    return "LOC?" if previous_word.lower() in _PLACE_PREPOSITIONS else "NAME"


GERMAN_NAME_RULES = NameRules(
    can_be_in_name=_can_word_be_in_name,
    is_fragment=_is_part_of_longer_name,
    decide_kind=_decide_kind_of_name,
    decide_form=_find_form_of_name,
    guess_kind=_guess_kind_of_name,
)
