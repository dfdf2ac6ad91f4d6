"""`cache`: show what the score cache holds, and maintain it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl

from metassay.errors import InputError, InputLocation, UnknownName
from metassay.reporting.result_display import ResultDisplay
from metassay.reporting.terminal.inventory import describe_score_cache
from metassay.results.cache import CacheContent, CachedMetric

ACTIONS = ("info", "prune", "verify")


class CacheResult(ResultDisplay, CacheContent, frozen=True, kw_only=True):
    """Result of `cache`: the size of the cache of scores, and the metrics whose scores are in it."""

    describe_result_for_terminal = describe_score_cache

    def to_frame(self) -> pl.DataFrame:
        """Return a table with one row per metric and signature."""
        rows = [msgspec.structs.asdict(metric) for metric in self.metrics]
        return pl.DataFrame(rows, infer_schema_length=None)


def manage_cache(
    action: str, folder: str | Path | None = None, *, max_gigabytes: float = 10.0
) -> CacheResult:
    """Show the contents of the cache of scores (`info`), reduce its size (`prune`), or look for damaged files
    (`verify`).

    `prune` keeps at most `max_gigabytes`. `verify` moves damaged files away.
    """
    from metassay.store.cache_folder import prune_cache, verify_cache

    if action not in ACTIONS:
        raise UnknownName("action", action, ACTIONS)
    cache_folder = _find_local_cache_folder(folder)
    removed = prune_cache(cache_folder, max_bytes=int(max_gigabytes * 1e9)) if action == "prune" else []
    broken = verify_cache(cache_folder)[1] if action == "verify" else []
    metrics = _list_cached_metrics(cache_folder)
    return CacheResult(
        folder=str(cache_folder),
        parts=sum(metric.parts for metric in metrics),
        bytes=sum(metric.bytes for metric in metrics),
        metrics=metrics,
        removed=len(removed),
        broken=[str(path) for path in broken],
    )


def _find_local_cache_folder(requested_folder: str | Path | None) -> Path:
    """Return the folder of the cache. Raises an error if no cache is named or if it is not on
    this machine.
    """
    from metassay.store.cache_folder import CACHE_VARIABLE, choose_cache_folder
    from metassay.store.remote import is_copy_of_remote_path

    cache_folder = choose_cache_folder(requested_folder)
    if cache_folder is None:
        raise InputError(
            "no cache was named.", remedy=f"Name its folder with --cache, or in {CACHE_VARIABLE}."
        )
    if is_copy_of_remote_path(cache_folder):
        raise InputError(
            "only a cache on this machine can be managed.", location=InputLocation(file=str(cache_folder))
        )
    return cache_folder


def _list_cached_metrics(cache_folder: Path) -> list[CachedMetric]:
    """List the metrics in a cache, with the number and size of files."""
    from metassay.store.cache_folder import list_cached_score_files, list_metric_cache_folders

    parts = [path for path in list_cached_score_files(cache_folder) if path.suffix == ".parquet"]
    metrics = []
    for entry_folder, description in list_metric_cache_folders(cache_folder):
        sizes = [path.stat().st_size for path in parts if path.parent == entry_folder]
        metric = CachedMetric(
            metric=description["metric"],
            parts=len(sizes),
            bytes=sum(sizes),
            signature=description["signature"],
        )
        metrics.append(metric)
    return metrics
