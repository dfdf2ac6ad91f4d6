"""Files of runs, whole or absent, whatever stops the process or fills the disk, on this machine or elsewhere.

A folder elsewhere (`s3://bucket/run`) has one on this machine that stands for it until the program ends. What
is whole here is put there at once, and what is removed here is removed there. Parts come from there when they
are asked for, and everything else when a run is opened. The truth is there, and any machine goes on from it.
"""

from __future__ import annotations

import atexit
import fnmatch
import logging
import os
import platform
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data.readers.remote_files import (
    choose_local_path,
    download_file,
    is_local_filesystem,
    open_filesystem,
    relative_path,
)
from metassay.errors import InputError, Place, display_path, is_remote

MANIFEST = "manifest.json"
SCORES, TEXTS, SHARDS = "scores", "texts", "shards"
_WHOLE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "memory"}
"""Where a file is there as a whole or not at all; elsewhere it gets its name at the end."""
_STANDING: set[Path] = set()
"""Paths of this machine that stand for others."""
_GROWING: dict[Path, int] = {}
"""Files that are added to, and their sizes when they were last put."""
_PAUSE = 30.0
_MAKING = ".copy"
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.(?P<writer>[^.]+)\.part")


def at_hand(path: str | Path) -> Path:
    """The path on this machine that is meant, or stands for what is meant; nothing is fetched."""
    if not is_remote(path):
        return Path(path)
    with open_filesystem(str(path)) as (system, there):
        found = choose_local_path(str(path), system, there)
        if not is_local_filesystem(system):
            _STANDING.add(found)
    return found


def brought(path: str | Path, *, several: bool = False) -> Path:
    """The same for a run, with all that it holds as of now but its parts, which come as they are asked for.

    Of a folder elsewhere that is no run, nothing comes but the folder; with `several`, the runs in it.
    """
    folder = at_hand(path)
    if not is_remote(path) or _owner(folder) is None:
        return folder
    catch_up()
    shutil.rmtree(folder, ignore_errors=True)
    with open_filesystem(str(path)) as (system, there):
        names = _names(system, there)
        if names:
            folder.mkdir(parents=True, exist_ok=True)
        if MANIFEST in names:
            _bring(system, there, folder)
        for name in names if several and MANIFEST not in names else ():
            if MANIFEST in _names(system, f"{there}/{name}"):
                _bring(system, f"{there}/{name}", folder / name)
    return folder


def is_elsewhere(path: Path) -> bool:
    """Whether a path stands for one elsewhere."""
    return _owner(path) is not None


def listed(folder: Path, pattern: str) -> list[Path]:
    """The files in a folder whose names fit a pattern, sorted; those elsewhere need not have come yet."""
    names = {path.name for path in folder.glob(pattern)}
    with _elsewhere(folder) as found:
        if found is not None:
            names |= {name for name in _names(*found) if fnmatch.fnmatchcase(name, pattern)}
    return sorted(folder / name for name in names)


def arrive(path: Path) -> None:
    """Fetch a part that is elsewhere and not here yet, if it is there."""
    if _STANDING and not path.exists():
        with _elsewhere(path) as found:
            if found is not None:
                _fetch(*found, path)


def put(path: Path) -> None:
    """A file that is whole now, to where it belongs."""
    with _elsewhere(path, to="written") as found:
        if found is None:
            return
        system, there = found
        names = system.protocol
        if _WHOLE & ({names} if isinstance(names, str) else {*names}):
            system.put_file(str(path), there)
            return
        folder, _, name = there.rpartition("/")
        first = f"{folder}/.{name}.{_unique()}{_MAKING}"
        system.makedirs(folder, exist_ok=True)
        system.put_file(str(path), first)
        system.mv(first, there)


def remove(path: Path) -> None:
    """A file, here and where it belongs; one that is not there is no error."""
    path.unlink(missing_ok=True)
    with _elsewhere(path, to="removed") as found:
        if found is not None:
            with suppress(FileNotFoundError):
                found[0].rm_file(found[1])


def follow(path: Path) -> None:
    """Put a file that is added to, from time to time, and when the program ends."""
    if _owner(path) is None or path in _GROWING:
        return
    if not _GROWING:
        threading.Thread(target=_keep_up, daemon=True).start()
        atexit.register(_keep_up, once=True)
    _GROWING[path] = 0


def catch_up() -> None:
    """Put the files that were added to."""
    for path, before in list(_GROWING.items()):
        if path.is_file() and (size := path.stat().st_size) != before:
            put(path)
            _GROWING[path] = size


def _keep_up(*, once: bool = False) -> None:
    """Catch up again and again; what cannot be put now is put the next time, or said."""
    while not once:
        time.sleep(_PAUSE)
        with suppress(InputError):
            catch_up()
    try:
        catch_up()
    except InputError as error:
        logging.getLogger("metassay").warning("Note: %s", error)


def write_bytes(path: Path, content: bytes | memoryview, *, lasting: bool = True) -> None:
    """Put a whole file in place at once; where that fails nothing is left of it, and the error names it.

    What is `lasting` survives a power cut; parts need not, since their checksum tells.
    """
    with new_file(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        if lasting:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def new_file(path: Path, *, stays: bool = False) -> Iterator[Path]:
    """Where to write what is then put in its place; with `stays` it is left where it was written."""
    temporary = path.with_name(f".{path.name}.{_writer(os.getpid())}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        if not stays:
            temporary.replace(path)
            put(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if not isinstance(error, OSError | pl.exceptions.PolarsError):
            raise
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        remedy = "Make room there, or choose another place."
        raise InputError(
            f"cannot be written ({reason}).", place=Place(file=str(path)), remedy=remedy
        ) from None


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


def _owner(path: Path) -> Path | None:
    """What stands for something elsewhere and is this path, or a folder that it lies in."""
    return next((own for own in (path, *path.parents) if own in _STANDING), None) if _STANDING else None


@contextmanager
def _elsewhere(path: Path, *, to: str = "read") -> Iterator[tuple[Any, str] | None]:
    """The filesystem and the path there that a path stands for; None of a path that stands for itself."""
    if _owner(path) is None:
        yield None
    else:
        with open_filesystem(display_path(path), to=to) as found:
            yield found


def _unique() -> str:
    """What no other process or thread is called."""
    return f"{_writer(os.getpid())}-{threading.get_ident()}"


def _names(system: Any, there: str) -> list[str]:
    """What is directly in a folder; nothing where there is none, or a file."""
    try:
        found = [str(name).rstrip("/") for name in system.ls(there, detail=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(
        relative_path(there, name) for name in found if name != there and not name.endswith(_MAKING)
    )


def _bring(system: Any, there: str, folder: Path) -> None:
    """All that a run holds but its parts."""
    for name in _names(system, there):
        if name not in {SCORES, TEXTS, SHARDS}:
            for file in system.find(f"{there}/{name}"):
                _fetch(system, file, folder / relative_path(there, file))


def _fetch(system: Any, there: str, path: Path) -> None:
    """A file, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{_unique()}{_MAKING}")
    with suppress(FileNotFoundError):
        download_file(system, there, temporary)
        temporary.replace(path)
