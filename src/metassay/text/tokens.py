"""Splitting a text into words and punctuation marks, in the manner of the Penn Treebank."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
      \.{2,}                                        # an ellipsis
    | --
    | \d+(?:[.,:]\d+)*(?:[-\w]*\w)?                 # 3.88, 10:30, 1,000, 20th
    | (?:[^\W\d_]\.){2,}                            # u.s.
    | \w+(?=n['’]t\b)                               # did|n't
    | n['’]t\b
    | ['’](?:s|m|d|ll|re|ve)\b                      # it|'s
    | \w+(?:(?:[-/_.]|['’](?!(?:s|m|d|ll|re|ve)\b))\w+)*    # well-known, o'clock
    | \S
    """,
    re.VERBOSE | re.IGNORECASE,
)


def word_tokens(text: str) -> list[str]:
    """Words, numbers, clitics (`did` `n't`) and single punctuation marks.

    >>> word_tokens("John didn't like it, I'm told (3.5 of 10).")
    ['John', 'did', "n't", 'like', 'it', ',', 'I', "'m", 'told', '(', '3.5', 'of', '10', ')', '.']
    """
    return _TOKEN.findall(text)


def token_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each of the `word_tokens`."""
    return [match.span() for match in _TOKEN.finditer(text)]
