"""Attention within each text of a packed batch.

Texts of up to 128 tokens go to a kernel of our own where triton is installed, as it is with torch for GPUs.
Longer ones go to flash attention over texts of different lengths, where torch has it, else to one call of
torch for each length. All take `queries_keys_values` of all tokens, [tokens, 3, heads, head size], and
return [tokens, heads, head size].
"""

from __future__ import annotations

from collections.abc import Callable
from math import e, log2, sqrt
from typing import TYPE_CHECKING

import numpy as np

from metassay.metrics.neural.token_batches import Packing, TokenBatch, build_packed_batch
from metassay.metrics.neural.tokenizer import TokenizedTexts

if TYPE_CHECKING:
    from torch import Tensor

# Tokens of a text that one program of the triton kernel attends to at once.
SHORT_TEXT = 128
Attention = Callable[["Tensor", TokenBatch], "Tensor"]


def choose_attention_function(weight: Tensor, head_size: int) -> Attention:
    """Return the fastest implementation of attention that works on the device and with the precision of these
    weights.
    """
    long_attention = build_flash_attention(weight, head_size) or compute_attention_within_texts
    return compile_triton_attention(weight, head_size, long_attention) or long_attention


def compute_attention_within_texts(queries_keys_values: Tensor, token_batch: TokenBatch) -> Tensor:
    """Compute attention within each text of a batch without padding. Torch is called once for all texts of
    equal length.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    attended = torch.empty_like(queries_keys_values[:, 0])
    for rectangle, span in token_batch.rectangles:
        count, length = rectangle.ids.shape
        by_text = queries_keys_values[span].view(count, length, *queries_keys_values.shape[1:])
        query, key, value = by_text.permute(2, 0, 3, 1, 4)
        result = scaled_dot_product_attention(query, key, value)
        attended[span] = result.transpose(1, 2).reshape(count * length, *attended.shape[1:])
    return attended


def build_flash_attention(weight: Tensor, head_size: int) -> Attention | None:
    """Return a function that computes attention with torch's flash attention; None if the device does not
    support it.
    """
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:  # torch before 2.10
        return None

    def compute_flash_attention(queries_keys_values: Tensor, token_batch: TokenBatch) -> Tensor:
        """Compute attention within each text with the flash attention of torch."""
        packing = get_packing(token_batch)
        query, key, value = queries_keys_values.unbind(1)
        bounds = packing.text_bounds
        return varlen_attn(query, key, value, bounds, bounds, packing.longest, packing.longest)

    return (
        compute_flash_attention if _is_attention_correct(compute_flash_attention, weight, head_size) else None
    )


def compile_triton_attention(
    weight: Tensor, head_size: int, fallback_attention: Attention
) -> Attention | None:
    """Return a function that computes attention with triton for texts of up to `SHORT_TEXT` tokens; None if
    the device does not support it.

    Each program of the kernel computes one text and one head in one block. Flash attention works on blocks of
    128 tokens, most of which are empty where texts have 40. Batches with longer texts go to
    `fallback_attention`.
    """
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    # triton reads the annotations, and knows no other than its own
    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def attend_to_text(projected, attended, bounds, scale, heads, size: tl.constexpr, block: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        text, head = tl.program_id(0) // heads, tl.program_id(0) % heads
        start = tl.load(bounds + text).to(tl.int64)
        rows, cells = tl.arange(0, block)[:, None], head * size + tl.arange(0, size)[None, :]
        is_token = rows < tl.load(bounds + text + 1) - start
        first = projected + (start + rows) * 3 * heads * size + cells
        query = tl.load(first, mask=is_token, other=0.0)
        key = tl.load(first + heads * size, mask=is_token, other=0.0)
        value = tl.load(first + 2 * heads * size, mask=is_token, other=0.0)
        products = tl.dot(query, tl.trans(key)) * scale
        products = tl.where(tl.trans(is_token), products, float("-inf"))
        weights = tl.exp2(products - tl.max(products, 1)[:, None])
        mean = tl.dot(weights.to(value.dtype), value) / tl.sum(weights, 1)[:, None]
        tl.store(attended + (start + rows) * heads * size + cells, mean, mask=is_token)

    def compute_attention_with_triton(queries_keys_values: Tensor, token_batch: TokenBatch) -> Tensor:
        packing = get_packing(token_batch)
        if packing.longest > SHORT_TEXT:
            return fallback_attention(queries_keys_values, token_batch)
        tokens, _, heads, size = queries_keys_values.shape
        attended: Tensor = queries_keys_values.new_empty((tokens, heads, size))
        block = max(16, triton.next_power_of_2(packing.longest))
        # The kernel takes powers of two instead of e, which GPUs compute faster.
        scale = log2(e) / sqrt(size)
        grid = (len(token_batch.texts) * heads,)
        arguments = (queries_keys_values, attended, packing.text_bounds, scale, heads, size, block)
        attend_to_text[grid](*arguments, num_warps=block // 16)
        return attended

    return (
        compute_attention_with_triton
        if _is_attention_correct(compute_attention_with_triton, weight, head_size)
        else None
    )


def get_packing(batch: TokenBatch) -> Packing:
    """Return where each text begins in a batch without padding; raise an error if the batch has padding."""
    if batch.packing is None:
        raise TypeError("this batch is not packed")
    return batch.packing


def _is_attention_correct(attention_function: Attention, weight: Tensor, head_size: int) -> bool:
    """Return whether an attention function computes the same on this device as torch's own function."""
    import torch

    try:
        generator = torch.Generator(device=weight.device).manual_seed(0)
        shape = (60, 3, 2, head_size)
        projected = torch.randn(shape, generator=generator, device=weight.device).to(weight.dtype)
        texts = TokenizedTexts.from_token_sequences([[5] * 37, [5] * 20, [5] * 3])
        batch = build_packed_batch(
            texts, np.arange(3), 0, lambda array: torch.from_numpy(array).to(weight.device)
        )
        with torch.inference_mode():
            computed = attention_function(projected, batch)
            return bool(torch.allclose(computed, compute_attention_within_texts(projected, batch), atol=0.05))
    except Exception:  # noqa: BLE001 - no such kernel for this GPU or head size, or it cannot be compiled
        return False
