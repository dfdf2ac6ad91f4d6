"""The corpus as it is read aloud: numbers in words, then plain lower-case words for the language model."""

from __future__ import annotations

import re

_IN_WORDS = {
    "20,000": "twenty thousand",
    "1400s": "fourteen hundreds",
    "1931": "nineteen thirty-one",
    "1998": "nineteen ninety-eight",
    "300": "three hundred",
    "250": "two hundred and fifty",
    "180": "one hundred and eighty",
    "140": "one hundred and forty",
    "100": "one hundred",
    "86": "eighty-six",
    "50": "fifty",
    "40": "forty",
    "18": "eighteen",
    "15 June": "the fifteenth of June",
    "12": "twelve",
    "4 %": "four percent",
}
_NUMBER = re.compile("|".join(map(re.escape, _IN_WORDS)))


def spell_out(text: str) -> str:
    """Write the numbers of a sentence in words, as they are spoken."""
    spelled = _NUMBER.sub(lambda match: _IN_WORDS[match.group()], text)
    if re.search(r"[0-9%]", spelled):
        raise ValueError(f"No words known for a number in: {text}")
    return spelled


def words(text: str) -> list[str]:
    """Split a text into lower-case words without punctuation; hyphenated words are two."""
    return re.findall(r"\w+(?:'\w+)?", spell_out(text).lower())
