"""Files that are whole or absent, whatever stops the process or fills the disk."""

from __future__ import annotations

import io
import json
import os
import platform
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError, Place

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.(?P<writer>[^.]+)\.part")


def write_bytes(path: Path, content: bytes) -> None:
    """Put a whole file in place at once; where that fails nothing is left of it, and the error names it."""
    temporary = path.with_name(f".{path.name}.{_writer(os.getpid())}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if not isinstance(error, OSError):
            raise
        raise InputError(
            f"cannot be written ({error.strerror or error}).",
            place=Place(file=str(path)),
            remedy="Make room there, or choose another place.",
        ) from None


def write_json(path: Path, content: Any) -> None:
    """JSON with sorted structure as given, readable; NaN and infinities are refused."""
    write_bytes(path, (json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode())


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """A Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    write_bytes(path, buffer.getvalue())


def temporary_of(path: Path) -> str | None:
    """The name that a file was to get in the end; None where it is no file of ours in the making."""
    found = _TEMPORARY.fullmatch(path.name)
    return None if found is None else found["name"]


def remove_leftovers(folder: Path) -> None:
    """Files that a process of this machine was writing when it was killed; those of living ones stay."""
    for path in folder.rglob(".*.part"):
        found = _TEMPORARY.fullmatch(path.name)
        if found is None:
            continue
        process = found["writer"].rpartition("@")[0]
        if process.isdecimal() and found["writer"] == _writer(int(process)) and not _lives(int(process)):
            with suppress(OSError):
                path.unlink()


def _writer(process: int) -> str:
    """Who writes a file: numbers of processes say nothing on another machine that shares the folder."""
    machine = re.sub(r"[^A-Za-z0-9-]+", "-", platform.node())[:64]
    return f"{process}@{machine}"


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
