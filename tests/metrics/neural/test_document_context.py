"""Which tokens COMET reads as context of a document, without scoring them."""

from __future__ import annotations

import pytest

from metassay.metrics.neural.layer_mix import mark_preceding_sentences

START, PAD, END = 0, 1, 2


@pytest.mark.parametrize(
    ("token_ids", "is_context"),
    [
        ([START, 7, 8, END], [0, 0, 0, 0]),
        ([START, 7, END, 8, END], [0, 1, 1, 0, 0]),
        ([START, 7, END, 8, END, 9, END], [0, 1, 1, 1, 1, 0, 0]),
        ([START, 7, END, 8, END, PAD, PAD], [0, 1, 1, 0, 0, 0, 0]),
        ([START, END, 8, END], [0, 1, 0, 0]),
    ],
)
def test_context_ends_with_the_last_separator_but_one(torch, token_ids, is_context) -> None:
    marked = mark_preceding_sentences(torch.tensor([token_ids]), END)
    assert marked[0].int().tolist() == is_context
