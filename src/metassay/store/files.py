"""Write files that are complete or absent, whatever stops the process or fills the disk."""

from __future__ import annotations

import os
import platform
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from metassay.errors import InputError, InputLocation
from metassay.store.remote import upload_file_if_remote

_TEMPORARY_NAME = re.compile(r"\.(?P<name>.+)\.(?P<writer>[^.]+)\.part")
_WRITER_NAME = re.compile(r"(?P<process>\d+)-\d+@(?P<machine>.+)")


def write_bytes(path: Path, content: bytes | memoryview, *, durable: bool = True) -> None:
    """Write bytes to a file that, whatever happens, is either complete or absent. A file in a remote folder
    is uploaded.

    A `durable` file survives a power failure. Parts need not: their checksum shows whether they are intact.
    """
    with replace_file_atomically(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        if durable:
            file.flush()
            # Otherwise the rename may reach the disk before the content, and leave an empty file after a
            # power failure.
            os.fsync(file.fileno())


@contextmanager
def replace_file_atomically(path: Path) -> Iterator[Path]:
    """Context manager that yields the path of a temporary file to write. After the block, this file replaces
    `path`.
    """
    with create_temporary_file(path) as temporary:
        yield temporary
        temporary.replace(path)
        upload_file_if_remote(path)


@contextmanager
def create_temporary_file(path: Path) -> Iterator[Path]:
    """Context manager that yields the path of a temporary file beside `path`. If an error occurs in the
    block, the file is deleted.

    The name says which process writes it, so that `delete_abandoned_temporary_files` knows whether it still
    runs.
    """
    writer = f"{os.getpid()}-{threading.get_ident()}@{_get_machine_name()}"
    # Beside the file, because a rename is one step only within a file system.
    temporary = path.with_name(f".{path.name}.{writer}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
    # Also for an interrupt, which is no Exception: the temporary file goes in any case.
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if not isinstance(error, OSError | pl.exceptions.PolarsError):
            raise
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(
            f"cannot be written ({reason}).",
            location=InputLocation(file=str(path)),
            remedy="Free some disk space or choose another folder.",
        ) from None


def get_final_file_name(temporary_file: Path) -> str | None:
    """Return the name that a temporary file gets when it is complete; None if the file is not temporary."""
    match = _TEMPORARY_NAME.fullmatch(temporary_file.name)
    return None if match is None else match["name"]


def delete_abandoned_temporary_files(folder: Path) -> None:
    """Delete temporary files of processes that have ended. Files of other machines are kept."""
    for path in folder.rglob(".*.part"):
        temporary = _TEMPORARY_NAME.fullmatch(path.name)
        writer = temporary and _WRITER_NAME.fullmatch(temporary["writer"])
        # We cannot tell whether a process of another machine is running.
        if not writer or writer["machine"] != _get_machine_name():
            continue
        if not _is_process_running(int(writer["process"])):
            with suppress(OSError):
                path.unlink()


def _get_machine_name() -> str:
    """Return the host name, with characters that are not allowed in file names replaced."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", platform.node())[:64]


def _is_process_running(process_id: int) -> bool:
    """Return whether a process with this id is running on this machine."""
    if os.name == "nt":  # signal 0 is Ctrl-C there
        return True
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # the process exists, but belongs to another user
    return True
