"""The folder of scores and texts that runs share: choose it, list it, remove and verify its parts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metassay.errors import InputError, InputLocation
from metassay.store.files import remove_abandoned_files
from metassay.store.metric_cache import DESCRIPTION_FILE
from metassay.store.parts import read_part
from metassay.store.remote import local_path

# Environment variable that names the cache.
CACHE_VARIABLE = "METASSAY_CACHE"
NO_CACHE = "off"


def find_cache_folder(requested: str | Path | None) -> Path | None:
    """Return the requested cache folder, else that of METASSAY_CACHE; None without one or for `off`."""
    chosen = requested or os.environ.get(CACHE_VARIABLE) or NO_CACHE
    if str(chosen) == NO_CACHE:
        return None
    folder = local_path(chosen)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"this cannot be used as a cache ({reason}).", location=InputLocation(file=str(chosen))
        ) from None
    return folder


def list_entries(cache: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the folder of each metric in a cache, with the description of the metric."""
    for file in sorted(cache.glob(f"??/*/{DESCRIPTION_FILE}")):
        try:
            description = json.loads(file.read_text(encoding="utf-8"))
            entry = {key: description[key] for key in ("metric", "signature", "versions")}
        except (OSError, ValueError, KeyError, TypeError):
            # Parts in a folder whose description is damaged still take space, so the folder is listed.
            entry = {"metric": "?", "signature": "?", "versions": {}}
        yield file.parent, entry


def list_cache_parts(cache: Path) -> list[Path]:
    """List all files of scores (parts) in a cache, the least recently used first."""
    # The last asterisk also finds broken parts, which end in `.parquet.broken`.
    parts = [path for path in cache.glob("??/*/*.parquet*") if path.is_file()]
    # The name decides between equal times, so that the order is always the same.
    return sorted(parts, key=lambda path: (path.stat().st_mtime, str(path)))


def prune_cache(cache: Path, *, max_bytes: int) -> list[Path]:
    """Delete broken parts, then the least recently used ones, until at most `max_bytes` are left.

    Returns the deleted files.
    """
    remove_abandoned_files(cache)
    parts = list_cache_parts(cache)
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


def verify_cache(cache: Path) -> tuple[int, list[Path]]:
    """Check all parts of a cache; return the number of intact parts and the broken ones, now renamed."""
    parts = [path for path in list_cache_parts(cache) if path.suffix == ".parquet"]
    broken = [path for path in parts if read_part(path) is None]
    return len(parts) - len(broken), broken
