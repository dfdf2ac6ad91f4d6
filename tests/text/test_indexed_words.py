"""Words as numbers."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from metassay.text.indexed_words import index_non_space_runs, index_words

TEXTS = st.lists(st.text(st.sampled_from("aAß_-'é²٣ \n。я"), max_size=12), max_size=8)


@given(TEXTS, st.booleans())
def test_numbers_and_positions_lead_back_to_the_words(texts: list[str], hyphens: bool) -> None:
    words = index_words(texts, hyphens=hyphens)
    expected = [re.findall(r"[\w-]+" if hyphens else r"\w+", text) for text in texts]
    for text, start, end, text_words in zip(texts, words.offsets, words.offsets[1:], expected):
        assert [words.vocabulary[number] for number in words.numbers[start:end]] == text_words
        for position, word in zip(words.positions[start:end], text_words):
            assert text[position:].startswith(word)
    assert words.vocabulary == list(dict.fromkeys(word for text_words in expected for word in text_words))
    has_upper = [any(map(str.isupper, text_words)) for text_words in expected]
    assert words.find_texts_with_word(str.isupper).tolist() == has_upper


@given(TEXTS)
def test_runs_of_non_space_are_those_of_split(texts: list[str]) -> None:
    runs = index_non_space_runs(texts)
    expected = [run for text in texts for run in text.split()]
    assert [runs.vocabulary[number] for number in runs.numbers] == expected
