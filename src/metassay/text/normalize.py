"""Speech text brought to one form on both sides before anything is measured.

Recognisers differ in case, punctuation and how they write numbers; references often have none of these.
Which form was chosen is part of the result: it is named, recorded, and never guessed. English is written as
in Whisper's evaluation: full forms, American spelling, numbers in digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from metassay.errors import UnknownName
from metassay.text.words import WordLists

_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´＇", "'"))
_DASHES = frozenset("-‐‑‒–—―/\\_")
_BRACKETED = re.compile(r"\[[^\]]*\]|<[^>]*>|\([^)]*\)")
_FILLERS = re.compile(r"\b(?:hmm+|mm+|mhm|uh+|um+)\b")
_NUMBER_COMMA = re.compile(r"(?<=\d),(?=\d)")
_STRAY_MARK = re.compile(r"[$£€¢](?!\d)|(?<!\d)%|(?<!\d)\.|\.(?!\d)")
_LONE_ONE = re.compile(r"(?<![^ ])1(?=s? |s?$)")


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


_LISTS = WordLists("metassay.text", "en")
_WHOLE = _LISTS.mapping("contractions")
_TITLES = _LISTS.mapping("titles")
_PARTICIPLES = r"(?=\s+(?:been|done|gone|got)\b)"
_CONTRACTED = (
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
_OUR, _RE, _ISE, _DOUBLED = (
    "|".join(_LISTS.lines(name)) for name in ("british_our", "british_re", "british_ise", "british_doubled")
)
_WORDS = _LISTS.mapping("british_words")
_RULES = (
    (re.compile(rf"^((?:dis|mis|un)?(?:{_OUR}))our"), r"\1or"),
    (re.compile(rf"^({_RE})re(?=s?$)"), r"\1er"),
    (re.compile(rf"^({_RE})red$"), r"\1ered"),
    (re.compile(rf"^((?:dis|re|un)?(?:{_ISE}))is(?=e|ing|ation|able)"), r"\1iz"),
    (re.compile(rf"^({_DOUBLED})l(?=ed|er|ing|or)"), r"\1"),
)


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
    for pattern, full in _CONTRACTED:
        text = pattern.sub(full, text)
    return text


@lru_cache(maxsize=65_536)
def american(word: str) -> str:
    """The American spelling of a lower-case word; a word without one comes back as it is.

    >>> [american(word) for word in ("neighbours", "centred", "counselled", "realising", "hour")]
    ['neighbors', 'centered', 'counseled', 'realizing', 'hour']
    """
    if word in _WORDS:
        return _WORDS[word]
    for pattern, replacement in _RULES:
        changed, count = pattern.subn(replacement, word)
        if count:
            return changed
    return word


def _values(kind: str) -> dict[str, int]:
    return {word: int(value) for own, word, value in _LISTS.rows("number_words", 3) if own == kind}


_UNITS, _TENS, _SCALES = _values("unit"), _values("ten"), _values("scale")
_SMALL = _UNITS | _values("teen") | _TENS
_IRREGULAR = {word: (cardinal, ending) for word, cardinal, ending in _LISTS.rows("ordinals", 3)}
_ENDINGS = (("ieth", "y", "th"), ("th", "", "th"), ("ies", "y", "s"), ("s", "", "s"))
"""How a number word ends as ordinal or plural, what its stem lacks then, and what is written after digits."""
_CURRENCIES = _LISTS.mapping("currencies")


def write_numbers(words: Sequence[str]) -> list[str]:
    """Lower-case words with every spelled-out number in digits.

    Numbers that cannot be one number are read one after the other, as years and telephone numbers are:
    `nineteen eighty four` is 1984, `one oh one` is 101.

    >>> write_numbers("two hundred and five of the twenty first".split())
    ['205', 'of', 'the', '21st']
    """
    written: list[str] = []
    position = 0
    while position < len(words):
        text, position = _number(words, position)
        written.append(text)
    return written


@dataclass
class _Amount:
    """A number being read: digits already certain, thousands already counted, and the group below them."""

    digits: str = ""
    total: int = 0
    group: int | None = None

    def add(self, value: int) -> None:
        """Add 1 to 90 where the last word leaves room for it, else start a further number."""
        room = self._room()
        if value < room:
            self.group = (self.group or 0) + value
        else:
            self.digits = self.text()
            self.total, self.group = 0, value

    def multiply(self, scale: int) -> None:
        """Apply `hundred` or a larger scale to what was read."""
        if scale == 100:
            self.group = (self.group or 1) * 100
        else:
            self.total += (1 if self.group is None else self.group) * scale
            self.group = None

    def zero(self) -> None:
        """A spoken zero ends the number before it and stands as a digit."""
        self.digits, self.total, self.group = f"{self.text()}0", 0, None

    def text(self) -> str:
        empty = self.group is None and not self.total
        return self.digits if empty else f"{self.digits}{self.total + (self.group or 0)}"

    def _room(self) -> int:
        """The next value must be below this to belong to the same number."""
        if self.group is None:
            return 1000
        if self.group % 100 == 0:
            return 100
        return 10 if self.group % 10 == 0 and self.group % 100 >= 20 else 0


def _number(words: Sequence[str], start: int) -> tuple[str, int]:
    """The number at `start` and where it ends; a word that is none comes back as it is."""
    if words[start].isdecimal() and words[start + 1 : start + 2] and words[start + 1] in _SCALES:
        amount, position = _Amount(group=int(words[start])), start + 1
    else:
        amount, position = _Amount(), start
    ordinal = ""
    while position < len(words) and not ordinal:
        word = words[position]
        cardinal, ordinal = _cardinal(word)
        if not _read(amount, cardinal, started=position > start):
            joined = word == "and" and _continues(words, position, start)
            if not joined:
                break
        position += 1
    if position == start:
        return words[start], start + 1
    if ordinal:
        return f"{amount.text()}{ordinal}", position
    return _with_fraction_and_unit(amount.text(), words, position)


def _read(amount: _Amount, word: str, *, started: bool) -> bool:
    """Take one word into the amount; False when it is no part of a number."""
    if word in _SMALL:
        amount.add(_SMALL[word])
    elif word == "hundred" and (amount.group is None or amount.group < 100):
        amount.multiply(100)
    elif word in _SCALES:
        amount.multiply(_SCALES[word])
    elif word == "zero" or (word in {"oh", "o"} and started):
        amount.zero()
    else:
        return False
    return True


def _continues(words: Sequence[str], position: int, start: int) -> bool:
    """Whether `and` stands between a hundred or thousand and the rest of the number."""
    before, after = words[position - 1], words[position + 1 : position + 2]
    return (
        position > start
        and (before == "hundred" or before in _SCALES)
        and bool(after)
        and _cardinal(after[0])[0] in _SMALL
    )


def _cardinal(word: str) -> tuple[str, str]:
    """`fourth` is (`four`, `th`), `nineties` (`ninety`, `s`); other words have an empty ending."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending, restored, written in _ENDINGS:
        stem = word.removesuffix(ending) + restored
        known = _SMALL if written == "th" else _TENS
        if word.endswith(ending) and (stem in known or stem in _SCALES or stem == "hundred"):
            return stem, written
    return word, ""


def _with_fraction_and_unit(text: str, words: Sequence[str], position: int) -> tuple[str, int]:
    """`three point one four` and `ten percent`, `ten dollars` as they are written."""
    if words[position : position + 1] == ["point"]:
        fraction, end = "", position + 1
        while end < len(words) and (words[end] in _UNITS or words[end] in {"zero", "oh"}):
            fraction += str(_UNITS.get(words[end], 0))
            end += 1
        if fraction:
            text, position = f"{text}.{fraction}", end
    unit = words[position] if position < len(words) else ""
    if unit == "percent":
        return f"{text}%", position + 1
    if list(words[position : position + 2]) == ["per", "cent"]:
        return f"{text}%", position + 2
    if unit in _CURRENCIES:
        return f"{_CURRENCIES[unit]}{text}", position + 1
    return text, position
