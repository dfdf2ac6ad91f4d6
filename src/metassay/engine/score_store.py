"""The interface of the place where finished scores are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from metassay.metrics.base import Metric, Scores
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.hashes import Hashes


class ScoreStore(Protocol):
    """Stores the scores of finished batches, so that an interrupted run can continue.

    A score is identified by its metric, its batch, and the hash of what was scored.
    """

    def load(
        self, metric: Metric, batch_number: int, content_hashes: Hashes
    ) -> tuple[Scores, RecordedWarnings]:
        """Load the stored scores of a batch, NaN for missing ones, and the warnings of their computation."""
        ...

    def save(
        self,
        metric: Metric,
        batch_number: int,
        content_hashes: Hashes,
        scores: Scores,
        recorded_warnings: RecordedWarnings,
    ) -> None:
        """Store the defined scores of a batch, and the warnings of their computation."""
        ...

    def has_batch(self, metric: Metric, batch_number: int) -> bool:
        """Return whether the run has stored scores of this metric and batch."""
        ...

    def refresh(self) -> None:
        """Read the store again, to find scores that other processes stored."""
        ...

    def make_opener(self) -> Callable[[Sequence[Metric]], ScoreStore]:
        """Return a function that opens the same store in another process."""
        ...
