"""Whether metrics compare systems as human scores do: soft pairwise accuracy beside an assay.

SPA (Thompson et al., 2024) is the mean over pairs of systems of 1 - |p_human - p_metric|, p the sign-flip
p-value that the first is better by chance; with several test sets the mean over them. Whether two metrics
differ by SPA is not tested here: with the few systems of most data sets such a test finds a true difference
in 1 to 3 of 100 cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.contexts.column_analysis import AnalysisSettings
from metassay.meta.contexts.h2 import estimate_agreement_of_full_samples_from_halves
from metassay.stats.arrays import FloatArray, mean_ignoring_nan
from metassay.stats.intervals import percentile_interval
from metassay.stats.soft_accuracy import estimate_soft_pairwise_accuracies, resample_soft_pairwise_accuracies

KENDALL = "kendall"


@dataclass(frozen=True)
class SoftAccuracyEstimates:
    """Estimated soft pairwise accuracy (SPA) of each metric: how well p-values for differences between
    systems agree between the metric and human scores.

    `constant` is the SPA of a metric that gives all outputs the same score.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray
    resamples: FloatArray
    ceiling: float
    constant: float
    systems: int
    segments: int


def measure_soft_pairwise_accuracy(
    test_sets: Sequence[ScoreArrays], settings: AnalysisSettings, seed: int
) -> SoftAccuracyEstimates:
    """Compute the soft pairwise accuracy of each metric that may be recommended: how well p-values for
    differences between systems agree with those from human scores. Averages over test sets.

    Each test set holds the items in which every system has a human score; each metric is computed on those of
    them that it has scored.
    """
    by_test_set = [_compute_soft_accuracies_on_test_set(test_set, settings, seed) for test_set in test_sets]
    values, resamples, first_half, second_half = (
        mean_ignoring_nan(np.stack(arrays), axis=0) for arrays in zip(*by_test_set)
    )
    cluster_count = len(np.unique(np.concatenate([test_set.cluster_codes for test_set in test_sets])))
    if cluster_count > 1:
        low, high = percentile_interval(resamples)
        low = np.fmin(low, values)
        high = np.fmax(high, values)
    else:
        low = high = np.full(len(values), np.nan)
    return SoftAccuracyEstimates(
        values=values,
        low=low,
        high=high,
        resamples=resamples,
        ceiling=estimate_agreement_of_full_samples_from_halves(first_half, second_half, KENDALL),
        constant=_compute_soft_accuracy_of_constant_metric(test_sets, seed),
        systems=sum(len(test_set.human) for test_set in test_sets),
        segments=sum(test_set.human.shape[1] for test_set in test_sets),
    )


def _compute_soft_accuracy_of_constant_metric(test_sets: Sequence[ScoreArrays], seed: int) -> float:
    """Compute the soft pairwise accuracy of a metric that gives all outputs the same score, averaged over
    test sets.
    """
    values = []
    for test_set in test_sets:
        same_scores = np.zeros((1, *test_set.human.shape))
        values.append(float(estimate_soft_pairwise_accuracies(test_set.human, same_scores, seed)[0]))
    return float(np.mean(values))


def _compute_soft_accuracies_on_test_set(
    test_set: ScoreArrays, settings: AnalysisSettings, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Compute the soft pairwise accuracy of metrics on one test set, on bootstrap resamples of it, and on two
    random halves of it.

    Metrics that scored the same items are computed together.
    """
    count = len(settings.competing)
    values = np.full(count, np.nan)
    resamples = np.full((count, settings.bootstrap.resamples), np.nan)
    first_half = np.full((count, settings.halves.resamples), np.nan)
    second_half = np.full((count, settings.halves.resamples), np.nan)
    for metrics, scores in test_set.select_metrics(settings.competing).split_by_complete_items():
        # 32-bit integers, the type that the bootstrap takes.
        clusters = scores.cluster_codes.astype(np.int32)
        values[metrics] = estimate_soft_pairwise_accuracies(scores.human, scores.metrics, seed)
        resamples[metrics] = resample_soft_pairwise_accuracies(
            scores.human, scores.metrics, settings.bootstrap, clusters
        )
        first_half[metrics] = resample_soft_pairwise_accuracies(
            scores.human, scores.metrics, settings.halves, clusters
        )
        second_half[metrics] = resample_soft_pairwise_accuracies(
            scores.human, scores.metrics, settings.halves, clusters, complement=True
        )
    return values, resamples, first_half, second_half
