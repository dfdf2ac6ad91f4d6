"""Finished scores in a run folder, so that an interrupted run continues where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from metassay.errors import format_path_for_user
from metassay.metrics.base import Metric, Scores
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.hashes import Hashes
from metassay.store.parts import (
    EncodedTable,
    PartIndex,
    encode_table_as_parquet,
    hash_bytes,
    make_short_file_name,
    read_parquet_file,
)
from metassay.store.remote import convert_to_local_path
from metassay.store.score_tables import copy_scores_from_table, make_score_table


class RunScores:
    """Stores metric scores in a run folder, in one file for each metric and batch of outputs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts = PartIndex(folder, "part-")

    def load_batch_scores(
        self, metric: Metric, batch_number: int, content_hashes: Hashes
    ) -> tuple[Scores, RecordedWarnings]:
        """Return the stored scores of a metric for a batch of outputs, and the warnings issued when they were
        computed. A score that is not stored is NaN.
        """
        scores = np.full(len(content_hashes), np.nan)
        recorded_warnings: RecordedWarnings = ()
        for path in self._parts.find_files_by_name(_make_score_file_name(metric, batch_number)):
            part = read_parquet_file(path)
            if part is not None:
                table, part_warnings = part
                copy_scores_from_table(table, content_hashes, scores)
                recorded_warnings = (*recorded_warnings, *part_warnings)
        # Two parts of the same batch can have the same warning.
        return scores, tuple(dict.fromkeys(recorded_warnings))

    def save_batch_scores(
        self,
        metric: Metric,
        batch_number: int,
        content_hashes: Hashes,
        scores: Scores,
        recorded_warnings: RecordedWarnings,
    ) -> None:
        """Store the scores of a metric for a batch of outputs, in place of older ones. Scores that are NaN
        are not stored.
        """
        self.save_encoded_scores(
            metric,
            batch_number,
            encode_table_as_parquet(make_score_table(content_hashes, scores), recorded_warnings),
        )

    def save_encoded_scores(self, metric: Metric, batch_number: int, encoded_table: EncodedTable) -> None:
        """Store scores of a metric for a batch of outputs that are encoded as a Parquet file already."""
        self._parts.replace_stored_file(_make_score_file_name(metric, batch_number), encoded_table)

    def has_batch_scores(self, metric: Metric, batch_number: int) -> bool:
        """Return whether any scores of this metric for this batch are stored."""
        return bool(self._parts.find_files_by_name(_make_score_file_name(metric, batch_number)))

    def reload_scores(self) -> None:
        """Look at the files in the run folder again, to see scores that other processes have added."""
        self._parts.clear_file_list()

    def make_store_opener(self) -> Callable[[Sequence[Metric]], RunScores]:
        """Return a function with which another process can open the scores of the same run folder."""
        return partial(open_run_scores, format_path_for_user(self.folder.absolute()))


def open_run_scores(run_address: str, metrics: Sequence[Metric] = ()) -> RunScores:
    """Open the scores that are stored in a run folder, given by a path or a remote address."""
    # `open_cached_scores` needs them, and both functions are called in the same way.
    del metrics
    return RunScores(convert_to_local_path(run_address))


def _make_score_file_name(metric: Metric, batch_number: int) -> str:
    """Return the name of the file with the scores of a metric for a batch. It includes a hash of the metric's
    parameters and version.
    """
    return (
        f"part-{make_short_file_name(metric.spec)}-{hash_bytes(metric.signature.encode())}-{batch_number:05d}"
    )
