"""Base forms: equal to those of simplemma."""

from __future__ import annotations

from pathlib import Path

import pytest

from metassay.text import lemmas
from metassay.text.lemmas import PackedDictionary, encode_dictionary_as_bytes, find_lemma


def test_base_forms_are_those_of_simplemma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare every word of its English dictionary, and forms that it normalises or does not know."""
    simplemma = pytest.importorskip("simplemma", reason="pip install 'metassay[en]'")
    factory = simplemma.strategies.dictionaries.dictionary_factory.DefaultDictionaryFactory()
    their_dictionary = factory.get_dictionary("en")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):  # computed, then loaded from the cache
        our_dictionary = lemmas._PackedDictionaryFactory.get_dictionary.__wrapped__("en")
        assert all(our_dictionary.get(word) == lemma for word, lemma in their_dictionary.items())
    for form in ("mice", "Mice", "don't", "co-operated", "xyzzy", "caf\u00e9s", "cafe\u0301s", "\u212b"):
        is_known = simplemma.is_known(form, lang="en")
        expected = simplemma.lemmatize(form, lang="en") if is_known else None
        assert find_lemma(form, "en") == expected


def test_only_complete_words_are_found() -> None:
    dictionary = PackedDictionary(
        encode_dictionary_as_bytes({"a": "b", "b": "a\u00df", "ab": "", "\u00df": "c"})
    )
    assert [dictionary.get(word) for word in ("a", "b", "ab", "\u00df")] == ["b", "a\u00df", "", "c"]
    for word in ("", "a\tb", "b\na", "\n", "\t", "A", "ba", "c"):
        assert dictionary.get(word) is None
