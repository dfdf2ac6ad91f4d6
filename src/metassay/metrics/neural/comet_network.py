"""What COMET puts on top of an encoder: a mixture of all layers, pooling, and a feed-forward estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metassay.errors import InputError, Place
from metassay.metrics.neural.checkpoints import (
    content_hash,
    find_model,
    needed_file,
    read_json,
    read_pickle,
    tokenizer_file,
)
from metassay.metrics.neural.encoder import Batches, load_encoder
from metassay.metrics.neural.packed_encoder import EachLength, PackedEncoder, PackedMix
from metassay.metrics.neural.token_batches import TokenBatch, Tokenizer

if TYPE_CHECKING:
    from torch import Tensor, nn

CHECKPOINTS = ("checkpoints/model.ckpt", "model.ckpt")
CONFIG = "config.json"
REGRESSION, REFERENCELESS = "regression_metric", "referenceless_regression_metric"
UNIFIED, XCOMET, RANKING = "unified_metric", "xcomet_metric", "ranking_metric"
DEFAULTS: dict[str, dict[str, Any]] = {
    REGRESSION: {"layer_transformation": "softmax", "layer_norm": True},
    REFERENCELESS: {"layer_transformation": "softmax", "layer_norm": True},
    UNIFIED: {
        "layer_transformation": "sparsemax",
        "layer_norm": True,
        "input_segments": ["mt", "src", "ref"],
        "word_level_training": False,
        "word_layer": 24,
    },
    XCOMET: {"layer_transformation": "sparsemax", "layer_norm": False, "word_layer": 36},
    RANKING: {"layer_transformation": "softmax", "layer_norm": True},
}
"""What unbabel-comet 2.2.7 assumes where a checkpoint does not say."""
SHARED = {
    "pool": "avg",
    "activations": "Sigmoid",
    "final_activation": None,
    "layer": "mix",
    "sent_layer": "mix",
}


@dataclass(frozen=True)
class CometFiles:
    """The two things a COMET model is made of: a checkpoint, and the folder of the encoder under it."""

    settings: Mapping[str, Any]
    checkpoint: Path
    hparams: Path
    encoder: Path
    encoder_name: str

    @property
    def kind(self) -> str:
        """COMET's name of the model class."""
        return str(self.settings["class_identifier"])

    def hashes(self) -> dict[str, str]:
        """What identifies the model, for a signature."""
        tokenizer = tokenizer_file(self.encoder, model=self.encoder_name)
        return {
            "weights": content_hash([self.checkpoint, self.hparams]),
            "tokenizer": content_hash([tokenizer]),
        }


def find_comet_files(model: str, encoder: str | None = None) -> CometFiles:
    """The files of a model; the encoder's configuration and tokenizer come from the model it names."""
    folder = find_model(model)
    hparams = needed_file(folder, "hparams.yaml", model=model)
    settings = read_settings(hparams)
    if settings.get("class_identifier") not in DEFAULTS:
        raise InputError(
            f"the class {settings.get('class_identifier')!r} is not one of COMET's: {', '.join(DEFAULTS)}.",
            place=Place(file=str(hparams)),
        )
    name = encoder or str(settings.get("pretrained_model", ""))
    try:
        beside = find_model(name)
    except InputError:
        raise InputError(
            f"{model} is here, but it needs the configuration and the tokenizer of {name}, which are not.",
            remedy=f"Download them with: hf download {name} config.json tokenizer.json",
        ) from None
    needed_file(beside, CONFIG, model=name)
    tokenizer_file(beside, model=name)
    return CometFiles(settings, needed_file(folder, *CHECKPOINTS, model=model), hparams, beside, name)


def read_settings(file: Path) -> dict[str, Any]:
    """The settings of a COMET model, by name."""
    import yaml

    found = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise InputError("this does not hold settings by name.", place=Place(file=str(file)))
    return found


class CometNetwork:
    """A COMET checkpoint in memory: tokenizer, encoder, layer mixture and estimator."""

    def __init__(self, files: CometFiles, dtype: str = "float32", *, sparsemax: bool | None = None) -> None:
        content = read_pickle(files.checkpoint)
        state = content["state_dict"]
        self.kind = files.kind
        stored = content.get("hyper_parameters") or files.settings
        self.settings = {**SHARED, **DEFAULTS[files.kind], **stored}
        self.batches = Batches()
        self.config = read_json(files.encoder / CONFIG)
        # COMET keeps four positions free of the encoder's table, two of which the table itself needs
        self.positions = int(self.config["max_position_embeddings"]) - 2
        tokenizer = tokenizer_file(files.encoder, model=files.encoder_name)
        self.tokenizer = Tokenizer(tokenizer, self.positions - 2)
        self.pad = self.tokenizer.id("<pad>", "[PAD]")
        device = self.batches.device
        self.encoder = load_encoder(self.config, _under(state, "encoder.model."), dtype=dtype, device=device)
        # XCOMET tags tokens, which it wants as a rectangle
        self.packed = None if files.kind == XCOMET else PackedEncoder.suiting(self.encoder)
        if self.packed is not None:
            self.batches.pack()
        transformation = self._transformation(files, sparsemax)
        self.mix = LayerMix.of(state, self.settings, transformation)
        self.estimator = _estimator(_under(state, "estimator.ff."), self.settings)
        if self.estimator is not None:
            self.estimator.to(device)
        self.state = state

    def _transformation(self, files: CometFiles, wish: bool | None) -> str:
        """Softmax or sparsemax. Unified and XCOMET models are softmax, whatever their file says.

        Before unbabel-comet 2.2.4 these classes did not pass the setting on (COMET issues 195 and 244).
        """
        if wish is not None:
            return "sparsemax" if wish else "softmax"
        written = str(self.settings["layer_transformation"])
        if files.settings.get("layer_transformation") == "sparsemax_patch" or written == "sparsemax_patch":
            return "softmax"
        if self.kind in {UNIFIED, XCOMET} and written == "sparsemax":
            warnings.warn(
                f"{files.hparams.parent.name} asks for sparsemax, but models of its class were trained with "
                "softmax, which is used; sparsemax=true overrides.",
                stacklevel=2,
            )
            return "softmax"
        return written

    def hidden(self, batch: TokenBatch, see: Callable[[int, Tensor], None]) -> Tensor:
        """Run the encoder; `see(k, states)` gets hidden state k = 0 … L once it exists. Returns the last."""
        if batch.packing is not None and self.packed is not None:
            return self.packed(batch, see)
        layers = self.encoder.encoder.layer
        hooks = [
            layer.register_forward_pre_hook(lambda _, given, k=k: see(k, given[0]))
            for k, layer in enumerate(layers)
        ]
        try:
            last = self.encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
        finally:
            for hook in hooks:
                hook.remove()
        see(len(layers), last)
        return last


@dataclass
class LayerMix:
    """γ · Σ w_k h_k over the encoder's hidden states, or a single one of them.

    With `normalise`, each h_k is first centred and scaled over all tokens and channels of its text.
    """

    weights: list[float]
    gamma: float
    normalise: bool
    pool: str = "avg"

    @classmethod
    def of(cls, state: Mapping[str, Any], settings: Mapping[str, Any], transformation: str) -> LayerMix:
        """The mixture that a checkpoint holds."""
        import torch

        scalars = _under(state, "layerwise_attention.scalar_parameters.")
        pool = str(settings["pool"])
        if not scalars:
            chosen = int(settings["layer"])
            count = (
                max(int(k.split(".")[4]) for k in state if k.startswith("encoder.model.encoder.layer.")) + 2
            )
            weights = [float(k == chosen % count) for k in range(count)]
            return cls(weights, 1.0, normalise=False, pool=pool)
        stacked = torch.cat([scalars[str(k)].float() for k in range(len(scalars))])
        share = sparsemax(stacked) if transformation == "sparsemax" else torch.softmax(stacked, 0)
        gamma = float(state["layerwise_attention.gamma"])
        return cls(share.tolist(), gamma, bool(settings["layer_norm"]), pool)

    def collector(
        self, batch: TokenBatch, pad: int, *, first: bool = False
    ) -> Collector | EachLength | PackedMix:
        """What gathers the mixture of one batch while the encoder runs."""
        pool = "cls" if first else self.pool
        if batch.parts and not self.normalise and pool != "max":
            return PackedMix(self.weights, self.gamma, batch, pad, pool)
        if batch.parts:
            return EachLength(batch, [self.collector(part, pad, first=first) for part, _ in batch.parts])
        return Collector(self, batch, pad, pool)


@dataclass
class Collector:
    """The mixture of one batch: pooled per text, layer by layer, so that no layer is kept."""

    mix: LayerMix
    batch: TokenBatch
    pad: int
    pool: str
    total: Any = None
    _kept: Any = field(default=None, repr=False)

    def __call__(self, k: int, states: Tensor) -> None:
        """Add hidden state k."""
        weight = self.mix.weights[k]
        if weight == 0:
            return
        if self.pool == "max":  # the maximum is of the mixture: layers cannot be pooled one by one
            part = self._normalised(states.float()) * weight
        elif self.mix.normalise:
            part = self._pooled(self._normalised(states.float())) * weight
        else:
            part = self._pooled(states) * weight
        self.total = part if self.total is None else self.total + part

    def result(self) -> Tensor:
        """[texts, hidden] in float32."""
        mixed = self.mix.gamma * self.total
        if self.pool != "max":
            return mixed
        padding = (self.batch.ids == self.pad)[..., None]
        return mixed.masked_fill(padding, float("-inf")).max(1).values

    def _pooled(self, states: Tensor) -> Tensor:
        """The first token, or the mean: a literal `<pad>` counts as a token but adds nothing, as in COMET."""
        import torch

        if self.pool == "cls":
            return states[:, 0].float()
        if self.batch.solid:
            return states.sum(1, dtype=torch.float32) / self.batch.lengths[:, None]
        if self._kept is None:
            self._kept = (self.batch.ids != self.pad)[..., None]
        kept = states.masked_fill(~self._kept, 0.0)
        return kept.sum(1, dtype=torch.float32) / self.batch.lengths[:, None]

    def _normalised(self, states: Tensor) -> Tensor:
        if not self.mix.normalise:
            return states
        mask = self.batch.attended[..., None].float()
        count = (self.batch.lengths * states.shape[2]).float()[:, None, None]
        mean = (states * mask).sum((1, 2), keepdim=True) / count
        variance = (((states - mean) * mask) ** 2).sum((1, 2), keepdim=True) / count
        normalised: Tensor = (states - mean) / (variance + 1e-12).sqrt()
        return normalised


def sparsemax(scores: Tensor) -> Tensor:
    """The Euclidean projection on the simplex (Martins and Astudillo, 2016): softmax with exact zeros."""
    import torch

    ordered = scores.sort(descending=True).values
    sums = ordered.cumsum(0) - 1
    ranks = torch.arange(1, len(scores) + 1, dtype=scores.dtype)
    support = int((ordered * ranks > sums).sum())
    return (scores - sums[support - 1] / support).clamp(min=0)


def _estimator(state: Mapping[str, Any], settings: Mapping[str, Any]) -> nn.Module | None:
    """Linear layers with activations between them; the last may have one, too. None in ranking models."""
    import torch

    numbers = sorted({int(name.split(".")[0]) for name in state})
    parts: list[nn.Module] = []
    for number in numbers:
        weight, bias = state[f"{number}.weight"].float(), state[f"{number}.bias"].float()
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        linear.load_state_dict({"weight": weight, "bias": bias})
        parts.append(linear)
        if number != numbers[-1]:
            parts.append(_activation(settings["activations"]))
    if numbers and settings["final_activation"]:
        parts.append(_activation(settings["final_activation"]))
    return torch.nn.Sequential(*parts).eval() if parts else None


def _activation(name: str) -> nn.Module:
    """An activation by its name in torch, as COMET spells it."""
    import torch

    found = getattr(torch.nn, str(name).title(), None)
    if found is None:
        raise InputError(f"torch has no activation {name!r}, which the checkpoint asks for.")
    return found()


def _under(state: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
