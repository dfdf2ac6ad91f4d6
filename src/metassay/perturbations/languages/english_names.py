"""English names: capitals inside a sentence, and lists for their kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metassay.perturbations.languages.names import (
    BODIES,
    COMPANIES,
    FAMILY_NAMES,
    FAMILY_NAMES_FIRST,
    FEMALE,
    MALE,
    MOST_WORDS,
    NOT_NAMES,
    ORGANISATION_WORDS,
    PEOPLES,
    PERSON_TITLES,
    PLACE_WORDS,
    PLACES,
    NameRules,
    Word,
    bare_name,
    word_after,
    word_before,
)
from metassay.text.thesauri import is_common, word_tags
from metassay.text.words import WordLists, starts_sentence

_OWN = WordLists("metassay.perturbations.languages", "en")
_LISTS = (PLACES["en"], FEMALE, MALE, FAMILY_NAMES, COMPANIES)
_SAYING = _OWN.words("saying")
_DIRECTIONS = _OWN.words("directions")
_ARTICLES = {"the", "a", "an"}
_SCHOOLS = {"University", "College", "Bank", "Hospital"}
_PINYIN = re.compile(
    r"(?:(?:[bpmfdtnlgkhjqxrzcsyw]|[zcs]h)?(?:[aeiou]|a[io]|ei|ou|an|en|i?ang|i?eng|i?ong|ia|iao|ie|iu|ian|in|"
    r"ing|u[aoi]|uai|uan|un|uang|ueng|ue|er)){1,3}",
    re.IGNORECASE,
)
"""One to three syllables of Chinese in Latin letters."""


def _may_belong(text: str, word: Word, first: str) -> bool:
    bare = bare_name(word)
    if len(bare) < 2 or bare in NOT_NAMES["en"] or bare in PEOPLES["en"] or not set("'’_").isdisjoint(bare):
        return False
    if "-" in bare and (not bare.replace("-", "").isalpha() or any(map(_is_known, bare.split("-")))):
        return False
    return bool(first) or _is_proper(bare) or not starts_sentence(text, word.start())


def _is_proper(word: str) -> bool:
    return any(word in own for own in _LISTS) or word_tags(word, "en")[:1] == ("NP0",)


def _is_known(word: str) -> bool:
    return not word[:1].isupper() or word in PLACES["en"] or is_common(word, "en")


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a name has begun before, with a capital that no English word has; or stands beside a stroke."""
    if text[start - 1 : start] in {"/", "-"} or text[end : end + 1] in {"/", "-", "®", "™"}:
        return True
    before, after = word_before(text, start), word_after(text, end)
    goes_on = after[:1].isupper() and after not in NOT_NAMES["en"] and after not in {"I", "A"}
    if goes_on or (after == "of" and text[end + 4 : end + 5].isupper()):
        return True
    return before[:1].isupper() and before not in PERSON_TITLES["en"] and not is_common(before, "en")


def _kind(before: str, words: Sequence[str]) -> str:
    whole = "_".join(words)
    if len(words) > MOST_WORDS:
        return ""
    if whole in PLACES["en"] or _is_district(words):
        return "LOC"
    if whole in COMPANIES or whole in BODIES or _is_organisation(words):
        return "ORG"
    titled = before in PERSON_TITLES["en"] and not all(is_common(word, "en") for word in words)
    if titled or whole in FAMILY_NAMES or _is_person(words):
        return "PER"
    foreign = all(word_tags(word, "en")[:1] == ("NP0",) and not is_common(word, "en") for word in words)
    plain = all(word.istitle() and word.isalpha() for word in words)
    listed = any(word in PLACES["en"] or word in ORGANISATION_WORDS for word in words)
    return "NAME" if foreign and plain and not listed else ""


def _is_district(words: Sequence[str]) -> bool:
    """East Asia, Guangdong Province, the Yangtze River."""
    if len(words) == 1:
        return False
    if words[0] in _DIRECTIONS and "_".join(words[1:]) in PLACES["en"]:
        return True
    return words[-1] in PLACE_WORDS and not all(is_common(word, "en") for word in words[:-1])


def _is_organisation(words: Sequence[str]) -> bool:
    """Yale University, the China Price Association; but not the Central Committee."""
    named = [w for w in words[:-1] if w in PLACES["en"] or not is_common(w, "en")]
    return words[-1] in ORGANISATION_WORDS and (bool(named) or (len(words) > 1 and words[-1] in _SCHOOLS))


def _is_person(words: Sequence[str]) -> bool:
    """A given name, with what follows; or a Chinese family name, with syllables of Chinese."""
    if any(word in PLACES["en"] or word in ORGANISATION_WORDS or word.isupper() for word in words[1:]):
        return False
    if words[0] in FEMALE or words[0] in MALE:
        return True
    if words[0] not in FAMILY_NAMES_FIRST:
        return False
    chinese = all(_PINYIN.fullmatch(word) for word in words[1:])
    return not is_common(words[0], "en") if len(words) == 1 else chinese or not is_common(words[1], "en")


def _form(before: str, words: Sequence[str], kind: str) -> str | None:  # noqa: ARG001
    """The article before a name, which few names have."""
    return (before.lower() if before.lower() in _ARTICLES else "") if kind else None


def _hint(text: str, start: int, end: int, words: Sequence[str]) -> str:
    before = word_before(text, start)
    if before in _SAYING or word_after(text, end) in _SAYING:
        return "PER?"
    if before == "in" and len(words) == 1:
        return "LOC?"
    return "NAME" if len(words) > 1 or _PINYIN.fullmatch(words[0]) else ""


RULES = NameRules(_may_belong, _is_part, _kind, _form, _hint, modifiers=PLACES["en"])
