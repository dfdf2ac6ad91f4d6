"""Stems: compared with those of NLTK."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from metassay.sample import get_bundled_sample_path
from metassay.text.porter_stemmer import stem_word

STEMMER = PorterStemmer()
LETTERS = [*"aeiouysstlzdbginrcm", "ing", "ed", "ies", "ied", "ational", "alli", "logi", "ement", "ll", "eed"]
LETTERS += ["y", "yy", "ion", "ful", "ness", "izer", "bli", "é", "ß", "'", "*d", "İ", "K"]


@pytest.fixture(scope="module")
def sample_texts():
    return pl.read_parquet(get_bundled_sample_path("mt"))["hyp"].head(2000).to_list()


def test_published_examples():
    """Porter (1980), the examples of steps 1 to 5, where NLTK follows them."""
    examples = {
        "caresses": "caress",
        "ponies": "poni",
        "agreed": "agre",
        "motoring": "motor",
        "happy": "happi",
    }
    examples |= {"relational": "relat", "triplicate": "triplic", "revival": "reviv", "controll": "control"}
    assert {word: stem_word(word) for word in examples} == examples


def test_stems_of_real_words(sample_texts):
    words = {word for text in sample_texts for word in text.split()}
    assert {word: stem_word(word) for word in words} == {word: STEMMER.stem(word) for word in words}


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.lists(st.sampled_from(LETTERS), max_size=7).map("".join), st.text(max_size=12)))
@example("skies")
@example("rationalli")
@example("")
def test_stems_of_any_word(word):
    assert stem_word(word) == STEMMER.stem(word)
