"""The scores of a run with a cache behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from metassay.errors import format_path_for_user
from metassay.metrics.base import Metric, Scores
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.hashes import Hashes
from metassay.store.metric_cache import MetricCache, can_share_scores_between_runs
from metassay.store.parts import encode_table_as_parquet
from metassay.store.remote import convert_to_local_path
from metassay.store.run_scores import RunScores
from metassay.store.score_tables import make_score_table


class CachedScores:
    """Stores metric scores in a run folder (if there is one) and in a cache that several runs share."""

    def __init__(self, run_scores: RunScores | None, cache: Path, metrics: Sequence[Metric]) -> None:
        self.run_scores = run_scores
        self.cache = cache
        self._metric_caches = {
            metric.spec: MetricCache(metric, cache)
            for metric in metrics
            if can_share_scores_between_runs(metric)
        }

    def load_batch_scores(
        self, metric: Metric, batch_number: int, content_hashes: Hashes
    ) -> tuple[Scores, RecordedWarnings]:
        """Return the scores of a metric for a batch of outputs from the run folder, or else from the cache.
        Scores that are in neither are NaN.
        """
        scores = np.full(len(content_hashes), np.nan)
        recorded_warnings: RecordedWarnings = ()
        if self.run_scores is not None:
            scores, recorded_warnings = self.run_scores.load_batch_scores(
                metric, batch_number, content_hashes
            )
        missing = np.isnan(scores)
        metric_cache = self._metric_caches.get(metric.spec)
        if metric_cache is not None and missing.any():
            recorded_warnings = (
                *recorded_warnings,
                *metric_cache.fill_in_cached_scores(content_hashes, scores),
            )
            if self.run_scores is not None and (missing != np.isnan(scores)).any():
                # A run folder is complete in itself: it can be resumed on a machine without this cache.
                self.run_scores.save_batch_scores(
                    metric, batch_number, content_hashes, scores, recorded_warnings
                )
        return scores, recorded_warnings

    def save_batch_scores(
        self,
        metric: Metric,
        batch_number: int,
        content_hashes: Hashes,
        scores: Scores,
        recorded_warnings: RecordedWarnings,
    ) -> None:
        """Store the scores of a metric for a batch of outputs in the run folder and in the cache. Scores that
        are NaN are not stored.
        """
        # Encoded once for both places.
        encoded_table = encode_table_as_parquet(make_score_table(content_hashes, scores), recorded_warnings)
        if self.run_scores is not None:
            self.run_scores.save_encoded_scores(metric, batch_number, encoded_table)
        metric_cache = self._metric_caches.get(metric.spec)
        if metric_cache is not None:
            metric_cache.add_scores_to_cache(content_hashes, scores, recorded_warnings, encoded_table)

    def has_batch_scores(self, metric: Metric, batch_number: int) -> bool:
        """Return whether the run folder has scores of this metric for this batch."""
        return self.run_scores is not None and self.run_scores.has_batch_scores(metric, batch_number)

    def reload_scores(self) -> None:
        """Look at the run folder and the cache again, to see scores that other processes have added."""
        if self.run_scores is not None:
            self.run_scores.reload_scores()
        for metric_cache in self._metric_caches.values():
            metric_cache.clear_loaded_scores()

    def make_store_opener(self) -> Callable[[Sequence[Metric]], CachedScores]:
        """Return a function with which another process can open the same run folder and cache."""
        run_address = None
        if self.run_scores is not None:
            run_address = format_path_for_user(self.run_scores.folder.absolute())
        return partial(open_cached_scores, run_address, format_path_for_user(self.cache.absolute()))


def open_cached_scores(
    run_address: str | None, cache_address: str, metrics: Sequence[Metric]
) -> CachedScores:
    """Open the scores that are stored in a run folder and in a cache. Each is given by a path or a remote
    address.
    """
    run_scores = None if run_address is None else RunScores(convert_to_local_path(run_address))
    return CachedScores(run_scores, convert_to_local_path(cache_address), metrics)
