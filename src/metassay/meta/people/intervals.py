"""Bootstrap intervals of meta-metrics: segments, or clusters of them, drawn with replacement.

People's scores are drawn with the metrics'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from metassay.meta.people.meta_metrics import Judged, MetaMetric
from metassay.stats.arrays import FloatArray
from metassay.stats.random import PAIRWISE_DELETION, RESAMPLED_UNITS, SEGMENT_SUBSETS, branch
from metassay.stats.threads import map_blocks

BLOCK = 100
"""Resamples made at once: bounds memory, and is fixed so that results never depend on it."""


def bootstrap_values(
    meta: MetaMetric,
    judged: Judged,
    *,
    draws: int,
    seed: int,
    stream: int = 0,
    size: int | None = None,
    workers: int | None = None,
) -> FloatArray | None:
    """The meta-metric of each metric on each resample, `[metrics, draws]`; None where it takes too long.

    A resample has as many units as the data, or `size`.
    """
    units = judged.human.shape[1] if judged.units is None else int(judged.units.max()) + 1
    share = np.full(units, 1.0 / units)

    def resample(rng: np.random.Generator, count: int) -> FloatArray:
        return rng.multinomial(size or units, share, size=count).astype(np.float64)

    return weighted_values(meta, judged, _blocks(resample, draws, seed, (stream, RESAMPLED_UNITS)), workers)


def subsampled_values(
    meta: MetaMetric,
    judged: Judged,
    *,
    segments: int,
    draws: int,
    seed: int,
    stream: int = 0,
    workers: int | None = None,
) -> FloatArray | None:
    """The meta-metric of each metric on random subsets of the segments, `[metrics, draws]`."""

    def subset(rng: np.random.Generator, count: int) -> FloatArray:
        order = np.argsort(rng.random((count, judged.human.shape[1])), axis=1)
        return (order < segments).astype(np.float64)

    alone = Judged(judged.human, judged.metrics)
    return weighted_values(meta, alone, _blocks(subset, draws, seed, (stream, SEGMENT_SUBSETS)), workers)


def weighted_values(
    meta: MetaMetric, judged: Judged, blocks: Iterable[FloatArray], workers: int | None = None
) -> FloatArray | None:
    """The meta-metric of each metric under blocks of weights; None where it takes too long."""
    function = meta.resampled(judged)
    return None if function is None else np.concatenate(map_blocks(function, blocks, workers), axis=1)


def percentile_interval(values: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Percentile interval over the last axis; NaN where some resample is undefined."""
    low: FloatArray
    high: FloatArray
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    return low, high


def _blocks(
    draw: Callable[[np.random.Generator, int], FloatArray], draws: int, seed: int, key: tuple[int, ...]
) -> Iterator[FloatArray]:
    for block, start in enumerate(range(0, draws, BLOCK)):
        rng = branch(seed, *key, block)
        yield draw(rng, min(BLOCK, draws - start))


@dataclass(frozen=True)
class Deletion:
    """The value of one metric, its 95 % interval, and on what it rests; NaN where no pair has a segment."""

    value: float
    low: float
    high: float
    segments: int
    pairs: int


def pairwise_deletion(
    meta: MetaMetric, human: FloatArray, metric: FloatArray, *, draws: int = 1000, seed: int = 0
) -> Deletion:
    """PA or SPA of `[systems, segments]` scores with gaps: each pair of systems on what both have.

    Where raters saw different segments of different systems no segment is complete. People and metric are
    compared on the same ones; pairs without a common segment are left out. p-values are the normal ones.
    """
    first, second = np.triu_indices(len(human), 1)
    people, ours = human[first] - human[second], metric[first] - metric[second]
    both = ~(np.isnan(people) | np.isnan(ours))
    used = both.any(axis=1)
    if not used.any():
        return Deletion(np.nan, np.nan, np.nan, 0, 0)
    differences = np.stack([np.where(both, d, 0.0)[used] for d in (people, ours)])
    segments = human.shape[1]
    rng = branch(seed, PAIRWISE_DELETION)
    weights = rng.multinomial(segments, np.full(segments, 1 / segments), size=draws).astype(np.float64)
    low, high = np.quantile(meta.with_gaps(differences, weights), [0.025, 0.975])
    value = meta.with_gaps(differences, np.ones((1, segments)))[0]
    return Deletion(float(value), float(low), float(high), int(both.any(axis=0).sum()), int(used.sum()))
