"""From files to data sets, validated once; and tables on disk, of which memory holds what is looked at."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import polars as pl
import pyarrow as pa

from metassay.errors import InputError, Place

_AIM = [4_000_000_000]
"""Bytes of memory to aim at."""
_ROW, _SHARE = 16_000, 16
"""Bytes of the aim for each row that a table may have in memory; the share of it that mapped tables get."""
_MAPS: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_LOCK = threading.Lock()
_STEP = 0.01
"""Seconds between two looks at how many they are."""
_C = ctypes.CDLL(None) if sys.platform == "linux" else None
_RESIDENT = Path("/proc/self/statm")


def aim_at(memory: int) -> None:
    """Hold about so many bytes in memory, as far as that is a choice: the less, the more stays on disk."""
    _AIM[0] = memory


def is_large(rows: int) -> bool:
    """Whether a table of so many rows is mapped from disk, not held in memory."""
    return rows * _ROW > _AIM[0]


def mapped(path: Path) -> pl.DataFrame:
    """A table in Arrow's format, mapped: what is not looked at is on disk alone."""
    with path.open("rb") as file:
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with _LOCK:
        first = not _MAPS
        _MAPS.add(view)
    if first and _RESIDENT.exists():
        threading.Thread(target=_watch, daemon=True).start()
    return pl.DataFrame(pl.from_arrow(pa.ipc.open_file(pa.py_buffer(view)).read_all()))


def forget() -> None:
    """Give back the memory of what was looked at in mapped tables, and what lies free between objects.

    The former is read again where it is needed. The latter grows from one block of work to the next.
    """
    _drop()
    pa.default_memory_pool().release_unused()
    trim = getattr(_C, "malloc_trim", None)
    if trim is not None:
        trim(0)


def _drop() -> None:
    with _LOCK:
        views = list(_MAPS)
    for view in views:
        if hasattr(mmap, "MADV_DONTNEED"):
            view.madvise(mmap.MADV_DONTNEED)


def _watch() -> None:
    """As long as a table is mapped: drop it whenever more of it came into memory than its share."""
    left = _of_files()
    while _MAPS:
        time.sleep(_STEP)
        now = _of_files()
        if now > left + _AIM[0] / _SHARE:
            _drop()
            left = _of_files()
        left = min(left, now)


def _of_files() -> int:
    """Bytes of files that are in the memory of this process."""
    return int(_RESIDENT.read_text().split()[2]) * mmap.PAGESIZE


def on_disk(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Tables of the same columns under each other, mapped from a temporary file that lasts as long.

    Each is written before the next is asked for.
    """
    handle, name = tempfile.mkstemp(prefix="metassay-", suffix=".arrow")
    os.close(handle)
    writer = None
    try:
        for part in parts:
            table = part.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
            writer = writer or pa.ipc.new_file(name, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
        return mapped(Path(name))
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or error}).",
            place=Place(file=name),
            remedy="Large tables are put among temporary files: make room, or set TMPDIR to another place.",
        ) from None
    finally:
        with suppress(OSError):
            Path(name).unlink()
