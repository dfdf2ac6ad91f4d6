"""Words of a text and their stems: tokens as in the Penn Treebank, and Porter's stemmer (1980) as in NLTK.

Words of Russian as razdel cuts them.
"""

from __future__ import annotations

import functools
import itertools
import re

_TOKEN = re.compile(
    r"""
      \.{2,}                                        # an ellipsis
    | --
    | \d+(?:[.,:]\d+)*(?:[-\w]*\w)?                 # 3.88, 10:30, 1,000, 20th
    | (?:[^\W\d_]\.){2,}                            # u.s.
    | (?=\w++['’]t)\w+(?=n['’]t\b)                  # did|n't; what lies ahead spares a search in each word
    | n['’]t\b
    | ['’](?:s|m|d|ll|re|ve)\b                      # it|'s
    | \w+(?:(?:[-/_.]|['’](?!(?:s|m|d|ll|re|ve)\b))\w+)*    # well-known, o'clock
    | \S
    """,
    re.VERBOSE | re.IGNORECASE,
)
_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
} | {word: word for word in ("news", "howe", "proceed", "exceed", "succeed")}

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "fulli": "ful",
    "logi": "log",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = frozenset(
    ("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent")
) | frozenset(("ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"))

_VOWELS_THEN_CONSONANT = re.compile("[aeiou]+[^aeiou]")
_VOWEL = re.compile("[aeiou]")


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


@functools.lru_cache(maxsize=1 << 18)
def porter_stem(word: str) -> str:
    """The stem of a word, in lower case.

    >>> porter_stem("relational"), porter_stem("flies"), porter_stem("dying")
    ('relat', 'fli', 'die')
    """
    stem = word.lower()
    if stem in _IRREGULAR:
        return _IRREGULAR[stem]
    if len(word) <= 2:
        return stem
    for step in (_plurals, _past_and_gerund, _final_y, _step_2, _step_3, _step_4, _final_e, _double_l):
        stem = step(stem)
    return stem


def _consonants(word: str) -> list[bool]:
    """For each letter, whether it is a consonant: no vowel, and no y after a consonant."""
    flags: list[bool] = []
    for letter in word:
        flags.append(letter not in "aeiou" and (letter != "y" or not flags or not flags[-1]))
    return flags


def _measure(stem: str) -> int:
    """How often a consonant follows a vowel: m in [C](VC){m}[V]."""
    if "y" not in stem:
        return len(_VOWELS_THEN_CONSONANT.findall(stem))
    flags = _consonants(stem)
    return sum(after and not before for before, after in itertools.pairwise(flags))


def _has_vowel(stem: str) -> bool:
    return bool(_VOWEL.search(stem)) or ("y" in stem and not all(_consonants(stem)))


def _ends_in_short_syllable(stem: str) -> bool:
    """Consonant, vowel, consonant other than w, x, y; or all there is, a vowel and a consonant."""
    flags = _consonants(stem)
    if len(stem) == 2:
        return flags == [False, True]
    return flags[-3:] == [True, False, True] and stem[-1] not in "wxy"


def _plurals(word: str) -> str:
    if not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    return word[:-1]


def _past_and_gerund(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _has_vowel(word[: -len(ending)]):
            return _mended(word[: -len(ending)])
    return word


def _mended(stem: str) -> str:
    """A verb's stem without -ed or -ing, with an e where one was lost and without a doubled consonant."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem[-2:-1] == stem[-1] and _consonants(stem)[-1]:
        return stem if stem[-1] in "lsz" else stem[:-1]
    if stem.endswith("*d"):  # NLTK takes its own mark for a double consonant for letters
        return stem[:-2] + "d"
    return stem + "e" if _measure(stem) == 1 and _ends_in_short_syllable(stem) else stem


def _final_y(word: str) -> str:
    if word.endswith("y") and len(word) > 2 and _consonants(word[:-1])[-1]:
        return word[:-1] + "i"
    return word


def _step_2(word: str) -> str:
    ending = _ending_in(word, _STEP_2, 7)
    if ending is None:
        return word
    stem = word[: -len(ending)]
    if _measure(stem + "l" if ending == "logi" else stem) == 0:
        return word
    # after -alli there may be another ending of this step
    return _step_2(stem + "al") if ending == "alli" else stem + _STEP_2[ending]


def _step_3(word: str) -> str:
    ending = _ending_in(word, _STEP_3, 5)
    if ending is None or _measure(word[: -len(ending)]) == 0:
        return word
    return word[: -len(ending)] + _STEP_3[ending]


def _step_4(word: str) -> str:
    ending = _ending_in(word, _STEP_4, 5)
    if ending is None:
        return word
    stem = word[: -len(ending)]
    if _measure(stem) <= 1 or (ending == "ion" and stem[-1] not in "st"):
        return word
    return stem


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    measure = _measure(word[:-1])
    if measure > 1 or (measure == 1 and not _ends_in_short_syllable(word[:-1])):
        return word[:-1]
    return word


def _double_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _ending_in(word: str, endings: dict[str, str] | frozenset[str], longest: int) -> str | None:
    """The longest of the endings that the word has."""
    for length in range(longest, 1, -1):
        if word[-length:] in endings:
            return word[-length:]
    return None


_LIKE = ("", "а", "a", "1", "!", "Δ")
"""Pieces of each kind that razdel knows, and none."""
LEANS = 8
"""More than the kinds; added to the kind of a sign that razdel may join with what stands beyond it."""
_PLAIN_RUN = re.compile(
    '([«“"„(]?)(?:([а-яё]+(?:-[а-яё]+)*)|([a-z]+)(?!!)|([0-9]+)(?![»”")]?[.,]))([»”")]?)([.,:;!?…]?)',
    re.IGNORECASE,
)
"""A word with signs before and after it, which are words of their own; numbers may be joined with theirs."""


@functools.cache
def kind_of_piece(letter: str) -> int:
    """What razdel takes a piece with this letter for, and `LEANS` more where it may join it with the next."""
    from razdel.segmenters.tokenize import ATOM, DASHES, INT, LAT, OTHER, PUNCT, RU

    kind = (None, RU, LAT, INT, PUNCT, OTHER).index(ATOM.match(letter).lastgroup)
    return kind + LEANS * (letter in f"{DASHES}_.,/\\")


def razdel_words(run: str, before: int, after: int) -> list[str]:
    """The words of a run of letters and signs, as razdel cuts them between pieces of two kinds.

    >>> razdel_words("«Да»,", 0, 0)
    ['«', 'Да', '»', ',']
    """
    plain = _PLAIN_RUN.fullmatch(run)
    if plain is not None:
        return [part for part in plain.groups() if part]
    from razdel import tokenize

    words = [word.text for word in tokenize(f"{_LIKE[before]} {run} {_LIKE[after]}")]
    return words[before > 0 : len(words) - (after > 0)]
