"""Treebank-like tokens, beside nltk's."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from nltk.tokenize import NLTKWordTokenizer

from metassay.text.tokens import word_tokens


@pytest.mark.parametrize(
    "text",
    [
        "John said he did not like the cake she baked.",
        "They'll save and invest more, won't they?",
        "Good muffins cost $3.88 (roughly 3,36 euros).",
        "It's 10:30 – we've no well-known o'clock; 50% off!",
    ],
)
def test_one_sentence_is_split_as_nltk_splits_it(text: str) -> None:
    assert word_tokens(text) == NLTKWordTokenizer().tokenize(text)


def test_nearly_all_single_sentences_of_wmt_are_split_as_nltk_splits_them(
    real_data: Callable[[str], Path],
) -> None:
    texts = pl.read_parquet(real_data("wmt22/wmt22_en-ru.parquet"))["hyp"].unique(maintain_order=True)[:1500]
    single = [text.lower() for text in texts if ". " not in text and '"' not in text]
    same = [word_tokens(text) == NLTKWordTokenizer().tokenize(text) for text in single]
    assert sum(same) / len(same) > 0.97
