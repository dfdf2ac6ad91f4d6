"""English contractions in full: `won't` is `will not`, `they've` is `they have`."""

from __future__ import annotations

import re

_WHOLE = {
    "ain't": "aint",
    "can't": "can not",
    "coulda": "could have",
    "gimme": "give me",
    "gonna": "going to",
    "gotta": "got to",
    "i'ma": "i am going to",
    "imma": "i am going to",
    "kinda": "kind of",
    "lemme": "let me",
    "let's": "let us",
    "ma'am": "madam",
    "outta": "out of",
    "shan't": "shall not",
    "shoulda": "should have",
    "wanna": "want to",
    "won't": "will not",
    "woulda": "would have",
    "y'all": "you all",
    "'tis": "it is",
    "'twas": "it was",
}
_TITLES = {
    "capt": "captain",
    "dr": "doctor",
    "gen": "general",
    "gov": "governor",
    "hon": "honorable",
    "jr": "junior",
    "lt": "lieutenant",
    "mr": "mister",
    "mrs": "missus",
    "prof": "professor",
    "rev": "reverend",
    "sen": "senator",
    "sr": "senior",
    "st": "saint",
}
_PARTICIPLES = r"(?=\s+(?:been|done|gone|got)\b)"
_ENDINGS = (
    (re.compile(r"n't\b"), " not"),
    (re.compile(rf"'d{_PARTICIPLES}"), " had"),
    (re.compile(rf"'s{_PARTICIPLES}"), " has"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'s\b"), " is"),
    (re.compile(r"'d\b"), " would"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'m\b"), " am"),
)
_DETACHED = re.compile(r"\s+(?='(?:s|d|ll|ve|re|m|t)\b)")
_WORD = re.compile(r"(?<![\w'])(?:" + "|".join(map(re.escape, _WHOLE)) + r")(?![\w'])")
_TITLE = re.compile(rf"\b(?:{'|'.join(_TITLES)})\b\.?(?=\s+\w)")


def expand_contractions(text: str) -> str:
    """Lower-case `text` with contractions and titles in full; apostrophes must be plain ones.

    A possessive `'s` cannot be told from `is` without understanding the sentence: both sides of a comparison
    get the same reading.

    >>> expand_contractions("mr. bell won't say he's gone")
    'mister bell will not say he has gone'
    """
    text = _DETACHED.sub("", text)
    text = _WORD.sub(lambda match: _WHOLE[match[0]], text)
    text = _TITLE.sub(lambda match: _TITLES[match[0].rstrip(".")], text)
    for pattern, full in _ENDINGS:
        text = pattern.sub(full, text)
    return text
