"""The interface of the place where finished scores are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from metassay.metrics.base import Metric, Scores
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.digests import Digests


class ScoreStore(Protocol):
    """Stores the scores of finished batches, so that an interrupted run continues where it stopped.

    A score is identified by its metric, its batch, and the digest of what was scored.
    """

    def load(self, metric: Metric, batch_number: int, digests: Digests) -> tuple[Scores, RecordedWarnings]:
        """Return the stored scores, NaN where there are none, and the warnings of their computation."""
        ...

    def save(
        self,
        metric: Metric,
        batch_number: int,
        digests: Digests,
        scores: Scores,
        recorded_warnings: RecordedWarnings,
    ) -> None:
        """Store the scores of a batch; undefined scores are left out."""
        ...

    def has_batch(self, metric: Metric, batch_number: int) -> bool:
        """Whether the run has scores of this metric and batch."""
        ...

    def refresh(self) -> None:
        """Find also what other processes have stored since this one first looked."""
        ...

    def make_opener(self) -> Callable[[Sequence[Metric]], ScoreStore]:
        """Return a function that opens the same store in another process, for these metrics."""
        ...
