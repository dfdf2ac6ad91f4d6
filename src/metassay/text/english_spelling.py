"""Write English contractions in full, and British words in American spelling."""

from __future__ import annotations

import re
from functools import lru_cache

from metassay.text.word_lists import WordLists

_LISTS = WordLists("metassay.text", "en")
_CONTRACTIONS = _LISTS.read_mapping_from_list("contractions")
_TITLES = _LISTS.read_mapping_from_list("titles")
_BEFORE_PARTICIPLE = r"(?=\s+(?:been|done|gone|got)\b)"
_CONTRACTED_ENDINGS = (
    (re.compile(r"n't\b"), " not"),
    (re.compile(rf"'d{_BEFORE_PARTICIPLE}"), " had"),
    (re.compile(rf"'s{_BEFORE_PARTICIPLE}"), " has"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'s\b"), " is"),
    (re.compile(r"'d\b"), " would"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'m\b"), " am"),
)
_SPACE_BEFORE_CLITIC = re.compile(r"\s+(?='(?:s|d|ll|ve|re|m|t)\b)")
_CONTRACTION = re.compile(r"(?<![\w'])(?:" + "|".join(map(re.escape, _CONTRACTIONS)) + r")(?![\w'])")
_TITLE = re.compile(rf"\b(?:{'|'.join(_TITLES)})\b\.?(?=\s+\w)")

_BRITISH_WORDS = _LISTS.read_mapping_from_list("british_words")
_OUR = "|".join(_LISTS.read_lines("british_our"))
_RE = "|".join(_LISTS.read_lines("british_re"))
_ISE = "|".join(_LISTS.read_lines("british_ise"))
_DOUBLED = "|".join(_LISTS.read_lines("british_doubled"))
_BRITISH_RULES = (
    (re.compile(rf"^((?:dis|mis|un)?(?:{_OUR}))our"), r"\1or"),
    (re.compile(rf"^({_RE})re(?=s?$)"), r"\1er"),
    (re.compile(rf"^({_RE})red$"), r"\1ered"),
    (re.compile(rf"^((?:dis|re|un)?(?:{_ISE}))is(?=e|ing|ation|able)"), r"\1iz"),
    (re.compile(rf"^({_DOUBLED})l(?=ed|er|ing|or)"), r"\1"),
)


def expand_contractions(text: str) -> str:
    """Write the contractions and titles of a lower-case text in full, such as `do not` for `don't`.

    Apostrophes must be plain ones. A possessive `'s` cannot be told from `is` without understanding the
    sentence. Both texts of a comparison are treated alike.

    >>> expand_contractions("mr. bell won't say he's gone")
    'mister bell will not say he has gone'
    """
    text = _SPACE_BEFORE_CLITIC.sub("", text)
    text = _CONTRACTION.sub(lambda match: _CONTRACTIONS[match[0]], text)
    text = _TITLE.sub(lambda match: _TITLES[match[0].rstrip(".")], text)
    for pattern, full_form in _CONTRACTED_ENDINGS:
        text = pattern.sub(full_form, text)
    return text


@lru_cache(maxsize=65_536)
def get_american_spelling(word: str) -> str:
    """Return the American spelling of a lower-case word, or the word itself if it has no other spelling.

    >>> [get_american_spelling(word) for word in ("neighbours", "centred", "counselled", "realising", "hour")]
    ['neighbors', 'centered', 'counseled', 'realizing', 'hour']
    """
    if word in _BRITISH_WORDS:
        return _BRITISH_WORDS[word]
    for pattern, replacement in _BRITISH_RULES:
        american_word, count = pattern.subn(replacement, word)
        if count:
            return american_word
    return word
