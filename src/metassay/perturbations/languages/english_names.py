"""Rules to find English names: by capitals, lists, and words that are in no dictionary."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metassay.perturbations.languages.names import (
    COMPANIES,
    FAMILY_NAMES,
    FAMILY_NAMES_FIRST,
    FEMALE_NAMES,
    MALE_NAMES,
    MAXIMUM_NAME_WORDS,
    NATIONALITIES,
    NOT_NAMES,
    ORGANISATION_WORDS,
    ORGANISATIONS,
    PERSON_TITLES,
    PLACE_WORDS,
    PLACES,
    NameRules,
    WordMatch,
    find_next_word,
    find_previous_word,
    strip_genitive_ending,
)
from metassay.text.lemmas import is_common_word
from metassay.text.tagged_words import rank_pos_tags_of_word
from metassay.text.word_lists import WordLists
from metassay.text.words import starts_sentence

_LISTS = WordLists("metassay.perturbations.languages", "en")
_VERBS_OF_SAYING = _LISTS.read_words("saying")
_DIRECTIONS = _LISTS.read_words("directions")
_LISTED_NAMES = PLACES["en"] | FEMALE_NAMES | MALE_NAMES | FAMILY_NAMES | COMPANIES
_ARTICLES = {"the", "a", "an"}
# The last words of organisations whose other words may all be common: "Children's Hospital".
_INSTITUTIONS_WITH_COMMON_NAMES = {"University", "College", "Bank", "Hospital"}
# One to three Chinese syllables in Latin letters.
_PINYIN = re.compile(
    r"(?:(?:[bpmfdtnlgkhjqxrzcsyw]|[zcs]h)?(?:[aeiou]|a[io]|ei|ou|an|en|i?ang|i?eng|i?ong|ia|iao|ie|iu|ian|in|"
    r"ing|u[aoi]|uai|uan|un|uang|ueng|ue|er)){1,3}",
    re.IGNORECASE,
)


def _can_word_be_in_name(text: str, word: WordMatch, first_word: str) -> bool:
    """Return whether a word can continue a name that begins with `first_word`, or begin a name if
    `first_word` is empty.
    """
    name = strip_genitive_ending(word)
    if len(name) < 2 or name in NOT_NAMES["en"] or name in NATIONALITIES["en"]:
        return False
    # Names with apostrophes ("O'Neill") and other signs are left alone.
    if not set("'’_").isdisjoint(name):
        return False
    if "-" in name:
        has_other_signs = not name.replace("-", "").isalpha()
        if has_other_signs or any(map(_is_place_or_common_word, name.split("-"))):
            return False
    return bool(first_word) or _is_proper_noun(name) or not starts_sentence(text, word.start())


def _is_proper_noun(word: str) -> bool:
    """Return whether a word is in a list of names, or is a name according to the part-of-speech tagger."""
    return word in _LISTED_NAMES or rank_pos_tags_of_word(word, "en")[:1] == ("NP0",)


def _is_place_or_common_word(word: str) -> bool:
    """Return whether a word is a place name, a common word, or written in lower case."""
    return not word[:1].isupper() or word in PLACES["en"] or is_common_word(word, "en")


def _is_part_of_longer_name(text: str, start: int, end: int) -> bool:
    """Return whether a name found in a text is only a part of a longer name, or is next to a hyphen or
    slash.
    """
    if text[start - 1 : start] in {"/", "-"} or text[end : end + 1] in {"/", "-", "®", "™"}:
        return True
    next_word = find_next_word(text, end)
    continues = next_word[:1].isupper() and next_word not in NOT_NAMES["en"] and next_word not in {"I", "A"}
    # Four characters: " of ". A capital after it continues the name, as in "University of Kent".
    if continues or (next_word == "of" and text[end + 4 : end + 5].isupper()):
        return True
    previous_word = find_previous_word(text, start)
    return (
        previous_word[:1].isupper()
        and previous_word not in PERSON_TITLES["en"]
        and not is_common_word(previous_word, "en")
    )


def _decide_kind_of_name(previous_word: str, name_words: Sequence[str]) -> str:
    """Return whether words name a person (PER), place (LOC), organisation (ORG) or something else (NAME), or
    an empty text if they are no name.
    """
    if len(name_words) > MAXIMUM_NAME_WORDS:
        return ""
    name = "_".join(name_words)
    if name in PLACES["en"] or _is_place_name(name_words):
        return "LOC"
    if name in COMPANIES or name in ORGANISATIONS or _is_organisation_name(name_words):
        return "ORG"
    has_title = previous_word in PERSON_TITLES["en"] and not _are_all_common_english_words(name_words)
    if has_title or name in FAMILY_NAMES or _is_person_name(name_words):
        return "PER"
    return "NAME" if all(map(_is_name_according_to_tagger, name_words)) else ""


def _is_name_according_to_tagger(word: str) -> bool:
    """Return whether a word is a name according to the part-of-speech tagger, although no list of names
    contains it.
    """
    if not word.istitle() or not word.isalpha() or word in PLACES["en"] or word in ORGANISATION_WORDS:
        return False
    return rank_pos_tags_of_word(word, "en")[:1] == ("NP0",) and not is_common_word(word, "en")


def _are_all_common_english_words(words: Sequence[str]) -> bool:
    """Return whether all words are common English words."""
    return all(is_common_word(word, "en") for word in words)


def _is_place_name(name_words: Sequence[str]) -> bool:
    """Return whether the words of a name show that it is a place, as in East Asia or Guangdong Province."""
    if len(name_words) == 1:
        return False
    if name_words[0] in _DIRECTIONS and "_".join(name_words[1:]) in PLACES["en"]:
        return True
    return name_words[-1] in PLACE_WORDS and not _are_all_common_english_words(name_words[:-1])


def _is_organisation_name(name_words: Sequence[str]) -> bool:
    """Return whether the words of a name show that it is an organisation, as in Yale University."""
    if name_words[-1] not in ORGANISATION_WORDS:
        return False
    for word in name_words[:-1]:
        if word in PLACES["en"] or not is_common_word(word, "en"):
            return True
    return len(name_words) > 1 and name_words[-1] in _INSTITUTIONS_WITH_COMMON_NAMES


def _is_person_name(name_words: Sequence[str]) -> bool:
    """Return whether words begin with a given name, or are an East Asian family name followed by Chinese
    syllables.
    """
    first_word, *other_words = name_words
    if any(word in PLACES["en"] or word in ORGANISATION_WORDS or word.isupper() for word in other_words):
        return False
    if first_word in FEMALE_NAMES or first_word in MALE_NAMES:
        return True
    if first_word not in FAMILY_NAMES_FIRST:
        return False
    if not other_words:
        return not is_common_word(first_word, "en")
    is_chinese = all(_PINYIN.fullmatch(word) for word in other_words)
    return is_chinese or not is_common_word(other_words[0], "en")


def _find_article_before_name(previous_word: str, name_words: Sequence[str], kind: str) -> str | None:  # noqa: ARG001
    """Return the article before a name, or an empty text if there is none, or None if the words are no
    name.
    """
    if not kind:
        return None
    article = previous_word.lower()
    return article if article in _ARTICLES else ""


def _guess_kind_of_name(text: str, start: int, end: int, name_words: Sequence[str]) -> str:
    """Guess from its neighbours whether a name is a person (beside "said") or a place (after "in"). Guesses
    end in a question mark.
    """
    previous_word = find_previous_word(text, start)
    if previous_word in _VERBS_OF_SAYING or find_next_word(text, end) in _VERBS_OF_SAYING:
        return "PER?"
    if previous_word == "in" and len(name_words) == 1:
        return "LOC?"
    return "NAME" if len(name_words) > 1 or _PINYIN.fullmatch(name_words[0]) else ""


ENGLISH_NAME_RULES = NameRules(
    can_be_in_name=_can_word_be_in_name,
    is_fragment=_is_part_of_longer_name,
    decide_kind=_decide_kind_of_name,
    decide_form=_find_article_before_name,
    guess_kind=_guess_kind_of_name,
    places_before_nouns=PLACES["en"],
)
