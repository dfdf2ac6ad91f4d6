"""`models`: list the neural models on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import msgspec
import polars as pl

from metassay.errors import InputError
from metassay.metrics.neural.checkpoints import (
    find_model_folder,
    find_weight_files,
    get_hub_folder,
    hash_file_contents,
    read_json_object,
)
from metassay.metrics.neural.comet_checkpoint import (
    CHECKPOINT_FILES,
    CLASS_DEFAULTS,
    UNIFIED,
    read_hyperparameters,
    was_trained_with_references,
)
from metassay.metrics.neural.published_models import MODEL_PACKAGES, find_published_model
from metassay.reporting.result_display import ResultDisplay
from metassay.reporting.terminal.inventory import describe_installed_models
from metassay.results.models import InstalledModel, ModelsContent

# Metrics that use a COMET checkpoint, by its class.
COMET_METRICS = {
    "regression_metric": "comet",
    "ranking_metric": "comet",
    "referenceless_regression_metric": "comet_qe",
    "unified_metric": "unite, unite_src, unite_ref, comet_qe",
    "xcomet_metric": "xcomet, xcomet_qe, xcomet_ref",
}
# Metrics that use a unified COMET checkpoint that was trained without references, such as CometKiwi.
METRICS_WITHOUT_REFERENCE = "comet_qe, unite_src"
# Metrics that use a model of the transformers library, by its type.
TYPE_METRICS = {
    "bleurt": "bleurt",
    "bart": "bartscore, bertscore",
    "mt5": "metricx",
    "bert": "bertscore",
    "deberta": "bertscore",
    "deberta-v2": "bertscore",
    "roberta": "bertscore",
    "xlm-roberta": "bertscore",
}
# Metrics that use a model of sentence embeddings.
SENTENCE_METRICS = "embedding_cosine, embedding_cosine_src"
NO_WEIGHTS = "configuration and tokenizer only, for checkpoints that need them"
# Characters of a README in which its licence is declared.
README_HEAD = 4000


class ModelsResult(ResultDisplay, ModelsContent, frozen=True, kw_only=True):
    """Result of `models`: the neural models that are installed on this machine."""

    describe_result_for_terminal = describe_installed_models

    def to_frame(self) -> pl.DataFrame:
        """Return a table with one row per model."""
        rows = [msgspec.structs.asdict(model) for model in self.models]
        return pl.DataFrame(rows, infer_schema_length=None)


def list_installed_models(*folders: str | Path) -> ModelsResult:
    """List the neural models that are installed: in the Hugging Face cache, in Python packages, and in
    further folders.
    """
    locations = [*_find_models_in_hugging_face_cache(), *_find_models_in_installed_packages()]
    locations += [(str(folder), Path(folder)) for folder in folders]
    models = []
    for name, folder in locations:
        metrics = _find_metrics_that_can_use_model(folder)
        if metrics is not None:
            models.append(_describe_installed_model(name, folder, metrics))
    searched = [str(get_hub_folder()), "installed packages", *map(str, folders)]
    return ModelsResult(models=models, searched=searched)


def _find_models_in_hugging_face_cache() -> Iterator[tuple[str, Path]]:
    """Yield the name and the folder of each completely downloaded model in the Hugging Face cache."""
    for entry in sorted(get_hub_folder().glob("models--*")):
        name = entry.name.removeprefix("models--").replace("--", "/")
        try:
            yield name, find_model_folder(name)
        except InputError:
            continue


def _find_models_in_installed_packages() -> Iterator[tuple[str, Path]]:
    """Yield the name and the folder of each model that is part of an installed Python package."""
    for name, package in MODEL_PACKAGES.items():
        try:
            metadata.distribution(package)
        except metadata.PackageNotFoundError:
            continue
        yield name, find_model_folder(package)


def _find_metrics_that_can_use_model(model_folder: Path) -> str | None:
    """Return the names of the metrics that can use the model in a folder, or None if there are none."""
    if (model_folder / "hparams.yaml").is_file():
        hparams = read_hyperparameters(model_folder / "hparams.yaml")
        model_class = str(hparams.get("class_identifier"))
        if model_class == UNIFIED and not was_trained_with_references(hparams):
            return METRICS_WITHOUT_REFERENCE
        return COMET_METRICS[model_class] if model_class in CLASS_DEFAULTS else None
    if (model_folder / "weights.npz").is_file() and (model_folder / "sp.model").is_file():
        return SENTENCE_METRICS
    if not (model_folder / "config.json").is_file():
        return None
    metrics = []
    if (model_folder / "modules.json").is_file():
        metrics.append(SENTENCE_METRICS)
    model_type = str(read_json_object(model_folder / "config.json").get("model_type"))
    if model_type in TYPE_METRICS:
        metrics.append(TYPE_METRICS[model_type])
    return ", ".join(metrics) or None


def _describe_installed_model(model_name: str, model_folder: Path, metric_names: str) -> InstalledModel:
    """Describe a model by size, a hash of the weights, languages and licence."""
    weights: list[Path] = []
    note = None
    try:
        weights = _find_model_weight_files(model_folder, model_name)
    except InputError as error:
        note = NO_WEIGHTS if (model_folder / "tokenizer.json").is_file() else error.message
    published_model = find_published_model(model_name)
    if published_model is None:
        languages = None
        licence = _read_licence_of_model(model_folder)
    else:
        languages = None if published_model.languages is None else sorted(published_model.languages)
        licence = published_model.licence
    size = sum(file.stat().st_size for file in weights)
    return InstalledModel(
        model=model_name,
        metrics=metric_names,
        megabytes=round(size / 1e6, 1) if weights else None,
        weights=hash_file_contents(weights) if weights else None,
        languages=languages,
        licence=licence,
        commercial_use=None if licence is None else "-nc" not in licence.lower(),
        folder=str(model_folder),
        note=note,
    )


def _find_model_weight_files(model_folder: Path, model_name: str) -> list[Path]:
    """Return the files that contain the weights of a model."""
    for file_name in (*CHECKPOINT_FILES, "weights.npz"):
        if (model_folder / file_name).is_file():
            return [model_folder / file_name]
    return find_weight_files(model_folder, model=model_name)


def _read_licence_of_model(model_folder: Path) -> str | None:
    """Return the licence that the README file of a model names, or None if it names none."""
    file = model_folder / "README.md"
    if not file.is_file():
        return None
    head = file.read_text(encoding="utf-8", errors="replace")[:README_HEAD]
    match = re.search(r"^license: *([\w.+-]+)", head, re.MULTILINE)
    return match[1] if match else None
