"""The run folder: what was done, with what, and what came out, in files that are whole or absent.

manifest.json     configuration, seeds, metric signatures, versions, hash of the input, counts
outputs.parquet   what was read
pairs.parquet     outputs and their worse copies
scores/           finished parts of scores, immutable
results/          tables and JSON
report.html
timings.json      alone outside the promise of identical bytes
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

import metassay
from metassay.data.readers.files import checked_path
from metassay.data.readers.tables import parse_parquet
from metassay.errors import InputError, MetassayError, Place, shortened
from metassay.metrics.base import Metric
from metassay.schemas import first_fault, schema

MANIFEST = "manifest.json"
_PART = pl.Schema({"key": pl.Binary, "score": pl.Float64})
_ELSE = "Choose another --out."
_AGAIN = "Make the run again, in another folder."


def write_bytes(path: Path, content: bytes) -> None:
    """Put a whole file in place at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def write_json(path: Path, content: Any) -> None:
    """JSON with sorted structure as given, readable; NaN and infinities are refused."""
    write_bytes(path, (json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode())


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """A Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    write_bytes(path, buffer.getvalue())


def versions(packages: Sequence[str] = ("numpy", "polars", "sacrebleu", "scipy")) -> dict[str, Any]:
    """The versions that a result depends on."""
    return {
        "metassay": metassay.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


class RunFolder:
    """A folder that belongs to one configuration on one input; doing the same again resumes it."""

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self.identity = dict(identity)
        self.made_with: dict[str, Any] = {}
        """The versions of everything that decides a result, once the folder is open to be written."""

    @classmethod
    def open(cls, path: str | Path, identity: Mapping[str, Any]) -> RunFolder:
        """An empty or absent folder is used, one of the same identity is resumed, any other is refused."""
        folder = Path(path)
        run = cls(folder, identity)
        run.made_with = versions()
        try:
            if (folder / MANIFEST).is_file():
                _check_same(folder, identity)
            elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise InputError(
                    "this exists and is no run folder.", place=Place(file=str(path)), remedy=_ELSE
                )
            else:
                run.write_manifest({"state": "running"})
        except MetassayError:
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            place = Place(file=str(path))
            raise InputError(f"cannot be written ({reason}).", place=place, remedy=_ELSE) from None
        return run

    @classmethod
    def existing(cls, path: str | Path) -> RunFolder:
        """A folder that an earlier run left."""
        manifest = read_manifest(Path(path))
        return cls(Path(path), manifest.get("identity", {}))

    def manifest(self, rest: Mapping[str, Any]) -> dict[str, Any]:
        """What was done; `identity` decides whether a later run may resume this one."""
        return {"schema_version": 1, "identity": self.identity, **rest}

    def write_manifest(self, rest: Mapping[str, Any]) -> None:
        """Put the manifest in its place."""
        write_json(self.path / MANIFEST, self.manifest(rest))

    def write_json(self, name: str, content: Any) -> None:
        """A JSON file in the folder."""
        write_json(self.path / name, content)

    def write_frame(self, name: str, frame: pl.DataFrame) -> None:
        """A Parquet file in the folder."""
        write_frame(self.path / name, frame)

    def write_text(self, name: str, content: str) -> None:
        """A text file in the folder."""
        write_bytes(self.path / name, content.encode())

    def finish(self, files: Mapping[str, Any], **more: Any) -> None:
        """Every file of a result by its name, JSON, tables (`.parquet`) and text; the manifest last."""
        for name, content in files.items():
            if name.endswith(".json"):
                self.write_json(name, content)
            elif name.endswith(".parquet"):
                self.write_frame(name, content)
            else:
                self.write_text(name, content)
        self.write_manifest({"state": "finished", "versions": self.made_with, **more})

    def read_json(self, name: str) -> Any:
        """A JSON file of the folder."""
        file = self.path / name
        if not file.exists():
            raise InputError(
                "the run has not finished.", place=Place(file=str(file)), remedy="Run the same command again."
            )
        return _json(file)

    def read_checked(self, name: str, command: str) -> dict[str, Any]:
        """The result of a command, which must follow its schema: people edit files."""
        result: dict[str, Any] = self.read_json(name)
        fault = first_fault(result, schema(command))
        if fault is not None:
            where, what = fault
            raise InputError(
                f"{what}." if not where else f"at {shortened(where)}: {what}.",
                place=Place(file=str(self.path / name)),
                remedy=_AGAIN,
            )
        return result

    @contextmanager
    def understood(self) -> Iterator[None]:
        """For reading a finished run: what its files say may not fit together, though each is well formed."""
        try:
            yield
        except (MetassayError, OSError):
            raise
        except Exception as error:
            said = " ".join(str(error).split())
            raise InputError(
                f"its results cannot be made sense of ({type(error).__name__}: {said}).",
                place=Place(file=str(self.path)),
                remedy=f"{_AGAIN} If that does not help, it is a defect of metassay.",
            ) from error

    @property
    def parts(self) -> ScoreParts:
        """The finished scores in this folder."""
        return ScoreParts(self.path / "scores")


class ScoreParts:
    """Finished scores, a file per metric and batch; a file that is there is whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, metric: Metric, number: int) -> dict[bytes, float]:
        """The scores of a part, by key; empty where it is not finished."""
        file = self._file(metric, number)
        if not file.is_file():
            return {}
        frame = parse_parquet(file.read_bytes(), file=str(file))
        if frame.schema != _PART:
            raise InputError(
                "this is no part of scores.",
                place=Place(file=str(file)),
                remedy="Delete it: its scores are then computed again.",
            )
        return dict(zip(frame["key"].to_list(), frame["score"].to_list()))

    def save(self, metric: Metric, number: int, scores: dict[bytes, float]) -> None:
        """Keep a finished part, sorted by key."""
        ordered = sorted(scores.items())
        frame = pl.DataFrame(
            {"key": [key for key, _ in ordered], "score": [score for _, score in ordered]},
            schema=_PART,
        )
        write_frame(self._file(metric, number), frame)

    def _file(self, metric: Metric, number: int) -> Path:
        name = re.sub(r"[^a-z0-9_.-]+", "-", metric.spec.lower())[:100].strip("-")
        signature = hashlib.blake2b(metric.signature.encode(), digest_size=4).hexdigest()
        return self.folder / f"part-{name}-{signature}-{number:05d}.parquet"


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run folder, or an error that says it is none."""
    file = folder / MANIFEST
    checked_path(str(folder))
    if not file.is_file():
        raise InputError(
            "this is no run folder (it has no manifest.json).",
            place=Place(file=str(folder)),
            remedy="Make one with: metassay assay DATA --out FOLDER",
        )
    manifest = _json(file)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("identity", {}), dict):
        raise InputError(
            "a JSON object with the identity of a run was expected.", place=Place(file=str(file))
        )
    return manifest


def _json(file: Path) -> Any:
    """What a JSON file holds; NaN is no JSON."""
    try:
        return json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror}).", place=Place(file=str(file))) from None
    except RecursionError:
        raise InputError("this JSON is nested too deeply.", place=Place(file=str(file))) from None
    except ValueError as error:
        raise InputError(f"this is not JSON ({error}).", place=Place(file=str(file))) from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _check_same(folder: Path, identity: Mapping[str, Any]) -> None:
    before = read_manifest(folder).get("identity")
    if before == json.loads(json.dumps(identity)):
        return
    differing = [key for key in identity if not isinstance(before, dict) or before.get(key) != identity[key]]
    what = " and ".join(differing) or "settings"
    raise InputError(
        f"this folder holds another run (its {what} differ{'s' if len(differing) == 1 else ''}).",
        place=Place(file=str(folder)),
        remedy="Choose another --out, or delete that folder.",
    )
