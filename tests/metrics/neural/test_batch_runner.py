"""Texts are divided into batches within a budget of tokens, which shrinks where memory runs out."""

from __future__ import annotations

import pytest

from metassay.errors import InputError
from metassay.metrics.neural.batch_runner import BatchRunner
from metassay.metrics.neural.tokenizer import TokenizedTexts


def test_the_budget_is_halved_when_memory_runs_out(torch) -> None:
    tokens = TokenizedTexts.from_token_sequences([[number] * (1 + number % 7) for number in range(100)])
    sizes = []

    def sum_ids(batch):
        sizes.append(batch.ids.numel())
        if batch.ids.numel() > 40:
            raise torch.OutOfMemoryError
        return batch.ids.sum(1, keepdim=True)

    runner = BatchRunner("cpu", 200)
    sums = runner.compute_vector_per_text(tokens, sum_ids, pad_id=0)[:, 0]
    assert sums.tolist() == [number * (1 + number % 7) for number in range(100)]
    assert runner.token_budget <= 50
    assert sum(size > 40 for size in sizes) <= 4
    with pytest.raises(InputError, match="not enough memory"):
        BatchRunner("cpu", 200).compute_vector_per_text(
            TokenizedTexts.from_token_sequences([[1] * 50]), sum_ids, pad_id=0
        )


@pytest.mark.usefixtures("torch")
def test_every_text_is_in_one_batch_within_the_budget() -> None:
    lengths = [1 + (number * 37) % 23 for number in range(500)]
    tokens = TokenizedTexts.from_token_sequences([[5] * length for length in lengths])
    seen: list[int] = []
    for texts, batch in BatchRunner("cpu", 64).run_network_in_batches(tokens, lambda batch: batch, pad_id=0):
        seen += texts.tolist()
        assert batch.ids.numel() <= 64
        assert (batch.mask is None) == (len(set(batch.lengths.tolist())) == 1)
        assert batch.attention_mask.sum(1).tolist() == [lengths[text] for text in texts]
    assert sorted(seen) == list(range(500))
