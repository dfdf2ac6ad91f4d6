"""`models`: which neural models are on this machine, and what may be done with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError
from metassay.metrics.neural.checkpoints import content_hash, find_model, hub_folder, read_json, weight_files
from metassay.metrics.neural.layers import CHECKPOINTS, DEFAULTS, read_settings
from metassay.metrics.neural.models import PACKAGES, known
from metassay.workflows.run_files import SCHEMA_VERSION, Result

COMET_METRICS = {
    "regression_metric": "comet",
    "ranking_metric": "comet",
    "referenceless_regression_metric": "comet_qe",
    "unified_metric": "unite, unite_src, unite_ref, comet_qe",
    "xcomet_metric": "xcomet, xcomet_qe",
}
TYPE_METRICS = {"bleurt": "bleurt", "bart": "bartscore", "mt5": "metricx", "bert": "bertscore"}
TYPE_METRICS |= {"roberta": "bertscore", "xlm-roberta": "bertscore"}
PARTIAL = "configuration and tokenizer alone, for checkpoints that need them"


@dataclass(frozen=True)
class Models(Result):
    """One row per model: its name, metrics, size, hash of the weights, languages, licence and folder."""

    rows: list[dict[str, Any]]
    searched: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay models`."""
        return {"schema_version": SCHEMA_VERSION, "models": self.rows, "searched": list(self.searched)}

    def to_frame(self) -> pl.DataFrame:
        """The rows as a table."""
        return pl.DataFrame(self.rows, infer_schema_length=None)


def models(*folders: str | Path) -> Models:
    """The models in the hub's cache, in packages that carry one, and in the folders named."""
    found = [*_cached(), *_packaged(), *((str(folder), Path(folder)) for folder in folders)]
    rows = [row for name, folder in found if (row := _row(name, folder)) is not None]
    return Models(rows, (str(hub_folder()), "installed packages", *map(str, folders)))


def _cached() -> Iterator[tuple[str, Path]]:
    for entry in sorted(hub_folder().glob("models--*")):
        name = entry.name.removeprefix("models--").replace("--", "/")
        try:
            yield name, find_model(name)
        except InputError:
            continue


def _packaged() -> Iterator[tuple[str, Path]]:
    for name, package in PACKAGES.items():
        try:
            metadata.distribution(package)
        except metadata.PackageNotFoundError:
            continue
        yield name, find_model(package)


def _row(name: str, folder: Path) -> dict[str, Any] | None:
    """What there is to say of a folder; None where no metric of ours could use it."""
    metrics = _metrics(folder)
    if metrics is None:
        return None
    try:
        weights, note = _weights(folder, name), None
    except InputError as error:
        weights, note = [], PARTIAL if (folder / "tokenizer.json").is_file() else error.what
    model = known(name)
    licence = model.licence if model else _written_licence(folder)
    languages = None if model is None or model.languages is None else sorted(model.languages)
    return {
        "model": name,
        "metrics": metrics,
        "megabytes": round(sum(file.stat().st_size for file in weights) / 1e6, 1) if weights else None,
        "weights": content_hash(weights) if weights else None,
        "languages": languages,
        "licence": licence,
        "commercial_use": None if licence is None else "-nc" not in licence.lower(),
        "folder": str(folder),
        "note": note,
    }


def _metrics(folder: Path) -> str | None:
    """The metrics that a folder's files are for."""
    if (folder / "hparams.yaml").is_file():
        kind = str(read_settings(folder / "hparams.yaml").get("class_identifier"))
        return COMET_METRICS[kind] if kind in DEFAULTS else None
    if (folder / "weights.npz").is_file() and (folder / "sp.model").is_file():
        return "embedding_cosine, embedding_cosine_src"
    if not (folder / "config.json").is_file():
        return None
    kind = str(read_json(folder / "config.json").get("model_type"))
    sentences = "embedding_cosine, embedding_cosine_src, " if (folder / "modules.json").is_file() else ""
    return sentences + TYPE_METRICS[kind] if kind in TYPE_METRICS else sentences.rstrip(", ") or None


def _weights(folder: Path, name: str) -> list[Path]:
    special = [folder / file for file in (*CHECKPOINTS, "weights.npz") if (folder / file).is_file()]
    return special[:1] or weight_files(folder, model=name)


def _written_licence(folder: Path) -> str | None:
    """The licence that a model's README declares in its head."""
    file = folder / "README.md"
    text = file.read_text(encoding="utf-8", errors="replace")[:4000] if file.is_file() else ""
    head = re.search(r"^license: *([\w.+-]+)", text, re.MULTILINE)
    return head[1] if head else None
