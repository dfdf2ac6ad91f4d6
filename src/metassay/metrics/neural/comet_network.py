"""What all COMET models share: an encoder, a mixture of its layers, and a feed-forward estimator."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from metassay.errors import InputError
from metassay.metrics.neural.batch_runner import BatchRunner
from metassay.metrics.neural.checkpoints import (
    CONFIG_FILE,
    StateDict,
    find_tokenizer_file,
    read_json_object,
    read_torch_file,
    select_weights_with_prefix,
)
from metassay.metrics.neural.comet_checkpoint import (
    SPARSEMAX,
    SPARSEMAX_PATCH,
    UNIFIED,
    XCOMET,
    CometFiles,
    CometSettings,
)
from metassay.metrics.neural.encoder import load_encoder
from metassay.metrics.neural.layer_mix import SCALARS_PREFIX, LayerMix
from metassay.metrics.neural.packed_encoder import HiddenStateVisitor, PackedEncoder
from metassay.metrics.neural.token_batches import TokenBatch
from metassay.metrics.neural.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor, nn


class CometNetwork:
    """Base class of loaded COMET models: a tokenizer, an encoder, a weighted sum of the encoder's layers, and
    last layers that compute the score.

    `sparsemax` overrides how the weights of the layers are normalised.
    """

    def __init__(self, files: CometFiles, dtype: str = "float32", *, sparsemax: bool | None = None) -> None:
        content = read_torch_file(files.checkpoint)
        self.state: StateDict = content["state_dict"]
        self.model_class = files.model_class
        hparams = content.get("hyper_parameters") or files.hparams
        self.settings = CometSettings.from_hyperparameters(files.model_class, hparams)
        self.runner = BatchRunner()
        self.config = read_json_object(files.encoder / CONFIG_FILE)
        # COMET leaves four positions of the encoder's table unused, two of which the encoder itself reserves.
        self.max_positions = int(self.config["max_position_embeddings"]) - 2
        tokenizer_file = find_tokenizer_file(files.encoder, model=files.encoder_name)
        self.tokenizer = Tokenizer(tokenizer_file, self.max_positions - 2)
        self.pad_id = self.tokenizer.find_special_token_id("<pad>", "[PAD]")
        device = self.runner.device
        encoder_state = select_weights_with_prefix(self.state, "encoder.model.")
        self.encoder = load_encoder(self.config, encoder_state, dtype=dtype, device=device)
        # Tagging needs the tokens of a batch as a rectangle.
        self.packed_encoder: PackedEncoder | None = None
        if not self.settings.error_labels:
            self.packed_encoder = PackedEncoder.create_for_supported_model(self.encoder)
        if self.packed_encoder is not None:
            self.runner.enable_packed_batches()
        self.layer_mix = self._load_layer_weights(files, sparsemax=sparsemax)
        self.estimator = _build_feedforward_scorer(
            select_weights_with_prefix(self.state, "estimator.ff."), self.settings
        )
        if self.estimator is not None:
            self.estimator.to(device)

    def _load_layer_weights(self, files: CometFiles, *, sparsemax: bool | None) -> LayerMix:
        """Load the weights of the sum over the encoder's layers."""
        has_mixture = any(name.startswith(SCALARS_PREFIX) for name in self.state)
        if not has_mixture:
            return LayerMix.from_single_layer(self.state, int(self.settings.layer), pool=self.settings.pool)
        uses_sparsemax = self._uses_sparsemax(files) if sparsemax is None else sparsemax
        return LayerMix.from_checkpoint(
            self.state,
            pool=self.settings.pool,
            normalises_layers=self.settings.layer_norm,
            uses_sparsemax=uses_sparsemax,
        )

    def _uses_sparsemax(self, files: CometFiles) -> bool:
        """Return whether the weights of the layers are normalised by sparsemax instead of softmax.

        Unified and XCOMET models are mixed by softmax, whatever their file says: before unbabel-comet 2.2.4
        these classes did not pass the setting on (COMET issues 195 and 244).
        """
        transformation = self.settings.layer_transformation
        if SPARSEMAX_PATCH in {transformation, files.hparams.get("layer_transformation")}:
            return False
        if self.model_class in {UNIFIED, XCOMET} and transformation == SPARSEMAX:
            warnings.warn(
                f"{files.hparams_file.parent.name} asks for sparsemax, but models of its class were trained "
                "with softmax, so softmax is used. To use sparsemax, add sparsemax=true.",
                stacklevel=2,
            )
            return False
        return transformation == SPARSEMAX

    def run_encoder(self, batch: TokenBatch, visit_layer: HiddenStateVisitor) -> Tensor:
        """Run the encoder on a batch and return the last hidden states. `visit_layer` is called with the
        states of every layer.
        """
        if batch.packing is not None and self.packed_encoder is not None:
            return self.packed_encoder(batch, visit_layer)
        layers = self.encoder.encoder.layer
        hooks = []
        for k, layer in enumerate(layers):
            hooks.append(
                layer.register_forward_pre_hook(lambda _, arguments, k=k: visit_layer(k, arguments[0]))
            )
        try:
            last_states = self.encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
        finally:
            for hook in hooks:
                hook.remove()
        visit_layer(len(layers), last_states)
        return last_states


def _build_feedforward_scorer(weights: StateDict, comet_settings: CometSettings) -> nn.Module | None:
    """Build the last layers of a COMET model, which compute the score. None for ranking models, which have no
    such layers.
    """
    import torch

    numbers = sorted({int(name.partition(".")[0]) for name in weights})
    if not numbers:
        return None
    modules: list[nn.Module] = []
    for number in numbers:
        weight = weights[f"{number}.weight"].float()
        bias = weights[f"{number}.bias"].float()
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        linear.load_state_dict({"weight": weight, "bias": bias})
        modules.append(linear)
        if number != numbers[-1]:
            modules.append(_create_activation_function(comet_settings.activations))
    if comet_settings.final_activation:
        modules.append(_create_activation_function(comet_settings.final_activation))
    return torch.nn.Sequential(*modules).eval()


def _create_activation_function(function_name: str) -> nn.Module:
    """Create the activation function that has this name in torch, such as `Tanh`."""
    import torch

    activation: type[nn.Module] | None = getattr(torch.nn, function_name.title(), None)
    if activation is None:
        raise InputError(f"torch has no activation {function_name!r}, which the checkpoint asks for.")
    return activation()
