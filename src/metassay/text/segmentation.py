"""Find words in texts without spaces between them, and edit such texts without adding spaces.

Chinese words are found by jieba, Japanese words by fugashi or else janome. For other languages, and without
these packages, a rule splits a text where the script changes. A part is then one or two Han characters
(frequent function words of one character stand alone), a run of Hiragana or of Katakana, up to three letters
with their signs, a Tibetan syllable, or a word or number of any other script. Such parts are often not words:
they serve to measure texts, not to edit single words.
"""

from __future__ import annotations

import functools
import logging
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from metassay.text.languages import get_base_language
from metassay.text.resources import find_dictionary_or_model, is_package_installed
from metassay.text.words import WITHOUT_SPACES, Span, is_in_script_without_spaces, list_vocabulary

Segmenter = Callable[[str], Iterable[str]]

# Chinese words of one character that are seldom parts of longer words.
SINGLE_HAN = "的了是在和与不我你他她它这那就也都很有到说要会着把被让给从对而"
HAN = "々〇\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u309f"
KATAKANA = "\u30a1-\u30ffｦ-ﾟ"
_TIBETAN = "\u0f20-\u0f33\u0f40-\u0fbc"
# Thai and Lao vowels that are written before their consonant.
_VOWELS_BEFORE = "\u0e40-\u0e44\u0ec0-\u0ec4"
# Thai and Lao vowels that are letters by their Unicode category but belong to the consonant before.
_VOWELS_AFTER = "ะาำๅະາຳ"
# Signs that put the next Burmese or Khmer consonant below the one before.
_STACKING_SIGNS = "\u1039\u17d2"


def _list_southeast_asian_characters(*unicode_categories: str) -> str:
    """List the Thai, Lao, Burmese and Khmer characters of some Unicode categories."""
    blocks = (range(0x0E00, 0x0F00), range(0x1000, 0x10A0), range(0x1780, 0x1800))
    characters = (chr(code) for block in blocks for code in block)
    return "".join(
        character for character in characters if unicodedata.category(character) in unicode_categories
    )


def _list_base_characters() -> str:
    """List the consonants, vowels and digits with which a syllable can begin in Thai, Lao, Burmese or
    Khmer.
    """
    not_first = re.compile(f"[{_VOWELS_BEFORE}{_VOWELS_AFTER}]")
    return not_first.sub("", _list_southeast_asian_characters("Lo", "Nd"))


_SIGNS = _list_southeast_asian_characters("Mn", "Mc") + _VOWELS_AFTER
_BASES = _list_base_characters()
_CLUSTER = f"[{_VOWELS_BEFORE}]?[{_BASES}][{_SIGNS}]*(?:(?<=[{_STACKING_SIGNS}])[{_BASES}][{_SIGNS}]*)*"
_SPACELESS_CHARACTERS = f"{HAN}{HIRAGANA}{KATAKANA}{_TIBETAN}{_VOWELS_BEFORE}{_SIGNS}{_BASES}"
_SPACED_LETTERS = rf"(?:(?![{_SPACELESS_CHARACTERS}])[^\W_])+"
_WORD = re.compile(
    rf"[{SINGLE_HAN}]|(?:(?![{SINGLE_HAN}])[{HAN}]){{1,2}}|[{HIRAGANA}]+|[{KATAKANA}]+|[{_TIBETAN}]+[་]?"
    rf"|(?:{_CLUSTER}){{1,3}}|{_SPACED_LETTERS}(?:[-'’.,]{_SPACED_LETTERS})*"
)
_WORD_OR_SIGN = re.compile(rf"{_WORD.pattern}|\S")
# A letter or digit that needs a space between it and another one.
_SPACED_LETTER = re.compile(rf"(?![{_SPACELESS_CHARACTERS}])[^\W_]")
# Names and languages of the resources (see `text.resources`) that find the words of a language.
_SEGMENTER_PACKAGES = {"zh": ("jieba", "zh"), "yue": ("jieba", "zh"), "ja": ("fugashi", "ja")}


def is_written_without_spaces(text: str, language: str | None) -> bool:
    """Return whether a text is written without spaces between words, by its language, or by its script if the
    language is not known.
    """
    if language is not None:
        return get_base_language(language) in WITHOUT_SPACES
    return not text.isascii() and is_in_script_without_spaces(text)


def is_word_segmenter_installed(language: str | None) -> bool:
    """Return whether a package that splits texts of a language without spaces into words is installed."""
    return _load_word_segmenter(get_base_language(language)) is not None


def describe_missing_word_segmenter(language: str) -> str | None:
    """Return why texts of a language without spaces cannot be split into words, or None if they can."""
    base_language = get_base_language(language)
    if base_language not in WITHOUT_SPACES or is_word_segmenter_installed(base_language):
        return None
    package = _SEGMENTER_PACKAGES.get(base_language)
    if package is None:
        return "it is written without spaces, and no package that finds its words is supported"
    return find_dictionary_or_model(*package).remedy


def find_words_in_text_without_spaces(text: str, language: str | None) -> list[Span]:
    """Find the start and end of each word of a text that is written without spaces. Punctuation is left out.

    Without a segmenter for the language, runs of letters are cut into short pieces by script.

    >>> text = "我们用Python写代码。"
    >>> [text[start:end] for start, end in find_words_in_text_without_spaces(text, None)]
    ['我', '们用', 'Python', '写代', '码']
    """
    segmenter = _load_word_segmenter(get_base_language(language))
    if segmenter is None:
        return [match.span() for match in _WORD.finditer(text)]
    spans = []
    position = 0
    for word in segmenter(text):
        # Some segmenters leave out spaces, so that each word is looked for from the end of the word before.
        start = text.index(word, position)
        position = start + len(word)
        if any(map(str.isalnum, word)):
            spans.append((start, position))
    return spans


def find_words_and_punctuation(text: str) -> list[Span]:
    """Find the start and end of each word of a text, and of every other character that is not a space."""
    return [match.span() for match in _WORD_OR_SIGN.finditer(text)]


@functools.lru_cache(maxsize=64)
def _load_word_segmenter(base_language: str) -> Segmenter | None:
    """Load the installed function that splits texts of a language into words, or return None if there is
    none.
    """
    if base_language in {"zh", "yue"} and is_package_installed("jieba"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it imports what setuptools is about to drop
            import jieba

        jieba.setLogLevel(logging.ERROR)
        cut: Segmenter = jieba.cut
        return cut
    if base_language == "ja" and is_package_installed("fugashi") and is_package_installed("unidic_lite"):
        from fugashi import Tagger

        tagger: Any = Tagger()
        return lambda text: (word.surface for word in tagger(text))
    if base_language == "ja" and is_package_installed("janome"):
        from janome.tokenizer import Tokenizer

        tokenizer: Any = Tokenizer()
        return lambda text: tokenizer.tokenize(text, wakati=True)
    return None


def remove_words_from_text_without_spaces(text: str, word_spans: Sequence[Span]) -> str:
    """Remove words from a text without spaces, given the start and end of each word in ascending order.

    >>> text = "我用 iPhone 手机"
    >>> remove_words_from_text_without_spaces(text, [(3, 9)])
    '我用 手机'
    >>> remove_words_from_text_without_spaces(text, [(1, 2)])
    '我 iPhone 手机'
    """
    kept_text = ""
    position = 0
    for start, end in word_spans:
        kept_text += text[position:start]
        position = end
        # Of the spaces before and after the word, those before are enough.
        if not kept_text or kept_text[-1].isspace():
            while text[position : position + 1].isspace():
                position += 1
    return kept_text + text[position:] if text[position:] else kept_text.rstrip()


def add_spaces_around_inserted_word(text: str, position: int, word: str) -> str:
    """Return a word with the spaces around it that it needs when it is inserted at a position of a text.

    >>> add_spaces_around_inserted_word("我用手机", 1, "iPhone")
    'iPhone'
    >>> add_spaces_around_inserted_word("用iPhone", 1, "new")
    'new '
    """
    before = position > 0 and _SPACED_LETTER.match(text[position - 1]) and _SPACED_LETTER.match(word)
    after = _SPACED_LETTER.match(text[position : position + 1]) and _SPACED_LETTER.match(word[-1])
    return f"{' ' if before else ''}{word}{' ' if after else ''}"


def list_distinct_words(texts: Iterable[str], language: str | None) -> list[str]:
    """List the distinct words of texts, sorted. Perturbations insert some of them into other texts.

    From texts without spaces, words of other scripts are left out: they are mostly names and numbers. So are
    words of one character, unless there are no others. Texts whose words cannot be found are left out.
    """
    spaced_words = set[str]()
    segmented_words = set[str]()
    for text in texts:
        if not is_written_without_spaces(text, language):
            spaced_words.update(text.split())
        elif is_word_segmenter_installed(language):
            segmented_words.update(
                text[start:end] for start, end in find_words_in_text_without_spaces(text, language)
            )
    native_words = {word for word in segmented_words if not any(map(_SPACED_LETTER.match, word))}
    long_words = {word for word in native_words if len(word) > 1}
    words_without_spaces = long_words or native_words or segmented_words
    return sorted({*list_vocabulary(spaced_words, language), *words_without_spaces})
