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
    """Letters of a word, and other letters that sound alike. `espeak-ng` checks the rules in the tests."""

    pattern: re.Pattern[str]
    spellings: tuple[str, ...]
    needed_letters: str
    """Letters that every match has: a word without them need not be searched."""


def _load_sound_rules() -> tuple[SoundRule, ...]:
    rules = []
    for pattern, *spellings in WordLists("metassay.perturbations.languages", "en").read_rows("sounds"):
        needed_letters = _find_needed_letters(pattern)
        rules.append(SoundRule(re.compile(pattern, re.IGNORECASE), tuple(spellings), needed_letters))
    return tuple(rules)


def _find_needed_letters(pattern: str) -> str:
    r"""Return the letters that a rule replaces, without the conditions on their neighbours.

    >>> _find_needed_letters(r"(?<!s)ch(?![rlo])"), _find_needed_letters(r"\bth|th\b")
    ('ch', 'th')
    """
    return _LOOKAROUND.sub("", pattern).partition("|")[0]


SOUND_RULES = _load_sound_rules()


@dataclass(frozen=True)
class Phonetic(RandomReplacement):
    """Replaces letters of a random word by others that sound alike: water, wader."""

    name: ClassVar[str] = "phonetic"
    languages: ClassVar[frozenset[str] | None] = frozenset({"en"})
    summary: ClassVar[str] = "replaces letters by others that sound alike (en)"

    def find_replacements(self, view: View[str]) -> list[Replacement]:
        """Return every word that has another spelling, with all of them."""
        replacements = []
        for word in find_dictionary_words(view.output):
            spellings = respell(word[0])
            if spellings:
                replacements.append(Replacement(word.span(), spellings))
        return replacements


@functools.lru_cache(maxsize=1 << 16)
def respell(word: str) -> tuple[str, ...]:
    """Return the spellings of a word that differ from it in one place and sound alike.

    Where several rules match the same letters, the first one is used.

    >>> respell("water")
    ('wator', 'watar', 'wader')
    """
    spellings: dict[str, None] = {}
    used_positions: set[int] = set()
    lower_word = word.lower()
    for rule in SOUND_RULES:
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
