"""Porter's stemmer (1980) with the extensions of NLTK, which is its oracle in the tests."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection

_IRREGULAR_STEMS = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "news": "news",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}
_STEP_2_ENDINGS = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "fulli": "ful",
    "logi": "log",
}
_STEP_3_ENDINGS = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_STEP_4_ENDINGS = frozenset(
    [
        "al",
        "ance",
        "ence",
        "er",
        "ic",
        "able",
        "ible",
        "ant",
        "ement",
        "ment",
        "ent",
        "ion",
        "ou",
        "ism",
        "ate",
        "iti",
        "ous",
        "ive",
        "ize",
    ]
)
_VOWELS_AND_CONSONANT = re.compile("[aeiou]+[^aeiou]")
_VOWEL = re.compile("[aeiou]")


@functools.lru_cache(maxsize=1 << 18)
def stem_word(word: str) -> str:
    """Return the stem of a word, in lower case.

    >>> stem_word("relational"), stem_word("flies"), stem_word("dying")
    ('relat', 'fli', 'die')
    """
    stem = word.lower()
    if stem in _IRREGULAR_STEMS:
        return _IRREGULAR_STEMS[stem]
    # An extension of NLTK, as is the list of irregular stems.
    if len(word) <= 2:
        return stem
    for step in _STEPS:
        stem = step(stem)
    return stem


def _find_consonants(word: str) -> list[bool]:
    """Return for each letter of a word whether it is a consonant. The letter y is a vowel after a
    consonant.
    """
    is_consonant: list[bool] = []
    for letter in word:
        is_vowel_y = letter == "y" and bool(is_consonant) and is_consonant[-1]
        is_consonant.append(letter not in "aeiou" and not is_vowel_y)
    return is_consonant


def _count_vowel_consonant_groups(stem: str) -> int:
    """Count how often a consonant follows a vowel in a stem, which Porter calls its measure m."""
    # Faster, and equal where no y can be a vowel.
    if "y" not in stem:
        return len(_VOWELS_AND_CONSONANT.findall(stem))
    is_consonant = _find_consonants(stem)
    return sum(second and not first for first, second in itertools.pairwise(is_consonant))


def _has_vowel(stem: str) -> bool:
    """Return whether a stem contains a vowel."""
    return bool(_VOWEL.search(stem)) or ("y" in stem and not all(_find_consonants(stem)))


def _ends_in_short_syllable(stem: str) -> bool:
    """Return whether a stem ends in a consonant, a vowel and a consonant other than w, x and y."""
    is_consonant = _find_consonants(stem)
    # An extension of NLTK. Porter's condition needs three letters.
    if len(stem) == 2:
        return is_consonant == [False, True]
    return is_consonant[-3:] == [True, False, True] and stem[-1] not in "wxy"


def _remove_plural(word: str) -> str:
    """Apply step 1a of Porter's algorithm: remove plurals, as in `caresses`."""
    if not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("sses"):
        return word[:-2]
    # An extension of NLTK: "dies" becomes "die", while Porter has "di".
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    return word[:-1]


def _remove_past_or_gerund(word: str) -> str:
    """Apply step 1b of Porter's algorithm: remove `-ed` and `-ing`."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _count_vowel_consonant_groups(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word and _has_vowel(stem):
            return _repair_verb_stem(stem)
    return word


def _repair_verb_stem(stem: str) -> str:
    """Repair a stem from which -ed or -ing was removed: add an e that was lost, or remove a doubled
    consonant.
    """
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem[-2:-1] == stem[-1] and _find_consonants(stem)[-1]:
        return stem if stem[-1] in "lsz" else stem[:-1]
    if stem.endswith("*d"):  # NLTK writes *d for a double consonant in its rules, and takes it literally here
        return stem[:-2] + "d"
    return stem + "e" if _count_vowel_consonant_groups(stem) == 1 and _ends_in_short_syllable(stem) else stem


def _replace_final_y(word: str) -> str:
    """Apply step 1c of Porter's algorithm: replace a final y after a consonant by i."""
    if word.endswith("y") and len(word) > 2 and _find_consonants(word[:-1])[-1]:
        return word[:-1] + "i"
    return word


def _shorten_double_suffix(word: str) -> str:
    """Apply step 2 of Porter's algorithm: shorten double suffixes, as in `-ization` to `-ize`."""
    ending = _find_longest_ending(word, _STEP_2_ENDINGS, 7)
    if ending is None:
        return word
    stem = word[: -len(ending)]
    # The l of "logi" counts as part of the stem in NLTK, so that "geologi" is shortened as well.
    if _count_vowel_consonant_groups(stem + "l" if ending == "logi" else stem) == 0:
        return word
    if ending == "alli":  # before it there may be another ending of this step
        return _shorten_double_suffix(stem + "al")
    return stem + _STEP_2_ENDINGS[ending]


def _shorten_suffix(word: str) -> str:
    """Apply step 3 of Porter's algorithm: shorten suffixes such as `-icate`, `-ful` and `-ness`."""
    ending = _find_longest_ending(word, _STEP_3_ENDINGS, 5)
    if ending is None or _count_vowel_consonant_groups(word[: -len(ending)]) == 0:
        return word
    return word[: -len(ending)] + _STEP_3_ENDINGS[ending]


def _remove_suffix(word: str) -> str:
    """Apply step 4 of Porter's algorithm: remove suffixes such as `-ance` and `-ment`."""
    ending = _find_longest_ending(word, _STEP_4_ENDINGS, 5)
    if ending is None:
        return word
    stem = word[: -len(ending)]
    if _count_vowel_consonant_groups(stem) <= 1 or (ending == "ion" and stem[-1] not in "st"):
        return word
    return stem


def _remove_final_e(word: str) -> str:
    """Apply step 5a of Porter's algorithm: remove a final e."""
    if not word.endswith("e"):
        return word
    measure = _count_vowel_consonant_groups(word[:-1])
    if measure > 1 or (measure == 1 and not _ends_in_short_syllable(word[:-1])):
        return word[:-1]
    return word


def _reduce_double_l(word: str) -> str:
    """Apply step 5b of Porter's algorithm: write a final `ll` as `l`."""
    return word[:-1] if word.endswith("ll") and _count_vowel_consonant_groups(word[:-1]) > 1 else word


def _find_longest_ending(word: str, possible_endings: Collection[str], maximum_length: int) -> str | None:
    """Find the longest of the given endings with which a word ends. Returns None if it ends with none of
    them.
    """
    for length in range(maximum_length, 1, -1):
        if word[-length:] in possible_endings:
            return word[-length:]
    return None


_STEPS = (
    _remove_plural,
    _remove_past_or_gerund,
    _replace_final_y,
    _shorten_double_suffix,
    _shorten_suffix,
    _remove_suffix,
    _remove_final_e,
    _reduce_double_l,
)
