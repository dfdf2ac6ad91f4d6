"""German names. Every noun has a capital, so a name is known by a list, or by names and words around it."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.perturbations.languages.german import DETERMINERS, FUNCTION_WORDS
from metassay.perturbations.languages.names import (
    COMPANIES,
    FAMILY_NAMES,
    FEMALE,
    GERMAN_ARTICLES,
    GERMAN_BODIES,
    MALE,
    MOST_WORDS,
    NOT_NAMES,
    PERSON_TITLES,
    PLACE_WORDS,
    PLACES,
    NameRules,
    Word,
    bare_name,
    word_after,
    word_before,
)
from metassay.text.analysers import german_lemma, is_common, word_tags
from metassay.text.words import WordLists, starts_sentence

_LISTS = (FEMALE, MALE, FAMILY_NAMES, COMPANIES, *GERMAN_ARTICLES.values(), *GERMAN_BODIES.values())
_TWO_WORDS = {name for name in PLACES["de"] | COMPANIES if "_" in name}
_FIRST_WORDS = {name.partition("_")[0] for name in _TWO_WORDS}
_SAYING = WordLists("metassay.perturbations.languages", "de").words("saying")
_PLACE_PREPOSITIONS = {"in", "nach", "aus"}
_INSIDE_NAMES = {"de", "da", "di", "del", "van", "al", "bin", "the", "of", "and"}
_OPENING, _CLOSING, _STROKES = set("\"„“”»«'‚"), set("\"“”»«'‘"), set("/-−®™")


def _may_belong(text: str, word: Word, first: str) -> bool:
    bare = bare_name(word)
    if len(bare) < 2 or bare in NOT_NAMES["de"] or "'" in bare or "’" in bare or word[0].endswith("-"):
        return False
    if (first in FEMALE or first in MALE) and all(german_lemma(part) is None for part in bare.split("-")):
        return True  # a family name
    if _is_listed(bare) or f"{first}_{bare}" in _TWO_WORDS:
        return True
    return word_tags(bare, "de")[:1] == ("NE",) and not _is_noun(text, word)


def _is_listed(word: str) -> bool:
    return _is_place(word) or word in _FIRST_WORDS or any(word in own for own in _LISTS)


def _is_place(name: str) -> bool:
    return name in PLACES["de"] or name.removesuffix("s") in PLACES["de"]


def _is_noun(text: str, word: Word) -> bool:
    """Whether a word that the tagger takes for a name is a noun after all."""
    bare, before = bare_name(word), word_before(text, word.start()).lower()
    first = starts_sentence(text, word.start()) and german_lemma(bare.lower()) is not None
    return before in DETERMINERS or first or "-" in bare or bare.lower() in FUNCTION_WORDS or _is_german(bare)


def _is_german(word: str) -> bool:
    return is_common(word, "de") or ("NN" in word_tags(word, "de") and german_lemma(word) is not None)


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a name goes on, stands in quotation marks, as titles do, or beside a stroke."""
    left, right = text[start - 1 : start], text[end : end + 1]
    if (left in _OPENING and right in _CLOSING) or left in _STROKES or right in _STROKES:
        return True
    before, after = word_before(text, start), word_after(text, end)
    if before in _INSIDE_NAMES or after in _INSIDE_NAMES - {"al"}:
        return True
    if _is_strange(after) or (after.istitle() and german_lemma(after) is None):
        return True
    begins = starts_sentence(text, start - len(before) - 1)
    return _is_strange(before) and before not in PERSON_TITLES["de"] and not begins


def _is_strange(word: str) -> bool:
    """Whether a word has a capital and is no noun."""
    return word[:1].isupper() and word_tags(word, "de")[:1] != ("NN",)


def _kind(before: str, words: Sequence[str]) -> str:
    whole, several = "_".join(words), len(words) > 1
    if len(words) > MOST_WORDS or (several and all(map(_is_place, words))):
        return "NAME"
    if _is_place(whole) or any(whole in own for own in GERMAN_ARTICLES.values()):
        return "LOC"
    if whole in COMPANIES or any(whole in own for own in GERMAN_BODIES.values()):
        return "ORG"
    if before in PERSON_TITLES["de"] or whole in FAMILY_NAMES or words[0] in FEMALE or words[0] in MALE:
        return "PER"
    return "LOC" if several and words[-1] in PLACE_WORDS else "NAME"


def _form(before: str, words: Sequence[str], kind: str) -> str | None:
    """The article that a name takes, and whether it is a genitive in -s."""
    determined = before.lower() in DETERMINERS
    whole = "_".join(words)
    for gender, own in (GERMAN_BODIES if kind == "ORG" else GERMAN_ARTICLES).items():
        if whole in own:
            bends = determined or before.endswith(("en", "er", "e"))
            return gender if bends or gender == "plural" else "" if gender == "masc" else None
    if determined:
        return None
    return "gent" if kind == "LOC" and whole not in PLACES["de"] and _is_place(whole) else ""


def _hint(text: str, start: int, end: int, words: Sequence[str]) -> str:
    if any(word.isupper() or _is_german(word) or word_tags(word, "en")[:1] != ("NP0",) for word in words):
        return "NAME"
    before = word_before(text, start)
    if before in _SAYING or word_after(text, end) in _SAYING:
        return "PER?"
    return "LOC?" if before.lower() in _PLACE_PREPOSITIONS else "NAME"


RULES = NameRules(_may_belong, _is_part, _kind, _form, _hint)
