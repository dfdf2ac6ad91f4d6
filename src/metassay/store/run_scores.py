"""Finished scores in a run folder, so that an interrupted run continues where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from metassay.errors import display_path
from metassay.metrics.base import Metric, Scores
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.hashes import Hashes
from metassay.store.parts import (
    PackedPart,
    PartIndex,
    encode_part,
    hash_bytes,
    make_safe_file_name,
    read_part,
)
from metassay.store.remote import local_path
from metassay.store.score_tables import fill_in_scores, make_score_table


class RunScores:
    """The scores in a run folder: one part for each metric and batch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts = PartIndex(folder, "part-")

    def load(
        self, metric: Metric, batch_number: int, content_hashes: Hashes
    ) -> tuple[Scores, RecordedWarnings]:
        """Load the stored scores of a batch, NaN for missing ones, and the warnings of their computation."""
        scores = np.full(len(content_hashes), np.nan)
        recorded_warnings: RecordedWarnings = ()
        for path in self._parts.find(_make_part_name(metric, batch_number)):
            part = read_part(path)
            if part is not None:
                table, part_warnings = part
                fill_in_scores(table, content_hashes, scores)
                recorded_warnings = (*recorded_warnings, *part_warnings)
        # Two parts of the same batch can have the same warning.
        return scores, tuple(dict.fromkeys(recorded_warnings))

    def save(
        self,
        metric: Metric,
        batch_number: int,
        content_hashes: Hashes,
        scores: Scores,
        recorded_warnings: RecordedWarnings,
    ) -> None:
        """Store the defined scores of a batch, in place of earlier ones."""
        self.save_part(
            metric, batch_number, encode_part(make_score_table(content_hashes, scores), recorded_warnings)
        )

    def save_part(self, metric: Metric, batch_number: int, packed_part: PackedPart) -> None:
        """Store scores that are already encoded as a part."""
        self._parts.write(_make_part_name(metric, batch_number), packed_part)

    def has_batch(self, metric: Metric, batch_number: int) -> bool:
        """Return whether scores of this metric and batch are stored."""
        return bool(self._parts.find(_make_part_name(metric, batch_number)))

    def refresh(self) -> None:
        """Read the folder again, to find scores that other processes stored."""
        self._parts.refresh()

    def make_opener(self) -> Callable[[Sequence[Metric]], RunScores]:
        """Return a function that opens the same scores in another process."""
        return partial(open_run_scores, display_path(self.folder.absolute()))


def open_run_scores(address: str, metrics: Sequence[Metric] = ()) -> RunScores:
    """Open the scores in a local or remote run folder."""
    # `open_cached_scores` needs them, and both functions are called in the same way.
    del metrics
    return RunScores(local_path(address))


def _make_part_name(metric: Metric, batch_number: int) -> str:
    """Return the name of the part of a metric and batch, which is different for each signature."""
    return (
        f"part-{make_safe_file_name(metric.spec)}-{hash_bytes(metric.signature.encode())}-{batch_number:05d}"
    )
