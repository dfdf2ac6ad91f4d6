"""Respell words so that they sound almost the same, as in errors of speech recognition."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from metassay.perturbations.base import View
from metassay.perturbations.random_replacement import RandomReplacement, Replacement
from metassay.text.word_lists import WordLists
from metassay.text.words import copy_case, find_dictionary_words

_LOOKAROUND = re.compile(r"\(\?<?[=!][^)]*\)|\\b")


class SoundRule(NamedTuple):
    """A spelling of a sound, with other spellings that sound the same."""

    pattern: re.Pattern[str]
    spellings: tuple[str, ...]
    needed_letters: str
    """Letters that every match has: a word without them need not be searched."""


def _load_sound_rules() -> tuple[SoundRule, ...]:
    """Load the rules that say which spellings sound alike."""
    rules = []
    for pattern, *spellings in WordLists("metassay.perturbations.languages", "en").read_tab_separated_rows(
        "sounds"
    ):
        needed_letters = _extract_letters_matched_by_regex(pattern)
        rules.append(SoundRule(re.compile(pattern, re.IGNORECASE), tuple(spellings), needed_letters))
    return tuple(rules)


def _extract_letters_matched_by_regex(regex: str) -> str:
    r"""Return the letters that the regular expression of a rule replaces. Its conditions on neighbouring
    letters are left out.

    >>> [_extract_letters_matched_by_regex(regex) for regex in (r"(?<!s)ch(?![rlo])", r"\bth|th\b")]
    ['ch', 'th']
    """
    return _LOOKAROUND.sub("", regex).partition("|")[0]


SOUND_RULES = _load_sound_rules()


@dataclass(frozen=True)
class Phonetic(RandomReplacement):
    """Replaces letters of a random word by other letters that sound alike, as in "wader" for "water"."""

    name: ClassVar[str] = "phonetic"
    languages: ClassVar[frozenset[str] | None] = frozenset({"en"})
    summary: ClassVar[str] = "replaces letters by others that sound alike (en)"

    def find_replaceable_spans(self, output_view: View[str]) -> list[Replacement]:
        """Return every word of the output that has other spellings, with these spellings."""
        replacements = []
        for word in find_dictionary_words(output_view.output):
            spellings = list_spellings_that_sound_alike(word[0])
            if spellings:
                replacements.append(Replacement(word.span(), spellings))
        return replacements


@functools.lru_cache(maxsize=1 << 16)
def list_spellings_that_sound_alike(word: str) -> tuple[str, ...]:
    """List the spellings that sound like a word and differ from it in one place.

    Where several rules match the same letters, the first one is used.

    >>> list_spellings_that_sound_alike("water")
    ('wator', 'watar', 'wader')
    """
    spellings: dict[str, None] = {}
    used_positions: set[int] = set()
    lower_word = word.lower()
    for rule in SOUND_RULES:
        # Searching for letters is faster than matching the pattern, and most rules do not apply to a word.
        if rule.needed_letters not in lower_word:
            continue
        for match in rule.pattern.finditer(word):
            positions = range(*match.span())
            if not used_positions.isdisjoint(positions):
                continue
            used_positions.update(positions)
            for letters in rule.spellings:
                spelling = word[: match.start()] + copy_case(match[0], letters) + word[match.end() :]
                spellings[spelling] = None
    return tuple(spellings)


PERTURBATIONS = (Phonetic,)
