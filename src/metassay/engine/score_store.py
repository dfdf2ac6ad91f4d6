"""The interface of the place where finished scores are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from metassay.metrics.base import Metric, Scores
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.hashes import Hashes


class ScoreStore(Protocol):
    """Interface of a place where scores are stored batch by batch, so that an interrupted run can continue.

    A score is identified by its metric, its batch, and the hash of what was scored.
    """

    def load_batch_scores(
        self, metric: Metric, batch_number: int, content_hashes: Hashes
    ) -> tuple[Scores, RecordedWarnings]:
        """Load the stored scores of a metric on a batch, and the warnings issued when they were computed. A
        score that is not stored is NaN.
        """
        ...

    def save_batch_scores(
        self,
        metric: Metric,
        batch_number: int,
        content_hashes: Hashes,
        scores: Scores,
        recorded_warnings: RecordedWarnings,
    ) -> None:
        """Store the scores of a metric on a batch that are not NaN, and the warnings issued when they were
        computed.
        """
        ...

    def has_batch_scores(self, metric: Metric, batch_number: int) -> bool:
        """Return whether scores of this metric on this batch are stored."""
        ...

    def reload_scores(self) -> None:
        """Read the stored scores again, to see those that other processes have stored meanwhile."""
        ...

    def make_store_opener(self) -> Callable[[Sequence[Metric]], ScoreStore]:
        """Return a function that another process can call to open the same stored scores."""
        ...
