"""Does a metric compare systems as people do? Soft pairwise accuracy beside the accuracies of an assay.

SPA (Thompson et al., 2024) is the mean over pairs of systems of 1 - |p_human - p_metric|, p the sign-flip
p-value that the first is better by chance; with several test sets it is averaged over them. It is resampled
with the weights that an assay gives its clusters, so that it can be held against accuracies of the same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metassay.meta.contexts.column import Method
from metassay.meta.contexts.h2 import half_agreement
from metassay.stats.arrays import BoolArray, FloatArray, IntArray
from metassay.stats.bootstrap import percentiles
from metassay.stats.multiplicity import may_be_best
from metassay.stats.sign_flip import drawn_agreement, soft_agreement


@dataclass(frozen=True)
class RatedSystems:
    """The segments of one test set in which people scored every system.

    `human` is [systems, segments], `metrics` [metrics, systems, segments] with NaN where undefined, higher is
    better; `cluster` names each segment's independent unit by the codes of the pairs.
    """

    human: FloatArray
    metrics: FloatArray
    cluster: IntArray


@dataclass(frozen=True)
class SoftAccuracy:
    """SPA of the metrics [metrics], its interval, resamples, those that may be best, and the ceiling."""

    values: FloatArray
    low: FloatArray
    high: FloatArray
    resamples: FloatArray
    top: BoolArray
    ceiling: float
    systems: int
    segments: int


def soft_accuracy(sets: Sequence[RatedSystems], method: Method, seed: int) -> SoftAccuracy:
    """SPA of the ranked metrics, averaged over test sets; each metric on the segments that it has scored."""
    parts = [_soft_set(one, method, seed) for one in sets]
    values, drawn, here, there = (_mean_of([part[k] for part in parts]) for k in range(4))
    clusters = len(np.unique(np.concatenate([one.cluster for one in sets])))
    low, high = percentiles(drawn)
    top, _ = may_be_best(values, drawn, clusters)
    return SoftAccuracy(
        values=values,
        low=np.fmin(low, values) if clusters > 1 else np.full(len(values), np.nan),
        high=np.fmax(high, values) if clusters > 1 else np.full(len(values), np.nan),
        resamples=drawn,
        top=top,
        ceiling=half_agreement(here, there, "kendall"),
        systems=sum(len(one.human) for one in sets),
        segments=sum(one.human.shape[1] for one in sets),
    )


def _soft_set(one: RatedSystems, method: Method, seed: int) -> tuple[FloatArray, ...]:
    """Of one test set: SPA [metrics], on resamples [metrics, resamples], in either half [metrics, splits]."""
    count = len(method.ranked)
    values = np.full(count, np.nan)
    drawn, here, there = (
        np.full((count, draws), np.nan)
        for draws in (method.bootstrap.resamples, method.halves.resamples, method.halves.resamples)
    )
    scores = one.metrics[method.ranked]
    patterns, which = np.unique(~np.isnan(scores).any(axis=1), axis=0, return_inverse=True)
    for number, segments in enumerate(patterns):
        if not segments.any():
            continue
        human, cluster = one.human[:, segments], one.cluster[segments]
        metrics = np.flatnonzero(which.ravel() == number)
        own = scores[metrics][:, :, segments]
        values[metrics] = soft_agreement(human, own, seed)
        drawn[metrics] = drawn_agreement(human, own, method.bootstrap, cluster)
        here[metrics] = drawn_agreement(human, own, method.halves, cluster)
        there[metrics] = drawn_agreement(human, own, method.halves, cluster, rest=True)
    return values, drawn, here, there


def _mean_of(parts: Sequence[FloatArray]) -> FloatArray:
    """Mean over test sets where defined; NaN where nowhere."""
    stacked = np.stack(parts)
    known = ~np.isnan(stacked)
    count = known.sum(axis=0)
    total = np.where(known, stacked, 0).sum(axis=0)
    mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean
