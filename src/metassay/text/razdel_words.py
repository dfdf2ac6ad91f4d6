"""Russian words as razdel splits them, fast enough for many texts.

razdel splits at spaces and between atoms (letters, digits, signs), and joins some atoms again. Beside a space
it looks only at the kinds of the two atoms there. So each distinct run of non-space characters is split once
for each pair of kinds around it.
"""

from __future__ import annotations

import functools
import re

# An atom of each kind, by number; 0 means that there is none.
_EXAMPLES = ("", "а", "a", "1", "!", "Δ")
# More than the number of kinds. It is added to the kind of an atom that razdel may join across a space.
KIND_COUNT = 8
# One word with signs around it. razdel may join a number with its signs, so these are not plain.
_PLAIN_RUN = re.compile(
    '([«“"„(]?)(?:([а-яё]+(?:-[а-яё]+)*)|([a-z]+)(?!!)|([0-9]+)(?![»”")]?[.,]))([»”")]?)([.,:;!?…]?)',
    re.IGNORECASE,
)


@functools.lru_cache(maxsize=1 << 14)
def get_razdel_character_kind(character: str) -> int:
    """Return the kind of a character by which the Russian tokenizer razdel splits words. `KIND_COUNT` is
    added if the kind matters across a space.
    """
    from razdel.segmenters.tokenize import ATOM, DASHES, INT, LAT, OTHER, PUNCT, RU

    kind = (None, RU, LAT, INT, PUNCT, OTHER).index(ATOM.match(character).lastgroup)
    can_be_joined = character in f"{DASHES}_.,/\\"
    return kind + KIND_COUNT if can_be_joined else kind


def split_character_run_into_words(character_run: str, kind_before: int, kind_after: int) -> list[str]:
    """Split characters without spaces between them into words, given the kinds of the characters before and
    after them.

    >>> split_character_run_into_words("«Да»,", 0, 0)
    ['«', 'Да', '»', ',']
    """
    plain = _PLAIN_RUN.fullmatch(character_run)
    if plain is not None:
        return [part for part in plain.groups() if part]
    from razdel import tokenize

    words = [
        word.text for word in tokenize(f"{_EXAMPLES[kind_before]} {character_run} {_EXAMPLES[kind_after]}")
    ]
    first = 1 if kind_before > 0 else 0
    last = len(words) - 1 if kind_after > 0 else len(words)
    return words[first:last]
