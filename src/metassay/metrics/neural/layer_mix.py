"""COMET's mixture of all layers of an encoder, pooled to one vector per text.

A mixture is γ · Σ w_k h_k over the hidden states h_k of the layers. Collectors see the states of each layer
as the encoder computes them, and add them up pooled, so that no layer is kept in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from metassay.metrics.neural.checkpoints import StateDict, select_weights_with_prefix
from metassay.metrics.neural.packed_encoder import get_first_token_states
from metassay.metrics.neural.token_batches import TokenBatch

if TYPE_CHECKING:
    from torch import Tensor

AVERAGE_POOL, FIRST_TOKEN_POOL, MAX_POOL = "avg", "cls", "max"
# How the names of weights in a COMET checkpoint begin.
SCALARS_PREFIX = "layerwise_attention.scalar_parameters."
ENCODER_LAYERS_PREFIX = "encoder.model.encoder.layer."


class LayerCollector(Protocol):
    """Interface of objects that add up the hidden states of an encoder's layers, each with its weight, to one
    vector per text.
    """

    def __call__(self, k: int, states: Tensor) -> None:
        """Add the hidden states of layer k, multiplied by its weight."""
        ...

    def get_text_vectors(self) -> Tensor:
        """Return one vector per text, in the order of the batch, after all layers were added."""
        ...


@dataclass(frozen=True)
class LayerMix:
    """How the hidden states h_k of an encoder's layers are combined: by a weighted sum γ · Σ w_k h_k, or by
    using a single layer.

    With `normalises_layers`, each h_k is first centred and scaled over all tokens and channels of its text.
    """

    weights: list[float]
    gamma: float
    normalises_layers: bool
    pool: str = AVERAGE_POOL

    @classmethod
    def from_checkpoint(
        cls, model_weights: StateDict, *, pool: str, normalises_layers: bool, uses_sparsemax: bool
    ) -> LayerMix:
        """Read the weights of the sum over the encoder's layers from a COMET model."""
        import torch

        scalars = select_weights_with_prefix(model_weights, SCALARS_PREFIX)
        logits = torch.cat([scalars[str(k)].float() for k in range(len(scalars))])
        weights = sparsemax(logits) if uses_sparsemax else torch.softmax(logits, 0)
        gamma = float(model_weights["layerwise_attention.gamma"])
        return cls(weights.tolist(), gamma, normalises_layers, pool)

    @classmethod
    def from_single_layer(cls, model_weights: StateDict, layer_number: int, *, pool: str) -> LayerMix:
        """Use a single layer of the encoder. A negative number counts from the last layer."""
        last_layer = max(
            int(name.partition(".")[0])
            for name in select_weights_with_prefix(model_weights, ENCODER_LAYERS_PREFIX)
        )
        count = last_layer + 2  # layers count from 0, and the embeddings are a hidden state, too
        weights = [float(k == layer_number % count) for k in range(count)]
        return cls(weights, 1.0, normalises_layers=False, pool=pool)

    def create_collector(
        self, batch: TokenBatch, pad_id: int, *, first_token: bool = False, separator_id: int | None = None
    ) -> LayerCollector:
        """Create an object that combines the layers for a batch, to the mean over the tokens of each text or,
        with `first_token`, to its first token.

        With `separator_id` the mean is over the last sentence of each text (see
        `mark_preceding_sentences`).
        """
        pool = FIRST_TOKEN_POOL if first_token else self.pool
        if not batch.rectangles:
            return RectangleCollector(self, batch, pad_id, pool, separator_id)
        if self.normalises_layers or pool == MAX_POOL or separator_id is not None:
            collectors = [
                RectangleCollector(self, rectangle, pad_id, pool, separator_id)
                for rectangle, _ in batch.rectangles
            ]
            return SplitCollector(batch, collectors)
        return PackedCollector(self, batch, pad_id, pool)


class RectangleCollector:
    """Combines the layers of an encoder for a padded batch, or for texts of equal length."""

    def __init__(
        self, mix: LayerMix, batch: TokenBatch, pad_id: int, pool: str, separator_id: int | None = None
    ) -> None:
        self.mix = mix
        self.batch = batch
        self.pad_id = pad_id
        self.pool = pool
        self.total: Tensor | None = None
        self.is_context: Tensor | None = None
        if separator_id is not None:
            self.is_context = mark_preceding_sentences(batch.ids, separator_id)

    def __call__(self, k: int, states: Tensor) -> None:
        """Add the hidden states of layer k, multiplied by its weight."""
        weight = self.mix.weights[k]
        if weight == 0:
            return
        if self.mix.normalises_layers:
            states = self._normalise_hidden_states(states.float())
        if self.pool == MAX_POOL:  # the maximum of a mixture is not the mixture of maxima: pooled at the end
            contribution = states.float() * weight
        else:
            contribution = self._pool_token_states(states) * weight
        self.total = contribution if self.total is None else self.total + contribution

    def get_text_vectors(self) -> Tensor:
        """Return one vector per text, after all layers were added."""
        assert self.total is not None
        mixed = self.mix.gamma * self.total
        if self.pool != MAX_POOL:
            return mixed
        is_padding = (self.batch.ids == self.pad_id)[..., None]
        return mixed.masked_fill(is_padding, float("-inf")).max(1).values

    def _pool_token_states(self, states: Tensor) -> Tensor:
        """Return the hidden state of the first token of each text, or the mean over its tokens."""
        import torch

        if self.pool == FIRST_TOKEN_POOL:
            return states[:, 0].float()
        if not self.batch.has_no_padding_id:
            is_padding = (self.batch.ids == self.pad_id)[..., None]
            states = states.masked_fill(is_padding, 0.0)
        token_counts = self.batch.lengths
        if self.is_context is not None:
            states = states.masked_fill(self.is_context[..., None], 0.0)
            token_counts = token_counts - self.is_context.sum(1)
        return states.sum(1, dtype=torch.float32) / token_counts[:, None]

    def _normalise_hidden_states(self, states: Tensor) -> Tensor:
        """Shift and scale the hidden states of each text to mean 0 and variance 1."""
        mask = self.batch.attention_mask[..., None].float()
        count = (self.batch.lengths * states.shape[2]).float()[:, None, None]
        mean = (states * mask).sum((1, 2), keepdim=True) / count
        variance = (((states - mean) * mask) ** 2).sum((1, 2), keepdim=True) / count
        normalised: Tensor = (states - mean) / (variance + 1e-12).sqrt()
        return normalised


def mark_preceding_sentences(token_ids: Tensor, separator_id: int) -> Tensor:
    """Return which tokens belong to preceding sentences, in texts such as `<s> before </s> scored </s>`.

    They begin after the first token of a text and end with the last separator but one. A text with a single
    separator has no context.
    """
    is_separator = token_ids == separator_id
    separators_from_here = is_separator.flip(1).cumsum(1).flip(1)
    is_context = separators_from_here > 1
    is_context[:, 0] = False
    return is_context


class PackedCollector:
    """Combines the layers of an encoder for a batch without padding, to the mean over the tokens of each text
    or to its first token.

    It takes one operation for the texts of each length and one for the layer.
    """

    def __init__(self, mix: LayerMix, batch: TokenBatch, pad_id: int, pool: str) -> None:
        self.mix = mix
        self.batch = batch
        self.pool = pool
        self.is_padding = None if batch.has_no_padding_id else (batch.ids == pad_id)[:, None]
        self.token_sums: Tensor | None = None
        self.total: Tensor | None = None

    def __call__(self, k: int, states: Tensor) -> None:
        """Add the hidden states of layer k, multiplied by its weight."""
        if self.mix.weights[k] == 0:
            return
        if self.total is None:
            self.total = states.new_zeros((len(self.batch.texts), states.shape[1])).float()
        if self.pool == FIRST_TOKEN_POOL:
            pooled = get_first_token_states(states, self.batch).float()
        else:
            pooled = self._sum_hidden_states_per_text(states)
        self.total.add_(pooled, alpha=self.mix.weights[k])

    def _sum_hidden_states_per_text(self, hidden_states: Tensor) -> Tensor:
        """Sum the hidden states over the tokens of each text. Padding tokens are left out."""
        import torch

        assert self.total is not None
        if self.token_sums is None:
            self.token_sums = torch.zeros_like(self.total)
        if self.is_padding is not None:
            hidden_states = hidden_states.masked_fill(self.is_padding, 0.0)
        row = 0
        for rectangle, span in self.batch.rectangles:
            by_text = hidden_states[span].view(*rectangle.ids.shape, -1)
            torch.sum(by_text, 1, dtype=torch.float32, out=self.token_sums[row : row + len(by_text)])
            row += len(by_text)
        return self.token_sums

    def get_text_vectors(self) -> Tensor:
        """Return one vector per text, in the order of the batch, after all layers were added."""
        assert self.total is not None
        mixed = self.mix.gamma * self.total
        return mixed if self.pool == FIRST_TOKEN_POOL else mixed / self.batch.lengths[:, None]


class SplitCollector:
    """Combines the layers of an encoder for a batch without padding, separately for texts of each length."""

    def __init__(self, batch: TokenBatch, collectors: Sequence[RectangleCollector]) -> None:
        self.batch = batch
        self.collectors = collectors

    def __call__(self, k: int, states: Tensor) -> None:
        """Add the hidden states of layer k, multiplied by its weight."""
        for (rectangle, span), collector in zip(self.batch.rectangles, self.collectors):
            collector(k, states[span].view(*rectangle.ids.shape, -1))

    def get_text_vectors(self) -> Tensor:
        """Return one vector per text, in the order of the batch, after all layers were added."""
        import torch

        return torch.cat([collector.get_text_vectors() for collector in self.collectors])


def sparsemax(scores: Tensor) -> Tensor:
    """Turn scores into weights that add up to 1, like softmax, but with exact zeros (Martins and Astudillo,
    2016).
    """
    import torch

    descending = scores.sort(descending=True).values
    excess = descending.cumsum(0) - 1
    ranks = torch.arange(1, len(scores) + 1, dtype=scores.dtype)
    support_size = int((descending * ranks > excess).sum())
    return (scores - excess[support_size - 1] / support_size).clamp(min=0)
