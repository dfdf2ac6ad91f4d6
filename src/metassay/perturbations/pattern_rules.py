"""Rules of language packs: a pattern, and what replaces a match.

Case is ignored. That makes regular expressions slow, so most rules are searched for in the text in lower
case, and only if the text has the letters and words that every match has.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from metassay.text.word_lists import WordLists, build_word_pattern

_PACKS = "metassay.perturbations.languages"
# Letters that change when they are written in lower case and back.
_ODD_CASE = re.compile("[İıſ\u212a]")
_WORD = re.compile(r"\w+")
_GROUP = re.compile(r"\([^()]*\)[?*]?")
_GROUP_NUMBER = re.compile(r"\\(\d)(?!\d)")
_LIST_NAME = re.compile(r"\{([a-z_]+)\}")
_LETTERS = re.compile(r"(?:[^\W\d_]|[ '’-])+(?![?*{])")
# A group of words in a pattern that are separated from what is around them.
_SEPARATE_WORDS = re.compile(r"(?:\\b(?:\(\?<[^()]*\))?| |\['’\])\((?:\?:)?([^()\[\]\\?*+.$^]+)\)(?=\\b| )")

ReadWords = Callable[[str], Iterable[str]]


class LowerText(NamedTuple):
    """A text in lower case with its words, for searching."""

    text: str
    words: frozenset[str]


def lower_text_for_search(text: str) -> LowerText | None:
    """Convert a text to lower case for searching; None if that would move characters."""
    lower = text.lower()
    if len(lower) != len(text) or _ODD_CASE.search(text) is not None:
        return None
    return LowerText(lower, frozenset(_WORD.findall(lower)))


@dataclass(frozen=True)
class PatternRule:
    """A regular expression of a language pack and what replaces its matches."""

    pattern: re.Pattern[str]
    replacement: str | None
    lower_pattern: re.Pattern[str] | None
    """Matches in lower-case text where the pattern matches; None if the pattern has capitals."""
    needed_letters: str
    """Letters that every match has."""
    needed_words: frozenset[str]
    """Words of which every match has at least one; empty if that is not known."""
    replacement_parts: tuple[str, ...]
    """The replacement, split at the groups that it names: every second part is the number of a group."""

    @classmethod
    def parse(cls, pattern: str, replacement: str | None, read_words: ReadWords = tuple) -> PatternRule:
        """Parse a rule of a language pack; `read_words` returns the words for a name in braces."""
        full_pattern = _LIST_NAME.sub(lambda match: build_word_pattern(read_words(match[1])), pattern)
        # Escapes such as \S are no capitals.
        has_capitals = re.search("[A-ZÀ-Þ]", re.sub(r"\\.", "", full_pattern)) is not None
        return cls(
            pattern=re.compile(full_pattern, re.IGNORECASE),
            replacement=replacement,
            lower_pattern=None if has_capitals else re.compile(full_pattern),
            needed_letters="" if has_capitals else _find_letters_in_every_match(full_pattern),
            needed_words=frozenset() if has_capitals else _find_words_in_every_match(pattern, read_words),
            replacement_parts=tuple(_GROUP_NUMBER.split(replacement or "")),
        )

    def find_matches(self, text: str, lowered_text: LowerText | None) -> Iterator[re.Match[str]]:
        """Yield the matches of the rule in a text; `lowered_text` comes from `lower_text_for_search`."""
        if lowered_text is None or self.lower_pattern is None:
            yield from self.pattern.finditer(text)
            return
        if self.needed_letters not in lowered_text.text:
            return
        if self.needed_words and self.needed_words.isdisjoint(lowered_text.words):
            return
        for lower_match in self.lower_pattern.finditer(lowered_text.text):
            # The groups must have the letters of the text itself, not those in lower case.
            match = self.pattern.match(text, lower_match.start())
            assert match is not None
            yield match

    def fill_replacement(self, match: re.Match[str]) -> str | None:
        """Return the replacement of a match, with its groups filled in; None if it has no replacement."""
        if self.replacement is None:
            return None
        # Other references, such as \g<name>, are left to `expand`.
        if "\\" in "".join(self.replacement_parts):
            return match.expand(self.replacement)
        filled = list(self.replacement_parts)
        for i in range(1, len(filled), 2):
            filled[i] = match[int(filled[i])] or ""
        return "".join(filled)


@functools.cache
def load_pattern_rules(language: str, list_name: str) -> tuple[PatternRule, ...]:
    """Load pattern rules from a file of a language pack; `{verbs}` stands for any word of `verbs.txt`."""
    lists = WordLists(_PACKS, language)
    rules = []
    for row in lists.read_tab_separated_rows(list_name):
        replacement = row[1] if len(row) > 1 else None
        rules.append(PatternRule.parse(row[0], replacement, lists.read_words))
    return tuple(rules)


def _find_letters_in_every_match(pattern: str) -> str:
    r"""Return the longest sequence of letters that every match of a pattern contains.

    >>> _find_letters_in_every_match(r"\bn(?:e |')(\S+) rien\b"), _find_letters_in_every_match("sans?|ni")
    (' rien', '')
    """
    flat_pattern = _blank_out_pattern_groups(pattern)
    if "|" in flat_pattern:
        return ""
    return max(_LETTERS.findall(flat_pattern), key=len, default="")


def _find_words_in_every_match(pattern: str, read_words: ReadWords) -> frozenset[str]:
    r"""Return words of which every match of a pattern contains at least one; empty if unknown.

    >>> sorted(_find_words_in_every_match(r"\b(il y|elle) ({verbs})\b", lambda _: ["a"]))
    ['elle', 'il']
    """
    if "|" in _blank_out_pattern_groups(pattern):
        return frozenset()
    for group in _SEPARATE_WORDS.finditer(pattern):
        before = re.sub(r"\\.", "", pattern[: group.start()])
        is_nested = before.count("(") != before.count(")")
        alternatives = _LIST_NAME.sub(lambda match: "|".join(read_words(match[1])), group[1]).split("|")
        first_words = [_WORD.match(alternative) for alternative in alternatives]
        if not is_nested and all(first_words):
            return frozenset(word[0] for word in first_words if word is not None)
    return frozenset()


def _blank_out_pattern_groups(pattern: str) -> str:
    """Replace escapes, character sets and groups of a pattern by tabs."""
    flat_pattern = re.sub(r"\\.|\[[^]]*\]", "\t", pattern)
    # From the innermost group outwards: the pattern for a group allows no brackets in it.
    while _GROUP.search(flat_pattern):
        flat_pattern = _GROUP.sub("\t", flat_pattern)
    return flat_pattern
