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


_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # opening quotes
        ("([«“‘„]|[`]+)", r" \1 "),
        (r"^\"", "``"),
        ("(``)", r" \1 "),
        (r"([ (\[{<])(\"|'{2})", r"\1 `` "),
        (r"(?i)(?<!\w)(')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", r"\1 "),
        # punctuation; a period only at the end of the text
        (r"([^.])(\.)([\])}>\"'»”’ ]*+)\s*$", r"\1 \2 \3 "),
        (r"([:,])([^\d])", r" \1 \2"),
        ("([:,])$", r" \1 "),
        (r"\.{2,}", r" \g<0> "),
        ("[;@#$%&]", r" \g<0> "),
        ("[\u2012-\u2015]", r" \g<0> "),
        (r"([^.])(\.)([\])}>\"']*)\s*$", r"\1 \2\3 "),
        ("[?!]", r" \g<0> "),
        ("([^'])' ", r"\1 ' "),
        ("[*]", r" \g<0> "),
        # brackets and dashes
        (r"[\]\[(){}<>]", r" \g<0> "),
        ("--", " -- "),
        ("^(?s:(.*))$", r" \1 "),
        # closing quotes and what is written together in English
        ("([»”’])", r" \1 "),
        ("''", " '' "),
        ('"', " '' "),
        (r"\s+", " "),
        ("([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
        ("([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        *(
            (rf"(?i)\b({first})({second})\b", r" \1 \2 ")
            for first, second in map(
                str.split, ("can not", "d 'ye", "gim me", "gon na", "got ta", "lem me", "more 'n")
            )
        ),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is)\b", r" \1 \2 "),
        (r"(?i) ('t)(was)\b", r" \1 \2 "),
    )
)


def nltk_words(text: str) -> list[str]:
    """The tokens of `nltk.word_tokenize(text, preserve_line=True)`, after the Penn Treebank's conventions.

    >>> nltk_words("Don't panic (it's $3.88).")
    ['Do', "n't", 'panic', '(', 'it', "'s", '$', '3.88', ')', '.']
    """
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.split()
