"""The triton kernel for short texts, run by triton's interpreter, against torch."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

COMPARE_WITH_TORCH = """
import numpy as np
import torch
from metassay.metrics.neural.attention import SHORT_TEXT, compute_attention_within_texts, compile_triton_attention
from metassay.metrics.neural.token_batches import build_packed_batch
from metassay.metrics.neural.tokenizer import TokenizedTexts

longest_texts = []

def attend_to_long_texts(projected, batch):
    longest_texts.append(batch.packing.longest)
    return compute_attention_within_texts(projected, batch)

attend = compile_triton_attention(torch.zeros(1), 16, attend_to_long_texts)
assert attend is not None
for lengths in ([SHORT_TEXT, 70, 17, 1], [3, 1], [SHORT_TEXT + 1, 2]):
    projected = torch.randn((sum(lengths), 3, 2, 16), generator=torch.Generator().manual_seed(1))
    texts = TokenizedTexts.from_token_sequences([[5] * length for length in lengths])
    batch = build_packed_batch(texts, np.arange(len(lengths)), 0, torch.from_numpy)
    np.testing.assert_allclose(attend(projected, batch), compute_attention_within_texts(projected, batch), atol=1e-5)
assert longest_texts == [SHORT_TEXT + 1]
"""


def test_attention_for_short_texts_equals_that_of_torch(torch) -> None:
    assert torch is not None
    if importlib.util.find_spec("triton") is None:
        pytest.skip("triton comes with torch for GPUs")
    # triton must know before torch loads it that there is no GPU
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", COMPARE_WITH_TORCH], env=environment, check=True)
