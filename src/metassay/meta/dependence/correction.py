"""Metric scores mapped to the human scale by f_G or by the f_k of each system, with cross-validation.

Each output is mapped by functions that were fitted without its segment: clusters are divided into folds, and
the outputs of a fold are mapped by functions fitted to the other folds.

f_G needs human scores of some systems. f_k needs them for each system, and its mean over the outputs of a
system is nearly the mean human score of that system in the other folds, whatever the metric. How well f_G
works for systems without human scores is estimated pair by pair, with an f_G that was fitted without both
systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.isotonic import Counts, fit_isotonic, predict_isotonic
from metassay.stats.random import CORRECTION_FOLDS, spawn_random_generator
from metassay.stats.resampling import draw_cluster_counts
from metassay.stats.sorted_scores import sort_scores

# Scores of a fold are converted by a function fitted to the other folds.
FOLDS = 5
# Resamples for pairs of unseen systems: fewer than elsewhere, because every pair needs fits of its own.
UNSEEN_FITS = 20


@dataclass(frozen=True)
class CorrectedScores:
    """Human scores predicted from metric scores, with one function for all systems or one per system.

    All arrays of scores are NaN where the metric score is missing or there was nothing to fit.
    """

    pooled_scores: FloatArray
    """Predicted by f_G, fitted to all systems, `[systems, segments]`."""
    system_scores: FloatArray
    """Predicted by f_k, fitted to the same system only, `[systems, segments]`."""
    unseen_differences: FloatArray
    """Differences between two systems, predicted by an f_G that was fitted without both, `[pairs, segments]`.

    Pairs are in the order of `numpy.triu_indices`.
    """
    folds: LongArray
    """The fold of each segment."""


def assign_clusters_to_folds(cluster_count: int, seed: int) -> LongArray:
    """Assign each cluster of items, such as a document, to a cross-validation fold at random.

    All folds get nearly equal numbers of clusters.
    """
    if cluster_count < FOLDS:
        raise InputError(
            f"{cluster_count} segments or clusters are too few for {FOLDS} folds.",
            remedy="A correction is fitted to some clusters and tested on the others.",
        )
    order = spawn_random_generator(seed, CORRECTION_FOLDS).permutation(cluster_count)
    fold_of_cluster = np.empty(cluster_count, dtype=np.int64)
    fold_of_cluster[order] = np.arange(cluster_count) % FOLDS
    return fold_of_cluster


def convert_to_human_scale(
    human_scores: FloatArray,
    metric_scores: FloatArray,
    clusters: LongArray,
    *,
    bootstraps: int = 200,
    seed: int = 0,
) -> CorrectedScores:
    """Predict human scores from metric scores by cross-validated isotonic regression.

    `clusters` is the cluster of each segment, counted from 0. Each function is the mean over `bootstraps`
    fits to resampled clusters, or a single fit if that is 0.
    """
    cluster_count = int(clusters.max()) + 1
    fold_of_segment = assign_clusters_to_folds(cluster_count, seed)[clusters]
    if bootstraps:
        resample_counts = draw_cluster_counts(cluster_count, bootstraps, seed)
    else:
        resample_counts = np.ones((1, cluster_count), dtype=np.uint32)
    training = TrainingScores(human_scores, metric_scores, clusters)
    system_count = len(human_scores)
    system_rows = np.arange(system_count)[:, None]
    pairs = list(combinations(range(system_count), 2))
    pooled_scores = np.full(metric_scores.shape, np.nan)
    system_scores = np.full(metric_scores.shape, np.nan)
    unseen_differences = np.full((len(pairs), metric_scores.shape[1]), np.nan)
    for fold in range(FOLDS):
        in_fold = fold_of_segment == fold
        is_training = training.is_scored & ~in_fold
        pooled_scores[:, in_fold] = training.predict_human_scores(
            metric_scores[:, in_fold], is_training, resample_counts
        )
        for system in range(system_count):
            of_system = is_training & (system_rows == system)
            system_scores[system, in_fold] = training.predict_human_scores(
                metric_scores[system, in_fold], of_system, resample_counts
            )
        for pair, (first, second) in enumerate(pairs):
            of_others = is_training & (system_rows != first) & (system_rows != second)
            pair_scores = metric_scores[[first, second]][:, in_fold]
            predicted = training.predict_human_scores(pair_scores, of_others, resample_counts[:UNSEEN_FITS])
            unseen_differences[pair, in_fold] = predicted[0] - predicted[1]
    return CorrectedScores(pooled_scores, system_scores, unseen_differences, fold_of_segment)


@dataclass(frozen=True)
class TrainingScores:
    """Human and metric scores of the same outputs, from which to learn a prediction of human scores."""

    human: FloatArray
    metric: FloatArray
    clusters: LongArray

    @property
    def is_scored(self) -> NDArray[np.bool_]:
        """Boolean mask of the outputs that have both a human score and a metric score."""
        return ~(np.isnan(self.human) | np.isnan(self.metric))

    def predict_human_scores(
        self, metric_scores: FloatArray, is_training: NDArray[np.bool_], resample_counts: Counts
    ) -> FloatArray:
        """Predict human scores from metric scores, by isotonic regressions on resampled training outputs.

        The prediction is the mean of these regressions.
        """
        undefined = np.full(metric_scores.shape, np.nan)
        if not is_training.any():
            return undefined
        sorted_scores = sort_scores(self.metric[is_training])
        human_scores = self.human[is_training]
        clusters = np.broadcast_to(self.clusters, is_training.shape)[is_training]
        fits = np.stack(
            [
                fit_isotonic(sorted_scores, human_scores, counts[clusters].astype(np.float64))
                for counts in resample_counts
            ]
        )
        fits = fits[~np.isnan(fits).any(axis=1)]  # a resample may contain no training output
        if not len(fits):
            return undefined
        mapped = predict_isotonic(sorted_scores, fits.mean(axis=0), metric_scores.ravel())
        return np.where(np.isnan(metric_scores), np.nan, mapped.reshape(metric_scores.shape))
