"""Load encoder–decoder networks: mT5 for MetricX, and BART for BARTScore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metassay.errors import InputError, InputLocation
from metassay.metrics.neural.checkpoints import (
    CONFIG_FILE,
    StateDict,
    find_weight_files,
    read_model_config,
    read_model_weights,
)
from metassay.metrics.neural.encoder import (
    copy_weights_into_model,
    parse_dtype,
    skip_random_weight_initialization,
)

if TYPE_CHECKING:
    from torch import nn

MT5, BART = "mt5", "bart"
# Weights that equal the shared embedding, and may be left out of a file.
_EMBEDDING_COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")


def load_seq2seq_model(folder: Path, model: str, architecture: str, dtype: str, device: str) -> nn.Module:
    """Load a model with encoder and decoder, such as BART or mT5, from a folder."""
    import torch
    import transformers

    config = dict(read_model_config(folder, model=model))
    model_type = config.pop("model_type", None)
    if model_type != architecture:
        raise InputError(
            f"{model} is of type {model_type}, not {architecture}.",
            location=InputLocation(file=str(folder / CONFIG_FILE)),
        )
    with skip_random_weight_initialization():
        if architecture == MT5:
            network = transformers.MT5ForConditionalGeneration(transformers.MT5Config(**config))
        else:
            network = transformers.BartForConditionalGeneration(transformers.BartConfig(**config))
    network = network.to(torch.float32)
    state = read_model_weights(find_weight_files(folder, model=model))
    if architecture == MT5 and "lm_head.weight" in state:
        # transformers may tie this matrix to the embedding, but MetricX was trained with one of its own.
        network.lm_head.weight = torch.nn.Parameter(torch.empty_like(network.lm_head.weight))
    copy_weights_into_model(network, copy_shared_embedding(state))
    return network.to(device=device, dtype=parse_dtype(dtype)).eval()


def copy_shared_embedding(weights: StateDict) -> StateDict:
    """Complete weights from a file that contains an embedding only once, though several layers share it: add
    it under the name of each layer.
    """
    completed = dict(weights)
    shared_embedding = weights.get("shared.weight", weights.get("model.shared.weight"))
    if shared_embedding is not None:
        for name in _EMBEDDING_COPIES:
            completed.setdefault(name, shared_embedding)
            completed.setdefault(f"model.{name}", shared_embedding)
    return completed
