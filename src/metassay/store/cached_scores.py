"""The scores of a run with a cache behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from metassay.errors import display_path
from metassay.metrics.base import Metric, Scores
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.hashes import Hashes
from metassay.store.metric_cache import MetricCache, can_share_scores
from metassay.store.parts import encode_part
from metassay.store.remote import local_path
from metassay.store.run_scores import RunScores
from metassay.store.score_tables import make_score_table


class CachedScores:
    """The scores of a run folder, if there is one, and of a cache: reads from and writes to both."""

    def __init__(self, run_scores: RunScores | None, cache: Path, metrics: Sequence[Metric]) -> None:
        self.run_scores = run_scores
        self.cache = cache
        self._metric_caches = {
            metric.spec: MetricCache(metric, cache) for metric in metrics if can_share_scores(metric)
        }

    def load(
        self, metric: Metric, batch_number: int, content_hashes: Hashes
    ) -> tuple[Scores, RecordedWarnings]:
        """Load the stored scores of a batch, NaN for missing ones; cached scores are copied to the run."""
        scores = np.full(len(content_hashes), np.nan)
        recorded_warnings: RecordedWarnings = ()
        if self.run_scores is not None:
            scores, recorded_warnings = self.run_scores.load(metric, batch_number, content_hashes)
        missing = np.isnan(scores)
        metric_cache = self._metric_caches.get(metric.spec)
        if metric_cache is not None and missing.any():
            recorded_warnings = (*recorded_warnings, *metric_cache.load(content_hashes, scores))
            if self.run_scores is not None and (missing != np.isnan(scores)).any():
                # A run folder is complete in itself: it can be resumed on a machine without this cache.
                self.run_scores.save(metric, batch_number, content_hashes, scores, recorded_warnings)
        return scores, recorded_warnings

    def save(
        self,
        metric: Metric,
        batch_number: int,
        content_hashes: Hashes,
        scores: Scores,
        recorded_warnings: RecordedWarnings,
    ) -> None:
        """Store the defined scores of a batch in the run folder and in the cache."""
        # Encoded once for both places.
        part = encode_part(make_score_table(content_hashes, scores), recorded_warnings)
        if self.run_scores is not None:
            self.run_scores.save_part(metric, batch_number, part)
        metric_cache = self._metric_caches.get(metric.spec)
        if metric_cache is not None:
            metric_cache.save(content_hashes, scores, recorded_warnings, part)

    def has_batch(self, metric: Metric, batch_number: int) -> bool:
        """Return whether the run folder has scores of this metric and batch."""
        return self.run_scores is not None and self.run_scores.has_batch(metric, batch_number)

    def refresh(self) -> None:
        """Read the run folder and the cache again, to find scores that other processes stored."""
        if self.run_scores is not None:
            self.run_scores.refresh()
        for metric_cache in self._metric_caches.values():
            metric_cache.refresh()

    def make_opener(self) -> Callable[[Sequence[Metric]], CachedScores]:
        """Return a function with which another process opens the same stored scores."""
        run_address = None
        if self.run_scores is not None:
            run_address = display_path(self.run_scores.folder.absolute())
        return partial(open_cached_scores, run_address, display_path(self.cache.absolute()))


def open_cached_scores(
    run_address: str | None, cache_address: str, metrics: Sequence[Metric]
) -> CachedScores:
    """Open the scores of a run and of a cache, each in a local or remote folder."""
    run_scores = None if run_address is None else RunScores(local_path(run_address))
    return CachedScores(run_scores, local_path(cache_address), metrics)
