"""The interface of the place where finished scores are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from metassay.metrics.base import Metric, Scores
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.hashes import Hashes


class ScoreStore(Protocol):
    """Interface of a store that keeps metric scores batch by batch, so that an interrupted run can continue.

    A score is identified by its metric, its batch, and the hash of what was scored.
    """

    def load_batch_scores(
        self, metric: Metric, batch_number: int, content_hashes: Hashes
    ) -> tuple[Scores, RecordedWarnings]:
        """Return the stored scores of a metric for a batch of outputs, and the warnings issued when they were
        computed. A score that is not stored is NaN.
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
        """Store the scores of a metric for a batch of outputs, and the warnings that the metric issued.
        Scores that are NaN are not stored.
        """
        ...

    def has_batch_scores(self, metric: Metric, batch_number: int) -> bool:
        """Return whether any scores of this metric for this batch are stored."""
        ...

    def reload_scores(self) -> None:
        """Look at the stored files again, to see scores that other processes have added."""
        ...

    def make_store_opener(self) -> Callable[[Sequence[Metric]], ScoreStore]:
        """Return a function with which another process can open the same store."""
        ...
