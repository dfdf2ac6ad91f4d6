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
from metassay.plugins import hash_user_code
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.hashes import Hashes, argsort_hashes
from metassay.store.parts import (
    EncodedTable,
    encode_table_as_parquet,
    hash_bytes,
    log_note_for_user,
    read_parquet_file,
    write_parquet_file,
)
from metassay.store.remote import list_files
from metassay.store.score_tables import copy_scores_from_table, make_score_table
from metassay.store.tables import write_json
from metassay.store.versions import SCORING_PACKAGES, collect_versions
from metassay.text.resources import list_resource_versions

DESCRIPTION_FILE = "about.json"


def can_share_scores_between_runs(metric: Metric) -> bool:
    """Return whether scores of this metric may be reused by other runs.

    Not if they come from user code, programs or services: no hash covers all that these depend on.
    """
    return metric.is_cacheable and metric.can_share_cache and not hash_user_code(metric)


def describe_metric_dependencies(metric: Metric) -> dict[str, Any]:
    """Return what the scores of a metric depend on besides the texts: its parameters, and the versions of
    libraries and dictionaries.
    """
    versions = collect_versions(SCORING_PACKAGES) | list_resource_versions(metric.dictionary_languages)
    # Importing torch takes seconds. If no metric has loaded it, none can compute on a GPU.
    torch = sys.modules.get("torch")
    if _does_score_depend_on_batch(metric) and torch is not None and torch.cuda.is_available():
        versions["device"] = torch.cuda.get_device_name()
    return {"metric": metric.spec, "signature": metric.signature, "versions": versions}


def hash_run_dependencies(
    code_and_versions: Mapping[str, Any], metrics: Sequence[Metric], other_dependencies: Sequence[Any]
) -> str:
    """Return a hash of everything that the results of a run depend on besides settings and data: code,
    versions and metrics.

    A finished run whose hash differs is computed again.
    """
    descriptions = [describe_metric_dependencies(metric) for metric in metrics]
    return hash_bytes(json.dumps([code_and_versions, descriptions, other_dependencies]).encode())


def find_cache_subfolder(cache_folder: Path, metric_and_versions: str) -> Path:
    """Return the subfolder of a cache for everything that was computed with the described metric and library
    versions.
    """
    name = hash_bytes(metric_and_versions.encode())
    # Two levels keep the number of entries in each folder small.
    return cache_folder / name[:2] / name


def write_dependency_description(folder: Path, description: Mapping[str, Any]) -> None:
    """Write the file `about.json` to a cache folder, unless it exists. It says with which metric and library
    versions the contents were computed.
    """
    if not (folder / DESCRIPTION_FILE).is_file():
        write_json(folder / DESCRIPTION_FILE, description)


def _does_score_depend_on_batch(metric: Metric) -> bool:
    """Return whether the score of an output may change with the other outputs in its batch, as in neural
    networks.
    """
    return metric.cost_class != COST_CLASSES[0]


class MetricCache:
    """Stores the scores of one metric in a cache folder. Scores that were computed with other versions of
    libraries are kept apart.
    """

    def __init__(self, metric: Metric, cache: Path) -> None:
        self.description = describe_metric_dependencies(metric)
        self.folder = find_cache_subfolder(cache, json.dumps(self.description, sort_keys=True))
        self.by_batch = _does_score_depend_on_batch(metric)
        self.is_writable = True
        self._single_scores: pl.DataFrame | None = None
        self._lock = threading.Lock()

    def fill_in_cached_scores(self, content_hashes: Hashes, scores: Scores) -> RecordedWarnings:
        """Replace missing scores (NaN) in an array by the cached scores of the same outputs.

        Returns the warnings of the batch if its scores were cached as a batch. Scores with warnings are
        cached that way, since a warning belongs to a batch.
        """
        missing = np.flatnonzero(np.isnan(scores))
        if not self.by_batch:
            cached_scores = scores[missing]
            copy_scores_from_table(self._read_single_scores(), content_hashes[missing], cached_scores)
            scores[missing] = cached_scores
        # The scores of a batch depend on all its outputs, so that they are taken together or not at all.
        all_were_missing = len(missing) == len(scores)
        if all_were_missing and np.isnan(scores).any():
            return self._fill_in_cached_batch_scores(content_hashes, scores)
        return ()

    def add_scores_to_cache(
        self,
        content_hashes: Hashes,
        scores: Scores,
        recorded_warnings: RecordedWarnings,
        encoded_table: EncodedTable | None = None,
    ) -> None:
        """Write scores to the cache, except those that it has already.

        `encoded_table` has the same scores as the bytes of a file, if the caller has them.

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
            copy_scores_from_table(self._read_single_scores(), content_hashes, cached_scores)
            is_new = np.isnan(cached_scores)
        if np.isnan(scores[is_new]).all():
            return
        # The part that was encoded for the run folder has the same bytes if all its scores are new here.
        if encoded_table is None or not is_new.all():
            encoded_table = encode_table_as_parquet(
                make_score_table(content_hashes[is_new], scores[is_new]), recorded_warnings
            )
        try:
            write_dependency_description(self.folder, self.description)
            write_parquet_file(self.folder, name, encoded_table)
        except InputError as error:
            # A cache only saves time, so that a full disk or a read-only folder does not stop the run.
            self.is_writable = False
            metric = self.description["metric"]
            log_note_for_user(
                f"{error.location}: {error.message} The scores of {metric} are not stored in the cache."
            )

    def clear_loaded_scores(self) -> None:
        """Discard the scores in memory. The next lookup reads the files again, with the scores that other
        processes have added.
        """
        with self._lock:
            self._single_scores = None

    def _read_single_scores(self) -> pl.DataFrame:
        """Read all cached scores that do not depend on other outputs in the batch, as a table sorted by the
        hash of the output.
        """
        with self._lock:
            if self._single_scores is None:
                # An empty table has the right columns where the folder has no parts.
                tables = [make_score_table(np.empty((0, 2), np.uint64), np.empty(0))]
                for path in list_files(self.folder, "part-*.parquet"):
                    part = read_parquet_file(path)
                    if part is not None:
                        tables.append(part[0])
                        _mark_file_as_used(path)
                # Several processes may have cached the same output at the same time.
                distinct = pl.concat(tables).unique(["high", "low"], keep="first")
                self._single_scores = distinct.sort("high", "low")
            return self._single_scores

    def _fill_in_cached_batch_scores(self, content_hashes: Hashes, scores: Scores) -> RecordedWarnings:
        """Replace missing scores (NaN) in an array if the cache has the scores of exactly this batch of
        outputs.
        """
        for path in list_files(self.folder, f"batch-{_hash_batch_contents(content_hashes)}-*.parquet"):
            part = read_parquet_file(path)
            if part is not None:
                table, recorded_warnings = part
                copy_scores_from_table(table, content_hashes, scores)
                _mark_file_as_used(path)
                return recorded_warnings
        return ()


def _hash_batch_contents(content_hashes: Hashes) -> str:
    """Return one hash for all outputs of a batch. The order of the outputs does not matter."""
    return hash_bytes(content_hashes[argsort_hashes(content_hashes)].tobytes())


def _mark_file_as_used(path: Path) -> None:
    """Set the modification time of a cache file to now. Files that were not used for longest are deleted
    first.
    """
    with suppress(OSError):
        os.utime(path)
