"""Words of texts that are written without spaces between them, and edits that add no space.

Chinese words are jieba's where it is installed, Japanese ones those of fugashi or else janome. Without them,
and in Thai, Lao, Khmer, Burmese and Tibetan, a rule of our own cuts where the script changes: one or two Han
characters (frequent function words of one character stand alone), a run of Hiragana or of Katakana, up to
three letters with the signs around them, a Tibetan syllable, a word or number of any other script.

Pieces of words, found by compiled code in a hash table, and the words of many texts as numbers.
"""

from __future__ import annotations

import functools
import logging
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import LongArray, build_row_offsets
from metassay.stats.compilation import kernel
from metassay.text.resources import has_package
from metassay.text.words import WITHOUT_SPACES, Span, is_spaceless, word_list

Segmenter = Callable[[str], Iterable[str]]

ALONE = "的了是在和与不我你他她它这那就也都很有到说要会着把被让给从对而"
"""Chinese words of one character that are parts of longer words less often than not."""
HAN = "々〇\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA, KATAKANA = "\u3041-\u309f", "\u30a1-\u30ffｦ-ﾟ"
_TIBETAN = "\u0f20-\u0f33\u0f40-\u0fbc"
_BEFORE = "\u0e40-\u0e44\u0ec0-\u0ec4"
"""Thai and Lao vowels that are written before their consonant."""
_STACKERS = "\u1039\u17d2"
"""What puts the next Burmese or Khmer consonant under the one before."""


def _of_kind(*kinds: str) -> str:
    """The letters or signs of Thai, Lao, Burmese and Khmer, as a class of a regular expression."""
    blocks = (range(0x0E00, 0x0F00), range(0x1000, 0x10A0), range(0x1780, 0x1800))
    return "".join(chr(c) for block in blocks for c in block if unicodedata.category(chr(c)) in kinds)


_BOUND = "ะาำๅະາຳ"
"""Letters by their category, but vowels that stand after a consonant."""
_SIGNS = _of_kind("Mn", "Mc") + _BOUND
_BASES = "".join(c for c in _of_kind("Lo", "Nd") if c not in _BOUND and not re.match(f"[{_BEFORE}]", c))
_CLUSTER = f"[{_BEFORE}]?[{_BASES}][{_SIGNS}]*(?:(?<=[{_STACKERS}])[{_BASES}][{_SIGNS}]*)*"
_UNSPACED = f"{HAN}{HIRAGANA}{KATAKANA}{_TIBETAN}{_BEFORE}{_SIGNS}{_BASES}"
_OTHER = rf"(?:(?![{_UNSPACED}])[^\W_])+"
_WORD = re.compile(
    rf"[{ALONE}]|(?:(?![{ALONE}])[{HAN}]){{1,2}}|[{HIRAGANA}]+|[{KATAKANA}]+|[{_TIBETAN}]+[་]?"
    rf"|(?:{_CLUSTER}){{1,3}}|{_OTHER}(?:[-'’.,]{_OTHER})*"
)
_APART = re.compile(rf"(?![{_UNSPACED}])[^\W_]")
"""A character that needs a space to be kept from a word beside it."""
_PIECE = re.compile(rf"{_WORD.pattern}|\S")


def written_without_spaces(text: str, language: str | None) -> bool:
    """Whether words are not parted by spaces: by the language or, where that is unknown, by the script."""
    if language is not None:
        return language.partition("-")[0] in WITHOUT_SPACES
    return not text.isascii() and is_spaceless(text)


_SIGNED = re.compile("[\u0e00-\u109f\u1780-\u17ff]")
"""Thai, Lao, Tibetan, Burmese and Khmer."""


def is_cut_by_script(text: str, language: str | None) -> bool:
    """Whether `segmented` cuts a text by its scripts alone: no package does it, and no letter has signs."""
    return _segmenter(language) is None and not _SIGNED.search(text)


def segmented(text: str, language: str | None) -> list[Span]:
    """Start and end of every word of a text without spaces; punctuation belongs to none.

    >>> text = "我们用Python写代码。"
    >>> [text[start:end] for start, end in segmented(text, None)]
    ['我', '们用', 'Python', '写代', '码']
    """
    segmenter = _segmenter(language)
    if segmenter is None:
        return [match.span() for match in _WORD.finditer(text)]
    spans, place = [], 0
    for word in segmenter(text):
        start = text.index(word, place)
        place = start + len(word)
        if any(map(str.isalnum, word)):
            spans.append((start, place))
    return spans


def pieces(text: str) -> list[Span]:
    """Start and end of everything but space: words by our rule, and every other sign alone."""
    return [match.span() for match in _PIECE.finditer(text)]


@functools.cache
def _segmenter(language: str | None) -> Segmenter | None:
    """What an installed package offers for a language; None where our own rule is all there is."""
    if language in {"zh", "yue"} and has_package("jieba"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it imports what setuptools is about to drop
            import jieba

        jieba.setLogLevel(logging.ERROR)
        cut: Segmenter = jieba.cut
        return cut
    if language == "ja" and has_package("fugashi") and has_package("unidic_lite"):
        from fugashi import Tagger

        tagger: Any = Tagger()
        return lambda text: (word.surface for word in tagger(text))
    if language == "ja" and has_package("janome"):
        from janome.tokenizer import Tokenizer

        tokenizer: Any = Tokenizer()
        return lambda text: tokenizer.tokenize(text, wakati=True)
    return None


def cut_out(text: str, spans: Sequence[Span]) -> str:
    """The text without these words (in order); of the spaces around one, those after it go.

    >>> cut_out("我用 iPhone 手机", [(3, 9)]), cut_out("我用 iPhone 手机", [(1, 2)])
    ('我用 手机', '我 iPhone 手机')
    """
    kept, done = "", 0
    for start, end in spans:
        kept += text[done:start]
        done = end
        if not kept or kept[-1].isspace():
            while text[done : done + 1].isspace():
                done += 1
    return kept + text[done:] if text[done:] else kept.rstrip()


def put_in(text: str, place: int, word: str) -> str:
    """What is written at a place so that a word stands there: spaced from what would else run into it.

    >>> put_in("我用手机", 1, "iPhone"), put_in("用iPhone", 1, "new")
    ('iPhone', 'new ')
    """
    before = place > 0 and _APART.match(text[place - 1]) and _APART.match(word)
    after = _APART.match(text[place : place + 1]) and _APART.match(word[-1])
    return f"{' ' if before else ''}{word}{' ' if after else ''}"


def words_to_insert(texts: Iterable[str], language: str | None) -> list[str]:
    """The distinct words of a collection, sorted: by spaces where a text has them, else segmented.

    Of the words of other scripts inside a text without spaces, names and numbers for the most part, none is
    taken; where more than one character is known of any, single ones are left out.
    """
    spaced, unspaced = set[str](), set[str]()
    for text in texts:
        if written_without_spaces(text, language):
            unspaced.update(text[start:end] for start, end in segmented(text, language))
        else:
            spaced.update(text.split())
    own = {word for word in unspaced if not any(map(_APART.match, word))}
    long = {word for word in own if len(word) > 1}
    return sorted({*word_list(spaced, language), *(long or own or unspaced)})


def code_points(text: str) -> NDArray[np.uint32]:
    """The letters of a text as numbers."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def text_table(texts: Sequence[str]) -> tuple[NDArray[np.uint64], LongArray]:
    """A hash table from distinct texts to their numbers, for `number_of`."""
    return _filled(code_points("".join(texts)), build_row_offsets(texts))


class CodedWords(NamedTuple):
    """The words of many texts as numbers; what holds of a word is asked once, however often it stands."""

    vocabulary: list[str]
    starts: LongArray
    """Where the words of each text begin in `numbers`, and where the last one's end."""
    numbers: LongArray
    places: LongArray
    """Where each word begins in all texts laid end to end."""

    def texts_with(self, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Which texts hold a word that is wanted."""
        return self.texts_where(self.asked(wanted)[self.numbers])

    def asked(self, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Which words of the vocabulary are wanted."""
        return np.fromiter(map(wanted, self.vocabulary), np.bool_, len(self.vocabulary))

    def texts_where(self, hits: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which texts hold one of these words, of all that there are."""
        before = np.concatenate([[0], np.cumsum(hits)])[self.starts]
        return np.asarray(before[1:] > before[:-1])


def coded_words(texts: Sequence[str], joints: str = "") -> CodedWords:
    r"""The words of texts, in order: runs of what `\w` matches and of `joints`.

    >>> words = coded_words(["Well-known words.", "words"], joints="-")
    >>> words.vocabulary, words.numbers.tolist(), words.texts_with("words".__eq__).tolist()
    (['Well-known', 'words'], [0, 1, 1], [True, True])
    """
    return coded_runs(texts, lambda letter: letter.isalnum() or letter in f"_{joints}")


def coded_runs(texts: Sequence[str], belongs: Callable[[str], bool]) -> CodedWords:
    """The runs of characters that belong to words, in order."""
    together = "".join(texts)
    codes = code_points(together)
    inside = np.zeros(int(codes.max(initial=0)) + 1, np.bool_)
    inside[codes] = True
    for code in np.flatnonzero(inside).tolist():
        inside[code] = belongs(chr(code))
    starts, numbers, places, spans = _numbered(codes, build_row_offsets(texts), inside)
    vocabulary = [together[start:end] for start, end in zip(*spans.T.tolist())]
    return CodedWords(vocabulary, starts, numbers.copy(), places.copy())


@kernel
def _numbered(
    codes: NDArray[np.uint32], rows: LongArray, inside: NDArray[np.bool_]
) -> tuple[LongArray, LongArray, LongArray, LongArray]:
    """Where each row's words begin, number and place of every word, and where each distinct one is first."""
    keys, known = np.zeros(1 << 14, np.uint64), np.zeros(1 << 14, np.int64)
    numbers, starts = np.empty(len(codes) // 2 + len(rows), np.int64), np.zeros(len(rows), np.int64)
    spans, places = np.empty((len(numbers), 2), np.int64), np.empty(len(numbers), np.int64)
    words, distinct = 0, 0
    for row in range(len(rows) - 1):
        i, stop = rows[row], rows[row + 1]
        while i < stop:
            begin, key = i, np.uint64(1)
            while i < stop and inside[codes[i]]:
                key = hashed_with(key, codes[i])
                i += 1
            if i == begin:
                i += 1
                continue
            slot = slot_of(key, keys, known)
            places[words], numbers[words], words = begin, known[slot] - 1, words + 1
            if known[slot] == 0:
                spans[distinct, 0], spans[distinct, 1] = begin, i
                numbers[words - 1], distinct = distinct, distinct + 1
                keys[slot], known[slot] = key, distinct
                keys, known = with_room(keys, known, distinct)
        starts[row + 1] = words
    return starts, numbers[:words], places[:words], spans[:distinct]


@kernel
def slot_of(key: np.uint64, keys: NDArray[np.uint64], known: LongArray) -> np.int64:
    """Where a key stands in a table, or has its place; what is known there is 0 where nothing is."""
    slot = np.int64(key & np.uint64(len(keys) - 1))
    while known[slot] > 0 and keys[slot] != key:
        slot = (slot + 1) & (len(keys) - 1)
    return slot


@kernel
def with_room(keys: NDArray[np.uint64], known: LongArray, used: int) -> tuple[NDArray[np.uint64], LongArray]:
    """The table, twice as large once it is half full."""
    if 2 * used <= len(keys):
        return keys, known
    more_keys, more_known = np.zeros(2 * len(keys), np.uint64), np.zeros(2 * len(keys), np.int64)
    for i in range(len(keys)):
        if known[i] > 0:
            slot = slot_of(keys[i], more_keys, more_known)
            more_keys[slot], more_known[slot] = keys[i], known[i]
    return more_keys, more_known


@kernel
def hashed_with(key: np.uint64, code: np.uint32) -> np.uint64:
    """The hash of a text and one more letter; of 64 bits, so that no two texts meet in practice."""
    mixed = (key ^ np.uint64(code)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))


@kernel
def _filled(codes: NDArray[np.uint32], starts: LongArray) -> tuple[NDArray[np.uint64], LongArray]:
    size = 4
    while size < 2 * len(starts):
        size *= 2
    keys, numbers = np.zeros(size, np.uint64), np.empty(size, np.int64)
    for place in range(size):
        numbers[place] = -1
    for i in range(len(starts) - 1):
        key = np.uint64(1)
        for place in range(starts[i], starts[i + 1]):
            key = hashed_with(key, codes[place])
        slot = np.int64(key & np.uint64(size - 1))
        while numbers[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        keys[slot], numbers[slot] = key, i
    return keys, numbers


@kernel
def number_of(key: np.uint64, keys: NDArray[np.uint64], numbers: LongArray) -> np.int64:
    """The number of the text with a hash; −1 where the table has it not."""
    slot = np.int64(key & np.uint64(len(keys) - 1))
    while numbers[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & (len(keys) - 1)
    return np.int64(numbers[slot])
