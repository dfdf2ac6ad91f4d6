"""Rules of language packs: a regular expression, and what replaces a match. Case is ignored."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from metassay.text.word_lists import WordLists, build_regex_for_words

_PACKS = "metassay.perturbations.languages"
_LIST_NAME = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class PatternRule:
    """A regular expression for a language, and the text that replaces its matches, if any."""

    pattern: re.Pattern[str]
    replacement: str | None


@functools.cache
def load_regex_replacements(language: str, list_name: str) -> tuple[PatternRule, ...]:
    """Load regular expressions, and the texts that replace their matches, from a file for a language. Upper
    and lower case are not distinguished.

    `{verbs}` stands for any word of `verbs.txt`.
    """
    lists = WordLists(_PACKS, language)
    rules = []
    for row in lists.read_tab_separated_rows(list_name):
        pattern = _LIST_NAME.sub(lambda match: build_regex_for_words(lists.read_words(match[1])), row[0])
        replacement = row[1] if len(row) > 1 else None
        rules.append(PatternRule(re.compile(pattern, re.IGNORECASE), replacement))
    return tuple(rules)
