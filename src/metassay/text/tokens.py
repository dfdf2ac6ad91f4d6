"""Split a text into words and punctuation marks, after the conventions of the Penn Treebank."""

from __future__ import annotations

import re

from metassay.text.words import Span

_TOKEN = re.compile(
    r"""
      \.{2,}                                        # an ellipsis
    | --
    | \d+(?:[.,:]\d+)*(?:[-\w]*\w)?                 # 3.88, 10:30, 1,000, 20th
    | (?:[^\W\d_]\.){2,}                            # u.s.
    | (?=\w++['’]t)\w+(?=n['’]t\b)                  # did|n't; the lookahead saves a search in every word
    | n['’]t\b
    | ['’](?:s|m|d|ll|re|ve)\b                      # it|'s
    | \w+(?:(?:[-/_.]|['’](?!(?:s|m|d|ll|re|ve)\b))\w+)*    # well-known, o'clock
    | \S
    """,
    re.VERBOSE | re.IGNORECASE,
)


def tokenize_words(text: str) -> list[str]:
    """Split a text into words, numbers and single punctuation marks, and words such as `didn't` into `did`
    and `n't`.

    >>> tokenize_words("John didn't like it, I'm told (3.5 of 10).")
    ['John', 'did', "n't", 'like', 'it', ',', 'I', "'m", 'told', '(', '3.5', 'of', '10', ')', '.']
    """
    return _TOKEN.findall(text)


def find_token_spans(text: str) -> list[Span]:
    """Find the start and end of each word, number and punctuation mark that `tokenize_words` returns."""
    return [match.span() for match in _TOKEN.finditer(text)]


# The substitutions of NLTK's `NLTKWordTokenizer`, in its order.
_NLTK_RULES = tuple(
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


def tokenize_like_nltk(text: str) -> list[str]:
    """Split a text into the tokens that `nltk.word_tokenize(text, preserve_line=True)` returns.

    >>> tokenize_like_nltk("Don't panic (it's $3.88).")
    ['Do', "n't", 'panic', '(', 'it', "'s", '$', '3.88', ')', '.']
    """
    for pattern, replacement in _NLTK_RULES:
        text = pattern.sub(replacement, text)
    return text.split()
