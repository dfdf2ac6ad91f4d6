"""Model files on this machine: find them, check them, hash them, and read them without running code."""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import pickle
import re
import zipfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metassay.errors import InputError, InputLocation, MissingBackend
from metassay.metrics.neural.published_models import (
    MODEL_PACKAGES,
    describe_model_download,
    get_alternative_model_names,
)

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from torch import Tensor

# The weights of a model, by name.
StateDict = dict[str, "Tensor"]
# The content of a `config.json`: settings of any type, by name.
ModelConfig = Mapping[str, Any]

CONFIG_FILE = "config.json"
WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin", "model.ckpt")
TOKENIZER_FILES = (
    "tokenizer.json",
    "sentencepiece.bpe.model",
    "spiece.model",
    "sentencepiece.model",
    "spm.model",
    "vocab.txt",
    "vocab.json",
)
# A repository cloned without Git LFS has such short text files in place of the weights.
_LFS_POINTER = b"version https://git-lfs"
_PACKAGED_WEIGHTS = frozenset({"model.safetensors", "weights.npz"})


def require_torch() -> None:
    """Raise an error that says what to install, unless torch and transformers are installed."""
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError:
        raise MissingBackend("torch with transformers, which neural metrics need,", extra="neural") from None
    del torch


def get_hub_folder() -> Path:
    """Return the folder in which Hugging Face stores downloaded models."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or home / "hub")


def find_model_folder(model_name: str) -> Path:
    """Find the folder of a model, given by its path, its name on Hugging Face, or the package that contains
    it.
    """
    folder = Path(model_name).expanduser()
    if folder.is_dir():
        return folder
    for hub_name in (model_name, *get_alternative_model_names(model_name)):
        snapshot = _find_snapshot(hub_name)
        if snapshot is not None:
            return snapshot
    packaged = _find_model_in_package(model_name)
    if packaged is not None:
        return packaged
    raise InputError(
        f"the model {model_name} was not found: there is no such folder and no such model in "
        f"{get_hub_folder()}.",
        remedy=describe_model_download(model_name),
    )


def _find_snapshot(model_name: str) -> Path | None:
    """Find the downloaded version of a model in the Hugging Face cache: that of `main`, or else the only one.
    None if there is none.
    """
    folder = get_hub_folder() / f"models--{model_name.replace('/', '--')}"
    main = folder / "refs" / "main"
    if main.is_file():
        snapshot = folder / "snapshots" / main.read_text(encoding="utf-8").strip()
        return snapshot if snapshot.is_dir() else None
    snapshots = sorted(folder.glob("snapshots/*"))
    if len(snapshots) > 1:
        raise InputError(
            f"{folder} contains {len(snapshots)} revisions, and none is marked as main.",
            remedy="Name the folder of one revision instead.",
        )
    return snapshots[0] if snapshots else None


def _find_model_in_package(model_name: str) -> Path | None:
    """Find the folder with the weights of a model in an installed package; None if there is none."""
    package = MODEL_PACKAGES.get(model_name, model_name)
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name in _PACKAGED_WEIGHTS:
            return Path(str(file.locate())).parent
    return None


def find_model_file(folder: Path, *names: str, model: str) -> Path:
    """Return the path of the first of the named files that exists in the folder of a model; raise an error if
    there is none.
    """
    for name in names:
        if (folder / name).is_file():
            return check_not_lfs_pointer(folder / name)
    raise InputError(
        f"{model} has no {' or '.join(names)}.",
        location=InputLocation(file=str(folder)),
        remedy=f"Download it with: hf download {model} {names[0]}",
    )


def check_not_lfs_pointer(file: Path) -> Path:
    """Return the path of a file; raise an error if Git LFS has not downloaded its content yet."""
    with file.open("rb") as stream:
        if stream.read(len(_LFS_POINTER)) == _LFS_POINTER:
            raise InputError(
                "this is a git-lfs pointer, not the file itself.",
                location=InputLocation(file=str(file)),
                remedy="Download the file with: git lfs pull (or download the model again with: hf download)",
            )
    return file


def find_weight_files(folder: Path, *, model: str) -> list[Path]:
    """Return the file or files that contain the weights of a model."""
    for name in WEIGHT_FILES:
        if (folder / name).is_file():
            return [check_not_lfs_pointer(folder / name)]
        index = folder / f"{name}.index.json"
        if index.is_file():
            shard_of_weight = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
            return [
                find_model_file(folder, shard, model=model) for shard in sorted(set(shard_of_weight.values()))
            ]
    return [find_model_file(folder, *WEIGHT_FILES, model=model)]


def find_tokenizer_file(folder: Path, *, model: str) -> Path:
    """Find the file that defines the tokenizer of a model."""
    return find_model_file(folder, *TOKENIZER_FILES, model=model)


def load_sentencepiece(file: Path) -> SentencePieceProcessor:
    """Load a sentencepiece vocabulary."""
    try:
        import sentencepiece
    except ImportError:
        raise MissingBackend("sentencepiece, which this model's tokenizer needs,", extra="neural") from None
    return sentencepiece.SentencePieceProcessor(model_file=str(check_not_lfs_pointer(file)))


def read_model_config(folder: Path, *, model: str) -> ModelConfig:
    """Read the `config.json` of a model."""
    return read_json_object(find_model_file(folder, CONFIG_FILE, model=model))


def read_json_object(file: Path) -> Mapping[str, Any]:
    """Read a JSON object from a file."""
    try:
        content = json.loads(check_not_lfs_pointer(file).read_text(encoding="utf-8"))
    except ValueError:
        raise InputError("this is not JSON.", location=InputLocation(file=str(file))) from None
    if not isinstance(content, dict):
        raise InputError("this is not a JSON object.", location=InputLocation(file=str(file)))
    return content


def read_model_weights(weight_files: Sequence[Path]) -> StateDict:
    """Read the weights of a model from its files. A pickle file that contains anything but tensors and plain
    values raises an error.
    """
    state: StateDict = {}
    for file in weight_files:
        state |= _read_safetensors(file) if file.suffix == ".safetensors" else read_torch_file(file)
    return state


def _read_safetensors(file: Path) -> StateDict:
    """Read the tensors of a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return dict(load_file(check_not_lfs_pointer(file)))
    except SafetensorError as error:
        raise InputError(
            f"this is not a safetensors file ({error}).", location=InputLocation(file=str(file))
        ) from None


def read_torch_file(file: Path) -> dict[str, Any]:
    """Read a file that torch wrote, without running code from it. It may contain only tensors, plain values
    and `argparse.Namespace`.

    A pickle that would run other code raises an error.
    """
    import torch

    can_be_mapped = zipfile.is_zipfile(check_not_lfs_pointer(file))
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            content = torch.load(file, map_location="cpu", weights_only=True, mmap=can_be_mapped)
    except pickle.UnpicklingError as error:
        refused = re.search(r"GLOBAL ([\w.]+)", str(error))
        request = f"asks for {refused[1]}" if refused else "contains more than tensors and plain values"
        raise InputError(
            f"the file was not loaded, because this pickle {request} and could run arbitrary code.",
            location=InputLocation(file=str(file)),
            remedy="Use the official checkpoint, or one saved as safetensors.",
        ) from None
    except (RuntimeError, EOFError) as error:
        raise InputError(f"torch cannot read it ({error}).", location=InputLocation(file=str(file))) from None
    return dict(content)


def select_weights_with_prefix(weights: Mapping[str, Tensor], prefix: str) -> StateDict:
    """Return the weights whose names begin with a prefix, under their names without the prefix."""
    return {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}


def hash_file_contents(files: Sequence[Path]) -> str:
    """Return a short SHA-256 hash of the contents of several files together."""
    digest = hashlib.sha256()
    for file in files:
        status = file.stat()
        digest.update(_hash_file_cached(file.resolve(), status.st_size, status.st_mtime_ns))
    return digest.hexdigest()[:16]


@functools.lru_cache(maxsize=1024)
def _hash_file_cached(file: Path, file_size: int, modification_time: int) -> bytes:
    """Return the hash of a file. It is computed again only if the size or modification time has changed."""
    del file_size, modification_time
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
