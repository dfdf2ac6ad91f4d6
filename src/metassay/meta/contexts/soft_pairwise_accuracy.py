"""Do metrics compare systems as people do? Soft pairwise accuracy beside an assay.

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
from metassay.meta.contexts.column_analysis import Method
from metassay.meta.contexts.h2 import half_agreement
from metassay.stats.arrays import FloatArray, IntArray, mean_ignoring_nan
from metassay.stats.intervals import percentile_interval
from metassay.stats.soft_accuracy import estimate_soft_accuracies, resample_soft_accuracies

KENDALL = "kendall"


@dataclass(frozen=True)
class SoftAccuracy:
    """SPA of the metrics [metrics], its interval, resamples, and the ceiling."""

    values: FloatArray
    low: FloatArray
    high: FloatArray
    resamples: FloatArray
    ceiling: float
    systems: int
    segments: int


def soft_accuracy(sets: Sequence[ScoreArrays], method: Method, seed: int) -> SoftAccuracy:
    """SPA of the ranked metrics, averaged over test sets; each metric on the items that it has scored.

    Each set holds the items of one test set in which people scored every system; its clusters are numbered as
    those of the pairs.
    """
    parts = [_soft_set(one, method, seed) for one in sets]
    values, drawn, here, there = (mean_ignoring_nan([part[k] for part in parts]) for k in range(4))
    clusters = len(np.unique(np.concatenate([_cluster_codes(one) for one in sets])))
    low, high = percentile_interval(drawn)
    return SoftAccuracy(
        values=values,
        low=np.fmin(low, values) if clusters > 1 else np.full(len(values), np.nan),
        high=np.fmax(high, values) if clusters > 1 else np.full(len(values), np.nan),
        resamples=drawn,
        ceiling=half_agreement(here, there, KENDALL),
        systems=sum(len(one.human) for one in sets),
        segments=sum(one.human.shape[1] for one in sets),
    )


def _soft_set(one: ScoreArrays, method: Method, seed: int) -> tuple[FloatArray, ...]:
    """Of one test set: SPA [metrics], on resamples [metrics, resamples], in either half [metrics, splits]."""
    count = len(method.ranked)
    values = np.full(count, np.nan)
    drawn, here, there = (
        np.full((count, draws), np.nan)
        for draws in (method.bootstrap.resamples, method.halves.resamples, method.halves.resamples)
    )
    for metrics, complete in one.select_metrics(method.ranked).split_by_complete_items():
        cluster = _cluster_codes(complete)
        values[metrics] = estimate_soft_accuracies(complete.human, complete.metrics, seed)
        drawn[metrics] = resample_soft_accuracies(complete.human, complete.metrics, method.bootstrap, cluster)
        here[metrics] = resample_soft_accuracies(complete.human, complete.metrics, method.halves, cluster)
        there[metrics] = resample_soft_accuracies(
            complete.human, complete.metrics, method.halves, cluster, complement=True
        )
    return values, drawn, here, there


def _cluster_codes(scores: ScoreArrays) -> IntArray:
    """Return the cluster of each item in the type that the bootstrap takes."""
    clusters = np.arange(scores.human.shape[1]) if scores.clusters is None else scores.clusters
    return clusters.astype(np.int32)
