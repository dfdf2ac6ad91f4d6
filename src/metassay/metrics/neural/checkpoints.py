"""Model files on this machine: found by folder or name, checked, hashed, and read without running code."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pickle
import re
import zipfile
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from metassay.errors import InputError, MissingBackend, Place
from metassay.metrics.neural.published_models import PACKAGES, downloads, other_names

LFS_POINTER = b"version https://git-lfs"
WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.ckpt")
TOKENIZERS = ("tokenizer.json", "sentencepiece.bpe.model", "spiece.model", "sentencepiece.model", "vocab.txt")


def require_torch() -> None:
    """An error that names the extra where torch or transformers is not installed."""
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError:
        raise MissingBackend("torch with transformers, which neural metrics need,", extra="neural") from None
    del torch


def get_hub_folder() -> Path:
    """Where the hub's programs keep what they downloaded."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or home / "hub")


def find_model(name: str) -> Path:
    """The folder of a model: a folder, a name in the hub's cache, or a package that carries the model."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    found = _first(_snapshot(other) for other in (name, *other_names(name))) or _in_package(name)
    if found is None:
        raise InputError(
            f"the model {name} is not on this machine: there is no such folder, and nothing of that name in "
            f"{get_hub_folder()}.",
            remedy=downloads(name),
        )
    return found


def _first(found: Iterable[Path | None]) -> Path | None:
    return next((path for path in found if path is not None), None)


def _snapshot(name: str) -> Path | None:
    """The snapshot that `main` points at; else the only one there is."""
    folder = get_hub_folder() / f"models--{name.replace('/', '--')}"
    main = folder / "refs" / "main"
    if main.is_file():
        named = folder / "snapshots" / main.read_text(encoding="utf-8").strip()
        return named if named.is_dir() else None
    snapshots = sorted(folder.glob("snapshots/*"))
    if len(snapshots) > 1:
        raise InputError(
            f"{folder} holds {len(snapshots)} revisions and does not say which is main.",
            remedy="Name the folder of one of them instead.",
        )
    return snapshots[0] if snapshots else None


def _in_package(name: str) -> Path | None:
    """The folder inside an installed package that carries this model's weights."""
    package = PACKAGES.get(name, name)
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return None
    carried = [
        Path(str(file.locate())) for file in files if file.name in {"model.safetensors", "weights.npz"}
    ]
    return carried[0].parent if carried else None


def needed_file(folder: Path, *names: str, model: str) -> Path:
    """The first of the names that the folder has; the error says which download brings it."""
    for name in names:
        if (folder / name).is_file():
            return not_a_pointer(folder / name)
    raise InputError(
        f"{model} has no {' or '.join(names)}.",
        place=Place(file=str(folder)),
        remedy=f"Download it with: hf download {model} {names[0]}",
    )


def not_a_pointer(file: Path) -> Path:
    """The file; an error where it only stands for one that git has not fetched."""
    with file.open("rb") as stream:
        if stream.read(len(LFS_POINTER)) == LFS_POINTER:
            raise InputError(
                "this is a git-lfs pointer of a few hundred bytes, not the file itself.",
                place=Place(file=str(file)),
                remedy="Fetch the content with: git lfs pull (or download the model again with: hf download)",
            )
    return file


def weight_files(folder: Path, *, model: str) -> list[Path]:
    """The files that hold a model's weights, safetensors first; several where it is sharded."""
    for name in WEIGHTS:
        index = folder / f"{name}.index.json"
        if (folder / name).is_file():
            return [not_a_pointer(folder / name)]
        if index.is_file():
            shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            return [needed_file(folder, shard, model=model) for shard in sorted(set(shards))]
    return [needed_file(folder, *WEIGHTS, model=model)]


def tokenizer_file(folder: Path, *, model: str) -> Path:
    """The file that defines a model's tokenizer."""
    return needed_file(folder, *TOKENIZERS, model=model)


def sentencepiece_model(file: Path) -> Any:
    """A sentencepiece vocabulary, ready to split texts."""
    try:
        import sentencepiece
    except ImportError:
        raise MissingBackend("sentencepiece, which this model's tokenizer needs,", extra="neural") from None
    return sentencepiece.SentencePieceProcessor(model_file=str(not_a_pointer(file)))


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object."""
    try:
        found = json.loads(not_a_pointer(file).read_text(encoding="utf-8"))
    except ValueError:
        raise InputError("this is not JSON.", place=Place(file=str(file))) from None
    if not isinstance(found, dict):
        raise InputError("this is not a JSON object.", place=Place(file=str(file)))
    return found


def read_weights(files: Sequence[Path]) -> dict[str, Any]:
    """The tensors of all files, by name. Only tensors are read: a pickle that asks for more is refused."""
    found: dict[str, Any] = {}
    for file in files:
        found |= _read_safetensors(file) if file.suffix == ".safetensors" else read_pickle(file)
    return found


def _read_safetensors(file: Path) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return dict(load_file(not_a_pointer(file)))
    except SafetensorError as error:
        raise InputError(f"this is not a safetensors file ({error}).", place=Place(file=str(file))) from None


def read_pickle(file: Path) -> dict[str, Any]:
    """What torch saved, tensors and plain values only; anything that would run code is refused by name."""
    import torch

    mapped = zipfile.is_zipfile(not_a_pointer(file))
    try:
        found = torch.load(file, map_location="cpu", weights_only=True, mmap=mapped)
    except pickle.UnpicklingError as error:
        named = re.search(r"GLOBAL ([\w.]+)", str(error))
        wants = f"asks for {named[1]}" if named else "holds more than tensors and plain values"
        raise InputError(
            f"refused: this pickle {wants}, and could run code of its author's.",
            place=Place(file=str(file)),
            remedy="Use the official checkpoint, or one saved as safetensors.",
        ) from None
    except (RuntimeError, EOFError) as error:
        raise InputError(f"torch cannot read it ({error}).", place=Place(file=str(file))) from None
    return dict(found)


def content_hash(files: Sequence[Path]) -> str:
    """A short SHA-256 of the files' content, one after the other."""
    whole = hashlib.sha256()
    for file in files:
        state = file.stat()
        whole.update(_sha256(file.resolve(), state.st_size, state.st_mtime_ns))
    return whole.hexdigest()[:16]


@functools.cache
def _sha256(file: Path, size: int, changed: int) -> bytes:
    """The hash of one file; read again only when its size or time changes."""
    del size, changed
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
