"""An encoder without padding: the tokens of many texts end to end, each text attending to itself alone.

Linear layers, activations and norms see one matrix [tokens, hidden]. Attention among short texts is a kernel
of our own where triton is installed, as it is beside torch for GPUs; else flash attention over texts of
different length where torch has it, else one call for each length. The arithmetic is that of transformers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import e, log2, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from metassay.metrics.neural.encoder import compiled
from metassay.metrics.neural.tf32_products import split_linear, split_weights, splits
from metassay.metrics.neural.token_batches import TokenBatch, Tokens, packed

if TYPE_CHECKING:
    from torch import Tensor

PACKABLE = {"bert", "roberta", "xlm-roberta", "rembert"}
"""Architectures whose layers are attention, sum, norm, feed-forward, sum, norm."""
COUNTED = {"roberta", "xlm-roberta"}
"""Those that number positions from the padding id on, and skip padding ids inside a text."""
SHORT = 128
"""Tokens of a text whose attention one program computes at once; flash attention is made for longer ones."""
Attention = Callable[["Tensor", TokenBatch], "Tensor"]


Weights = tuple[Any, ...]


@dataclass(frozen=True)
class _Layer:
    """The weights of one layer; those of queries, keys and values as one matrix."""

    inward: Weights
    after: tuple[Weights, ...]
    """Of what follows attention: outward, norm, wide, narrow, last norm."""

    @classmethod
    def of(cls, layer: Any, prepared: Callable[[Tensor, Tensor], Weights]) -> _Layer:
        """Those of a layer of transformers, matrices as the product takes them."""
        import torch

        own, output = layer.attention.self, layer.attention.output
        parts = (own.query, own.key, own.value)
        inward = torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])
        matrices = [
            prepared(part.weight, part.bias)
            for part in (output.dense, layer.intermediate.dense, layer.output.dense)
        ]
        norms = [(norm.weight, norm.bias) for norm in (output.LayerNorm, layer.output.LayerNorm)]
        after = (matrices[0], norms[0], matrices[1], matrices[2], norms[1])
        return cls(prepared(inward[0].detach(), inward[1].detach()), after)


class PackedEncoder:
    """The layers of a transformer of transformers', run over texts end to end."""

    def __init__(self, model: Any, *, split: bool = False) -> None:
        from torch.nn.functional import linear

        config = model.config
        self.model = model
        self.heads = int(config.num_attention_heads)
        self.padding = int(config.pad_token_id) if config.model_type in COUNTED else None
        weight = next(model.parameters())
        self.product: Callable[..., Tensor] = split_linear if split else linear
        prepared = split_weights if split else _as_they_are
        self.layers = [_Layer.of(layer, prepared) for layer in model.encoder.layer]
        self.attend: Attention = by_length
        if weight.is_cuda and not split and self.layers:
            size = int(config.hidden_size) // self.heads
            self.attend = among_short(weight, size, flash(weight, size) or by_length)
        self._after = _after_attention(model, self.product)

    @classmethod
    def suiting(cls, model: Any) -> PackedEncoder | None:
        """The packed form of a model on a GPU; None for others, which pad their texts."""
        weight = next(model.parameters())
        if not weight.is_cuda or not packable(model):
            return None
        half = weight.element_size() == 2
        return cls(model, split=not half) if half or splits(weight) else None

    def __call__(self, batch: TokenBatch, see: Callable[[int, Tensor], None] | None = None) -> Tensor:
        """The last states [tokens, hidden]; `see(k, states)` gets hidden state k = 0 … L once it exists."""
        import torch

        states = self._embedded(batch)
        for k, layer in enumerate(self.layers):
            if see is not None:
                see(k, states)
            projected = self.product(states, *layer.inward).view(len(states), 3, self.heads, -1)
            attended = self.attend(projected, batch).reshape(len(states), -1)
            del projected
            states = self._after(states, attended, *layer.after)
        if see is not None:
            see(len(self.layers), states)
        assert isinstance(states, torch.Tensor)
        return states

    def _embedded(self, batch: TokenBatch) -> Tensor:
        packing = batch.packing
        if packing is None:
            raise TypeError("this batch is not packed")
        positions = packing.places if self.padding is None else packing.counted + self.padding
        kinds = batch.ids.new_zeros(batch.ids.shape) if packing.kinds is None else packing.kinds
        made = self.model.embeddings(
            input_ids=batch.ids[None], position_ids=positions[None], token_type_ids=kinds[None]
        )
        widened = getattr(self.model.encoder, "embedding_hidden_mapping_in", None)
        states: Tensor = (made if widened is None else widened(made))[0]
        return states


def packable(model: Any) -> bool:
    """Whether the layers of a model are those that this module computes."""
    config = model.config
    plain = getattr(config, "position_embedding_type", None) in {None, "absolute"}
    return config.model_type in PACKABLE and plain and not getattr(config, "is_decoder", False)


def by_length(projected: Tensor, batch: TokenBatch) -> Tensor:
    """Attention of each text to itself, one call for all texts of one length: [tokens, heads, size]."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    found = torch.empty_like(projected[:, 0])
    for part, span in batch.parts:
        count, length = part.ids.shape
        split = projected[span].view(count, length, *projected.shape[1:]).permute(2, 0, 3, 1, 4)
        made = scaled_dot_product_attention(split[0], split[1], split[2])
        found[span] = made.transpose(1, 2).reshape(count * length, *found.shape[1:])
    return found


def flash(weight: Tensor, size: int) -> Attention | None:
    """Flash attention over texts of different length, tried once against `by_length`; None where it fails."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:  # torch before 2.10
        return None

    def flash_attention(projected: Tensor, batch: TokenBatch) -> Tensor:
        packing = batch.packing
        assert packing is not None
        query, key, value = projected.unbind(1)
        bounds, longest = packing.bounds, packing.longest
        return varlen_attn(query, key, value, bounds, bounds, longest, longest)

    return flash_attention if _fits(flash_attention, weight, size) else None


def among_short(weight: Tensor, size: int, otherwise: Attention) -> Attention:
    """Attention where no text is longer than `SHORT`: a text and a head to a program, in one block.

    Flash attention works on blocks of 128 tokens, most of which are empty where texts have 40.
    """
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return otherwise

    # triton reads the annotations, and knows no other than its own
    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def attention(projected, out, bounds, scale, heads, size: tl.constexpr, block: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        text, head = tl.program_id(0) // heads, tl.program_id(0) % heads
        begin = tl.load(bounds + text).to(tl.int64)
        rows, cells = tl.arange(0, block)[:, None], head * size + tl.arange(0, size)[None, :]
        inside = rows < tl.load(bounds + text + 1) - begin
        own = projected + (begin + rows) * 3 * heads * size + cells
        query = tl.load(own, mask=inside, other=0.0)
        key = tl.load(own + heads * size, mask=inside, other=0.0)
        value = tl.load(own + 2 * heads * size, mask=inside, other=0.0)
        products = tl.dot(query, tl.trans(key)) * scale
        products = tl.where(tl.trans(inside), products, float("-inf"))
        shares = tl.exp2(products - tl.max(products, 1)[:, None])
        mixed = tl.dot(shares.to(value.dtype), value) / tl.sum(shares, 1)[:, None]
        tl.store(out + (begin + rows) * heads * size + cells, mixed, mask=inside)

    def short_attention(projected: Tensor, batch: TokenBatch) -> Tensor:
        packing = batch.packing
        assert packing is not None
        if packing.longest > SHORT:
            return otherwise(projected, batch)
        tokens, _, heads, size = projected.shape
        found: Tensor = projected.new_empty((tokens, heads, size))
        block = max(16, triton.next_power_of_2(packing.longest))
        scale = log2(e) / sqrt(size)
        grid, given = (len(batch.texts) * heads,), (projected, found, packing.bounds, scale, heads, size)
        attention[grid](*given, block, num_warps=block // 16)
        return found

    return short_attention if _fits(short_attention, weight, size) else otherwise


def _fits(attend: Attention, weight: Tensor, size: int) -> bool:
    """Whether attention runs for this device, precision and size of heads, and computes what it should."""
    import torch

    try:
        generator = torch.Generator(device=weight.device).manual_seed(0)
        drawn = torch.randn((60, 3, 2, size), generator=generator, device=weight.device).to(weight.dtype)
        texts = Tokens.of([[5] * 37, [5] * 20, [5] * 3])
        trial = packed(texts, np.arange(3), 0, lambda array: torch.from_numpy(array).to(weight.device))
        with torch.inference_mode():
            return bool(torch.allclose(attend(drawn, trial), by_length(drawn, trial), atol=0.05))
    except Exception:  # noqa: BLE001 — no such kernel for this GPU or head size, or it cannot be compiled
        return False


def _as_they_are(weight: Tensor, bias: Tensor) -> Weights:
    return weight, bias


def _after_attention(model: Any, product: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The rest of a layer: project, add, normalise, widen, activate, narrow, add, normalise.

    With METASSAY_COMPILE=1 compiled once for all layers and any number of tokens, which fuses sums, norms and
    activations; not in float32, where products switch a setting of torch.
    """
    from torch.nn.functional import gelu, layer_norm

    epsilon = float(model.config.layer_norm_eps)
    named = model.config.hidden_act
    activate = gelu if named == "gelu" else model.encoder.layer[0].intermediate.intermediate_act_fn

    def after(states: Tensor, attended: Tensor, *weights: Weights) -> Tensor:
        outward, norm, wide, narrow, last = weights
        shape = (states.shape[-1],)
        between = layer_norm(product(attended, *outward) + states, shape, norm[0], norm[1], epsilon)
        widened = activate(product(between, *wide))
        return layer_norm(product(widened, *narrow) + between, shape, last[0], last[1], epsilon)

    if os.environ.get("METASSAY_COMPILE") != "1" or product is split_linear:
        return after
    return compiled(after)


def first_states(states: Tensor, batch: TokenBatch) -> Tensor:
    """The state of each text's first token: [texts, hidden]."""
    packing = batch.packing
    assert packing is not None
    return states[packing.bounds[:-1].long()]


class PackedMix:
    """γ · Σ w_k h_k of a packed batch, pooled to each text's mean or its first token, in float32.

    One kernel for the texts of one length and one for the layer; no layer is kept.
    """

    def __init__(
        self, weights: Sequence[float], gamma: float, batch: TokenBatch, pad: int, pool: str
    ) -> None:
        self.weights, self.gamma, self.batch, self.pool = weights, gamma, batch, pool
        self.dropped = None if batch.solid else (batch.ids == pad)[:, None]
        self.sums: Any = None
        self.total: Any = None

    def __call__(self, k: int, states: Tensor) -> None:
        """Add hidden state k."""
        if self.weights[k] == 0:
            return
        if self.total is None:
            self.total = states.new_zeros((len(self.batch.texts), states.shape[1])).float()
            self.sums = self.total.clone()
        part = first_states(states, self.batch).float() if self.pool == "cls" else self._summed(states)
        self.total.add_(part, alpha=self.weights[k])

    def _summed(self, states: Tensor) -> Tensor:
        """The sum over each text's tokens; a literal padding token adds nothing."""
        import torch

        kept = states if self.dropped is None else states.masked_fill(self.dropped, 0.0)
        row = 0
        for part, span in self.batch.parts:
            rectangle = kept[span].view(*part.ids.shape, -1)
            torch.sum(rectangle, 1, dtype=torch.float32, out=self.sums[row : row + len(rectangle)])
            row += len(rectangle)
        found: Tensor = self.sums
        return found

    def result(self) -> Tensor:
        """[texts, hidden] in float32, in the order of the batch."""
        mixed: Tensor = self.gamma * self.total
        return mixed if self.pool == "cls" else mixed / self.batch.lengths[:, None]


class EachLength:
    """A `see` that hands each length's texts, as a rectangle, to a collector of their own."""

    def __init__(self, batch: TokenBatch, collectors: Sequence[Any]) -> None:
        self.spans = [span for _, span in batch.parts]
        self.shapes = [part.ids.shape for part, _ in batch.parts]
        self.collectors = collectors

    def __call__(self, k: int, states: Tensor) -> None:
        """Add hidden state k."""
        for span, shape, collector in zip(self.spans, self.shapes, self.collectors):
            collector(k, states[span].view(*shape, -1))

    def result(self) -> Tensor:
        """[texts, hidden] in float32, in the order of the batch."""
        import torch

        return torch.cat([collector.result() for collector in self.collectors])
