"""Find and replace words in raw text, by spaces and punctuation alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

# Start and end of a part of a text.
Span = tuple[int, int]

# Languages written without spaces between words.
WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km", "my", "bo", "dz", "yue"})
# Languages that capitalise common nouns, so that a capital does not mark a name.
CAPITALISES_NOUNS = frozenset({"de", "lb"})

# A run of non-space characters with a letter or digit: punctuation first, then the rest of the run.
# Possessive quantifiers, so that a run of punctuation alone is rejected at once.
_WORD = re.compile(r"(?<!\S)(?:[^\w\s]|_)*+[^\W_]\S*+")
_SURROUNDING_PUNCTUATION = re.compile(r"^[\W_]+|[\W_]+$")
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
# The possessive quantifiers `++` and `*+` prevent that a rejected word is tried again in shorter pieces.
_DICTIONARY_WORD = re.compile(r"(?<![\w./@#&+])[^\W\d_]++(?:['’-][^\W\d_]++)*+(?![\w/@#&+]|\.\w)")
_BEFORE_SENTENCE_START = re.compile(r"(?:^|[.!?…:;]|[\"“„«»(\[–—-])\s*$")
# Letters of Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese.
_LETTER_WITHOUT_SPACES = re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def is_in_script_without_spaces(text: str) -> bool:
    """Return whether most letters of a text belong to scripts without spaces between words, such as
    Chinese.
    """
    count = len(_LETTER_WITHOUT_SPACES.findall(text))
    return count > 0 and 2 * count > sum(map(str.isalpha, text))


def find_words(text: str) -> list[Span]:
    """Find the start and end of each word of a text: characters between spaces with at least one letter or
    digit.

    Punctuation belongs to the word it is attached to; a run of punctuation alone is not a word.

    >>> find_words("Well – yes.")
    [(0, 4), (7, 11)]
    """
    return [match.span() for match in _WORD.finditer(text)]


def strip_punctuation(word: str) -> str:
    """Remove the punctuation around a word.

    >>> strip_punctuation("“don't!”")
    "don't"
    """
    return _SURROUNDING_PUNCTUATION.sub("", word)


def replace_spans(text: str, replacements: Iterable[tuple[Span, str]]) -> str:
    """Replace parts of a text, given the start and end of each part. The parts must be in order and must not
    overlap.
    """
    parts = []
    position = 0
    for (start, end), replacement in replacements:
        parts += [text[position:start], replacement]
        position = end
    return "".join([*parts, text[position:]])


def remove_words(text: str, word_spans: Sequence[Span]) -> str:
    """Remove words from a text, each with the space after it, given the start and end of each word in
    ascending order.

    The last word of a text is removed with the space before it, so that no trailing space remains.

    >>> remove_words("I saw it.", [(2, 5)]), remove_words("I saw it.", [(6, 9)])
    ('I it.', 'I saw')
    """
    parts = []
    position = 0
    end_of_text = len(text.rstrip())
    for start, end in word_spans:
        parts.append(text[position:start])
        position = end
        if end == end_of_text:
            return "".join(parts).rstrip() + text[end:]
        while text[position].isspace():
            position += 1
    return "".join([*parts, text[position:]])


def list_vocabulary(texts: Iterable[str], language: str | None) -> list[str]:
    """List the distinct words of at least two letters in some texts, sorted and without punctuation.

    Words that occur only with a capital are mostly names. They are left out, unless the language capitalises
    nouns, or all words have capitals.
    """
    raw_words: set[str] = set()
    for text in texts:
        raw_words.update(text.split())
    stripped = map(strip_punctuation, raw_words)
    words = {word for word in stripped if len(word) > 1 and _PLAIN_WORD.fullmatch(word)}
    lower_words = {word for word in words if word == word.lower()}
    if language in CAPITALISES_NOUNS:
        nouns = {word for word in words if word == word.capitalize() and word.lower() not in lower_words}
        return sorted(lower_words | nouns)
    return sorted(lower_words or words)


def find_dictionary_words(text: str) -> list[re.Match[str]]:
    """Find the words of a text that a dictionary may contain: letters, with apostrophes and hyphens inside.

    Parts of addresses and tags and words with digits are left out.

    >>> [match[0] for match in find_dictionary_words("Don't buy 3 well-known “brands”.")]
    ["Don't", 'buy', 'well-known', 'brands']
    """
    return list(_DICTIONARY_WORD.finditer(text))


def iterate_words_with_next_word(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each word of a text with the next word in lower case. After the last word, the next one is
    empty.
    """
    matches = _DICTIONARY_WORD.finditer(text)
    word = next(matches, None)
    while word is not None:
        next_word = next(matches, None)
        yield word, "" if next_word is None else next_word[0].lower()
        word = next_word


def starts_sentence(text: str, position: int) -> bool:
    """Return whether the word at a position begins a sentence."""
    # The pattern is anchored at the end, but would be searched from the beginning of a long text.
    before = text[max(position - 8, 0) : position]
    return _BEFORE_SENTENCE_START.search(before) is not None or position == 0


def copy_case(model_word: str, word: str) -> str:
    """Write a word in the case of another word: in capitals, with a first capital, or unchanged.

    >>> copy_case("John", "mike"), copy_case("NATO", "uno"), copy_case("car", "Auto")
    ('Mike', 'UNO', 'Auto')
    """
    if len(model_word) > 1 and model_word.isupper():
        return word.upper()
    return capitalise_first_letter(word) if model_word[:1].isupper() else word


def capitalise_first_letter(text: str) -> str:
    """Write the first letter of a text as a capital, and leave all others unchanged."""
    return text[:1].upper() + text[1:]
