"""Build a transformer from its configuration and fill in the weights of a checkpoint."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from metassay.errors import InputError, UnknownName
from metassay.metrics.neural.checkpoints import ModelConfig, StateDict

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

DTYPES = ("float32", "bfloat16", "float16")
# Parts of names of weights that a checkpoint may lack without changing a score.
OPTIONAL_WEIGHTS = ("pooler.", "position_ids", "token_type_ids")
# An environment variable: set to 1, encoders are compiled by torch, which takes minutes once.
COMPILE_VARIABLE = "METASSAY_COMPILE"


def is_compilation_enabled() -> bool:
    """Return whether the user asked to compile models with torch, by setting METASSAY_COMPILE=1."""
    return os.environ.get(COMPILE_VARIABLE) == "1"


def parse_dtype(dtype_name: str) -> torch.dtype:
    """Return the torch data type with this name, such as `bfloat16`."""
    import torch

    if dtype_name not in DTYPES:
        raise UnknownName("dtype", dtype_name, DTYPES)
    dtype: torch.dtype = getattr(torch, dtype_name)
    return dtype


def load_encoder(
    config: ModelConfig,
    weights: StateDict,
    *,
    dtype: str = "float32",
    device: str = "cpu",
    keep_pooler: bool = False,
) -> nn.Module:
    """Build the transformer that a configuration describes, and fill in its weights."""
    import torch
    from transformers import AutoConfig, AutoModel

    settings = {name: value for name, value in config.items() if name != "model_type"}
    with skip_random_weight_initialization():
        model = AutoModel.from_config(
            AutoConfig.for_model(config["model_type"], **settings), dtype=torch.float32
        )
    if not keep_pooler and hasattr(model, "pooler"):
        model.pooler = None
    copy_weights_into_model(model, weights)
    if is_compilation_enabled():
        for layer in getattr(model.encoder, "layer", ()):
            layer.forward = torch.compile(layer.forward, dynamic=True)
    model.to(device=device, dtype=parse_dtype(dtype)).eval()
    return model


def compile_function(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Compile a function with torch. If this fails at the first call, the function runs without
    compilation.
    """
    import torch

    compiled: Callable[..., Tensor] | None = torch.compile(function, dynamic=True)

    def run_compiled_function(*tensors: Tensor) -> Tensor:
        nonlocal compiled
        if compiled is not None:
            try:
                return compiled(*tensors)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:  # what torch raises where it cannot compile; others come up again
                reason = type(error).__name__
                warnings.warn(f"torch cannot compile the encoder here: {reason}.", stacklevel=2)
                compiled = None
        return function(*tensors)

    return run_compiled_function


def skip_random_weight_initialization() -> AbstractContextManager[Any]:
    """Return a context manager in which new models get no random weights. The weights of a file replace them
    anyway.
    """
    try:
        from transformers.initialization import no_init_weights
    except ImportError:  # an older transformers: slower, the same result
        return nullcontext()
    return no_init_weights()  # type: ignore[no-any-return]


def copy_weights_into_model(model: nn.Module, loaded_weights: StateDict) -> None:
    """Copy weights from a file into a model; raise an error if some are missing or have another shape."""
    expected = model.state_dict()
    prefix = getattr(model, "base_model_prefix", "")
    weights: StateDict = {}
    for name, tensor in loaded_weights.items():
        expected_name = _find_expected_weight_name(name, expected, prefix)
        if expected_name in expected:
            weights[expected_name] = tensor
    missing = [name for name in expected if name not in weights and not _is_optional_weight_name(name)]
    if missing:
        problem = f"lacks {missing[0]} (and {len(missing) - 1} more)"
        raise InputError(f"the checkpoint does not fit its config.json: it {problem}.")
    misshapen = [name for name, tensor in weights.items() if tensor.shape != expected[name].shape]
    if misshapen:
        problem = f"has another shape of {misshapen[0]} (and {len(misshapen) - 1} more)"
        raise InputError(f"the checkpoint does not fit its config.json: it {problem}.")
    model.load_state_dict(weights, strict=False)


def _find_expected_weight_name(name_in_file: str, weights_of_model: Mapping[str, Tensor], prefix: str) -> str:
    """Return the name of a weight in the model, given its name in a file. Names in files can be older or have
    a prefix.
    """
    name_in_file = name_in_file.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
        "LayerNorm.beta", "LayerNorm.bias"
    )
    bare_name = name_in_file.removeprefix(f"{prefix}.")
    return bare_name if prefix and bare_name in weights_of_model else name_in_file


def _is_optional_weight_name(weight_name: str) -> bool:
    """Return whether a model works without the weight of this name."""
    return any(part in weight_name for part in OPTIONAL_WEIGHTS)
