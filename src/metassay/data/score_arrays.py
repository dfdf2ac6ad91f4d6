"""`ScoreArrays`: human and metric scores as plain arrays, for numerical work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray, LongArray


@dataclass(frozen=True)
class ScoreArrays:
    """One human score and several metric scores as arrays. Higher is always better, and NaN is a missing
    score.

    This is the view of a `ScoreCube` that meta-metrics work on. They receive it complete (without NaN).
    """

    human: FloatArray
    """`[systems, items]`"""
    metrics: FloatArray
    """`[metrics, systems, items]`"""
    clusters: NDArray[np.integer[Any]] | None = None
    """The cluster of each item as any integer; None where every item is a cluster of its own."""

    def __post_init__(self) -> None:
        if self.human.ndim != 2 or self.metrics.shape[1:] != self.human.shape:
            raise InputError(f"metrics {self.metrics.shape} do not fit human scores {self.human.shape}.")
        if np.isinf(self.human).any() or np.isinf(self.metrics).any():
            raise InputError("a score is infinite.", remedy="A missing score is NaN.")

    @cached_property
    def has_all_scores(self) -> NDArray[np.bool_]:
        """For each metric and item, whether every system has both a human score and a score of the metric."""
        return np.asarray(~np.isnan(self.metrics + self.human).any(axis=1))

    @property
    def cluster_codes(self) -> LongArray:
        """The cluster of each item as an integer. Without clusters, every item is a cluster of its own."""
        return np.arange(self.human.shape[1]) if self.clusters is None else self.clusters.astype(np.int64)

    @cached_property
    def cluster_index(self) -> LongArray:
        """The number of the cluster of each item, from 0 and without gaps."""
        if self.clusters is None:
            return np.arange(self.human.shape[1])
        index: LongArray = np.unique(self.clusters, return_inverse=True)[1].astype(np.int64)
        return index

    @property
    def cluster_count(self) -> int:
        """The number of clusters of items. Tests and intervals treat clusters, not items, as independent."""
        return int(self.cluster_index.max()) + 1

    def select_items_and_systems(
        self, *, items: NDArray[np.bool_] | None = None, systems: LongArray | None = None
    ) -> ScoreArrays:
        """Return the arrays with only the given items (a mask) and the given systems (positions). None keeps
        all.
        """
        human = self.human
        metrics = self.metrics
        clusters = self.clusters
        if systems is not None:
            human = human[systems]
            metrics = metrics[:, systems]
        if items is not None:
            human = human[:, items]
            metrics = metrics[:, :, items]
            clusters = None if clusters is None else clusters[items]
        return ScoreArrays(human, metrics, clusters)

    def select_metrics(self, positions: LongArray) -> ScoreArrays:
        """Return the arrays with only the metrics at the given positions."""
        return ScoreArrays(self.human, self.metrics[positions], self.clusters)

    def repeat_items(self, repetition_counts: LongArray) -> ScoreArrays:
        """Return the arrays with each item repeated a given number of times, as in a bootstrap sample. Copies
        of an item are in different clusters.
        """
        positions = np.repeat(np.arange(len(repetition_counts)), repetition_counts)
        human = self.human[:, positions]
        metrics = self.metrics[:, :, positions]
        if self.clusters is None:
            return ScoreArrays(human, metrics)
        first_copies = np.repeat(np.cumsum(repetition_counts) - repetition_counts, repetition_counts)
        copy_numbers = np.arange(len(positions)) - first_copies
        clusters = self.cluster_index[positions] * (int(repetition_counts.max()) + 1) + copy_numbers
        return ScoreArrays(human, metrics, clusters)

    def split_by_complete_items(self) -> Iterator[tuple[LongArray, ScoreArrays]]:
        """Split the arrays into groups of metrics that have all scores for the same items. The arrays of each
        group have no missing scores.

        Yields the positions of the metrics of each group with their arrays. Metrics without a complete item
        are left out.
        """
        patterns, pattern_of_metric = np.unique(self.has_all_scores, axis=0, return_inverse=True)
        for number, items in enumerate(patterns):
            if items.any():
                metrics = np.flatnonzero(pattern_of_metric.ravel() == number)
                yield metrics, self.select_metrics(metrics).select_items_and_systems(items=items)

    def sum_over_clusters(self, scores: FloatArray) -> FloatArray:
        """Sum scores over the items of each cluster, such as a document. The last axis of the array, items,
        becomes clusters.
        """
        if self.clusters is None:
            return scores
        is_member = np.zeros((len(self.cluster_index), self.cluster_count))
        is_member[np.arange(len(self.cluster_index)), self.cluster_index] = 1.0
        return np.asarray(scores @ is_member, dtype=np.float64)
