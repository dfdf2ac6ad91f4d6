"""A word misheard: a letter or group of letters replaced by one that sounds alike."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.view import View
from metassay.perturbations.words import WordEdit
from metassay.text.streams import Stream
from metassay.text.words import replace_spans, terms, with_case_of

SOUNDS = (
    # Spelling, and spellings that sound the same or nearly so. Longer and more special spellings come first.
    (r"tch", ("ch",)),
    (r"igh(?=t\b)", ("i",)),
    (r"(?<=\w)ght", ("t",)),
    (r"tion\b", ("sion",)),
    (r"sion\b", ("tion",)),
    (r"ious\b", ("eous",)),
    (r"\bkn", ("n",)),
    (r"\bwr", ("r",)),
    (r"\bwh", ("w",)),
    (r"ph", ("f",)),
    (r"ck", ("k",)),
    (r"qu", ("kw",)),
    (r"(?<!s)ch(?![rlo])", ("sh",)),
    (r"sh", ("ch",)),
    (r"\bth|th\b", ("d", "f")),
    (r"ng\b", ("n",)),
    (r"(?<!^e)x", ("ks", "cks")),
    (r"ee", ("ea", "i")),
    (r"ea(?!t)", ("ee",)),
    (r"ai(?=d\b)", ("e", "ay")),
    (r"ai(?!n)", ("ay",)),
    (r"(?<=[aeiou])k(?=e)", ("kk",)),
    (r"ay", ("ey", "ai")),
    (r"oo", ("u", "ou")),
    (r"ou(?=nd|t|se)", ("ow",)),
    (r"ow", ("ou",)),
    (r"oa", ("o",)),
    (r"aw", ("au", "o")),
    (r"au(?!gh)", ("aw",)),
    (r"er\b", ("or", "ar")),
    (r"or\b", ("er",)),
    (r"(?<=[bdpt])le\b", ("el",)),
    (r"ll", ("l",)),
    (r"tt", ("t", "dd")),
    (r"dd", ("d", "tt")),
    (r"nn", ("n",)),
    (r"pp", ("p",)),
    (r"ff", ("f",)),
    (r"c(?=[eiy])", ("s",)),
    (r"c(?=[aoulr])", ("k",)),
    (r"(?<!c)k(?![neis])", ("c", "g")),
    (r"g(?=[aoulr])", ("k",)),
    (r"(?<![sfnck])t(?=[aeour]|\b)(?!ed\b|es\b|u)", ("d",)),
    (r"(?<!e)d\b|d(?=[aeor])", ("t",)),
    (r"(?<!m)p(?![hsl])", ("b",)),
    (r"b(?=[aeiouy])", ("p",)),
    (r"f(?=[aeiou])(?!ul|or)", ("v",)),
    (r"v(?![aeiou]\b|es|ed)", ("f",)),
    (r"z(?![aeiou]\b)", ("s",)),
    (r"s(?=[aeiou])", ("z",)),
    (r"(?<=[eiu])m\b", ("n",)),
    (r"(?<=[bdfgklmnprstvz])i(?=[bdfgklmnpstvz]{2}|[bdfgkmnpst]\b)", ("e",)),
    (r"(?<=[bdfgklmnprstvz])e(?=[bdfgklmnpstvz]{2}|[bgkmnpt]\b)", ("i",)),
    (r"(?<=[bdfgklmnprstvz])a(?=[bdfgkmnpstvz]{2}|[bdgkmnpt]\b)", ("e",)),
    (r"(?<=[bdfgklmnprstvz])u(?=[bdfgklmnpstvz]{2}|[bdgkmnpt]\b)", ("o",)),
)
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
