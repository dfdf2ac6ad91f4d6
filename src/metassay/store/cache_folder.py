"""The folder of scores and texts that runs share: choose it, list it, remove and verify its parts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metassay.errors import InputError, InputLocation
from metassay.store.files import delete_abandoned_temporary_files
from metassay.store.metric_cache import DESCRIPTION_FILE
from metassay.store.parts import read_parquet_file
from metassay.store.remote import convert_to_local_path

# Environment variable that names the cache.
CACHE_VARIABLE = "METASSAY_CACHE"
NO_CACHE = "off"


def choose_cache_folder(requested_folder: str | Path | None) -> Path | None:
    """Return the cache folder that the user requested, or else the one that the environment variable
    METASSAY_CACHE names. None if neither is given or the value is `off`.
    """
    chosen = requested_folder or os.environ.get(CACHE_VARIABLE) or NO_CACHE
    if str(chosen) == NO_CACHE:
        return None
    folder = convert_to_local_path(chosen)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"this cannot be used as a cache ({reason}).", location=InputLocation(file=str(chosen))
        ) from None
    return folder


def list_metric_cache_folders(cache_folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each folder of a cache that has the scores of one metric, and a description of the metric."""
    for file in sorted(cache_folder.glob(f"??/*/{DESCRIPTION_FILE}")):
        try:
            description = json.loads(file.read_text(encoding="utf-8"))
            entry = {key: description[key] for key in ("metric", "signature", "versions")}
        except (OSError, ValueError, KeyError, TypeError):
            # Parts in a folder whose description is damaged still take space, so the folder is listed.
            entry = {"metric": "?", "signature": "?", "versions": {}}
        yield file.parent, entry


def list_cached_score_files(cache_folder: Path) -> list[Path]:
    """List all Parquet files of a cache, the least recently used first."""
    # The last asterisk also finds broken parts, which end in `.parquet.broken`.
    parts = [path for path in cache_folder.glob("??/*/*.parquet*") if path.is_file()]
    # The name decides between equal times, so that the order is always the same.
    return sorted(parts, key=lambda path: (path.stat().st_mtime, str(path)))


def prune_cache(cache_folder: Path, *, max_bytes: int) -> list[Path]:
    """Delete files from a cache until the rest takes at most `max_bytes` bytes: first damaged files, then the
    least recently used ones.

    Returns the deleted files.
    """
    delete_abandoned_temporary_files(cache_folder)
    parts = list_cached_score_files(cache_folder)
    broken = [path for path in parts if path.suffix != ".parquet"]
    intact = [path for path in parts if path.suffix == ".parquet"]
    size = sum(path.stat().st_size for path in intact)
    deleted = []
    for path in broken:
        path.unlink(missing_ok=True)
        deleted.append(path)
    for path in intact:
        if size <= max_bytes:
            break
        size -= path.stat().st_size
        path.unlink(missing_ok=True)
        deleted.append(path)
    return deleted


def verify_cache(cache_folder: Path) -> tuple[int, list[Path]]:
    """Compare every file of a cache with its checksum, and rename damaged files. Returns the number of intact
    files and the former paths of the damaged ones.
    """
    parts = [path for path in list_cached_score_files(cache_folder) if path.suffix == ".parquet"]
    broken = [path for path in parts if read_parquet_file(path) is None]
    return len(parts) - len(broken), broken
