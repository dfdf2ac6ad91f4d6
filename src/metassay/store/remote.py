"""Run folders and caches at addresses such as `s3://bucket/run`.

A local folder mirrors the remote one until the program ends. Every file is uploaded as soon as it is
complete, so files arrive in the order in which they are written, the manifest of a finished run last. Parts
are downloaded when they are read, all other files when a run is opened. The remote folder is authoritative:
any machine can resume from it.
"""

from __future__ import annotations

import atexit
import fnmatch
import logging
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from metassay.data.readers.remote_files import (
    choose_local_path,
    download_file,
    get_relative_path,
    is_local_filesystem,
    open_remote_filesystem,
)
from metassay.errors import InputError, format_path_for_user, is_remote_path
from metassay.store.layout import MANIFEST, SCORES_FOLDER, SHARDS_FOLDER, TEXTS_FOLDER

# File systems on which an uploaded file is complete or absent. On others we upload, then rename.
_ATOMIC_PROTOCOLS = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "memory"}
_PARTIAL_SUFFIX = ".partial"
# Seconds between two uploads of files that grow.
_UPLOAD_INTERVAL = 30.0

# Local paths that mirror remote ones.
_mirrors: set[Path] = set()
# Mirrored files that are appended to, with their size at the last upload.
_growing_files: dict[Path, int] = {}


def convert_to_local_path(path: str | Path) -> Path:
    """Convert a path or a remote address such as `s3://bucket/run` to a local path. Nothing is downloaded."""
    if not is_remote_path(path):
        return Path(path)
    with open_remote_filesystem(str(path)) as (file_system, remote_path):
        mirror = choose_local_path(str(path), file_system, remote_path)
        if not is_local_filesystem(file_system):
            _mirrors.add(mirror)
    return mirror


def is_copy_of_remote_path(path: Path) -> bool:
    """Return whether a local path is the copy of a remote file or folder."""
    # Only the folder that was opened is registered, not the files in it.
    return any(parent in _mirrors for parent in (path, *path.parents))


def download_run_if_remote(path: str | Path) -> Path:
    """Return the local folder of a run. If the run is remote, its files are downloaded first, except for the
    many files with scores and texts.

    Nothing is downloaded from a remote folder that is not a run.
    """
    folder = convert_to_local_path(path)
    if is_remote_path(path) and is_copy_of_remote_path(folder):
        upload_growing_files()
        # Files that were deleted remotely must not stay.
        shutil.rmtree(folder, ignore_errors=True)
        with open_remote_filesystem(str(path)) as (file_system, remote_path):
            _download_run_files(file_system, remote_path, folder)
    return folder


def download_runs_if_remote(path: str | Path) -> Path:
    """Return a local folder that is a run or has runs in its subfolders. If it is remote, the files of these
    runs are downloaded first.
    """
    folder = download_run_if_remote(path)
    if is_remote_path(path) and is_copy_of_remote_path(folder) and not (folder / MANIFEST).exists():
        with open_remote_filesystem(str(path)) as (file_system, remote_path):
            for name in _list_remote_file_names(file_system, remote_path):
                _download_run_files(file_system, f"{remote_path}/{name}", folder / name)
    return folder


def list_files(folder: Path, pattern: str) -> list[Path]:
    """List the files in a folder whose names match a pattern. In the copy of a remote folder, files that were
    not downloaded yet are included.
    """
    names = {path.name for path in folder.glob(pattern)}
    with _open_remote_original(folder) as original:
        if original is not None:
            names.update(fnmatch.filter(_list_remote_file_names(*original), pattern))
    return sorted(folder / name for name in names)


def download_file_if_remote(path: Path) -> None:
    """Download a file if its folder is the copy of a remote folder and the file is not there yet."""
    # Most runs are local. The check of `_mirrors` saves them a look at the disk for every part.
    if not _mirrors or path.exists():
        return
    with _open_remote_original(path) as original:
        if original is not None:
            _download_file(*original, path)


def upload_file_if_remote(path: Path) -> None:
    """Upload a finished file if its folder is the copy of a remote folder."""
    # The words of `purpose` become part of the error message.
    with _open_remote_original(path, purpose="written") as original:
        if original is None:
            return
        file_system, remote_path = original
        if _ATOMIC_PROTOCOLS.intersection(_list_protocol_names(file_system)):
            file_system.put_file(str(path), remote_path)
            return
        folder, _, name = remote_path.rpartition("/")
        # A process that reads the folder meanwhile must not see half a file.
        temporary = f"{folder}/{_make_temporary_file_name(name)}"
        file_system.makedirs(folder, exist_ok=True)
        file_system.put_file(str(path), temporary)
        file_system.mv(temporary, remote_path)


def delete_file(path: Path) -> None:
    """Delete a file. If its folder is the copy of a remote folder, the remote file is deleted, too."""
    path.unlink(missing_ok=True)
    with _open_remote_original(path, purpose="removed") as original:
        if original is not None:
            file_system, remote_path = original
            with suppress(FileNotFoundError):
                file_system.rm_file(remote_path)


def upload_file_in_background(path: Path) -> None:
    """Register a growing file, which is then uploaded every 30 seconds and when the program ends. A file that
    is not the copy of a remote file is ignored.
    """
    if not is_copy_of_remote_path(path) or path in _growing_files:
        return
    if not _growing_files:
        threading.Thread(target=_upload_periodically, daemon=True).start()
        atexit.register(_upload_at_exit)
    _growing_files[path] = 0


def upload_growing_files() -> None:
    """Upload the files registered with `upload_file_in_background` whose size has changed since their last
    upload.
    """
    # A copy, because another thread may add files during the loop.
    for path, uploaded_size in list(_growing_files.items()):
        if path.is_file() and (size := path.stat().st_size) != uploaded_size:
            upload_file_if_remote(path)
            _growing_files[path] = size


def _upload_periodically() -> None:
    """Upload the registered files every 30 seconds. A background thread runs this endless loop."""
    while True:
        time.sleep(_UPLOAD_INTERVAL)
        with suppress(InputError):  # the next attempt may succeed; the last one reports the failure
            upload_growing_files()


def _upload_at_exit() -> None:
    """Upload the registered files a last time when the program ends."""
    try:
        upload_growing_files()
    except InputError as error:
        logging.getLogger("metassay").warning("Note: %s", error)


@contextmanager
def _open_remote_original(path: Path, *, purpose: str = "read") -> Iterator[tuple[Any, str] | None]:
    """Context manager that yields the file system and path of the remote file of which a local path is a
    copy; None if it is not a copy.
    """
    if not is_copy_of_remote_path(path):
        yield None
        return
    with open_remote_filesystem(format_path_for_user(path), purpose=purpose) as original:
        yield original


def _list_remote_file_names(file_system: Any, folder: str) -> list[str]:
    """List the names of the files in a remote folder; an empty list if the folder does not exist."""
    try:
        paths = file_system.ls(folder, detail=False)
    except (FileNotFoundError, NotADirectoryError):
        return []
    names = [get_relative_path(folder, str(path).rstrip("/")) for path in paths]
    return sorted(name for name in names if name and not name.endswith(_PARTIAL_SUFFIX))


def _download_run_files(file_system: Any, remote_folder: str, folder: Path) -> None:
    """Download the files of a remote run, except for the many files with scores and texts. Nothing is
    downloaded from a folder that is not a run.
    """
    names = _list_remote_file_names(file_system, remote_folder)
    if names:
        folder.mkdir(parents=True, exist_ok=True)
    if MANIFEST not in names:
        return
    for name in names:
        if name in {SCORES_FOLDER, TEXTS_FOLDER, SHARDS_FOLDER}:
            continue
        for file in file_system.find(f"{remote_folder}/{name}"):
            _download_file(file_system, file, folder / get_relative_path(remote_folder, file))


def _download_file(file_system: Any, remote_path: str, path: Path) -> None:
    """Download a file so that it is either complete or absent. A remote file that does not exist is
    ignored.
    """
    temporary = path.with_name(_make_temporary_file_name(path.name))
    with suppress(FileNotFoundError):
        download_file(file_system, remote_path, temporary)
        temporary.replace(path)


def _make_temporary_file_name(file_name: str) -> str:
    """Return a unique temporary name for a file that is being transferred."""
    return f".{file_name}.{uuid.uuid4().hex}{_PARTIAL_SUFFIX}"


def _list_protocol_names(file_system: Any) -> tuple[str, ...]:
    """List the protocol names of a file system, such as `s3` and `s3a`."""
    protocol = file_system.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)
