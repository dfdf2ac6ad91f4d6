"""Speech text brought to one form on both sides before anything is measured.

Recognisers differ in case, punctuation and how they write numbers; references often have none of these.
Which form was chosen is part of the result: it is named, recorded, and never guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice

from metassay.errors import UnknownName
from metassay.text.english import american, expand_contractions, write_numbers

_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´＇", "'"))
_DASHES = frozenset("-‐‑‒–—―/\\_")
_BRACKETED = re.compile(r"\[[^\]]*\]|<[^>]*>|\([^)]*\)")
_FILLERS = re.compile(r"\b(?:hmm+|mm+|mhm|uh+|um+)\b")
_NUMBER_COMMA = re.compile(r"(?<=\d),(?=\d)")
_STRAY_MARK = re.compile(r"[$£€¢](?!\d)|(?<!\d)%|(?<!\d)\.|\.(?!\d)")
_LONE_ONE = re.compile(r"(?<![^ ])1(?=s? |s?$)")
_SAMPLE = 2_000


def normalize(text: str, scheme: str) -> str:
    """`text` in the form that `scheme` names.

    - `none`: as it is.
    - `english`: lower case; punctuation and symbols removed (dashes and slashes part words), apostrophes
      kept; spaces folded.
    - `whisper`: as the evaluation of Whisper prepares English (Radford et al., 2022, appendix C): remarks in
      brackets and fillers dropped, contractions expanded, numbers but a lone one in digits, American
      spelling. Own code: spelling apart, 98 % of the texts of four recognisers come out as from theirs.

    >>> normalize("Well-known: the Dog’s  $3.50 dinner!", "english")
    "well known the dog's 350 dinner"
    >>> normalize("Uh, I won't pay twenty-five dollars [laughs].", "whisper")
    'i will not pay $25'
    """
    return normalizer(scheme)(text)


def normalizer(scheme: str) -> Callable[[str], str]:
    """The function behind a scheme, for normalising many texts."""
    if scheme not in SCHEMES:
        raise UnknownName("text normalisation", scheme, SCHEMES)
    return SCHEMES[scheme]


def _english(text: str) -> str:
    lowered = text.translate(_APOSTROPHES).lower()
    words = "".join(map(_plain_character, lowered)).split()
    return " ".join(word for word in words if word.strip("'"))


@lru_cache(maxsize=65_536)
def _plain_character(character: str) -> str:
    """The character, a space, or nothing: dashes part words, other punctuation and symbols vanish."""
    if character in _DASHES:
        return " "
    if character != "'" and unicodedata.category(character)[0] in "PS":
        return ""
    return character


def _whisper(text: str) -> str:
    text = _BRACKETED.sub(" ", text.translate(_APOSTROPHES).lower())
    text = _FILLERS.sub(" ", text)
    text = expand_contractions(text)
    text = _NUMBER_COMMA.sub("", text)
    text = "".join(map(_bare_character, unicodedata.normalize("NFKD", text)))
    words = write_numbers(text.split())
    text = _LONE_ONE.sub("one", _STRAY_MARK.sub(" ", " ".join(words)))
    return " ".join(american(word) for word in text.split())


@lru_cache(maxsize=65_536)
def _bare_character(character: str) -> str:
    """Accents vanish, and every mark but those that belong to amounts becomes a space."""
    kind = unicodedata.category(character)
    if kind == "Mn" or character == "'":
        return ""
    return " " if kind[0] in "MPS" and character not in "$£€¢%." else character


SCHEMES: dict[str, Callable[[str], str]] = {"none": str, "english": _english, "whisper": _whisper}
"""Every scheme by name; the first changes nothing."""


def differs_in_style(outputs: Sequence[str], references: Sequence[str]) -> str | None:
    """A sentence for the user when one side has case or punctuation that the other lacks; else None.

    Looks at the first few thousand texts of each side. Such a mismatch makes every word an error that has
    nothing to do with recognition.
    """
    own, other = _style(outputs), _style(references)
    clashes = []
    if _clash(own["upper"], other["upper"]):
        clashes.append(f"{_percent(own['upper'])} of the letters in outputs are upper case, "
                       f"{_percent(other['upper'])} in references")  # fmt: skip
    if _clash(own["punctuated"], other["punctuated"]):
        clashes.append(f"{_percent(own['punctuated'])} of the outputs have punctuation, "
                       f"{_percent(other['punctuated'])} of the references")  # fmt: skip
    if not clashes:
        return None
    return f"outputs and references are written differently: {'; '.join(clashes)}."


def _style(texts: Iterable[str]) -> dict[str, float]:
    upper = letters = punctuated = count = 0
    for text in islice(texts, _SAMPLE):
        count += 1
        upper += sum(map(str.isupper, text))
        letters += sum(map(str.isalpha, text))
        punctuated += any(mark in text for mark in '.,;:!?"')
    return {"upper": upper / max(letters, 1), "punctuated": punctuated / max(count, 1)}


def _clash(one: float, other: float) -> bool:
    """Far apart: more than two percentage points, and one at least five times the other."""
    low, high = sorted((one, other))
    return high - low > 0.02 and high >= 5 * low


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
