"""English as Whisper's evaluation writes it: contractions in full, and British spellings in American form."""

from __future__ import annotations

import re
from functools import lru_cache

from metassay.text.word_lists import WordLists

_LISTS = WordLists("metassay.text", "en")

_WHOLE = _LISTS.mapping("contractions")
_TITLES = _LISTS.mapping("titles")
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
    for pattern, full in _ENDINGS:
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
