"""Run an encoder of transformers over packed batches, without padding.

Linear layers, activations and norms see one matrix [tokens, hidden]; attention is within each text. The
arithmetic is that of transformers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metassay.metrics.neural.attention import (
    Attention,
    choose_attention_function,
    compute_attention_within_texts,
    get_packing,
)
from metassay.metrics.neural.encoder import compile_function, is_compilation_enabled
from metassay.metrics.neural.tf32_products import (
    apply_linear_layer_in_tf32,
    split_weights_into_tf32_parts,
    supports_tf32_matrix_products,
)
from metassay.metrics.neural.token_batches import TokenBatch

if TYPE_CHECKING:
    from torch import Tensor

# Architectures whose layers are attention, sum, norm, feed-forward, sum, norm.
SUPPORTED_ARCHITECTURES = {"bert", "roberta", "xlm-roberta", "rembert"}
# Architectures that number positions from the padding id on, and do not count padding ids in a text.
COUNTING_ARCHITECTURES = {"roberta", "xlm-roberta"}
# The weights of a linear layer, in the form that its product takes, or of a norm.
Weights = tuple[Any, ...]
# Called with k and the hidden states of layer k = 0 … L, as soon as they are computed.
HiddenStateVisitor = Callable[[int, "Tensor"], None]


@dataclass(frozen=True)
class LayerWeights:
    """The weights of one layer of an encoder, in the order in which they are used."""

    projection: Weights
    """Of queries, keys and values, as one matrix."""
    attention_output: Weights
    attention_norm: Weights
    expansion: Weights
    """From the hidden size to that of the feed-forward network."""
    contraction: Weights
    """Back to the hidden size."""
    output_norm: Weights

    @classmethod
    def from_transformers_layer(
        cls, layer: Any, convert_weights: Callable[[Tensor, Tensor], Weights]
    ) -> LayerWeights:
        """Collect the weights of a layer of the transformers library. `convert_weights` converts each weight
        matrix with its bias.
        """
        import torch

        attention = layer.attention.self
        projections = (attention.query, attention.key, attention.value)
        projection_weight = torch.cat([linear.weight for linear in projections]).detach()
        projection_bias = torch.cat([linear.bias for linear in projections]).detach()
        attention_output = layer.attention.output

        def get_converted_weights(linear_layer: Any) -> Weights:
            return convert_weights(linear_layer.weight, linear_layer.bias)

        return cls(
            projection=convert_weights(projection_weight, projection_bias),
            attention_output=get_converted_weights(attention_output.dense),
            attention_norm=(attention_output.LayerNorm.weight, attention_output.LayerNorm.bias),
            expansion=get_converted_weights(layer.intermediate.dense),
            contraction=get_converted_weights(layer.output.dense),
            output_norm=(layer.output.LayerNorm.weight, layer.output.LayerNorm.bias),
        )


class PackedEncoder:
    """Runs an encoder of the transformers library on batches without padding.

    With `split_products`, float32 products run on tensor cores (see `tf32_products`).
    """

    def __init__(self, model: Any, *, split_products: bool = False) -> None:
        from torch.nn.functional import linear

        config = model.config
        self.model = model
        self.heads = int(config.num_attention_heads)
        counts_positions = config.model_type in COUNTING_ARCHITECTURES
        self.first_position = int(config.pad_token_id) if counts_positions else None
        self.product: Callable[..., Tensor] = apply_linear_layer_in_tf32 if split_products else linear
        prepare = split_weights_into_tf32_parts if split_products else _return_weights_unchanged
        self.layers = [LayerWeights.from_transformers_layer(layer, prepare) for layer in model.encoder.layer]
        self.attend: Attention = compute_attention_within_texts
        weight = next(model.parameters())
        if weight.is_cuda and not split_products and self.layers:
            self.attend = choose_attention_function(weight, int(config.hidden_size) // self.heads)
        self._apply_feed_forward = _build_feed_forward_function(model, self.product)

    @classmethod
    def create_for_supported_model(cls, model: Any) -> PackedEncoder | None:
        """Create a packed encoder for a model. None if the model or its device is not supported."""
        weight = next(model.parameters())
        if not weight.is_cuda or not has_supported_layers(model):
            return None
        is_half_precision = weight.element_size() == 2
        if is_half_precision:
            return cls(model)
        return cls(model, split_products=True) if supports_tf32_matrix_products(weight) else None

    def __call__(self, batch: TokenBatch, visit: HiddenStateVisitor | None = None) -> Tensor:
        """Return the last hidden state of each token of a batch. If `visit` is given, it is called with the
        states of every layer.
        """
        states = self._embed_tokens(batch)
        for k, layer in enumerate(self.layers):
            if visit is not None:
                visit(k, states)
            projected = self.product(states, *layer.projection).view(len(states), 3, self.heads, -1)
            attended = self.attend(projected, batch).reshape(len(states), -1)
            del projected  # three times as large as the states, and not needed any more
            states = self._apply_feed_forward(
                states,
                attended,
                layer.attention_output,
                layer.attention_norm,
                layer.expansion,
                layer.contraction,
                layer.output_norm,
            )
        if visit is not None:
            visit(len(self.layers), states)
        return states

    def _embed_tokens(self, batch: TokenBatch) -> Tensor:
        """Return the embedding of each token of a batch."""
        packing = get_packing(batch)
        positions = packing.positions
        if self.first_position is not None:
            positions = packing.positions_without_padding + self.first_position
        segment_ids = packing.segment_ids
        if segment_ids is None:
            segment_ids = batch.ids.new_zeros(batch.ids.shape)
        embedded = self.model.embeddings(
            input_ids=batch.ids[None], position_ids=positions[None], token_type_ids=segment_ids[None]
        )
        # RemBERT's embeddings are narrower than its hidden states.
        widen = getattr(self.model.encoder, "embedding_hidden_mapping_in", None)
        states: Tensor = (embedded if widen is None else widen(embedded))[0]
        return states


def has_supported_layers(model: Any) -> bool:
    """Return whether `PackedEncoder` can run the layers of a model."""
    config = model.config
    has_absolute_positions = getattr(config, "position_embedding_type", None) in {None, "absolute"}
    is_decoder = getattr(config, "is_decoder", False)
    return config.model_type in SUPPORTED_ARCHITECTURES and has_absolute_positions and not is_decoder


def get_first_token_states(states: Tensor, batch: TokenBatch) -> Tensor:
    """Return the hidden state of the first token of each text, in a batch without padding."""
    return states[get_packing(batch).text_bounds[:-1].long()]


def _return_weights_unchanged(weight: Tensor, bias: Tensor) -> Weights:
    """Return the weights and the bias of a linear layer unchanged."""
    return weight, bias


def _build_feed_forward_function(model: Any, linear_function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that computes the part of a layer after attention: projection, feed-forward network
    and normalisations.

    With METASSAY_COMPILE=1 it is compiled once for all layers and any number of tokens, which fuses sums,
    norms and activations; not in float32, where products switch a setting of torch.
    """
    from torch.nn.functional import gelu, layer_norm

    epsilon = float(model.config.layer_norm_eps)
    is_gelu = model.config.hidden_act == "gelu"
    activate = gelu if is_gelu else model.encoder.layer[0].intermediate.intermediate_act_fn

    def apply_feed_forward(
        states: Tensor,
        attended: Tensor,
        attention_output: Weights,
        attention_norm: Weights,
        expansion: Weights,
        contraction: Weights,
        output_norm: Weights,
    ) -> Tensor:
        """Compute the part of a layer that follows attention, for the states of all tokens."""
        shape = (states.shape[-1],)
        attention_sum = linear_function(attended, *attention_output) + states
        normalised = layer_norm(attention_sum, shape, attention_norm[0], attention_norm[1], epsilon)
        expanded = activate(linear_function(normalised, *expansion))
        output_sum = linear_function(expanded, *contraction) + normalised
        return layer_norm(output_sum, shape, output_norm[0], output_norm[1], epsilon)

    if not is_compilation_enabled() or linear_function is apply_linear_layer_in_tf32:
        return apply_feed_forward
    return compile_function(apply_feed_forward)
