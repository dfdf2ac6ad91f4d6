"""The cached scores of one metric, which any number of processes read and extend at the same time.

    AB/ABCD…/about.json                    the metric: its signature, and the versions its scores depend on
    AB/ABCD…/part-CHECKSUM.parquet         scores of single outputs, found by the hash of what was scored
    AB/ABCD…/batch-HASH-CHECKSUM.parquet   scores of one batch, valid for exactly the same batch

The folder name is a hash of signature and versions, so that scores of another metric, weight file or library
version are never returned. Files are never changed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.errors import InputError
from metassay.metrics.base import COST_CLASSES, Metric, Scores
from metassay.plugins import hash_user_source
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.hashes import Hashes, argsort_hashes
from metassay.store.parts import PackedPart, encode_part, hash_bytes, log_note_for_user, read_part, write_part
from metassay.store.remote import list_files
from metassay.store.score_tables import fill_in_scores, make_score_table
from metassay.store.tables import write_json
from metassay.store.versions import SCORING_PACKAGES, collect_versions
from metassay.text.resources import list_resource_versions

DESCRIPTION_FILE = "about.json"


def can_share_scores(metric: Metric) -> bool:
    """Return whether other runs may use the scores of a metric.

    Not if they come from user code, programs or services: no hash covers all that these depend on.
    """
    return metric.is_cacheable and metric.can_share_cache and not hash_user_source(metric)


def describe_metric_dependencies(metric: Metric) -> dict[str, Any]:
    """Describe everything that the scores of a metric depend on, except the texts."""
    versions = collect_versions(SCORING_PACKAGES) | list_resource_versions(metric.dictionary_languages)
    # Importing torch takes seconds. If no metric has loaded it, none can compute on a GPU.
    torch = sys.modules.get("torch")
    if _does_score_depend_on_batch(metric) and torch is not None and torch.cuda.is_available():
        versions["device"] = torch.cuda.get_device_name()
    return {"metric": metric.spec, "signature": metric.signature, "versions": versions}


def hash_dependencies(
    environment: Mapping[str, Any], metrics: Sequence[Metric], others: Sequence[Any]
) -> str:
    """Hash everything that the results of a run depend on, except its settings and data.

    A finished run whose hash differs is computed again.
    """
    descriptions = [describe_metric_dependencies(metric) for metric in metrics]
    return hash_bytes(json.dumps([environment, descriptions, others]).encode())


def find_cache_subfolder(cache: Path, description: str) -> Path:
    """Return the folder in a cache for scores or texts with these dependencies."""
    name = hash_bytes(description.encode())
    # Two levels keep the number of entries in each folder small.
    return cache / name[:2] / name


def write_dependencies(folder: Path, description: Mapping[str, Any]) -> None:
    """Describe what scores in a cache folder depend on in a file of the folder, unless it is there."""
    if not (folder / DESCRIPTION_FILE).is_file():
        write_json(folder / DESCRIPTION_FILE, description)


def _does_score_depend_on_batch(metric: Metric) -> bool:
    """Return whether a score may depend on other outputs of the batch."""
    return metric.cost_class != COST_CLASSES[0]


class MetricCache:
    """The cached scores of one metric, for the versions of libraries that are installed."""

    def __init__(self, metric: Metric, cache: Path) -> None:
        self.description = describe_metric_dependencies(metric)
        self.folder = find_cache_subfolder(cache, json.dumps(self.description, sort_keys=True))
        self.by_batch = _does_score_depend_on_batch(metric)
        self.is_writable = True
        self._single_scores: pl.DataFrame | None = None
        self._lock = threading.Lock()

    def load(self, content_hashes: Hashes, scores: Scores) -> RecordedWarnings:
        """Replace missing scores (NaN) by cached scores.

        Returns the warnings of the batch if its scores were cached as a batch. Scores with warnings are
        cached that way, since a warning belongs to a batch.
        """
        missing = np.flatnonzero(np.isnan(scores))
        if not self.by_batch:
            cached_scores = scores[missing]
            fill_in_scores(self._read_single_scores(), content_hashes[missing], cached_scores)
            scores[missing] = cached_scores
        # The scores of a batch depend on all its outputs, so that they are taken together or not at all.
        all_were_missing = len(missing) == len(scores)
        if all_were_missing and np.isnan(scores).any():
            return self._load_batch_scores(content_hashes, scores)
        return ()

    def save(
        self,
        content_hashes: Hashes,
        scores: Scores,
        recorded_warnings: RecordedWarnings,
        packed_part: PackedPart | None = None,
    ) -> None:
        """Add scores that the cache does not have yet; `packed_part` has all of them if already encoded.

        If the cache cannot be written, this is reported once and the run continues without it.
        """
        if not self.is_writable:
            return
        is_new = np.ones(len(content_hashes), dtype=np.bool_)
        if self.by_batch or recorded_warnings:
            name = f"batch-{_hash_batch_contents(content_hashes)}"
        else:
            name = "part"
            cached_scores = np.full(len(content_hashes), np.nan)
            fill_in_scores(self._read_single_scores(), content_hashes, cached_scores)
            is_new = np.isnan(cached_scores)
        if np.isnan(scores[is_new]).all():
            return
        # The part that was encoded for the run folder has the same bytes if all its scores are new here.
        if packed_part is None or not is_new.all():
            packed_part = encode_part(
                make_score_table(content_hashes[is_new], scores[is_new]), recorded_warnings
            )
        try:
            write_dependencies(self.folder, self.description)
            write_part(self.folder, name, packed_part)
        except InputError as error:
            # A cache only saves time, so that a full disk or a read-only folder does not stop the run.
            self.is_writable = False
            metric = self.description["metric"]
            log_note_for_user(
                f"{error.location}: {error.message} The scores of {metric} are not stored in the cache."
            )

    def refresh(self) -> None:
        """Read the folder again, to find scores that other processes cached."""
        with self._lock:
            self._single_scores = None

    def _read_single_scores(self) -> pl.DataFrame:
        """Read all scores of single outputs, sorted by hash."""
        with self._lock:
            if self._single_scores is None:
                # An empty table has the right columns where the folder has no parts.
                tables = [make_score_table(np.empty((0, 2), np.uint64), np.empty(0))]
                for path in list_files(self.folder, "part-*.parquet"):
                    part = read_part(path)
                    if part is not None:
                        tables.append(part[0])
                        _mark_part_as_used(path)
                # Several processes may have cached the same output at the same time.
                distinct = pl.concat(tables).unique(["high", "low"], keep="first")
                self._single_scores = distinct.sort("high", "low")
            return self._single_scores

    def _load_batch_scores(self, content_hashes: Hashes, scores: Scores) -> RecordedWarnings:
        """Replace missing scores by those of a cached batch with the same contents."""
        for path in list_files(self.folder, f"batch-{_hash_batch_contents(content_hashes)}-*.parquet"):
            part = read_part(path)
            if part is not None:
                table, recorded_warnings = part
                fill_in_scores(table, content_hashes, scores)
                _mark_part_as_used(path)
                return recorded_warnings
        return ()


def _hash_batch_contents(content_hashes: Hashes) -> str:
    """Hash the contents of a batch, regardless of their order."""
    return hash_bytes(content_hashes[argsort_hashes(content_hashes)].tobytes())


def _mark_part_as_used(path: Path) -> None:
    """Update the time of a cache file, so that it is deleted later than unused files."""
    with suppress(OSError):
        os.utime(path)
