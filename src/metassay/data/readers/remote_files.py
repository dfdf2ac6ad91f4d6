"""Download remote files (`s3://bucket/data.csv`) with fsspec.

Copies lie in a temporary folder that is deleted when the program ends. Errors and notes name the address, not
the copy.
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
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from metassay.errors import (
    LOCAL_COPIES,
    InputError,
    InputLocation,
    MetassayError,
    MissingBackend,
    NoSuchFile,
    is_remote_path,
    shorten_text,
)

_FOLDER_PREFIX = "metassay-copies-"
_LOCK_FILE = ".lock"
_REFUSED_STATUSES = (401, 403)
_DISK_REMEDY = "Copies are stored as temporary files: free some disk space, or set TMPDIR."
_ACCESS_REMEDY = "Check the address and your rights; keys are given as the package for such addresses says."


def download_if_remote(path: str | os.PathLike[str]) -> str:
    """Download the files of a remote address such as `s3://…`. Returns the path on this machine; a local path
    is returned unchanged.
    """
    address = os.fspath(path)
    if not is_remote_path(path):
        return address
    with open_remote_filesystem(address) as (filesystem, remote_path):
        local_path = choose_local_path(address, filesystem, remote_path)
        if is_local_filesystem(filesystem):
            return str(local_path)
        if local_path.is_dir():  # files may have been removed from the remote folder since the last download
            shutil.rmtree(local_path)
        if filesystem.info(remote_path)["type"] == "directory":
            local_path.mkdir(parents=True)
            for file in filesystem.find(remote_path):
                download_file(filesystem, file, local_path / get_relative_path(remote_path, file))
        else:
            download_file(filesystem, remote_path, local_path)
    return str(local_path)


@contextmanager
def open_remote_filesystem(address: str, *, purpose: str = "read") -> Iterator[tuple[Any, str]]:
    """Yield the file system of a remote address (an object of fsspec) and the path in this file system.

    Errors inside the block become errors that name the address and say that it cannot be `purpose` ("read",
    "written", "removed").
    """
    try:
        import fsspec
    except ImportError:
        raise MissingBackend(f"fsspec, for {shorten_text(address)},", extra="remote") from None
    location = InputLocation(file=address)
    try:
        filesystem, remote_path = fsspec.core.url_to_fs(address)
        filesystem.invalidate_cache()  # other processes write there too
        yield filesystem, remote_path
    except MetassayError:
        raise
    except ImportError as error:
        message = f"a package for such addresses is not installed ({error})."
        raise InputError(
            message, location=location, remedy="Install the package named above: pip install NAME"
        ) from None
    except Exception as error:
        raise _build_remote_error(error, purpose, location) from error


def _build_remote_error(error: Exception, purpose: str, location: InputLocation) -> InputError:
    """Return an error message for a failure at a remote address, with advice for the user."""
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    if isinstance(error, PermissionError) or getattr(error.__cause__, "status", None) in _REFUSED_STATUSES:
        return InputError(f"access is refused ({reason}).", location=location, remedy=_ACCESS_REMEDY)
    if isinstance(error, FileNotFoundError) and purpose == "read":
        return NoSuchFile(location=location)
    is_disk_full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    remedy = _DISK_REMEDY if is_disk_full else _ACCESS_REMEDY
    return InputError(f"cannot be {purpose} ({reason}).", location=location, remedy=remedy)


def download_file(filesystem: Any, remote_path: str, local_path: Path) -> None:
    """Download one file, and create the folder for it."""
    local_path.parent.mkdir(parents=True, exist_ok=True)
    filesystem.get_file(remote_path, str(local_path))


def get_relative_path(folder: str, file: str) -> str:
    """Return the path of a file relative to a folder. A file outside the folder is an error."""
    inside = file.removeprefix(folder).lstrip("/")
    if ".." in PurePosixPath(inside).parts:
        raise InputError("this name leads out of its folder.", location=InputLocation(file=file))
    return inside


def is_local_filesystem(filesystem: Any) -> bool:
    """Return whether the files of a file system are on this machine, as for `file://` addresses."""
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(filesystem, LocalFileSystem)


def choose_local_path(address: str, filesystem: Any, remote_path: str) -> Path:
    """Choose the path on this machine to which a remote file is downloaded.

    Folders and name are the same as in the address, because readers take system and test set from them.
    """
    if is_local_filesystem(filesystem):
        return Path(remote_path)
    path = PurePosixPath(urlsplit(remote_path).path if "://" in remote_path else remote_path)
    parts = [part for part in path.parts if part not in {"/", ".."}]
    digest = hashlib.blake2b(address.encode(), digest_size=8).hexdigest()
    local_path = _create_download_folder().joinpath(digest, *parts)
    LOCAL_COPIES[str(local_path)] = address
    return local_path


@lru_cache(maxsize=1)
def _create_download_folder() -> Path:
    """Create the temporary folder for downloads. Also deletes such folders that killed processes left
    behind.
    """
    for abandoned in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        with suppress(OSError):
            lock = _try_to_lock_folder(abandoned)
            if lock is not None:
                shutil.rmtree(abandoned, ignore_errors=True)
                os.close(lock)
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))
    (folder / _LOCK_FILE).touch()
    _try_to_lock_folder(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _try_to_lock_folder(folder: Path) -> int | None:
    """Lock a folder until this process ends. Returns the handle of the lock, or None if another process has
    locked the folder.

    On Windows, which has no `fcntl`, it always returns None, and abandoned folders are not deleted.
    """
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(folder / _LOCK_FILE, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
