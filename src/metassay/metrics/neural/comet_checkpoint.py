"""The files and settings of COMET models: a checkpoint, and the encoder that it was trained from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metassay.errors import InputError, InputLocation
from metassay.metrics.neural.checkpoints import (
    CONFIG_FILE,
    find_model_file,
    find_model_folder,
    find_tokenizer_file,
    hash_file_contents,
)

CHECKPOINT_FILES = ("checkpoints/model.ckpt", "model.ckpt")
HPARAMS_FILE = "hparams.yaml"
SPARSEMAX, SPARSEMAX_PATCH = "sparsemax", "sparsemax_patch"
# COMET's names of its model classes.
REGRESSION = "regression_metric"
REFERENCELESS = "referenceless_regression_metric"
UNIFIED = "unified_metric"
XCOMET = "xcomet_metric"
RANKING = "ranking_metric"
_SHARED_DEFAULTS: Mapping[str, Any] = {
    "layer_norm": True,
    "layer_transformation": "softmax",
    "word_layer": 24,
    "word_level_training": False,
    "error_labels": ("minor", "major"),
    "pool": "avg",
    "activations": "Sigmoid",
    "final_activation": None,
    "layer": "mix",
}
# What unbabel-comet 2.2.7 assumes where a checkpoint does not say, by model class.
CLASS_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    REGRESSION: _SHARED_DEFAULTS,
    REFERENCELESS: _SHARED_DEFAULTS,
    UNIFIED: {**_SHARED_DEFAULTS, "layer_transformation": SPARSEMAX},
    XCOMET: {
        **_SHARED_DEFAULTS,
        "layer_transformation": SPARSEMAX,
        "layer_norm": False,
        "word_layer": 36,
        "error_labels": ("minor", "major", "critical"),
    },
    RANKING: _SHARED_DEFAULTS,
}


@dataclass(frozen=True)
class CometSettings:
    """The settings of a COMET model that affect its scores, as they were written after training."""

    layer_norm: bool
    """Whether the states of each layer are normalised before they are mixed."""
    layer_transformation: str
    """How the weights of the layers are normalised: softmax, sparsemax or sparsemax_patch."""
    word_layer: int
    """The layer from whose states the tokens of the output are tagged, where the model tags them."""
    error_labels: tuple[str, ...]
    """The severities of errors that the model tags tokens with; empty if it predicts a score only."""
    pool: str
    """How tokens become one vector: avg, cls or max."""
    activations: str
    """Between the linear layers of the estimator."""
    final_activation: str | None
    layer: str
    """`mix`, or the number of the only layer that is used."""

    @classmethod
    def from_hyperparameters(cls, model_class: str, hyperparameters: Mapping[str, Any]) -> CometSettings:
        """Read the settings of a model from its hyperparameters. A missing setting gets the default of the
        COMET library.
        """
        values = {**CLASS_DEFAULTS[model_class], **hyperparameters}
        final_activation = values["final_activation"]
        # XCOMET always tags tokens. Unified models name labels even if they were not trained to tag.
        tags_tokens = model_class == XCOMET or bool(values["word_level_training"])
        return cls(
            layer_norm=bool(values["layer_norm"]),
            layer_transformation=str(values["layer_transformation"]),
            word_layer=int(values["word_layer"] or 0),
            error_labels=tuple(values["error_labels"]) if tags_tokens else (),
            pool=str(values["pool"]),
            activations=str(values["activations"]),
            final_activation=str(final_activation) if final_activation else None,
            layer=str(values["layer"]),
        )


@dataclass(frozen=True)
class CometFiles:
    """The paths of the files of a COMET model, and its hyperparameters."""

    hparams: Mapping[str, Any]
    """The content of `hparams.yaml`."""
    checkpoint: Path
    hparams_file: Path
    encoder: Path
    encoder_name: str

    @property
    def model_class(self) -> str:
        """The name of the class that implements this model in the COMET library."""
        return str(self.hparams["class_identifier"])

    def hash_model_files(self) -> dict[str, str]:
        """Return hashes of the model file and of the tokenizer, which identify the model."""
        tokenizer = find_tokenizer_file(self.encoder, model=self.encoder_name)
        return {
            "weights": hash_file_contents([self.checkpoint, self.hparams_file]),
            "tokenizer": hash_file_contents([tokenizer]),
        }


def find_comet_files(model: str, encoder: str | None = None) -> CometFiles:
    """Find the files of a COMET model and of the encoder from which it was trained.

    The configuration and the tokenizer of the encoder come from the model that `hparams.yaml` names, unless
    `encoder` names another.
    """
    folder = find_model_folder(model)
    hparams_file = find_model_file(folder, HPARAMS_FILE, model=model)
    hparams = read_hyperparameters(hparams_file)
    model_class = hparams.get("class_identifier")
    if model_class not in CLASS_DEFAULTS:
        raise InputError(
            f"the class {model_class!r} is not one of COMET's: {', '.join(CLASS_DEFAULTS)}.",
            location=InputLocation(file=str(hparams_file)),
        )
    encoder_name = encoder or str(hparams.get("pretrained_model", ""))
    try:
        encoder_folder = find_model_folder(encoder_name)
    except InputError:
        raise InputError(
            f"{model} needs the configuration and the tokenizer of {encoder_name}, which were not found.",
            remedy=f"Download them with: hf download {encoder_name} config.json tokenizer.json",
        ) from None
    find_model_file(encoder_folder, CONFIG_FILE, model=encoder_name)
    find_tokenizer_file(encoder_folder, model=encoder_name)
    checkpoint = find_model_file(folder, *CHECKPOINT_FILES, model=model)
    return CometFiles(hparams, checkpoint, hparams_file, encoder_folder, encoder_name)


def was_trained_with_references(hyperparameters: Mapping[str, Any]) -> bool:
    """Return whether a COMET model was trained with references; CometKiwi, for example, was not."""
    return "ref" in (hyperparameters.get("input_segments") or ("mt", "src", "ref"))


def read_hyperparameters(file: Path) -> Mapping[str, Any]:
    """Read the hyperparameters of a model from its `hparams.yaml`."""
    import yaml

    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"this is not YAML with plain values ({reason}).",
            location=InputLocation(file=str(file)),
            remedy="Download the file again, or remove tags such as !!python/object from it.",
        ) from None
    if not isinstance(content, dict):
        raise InputError("this file does not contain named settings.", location=InputLocation(file=str(file)))
    return content
