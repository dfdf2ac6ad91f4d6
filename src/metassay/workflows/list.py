"""What is there: `list` and `models`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError, Place, UnknownName
from metassay.metrics.neural.checkpoints import (
    find_model,
    find_weight_files,
    get_hub_folder,
    hash_files,
    read_json,
)
from metassay.metrics.neural.comet_checkpoint import CHECKPOINT_FILES, CLASS_DEFAULTS, read_hparams
from metassay.metrics.neural.published_models import MODEL_PACKAGES, find_published_model
from metassay.workflows.run_files import SCHEMA_VERSION, Result


@dataclass(frozen=True, repr=False)
class Listing(Result):
    """Rows that describe what there is."""

    kind: str
    rows: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay list KIND`."""
        return {"schema_version": SCHEMA_VERSION, self.kind: self.rows}

    def to_frame(self) -> pl.DataFrame:
        """The rows as a table."""
        return pl.DataFrame(self.rows, infer_schema_length=None)


def listing(kind: str) -> Listing:
    """What there is of a kind: `metrics`, `perturbations`, `readers` or `resources`."""
    if kind not in KINDS:
        raise UnknownName("list", kind, KINDS)
    return Listing(kind, KINDS[kind]())


def list_task_names() -> list[str]:
    """Return the names of all tasks, those of plug-ins included."""
    from metassay.tasks import load_tasks

    return list(load_tasks())


def _metrics() -> list[dict[str, Any]]:
    from metassay.metrics.registry import format_metric_name, load_metric_classes

    rows = [
        {
            "metric": format_metric_name(metric),
            "label": format_metric_name(metric, metric.title or metric.name),
            "task": metric.task,
            "better": "higher" if metric.higher_is_better else "lower",
            "needs": ", ".join(sorted(metric.needs)),
            "equals": metric.oracle or "–",
            "what": metric.summary,
        }
        for metric in load_metric_classes().values()
    ]
    return sorted(rows, key=lambda row: (row["task"], row["metric"]))


def _perturbations() -> list[dict[str, Any]]:
    from metassay.perturbations.registry import find_perturbations_for, load_perturbations
    from metassay.tasks import load_tasks

    return [
        {
            "perturbation": name,
            "tasks": ", ".join(t.name for t in load_tasks().values() if name in find_perturbations_for(t)),
            "languages": ", ".join(sorted(perturbation.languages or ()))
            or ("any with spaces" if perturbation.needs_spaces else "any"),
            "default": "yes" if perturbation.default else "on request",
            "what": perturbation.summary,
        }
        for name, perturbation in sorted(load_perturbations().items())
    ]


def _readers() -> list[dict[str, Any]]:
    from metassay.data.readers.registry import MULTI_FILE_FORMATS, load_all_readers

    formats = [(reader.name, reader.files, reader.summary) for reader in load_all_readers()]
    formats += [(several.name, several.options, several.summary) for several in MULTI_FILE_FORMATS]
    return [{"reader": name, "files": files, "what": summary} for name, files, summary in formats]


def _resources() -> list[dict[str, Any]]:
    from metassay.text.resources import known_resources

    return [
        {
            "resource": resource.name,
            "language": resource.language,
            "for": resource.purpose,
            "found": resource.locate(),
            "get": "; ".join(f"{system}: {how}" for system, how in resource.get.items()),
        }
        for resource in known_resources()
    ]


KINDS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "metrics": _metrics,
    "perturbations": _perturbations,
    "readers": _readers,
    "resources": _resources,
}


@dataclass(frozen=True, repr=False)
class CacheState(Result):
    """What is in a cache of scores: a row for each metric as it is with certain libraries."""

    folder: str
    rows: list[dict[str, Any]]
    removed: int = 0
    broken: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """The size of all parts."""
        return sum(row["bytes"] for row in self.rows)

    @property
    def parts(self) -> int:
        """The number of parts that are whole, as far as one has looked."""
        return sum(row["parts"] for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay cache ACTION`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "folder": self.folder,
            "parts": self.parts,
            "bytes": self.bytes,
            "metrics": self.rows,
            "removed": self.removed,
            "broken": list(self.broken),
        }

    def to_frame(self) -> pl.DataFrame:
        """The rows as a table."""
        return pl.DataFrame(self.rows, infer_schema_length=None)


def score_cache(action: str, folder: str | Path | None = None, *, most: float = 10.0) -> CacheState:
    """What a cache holds, as it is (`info`), after `prune` (`most` gigabytes stay) or after `verify`."""
    from metassay.store.cache_folder import (
        CACHE_VARIABLE,
        find_cache_folder,
        list_entries,
        list_parts,
        prune_cache,
        verify_cache,
    )
    from metassay.store.remote import is_mirrored

    if action not in ACTIONS:
        raise UnknownName("action", action, ACTIONS)
    found = find_cache_folder(folder)
    if found is None:
        raise InputError(
            "no cache was named.", remedy=f"Name its folder with --cache, or in {CACHE_VARIABLE}."
        )
    if is_mirrored(found):
        raise InputError("only a cache on this machine is looked after.", place=Place(file=str(found)))
    removed = prune_cache(found, max_bytes=int(most * 1e9)) if action == "prune" else []
    broken = verify_cache(found)[1] if action == "verify" else []
    sizes = {path: path.stat().st_size for path in list_parts(found) if path.suffix == ".parquet"}
    rows = []
    for shelf, about in list_entries(found):
        own = [size for path, size in sizes.items() if path.parent == shelf]
        rows.append(
            {"metric": about["metric"], "parts": len(own), "bytes": sum(own), "signature": about["signature"]}
        )
    return CacheState(str(found), rows, len(removed), tuple(str(path) for path in broken))


ACTIONS = ("info", "prune", "verify")


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


@dataclass(frozen=True, repr=False)
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
    return Models(rows, (str(get_hub_folder()), "installed packages", *map(str, folders)))


def _cached() -> Iterator[tuple[str, Path]]:
    for entry in sorted(get_hub_folder().glob("models--*")):
        name = entry.name.removeprefix("models--").replace("--", "/")
        try:
            yield name, find_model(name)
        except InputError:
            continue


def _packaged() -> Iterator[tuple[str, Path]]:
    for name, package in MODEL_PACKAGES.items():
        try:
            metadata.distribution(package)
        except metadata.PackageNotFoundError:
            continue
        yield name, find_model(package)


def _row(name: str, folder: Path) -> dict[str, Any] | None:
    """What there is to say of a folder; None where no metric of ours could use it."""
    metrics = _models_of_metrics(folder)
    if metrics is None:
        return None
    try:
        weights, note = _weights(folder, name), None
    except InputError as error:
        weights, note = [], PARTIAL if (folder / "tokenizer.json").is_file() else error.message
    model = find_published_model(name)
    licence = model.licence if model else _written_licence(folder)
    languages = None if model is None or model.languages is None else sorted(model.languages)
    return {
        "model": name,
        "metrics": metrics,
        "megabytes": round(sum(file.stat().st_size for file in weights) / 1e6, 1) if weights else None,
        "weights": hash_files(weights) if weights else None,
        "languages": languages,
        "licence": licence,
        "commercial_use": None if licence is None else "-nc" not in licence.lower(),
        "folder": str(folder),
        "note": note,
    }


def _models_of_metrics(folder: Path) -> str | None:
    """The metrics that a folder's files are for."""
    if (folder / "hparams.yaml").is_file():
        kind = str(read_hparams(folder / "hparams.yaml").get("class_identifier"))
        return COMET_METRICS[kind] if kind in CLASS_DEFAULTS else None
    if (folder / "weights.npz").is_file() and (folder / "sp.model").is_file():
        return "embedding_cosine, embedding_cosine_src"
    if not (folder / "config.json").is_file():
        return None
    kind = str(read_json(folder / "config.json").get("model_type"))
    sentences = "embedding_cosine, embedding_cosine_src, " if (folder / "modules.json").is_file() else ""
    return sentences + TYPE_METRICS[kind] if kind in TYPE_METRICS else sentences.rstrip(", ") or None


def _weights(folder: Path, name: str) -> list[Path]:
    special = [folder / file for file in (*CHECKPOINT_FILES, "weights.npz") if (folder / file).is_file()]
    return special[:1] or find_weight_files(folder, model=name)


def _written_licence(folder: Path) -> str | None:
    """The licence that a model's README declares in its head."""
    file = folder / "README.md"
    text = file.read_text(encoding="utf-8", errors="replace")[:4000] if file.is_file() else ""
    head = re.search(r"^license: *([\w.+-]+)", text, re.MULTILINE)
    return head[1] if head else None
