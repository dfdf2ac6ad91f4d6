"""A word misheard: a letter or group of letters replaced by one that sounds alike."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.base import View
from metassay.perturbations.words import WordEdit
from metassay.stats.random import Stream
from metassay.text.words import WordLists, replace_spans, terms, with_case_of

_WRITTEN = WordLists("metassay.perturbations.languages", "en").rows("sounds")
SOUNDS = tuple((pattern, tuple(spellings)) for pattern, *spellings in _WRITTEN)
"""Every rule of the perturbation; `espeak-ng` checks in the tests that the changed words sound near."""

_AROUND = re.compile(r"\(\?<?[=!][^)]*\)|\\b")


def _letters(pattern: str) -> str:
    r"""The letters that a rule replaces: a word without them need not be searched.

    >>> _letters(r"(?<!s)ch(?![rlo])"), _letters(r"\bth|th\b")
    ('ch', 'th')
    """
    return _AROUND.sub("", pattern).partition("|")[0]


_RULES = tuple(
    (_letters(pattern), re.compile(pattern, re.IGNORECASE), spellings) for pattern, spellings in SOUNDS
)


@dataclass(frozen=True)
class Phonetic(WordEdit):
    """Respells a letter or letter group of a random word by one that sounds alike: water, wader."""

    name: ClassVar[str] = "phonetic"
    languages: ClassVar[frozenset[str] | None] = frozenset({"en"})
    summary: ClassVar[str] = "replaces letters by others that sound alike (en)"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the words drawn respelt."""
        found = [(term.span(), options) for term in terms(view.output) if (options := respellings(term[0]))]
        if len(found) < self.strength:
            return None
        drawn = [found[i] for i in sorted(stream.sample(len(found), self.strength))]
        return replace_spans(view.output, [(span, stream.choice(options)) for span, options in drawn])


@functools.cache
def respellings(word: str) -> tuple[str, ...]:
    """Every spelling of a word that differs from it in one place and sounds alike.

    >>> respellings("water")
    ('wator', 'watar', 'wader')
    """
    found: dict[str, None] = {}
    taken: set[int] = set()
    lower = word.lower()
    for letters, pattern, spellings in _RULES:
        for match in pattern.finditer(word) if letters in lower else ():
            if taken.isdisjoint(range(*match.span())):
                taken.update(range(*match.span()))
                for new in spellings:
                    found[word[: match.start()] + with_case_of(match[0], new) + word[match.end() :]] = None
    return tuple(found)


PERTURBATIONS = (Phonetic,)
