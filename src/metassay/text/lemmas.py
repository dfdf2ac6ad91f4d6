"""Base forms of words, from the dictionaries of simplemma."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any
from zlib import crc32

import numpy as np

from metassay.text.user_cache import load_cached_file_or_compute

_CACHED_WORDS = 1 << 17


@functools.lru_cache(maxsize=_CACHED_WORDS)
def find_lemma(word: str, language: str) -> str | None:
    """Return the base form of a word from the dictionary of simplemma, or None for unknown words."""
    composed = unicodedata.normalize("NFC", word)
    lemma: str | None = _load_simplemma_lookup().get_lemma(composed, language)
    if lemma is None or (word.isalpha() and composed == word):  # there are no hyphens or accents to split off
        return lemma
    return str(_load_simplemma_lemmatizer().lemmatize(word, lang=language))


@functools.lru_cache(maxsize=_CACHED_WORDS)
def is_common_word(word: str, language: str) -> bool:
    """Return whether a word is in a dictionary in lower case, so that it is not only used as a name."""
    lemma = find_lemma(word.lower(), language)
    return lemma is not None and lemma.islower()


@functools.cache
def _load_simplemma_lookup() -> Any:
    """Load the function of simplemma that looks up words in dictionaries."""
    from simplemma.strategies import DictionaryLookupStrategy

    return DictionaryLookupStrategy(_PackedDictionaryFactory())  # type: ignore[arg-type]


@functools.cache
def _load_simplemma_lemmatizer() -> Any:
    """Load the object of simplemma that finds base forms of words."""
    from simplemma import Lemmatizer
    from simplemma.strategies import DefaultStrategy

    factory: Any = _PackedDictionaryFactory()
    return Lemmatizer(lemmatization_strategy=DefaultStrategy(dictionary_factory=factory))


class _PackedDictionaryFactory:
    """Gives simplemma its dictionaries in a form that loads faster."""

    @staticmethod
    @functools.lru_cache(maxsize=8)
    def get_dictionary(lang: str) -> PackedDictionary:
        """Load the dictionary of a language from words to base forms."""
        from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

        name = f"simplemma-{version('simplemma')}-{lang}.words"
        content = load_cached_file_or_compute(
            name, lambda: encode_dictionary_as_bytes(DefaultDictionaryFactory().get_dictionary(lang))
        )
        return PackedDictionary(content)


_BUCKET_COUNT = 2**16
_HEADER_SIZE = 4 * (_BUCKET_COUNT + 1)


def encode_dictionary_as_bytes(lemma_by_word: Mapping[str, str]) -> bytes:
    """Encode a dictionary from words to base forms as bytes, in which `PackedDictionary` can search.

    The entries are in buckets by the checksum of the word.
    """
    # Every word then stands between a line end and a tab, so that one search finds it.
    buckets = [bytearray(b"\n") for _ in range(_BUCKET_COUNT)]
    for word, lemma in lemma_by_word.items():
        key = word.encode()
        buckets[crc32(key) % _BUCKET_COUNT] += b"%b\t%b\n" % (key, lemma.encode())
    bucket_offsets = _HEADER_SIZE + np.cumsum([0, *map(len, buckets)])
    return b"".join([bucket_offsets.astype("<u4").tobytes(), *buckets])


class PackedDictionary:
    """A dictionary from words to base forms that is searched in its bytes, because building a `dict` takes a
    second.

    >>> PackedDictionary(encode_dictionary_as_bytes({"mice": "mouse"})).get("mice")
    'mouse'
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._bucket_offsets = np.frombuffer(content, "<u4", _BUCKET_COUNT + 1).tolist()

    def get(self, word: str) -> str | None:
        """Return the base form of a word, or None if the word is not in the dictionary."""
        key = word.encode()
        bucket = crc32(key) % _BUCKET_COUNT
        bucket_start, bucket_end = self._bucket_offsets[bucket : bucket + 2]
        position = self._content.find(b"\n%b\t" % key, bucket_start, bucket_end)
        # A word with these signs could match across the fields of the dictionary.
        if position < 0 or b"\t" in key or b"\n" in key:
            return None
        lemma_start = position + len(key) + 2
        lemma_end = self._content.index(b"\n", lemma_start)
        return self._content[lemma_start:lemma_end].decode()
