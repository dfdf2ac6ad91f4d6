"""Write English numbers in digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metassay.text.word_lists import WordLists

_LISTS = WordLists("metassay.text", "en")


def _read_number_words_with_values(list_name: str) -> dict[str, int]:
    """Read the number words of one kind with their values, such as 7 for `seven`."""
    rows = _LISTS.read_tab_separated_rows("number_words", 3)
    return {word: int(value) for row_kind, word, value in rows if row_kind == list_name}


_UNITS = _read_number_words_with_values("unit")
_TENS = _read_number_words_with_values("ten")
_SCALES = _read_number_words_with_values("scale")
_BELOW_HUNDRED = _UNITS | _read_number_words_with_values("teen") | _TENS
_IRREGULAR_ORDINALS = {
    word: (cardinal, ending) for word, cardinal, ending in _LISTS.read_tab_separated_rows("ordinals", 3)
}
# Endings of ordinals and plurals, what the number word has instead, and what is written after digits.
_ENDINGS = (("ieth", "y", "th"), ("th", "", "th"), ("ies", "y", "s"), ("s", "", "s"))
_CURRENCIES = _LISTS.read_mapping_from_list("currencies")


def replace_number_words_by_digits(words: Sequence[str]) -> list[str]:
    """Replace every spelled-out number among lower-case English words by its digits.

    Words that do not form one number are written one after the other, as in years and telephone numbers:
    `nineteen eighty four` is 1984, `one oh one` is 101.

    >>> replace_number_words_by_digits("two hundred and five of the twenty first".split())
    ['205', 'of', 'the', '21st']
    """
    written: list[str] = []
    position = 0
    while position < len(words):
        text, position = _read_number_from_words(words, position)
        written.append(text)
    return written


@dataclass
class _SpelledNumber:
    """A spelled-out number such as `two hundred and five`, to which words are added one by one."""

    digits: str = ""
    """Digits of numbers before it that are written together with it."""
    total: int = 0
    """Thousands, millions and so on."""
    group: int | None = None
    """The number below a thousand that was read last; None if there is none."""

    def add_to_spelled_number(self, value: int) -> None:
        """Add a value from 1 to 90 to the number, or begin another number if it does not fit."""
        if value < self._find_limit_of_next_value():
            self.group = (self.group or 0) + value
        else:
            self.digits = self.format_digits()
            self.total = 0
            self.group = value

    def multiply_last_value_by(self, scale: int) -> None:
        """Multiply the value that was read last by a word such as `hundred` or `thousand`."""
        if scale == 100:
            # "hundred" alone is one hundred.
            self.group = (self.group or 1) * 100
        else:
            self.total += (1 if self.group is None else self.group) * scale
            self.group = None

    def add_zero(self) -> None:
        """Add the digit 0 as a number of its own, as in a telephone number."""
        self.digits = f"{self.format_digits()}0"
        self.total = 0
        self.group = None

    def format_digits(self) -> str:
        """Return the digits of all words read so far."""
        if self.group is None and not self.total:
            return self.digits
        return f"{self.digits}{self.total + (self.group or 0)}"

    def _find_limit_of_next_value(self) -> int:
        """Return the value below which the next number word still belongs to the same number."""
        # After a thousand or at the beginning, any number below a thousand fits.
        if self.group is None:
            return 1000
        if self.group % 100 == 0:
            return 100
        # A unit fits after "twenty", but not after "ten": "ten five" are two numbers.
        return 10 if self.group % 10 == 0 and self.group % 100 >= 20 else 0


def _read_number_from_words(words: Sequence[str], start: int) -> tuple[str, int]:
    """Read the number that begins at word `start`. Returns the number in digits, or the word unchanged if it
    is no number, and the position after it.
    """
    number = _SpelledNumber()
    position = start
    # Digits can be followed by a scale, as in "3 million".
    if words[start].isdecimal() and words[start + 1 : start + 2] and words[start + 1] in _SCALES:
        number.group = int(words[start])
        position = start + 1
    ordinal_ending = ""
    while position < len(words) and not ordinal_ending:
        word = words[position]
        cardinal, ordinal_ending = _split_ending_of_number_word(word)
        if not _add_word_to_spelled_number(number, cardinal, is_first=position == start):
            is_joined = word == "and" and _does_number_continue_after_and(words, position, start)
            if not is_joined:
                break
        position += 1
    if position == start:
        return words[start], start + 1
    if ordinal_ending:
        return f"{number.format_digits()}{ordinal_ending}", position
    return _add_fraction_and_unit(number.format_digits(), words, position)


def _add_word_to_spelled_number(number: _SpelledNumber, word: str, *, is_first: bool) -> bool:
    """Add a word to a spelled-out number. Returns False if the word cannot be part of a number."""
    if word in _BELOW_HUNDRED:
        number.add_to_spelled_number(_BELOW_HUNDRED[word])
    elif word == "hundred" and (number.group is None or number.group < 100):
        number.multiply_last_value_by(100)
    elif word in _SCALES:
        number.multiply_last_value_by(_SCALES[word])
    # "oh" is a zero only among digits. At the beginning it may be an exclamation.
    elif word == "zero" or (word in {"oh", "o"} and not is_first):
        number.add_zero()
    else:
        return False
    return True


def _does_number_continue_after_and(words: Sequence[str], and_position: int, number_start: int) -> bool:
    """Return whether an `and` stands between a hundred or thousand and the rest of a number, as in `two
    hundred and five`.
    """
    before = words[and_position - 1]
    after = words[and_position + 1 : and_position + 2]
    is_after_scale = and_position > number_start and (before == "hundred" or before in _SCALES)
    return is_after_scale and bool(after) and _split_ending_of_number_word(after[0])[0] in _BELOW_HUNDRED


def _split_ending_of_number_word(word: str) -> tuple[str, str]:
    """Split `fourth` into `four` and `th`, and `nineties` into `ninety` and `s`. The ending of other words is
    empty.
    """
    if word in _IRREGULAR_ORDINALS:
        return _IRREGULAR_ORDINALS[word]
    for ending, replacement, written_ending in _ENDINGS:
        cardinal = word.removesuffix(ending) + replacement
        # Plurals are written in digits only for decades ("nineties"), hundreds and thousands.
        numbers = _BELOW_HUNDRED if written_ending == "th" else _TENS
        if word.endswith(ending) and (cardinal in numbers or cardinal in _SCALES or cardinal == "hundred"):
            return cardinal, written_ending
    return word, ""


def _add_fraction_and_unit(number: str, words: Sequence[str], position: int) -> tuple[str, int]:
    """Add words such as `point one four`, `percent` or `dollars` to a number, and return the position after
    them.
    """
    if words[position : position + 1] == ["point"]:
        fraction = ""
        end = position + 1
        while end < len(words) and (words[end] in _UNITS or words[end] in {"zero", "oh"}):
            fraction += str(_UNITS.get(words[end], 0))
            end += 1
        if fraction:
            number = f"{number}.{fraction}"
            position = end
    unit = words[position] if position < len(words) else ""
    if unit == "percent":
        return f"{number}%", position + 1
    if list(words[position : position + 2]) == ["per", "cent"]:
        return f"{number}%", position + 2
    if unit in _CURRENCIES:
        return f"{_CURRENCIES[unit]}{number}", position + 1
    return number, position
