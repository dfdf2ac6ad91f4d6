"""One file per input format; `registry` tells them apart.

What lies elsewhere (`s3://bucket/data.csv`) is copied among temporary files first, through fsspec, and is
called by its address all the same.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from metassay.errors import (
    LOCAL_COPIES,
    InputError,
    MetassayError,
    MissingBackend,
    NoSuchFile,
    Place,
    is_remote,
    shorten_text,
)

_COPIES = "metassay-copies-"
_LOCK = ".lock"
_REFUSED = (401, 403)
_ROOM = "Copies are put among temporary files: make room, or set TMPDIR to another place."
_RIGHTS = "Check the address and your rights; keys are given as the package for such addresses says."


def download_if_remote(path: str | os.PathLike[str]) -> str:
    """Where a file or folder can be read: its own path, or that of a copy that goes with the program."""
    address = os.fspath(path)
    if not is_remote(path):
        return address
    with open_filesystem(address) as (system, there):
        target = choose_local_path(address, system, there)
        if is_local_filesystem(system):
            return str(target)
        if target.is_dir():
            shutil.rmtree(target)
        if system.info(there)["type"] == "directory":
            target.mkdir(parents=True)
            for file in system.find(there):
                download_file(system, file, target / relative_path(there, file))
        else:
            download_file(system, there, target)
    return str(target)


@contextmanager
def open_filesystem(address: str, *, to: str = "read") -> Iterator[tuple[Any, str]]:
    """The filesystem of an address, and the path there; what goes wrong is told with the address."""
    try:
        import fsspec
    except ImportError:
        raise MissingBackend(f"fsspec, for {shorten_text(address)},", extra="remote") from None
    place = Place(file=address)
    try:
        system, there = fsspec.core.url_to_fs(address)
        system.invalidate_cache()  # others write there too
        yield system, there
    except MetassayError:
        raise
    except ImportError as error:
        what = f"a package for such addresses is not installed ({error})."
        raise InputError(what, place=place, remedy="It is named there: pip install NAME") from None
    except Exception as error:
        raise _refusal(error, to, place) from error


def _refusal(error: Exception, to: str, place: Place) -> InputError:
    """What went wrong, and what to do."""
    said = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    if isinstance(error, PermissionError) or getattr(error.__cause__, "status", None) in _REFUSED:
        return InputError(f"access is refused ({said}).", place=place, remedy=_RIGHTS)
    if isinstance(error, FileNotFoundError) and to == "read":
        return NoSuchFile(place=place)
    full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    return InputError(f"cannot be {to} ({said}).", place=place, remedy=_ROOM if full else _RIGHTS)


def download_file(system: Any, there: str, target: Path) -> None:
    """A file as a whole, block by block."""
    target.parent.mkdir(parents=True, exist_ok=True)
    system.get_file(there, str(target))


def relative_path(folder: str, file: str) -> str:
    """The path of a file in a folder, which must lead nowhere else."""
    inside = file.removeprefix(folder).lstrip("/")
    if ".." in PurePosixPath(inside).parts:
        raise InputError("this name leads out of its folder.", place=Place(file=file))
    return inside


def is_local_filesystem(system: Any) -> bool:
    """Whether files lie here after all: `file://`."""
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(system, LocalFileSystem)


def choose_local_path(address: str, system: Any, there: str) -> Path:
    """The path on this machine that stands for an address: folders and name as there, for names mean much."""
    if is_local_filesystem(system):
        return Path(there)
    path = PurePosixPath(urlsplit(there).path if "://" in there else there)
    parts = [part for part in path.parts if part not in {"/", ".."}]
    target = _copies().joinpath(hashlib.blake2b(address.encode(), digest_size=8).hexdigest(), *parts)
    LOCAL_COPIES[str(target)] = address
    return target


@cache
def _copies() -> Path:
    """A folder that goes when the program ends; those that killed ones left behind go now."""
    for left in Path(tempfile.gettempdir()).glob(f"{_COPIES}*"):
        with suppress(OSError):
            if (handle := _locked(left)) is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(handle)
    folder = Path(tempfile.mkdtemp(prefix=_COPIES))
    (folder / _LOCK).touch()
    _locked(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _locked(folder: Path) -> int | None:
    """Hold a folder of copies as long as this process lives; None where another one holds it, or none can."""
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(folder / _LOCK, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
