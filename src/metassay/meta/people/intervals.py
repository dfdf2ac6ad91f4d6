"""Bootstrap intervals of meta-metrics: segments, or clusters of them, drawn with replacement.

People's scores are drawn with the metrics'. Inside SPA the normal p-values are used whatever the method:
their resamples differ from those of permutations by less than Monte-Carlo error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from metassay.meta.people.meta_metrics import (
    ITEM,
    PER_SYSTEM,
    SEGMENT,
    Judged,
    MetaMetric,
    mean_where_defined,
    values_by_item,
)
from metassay.meta.people.pairwise import agreement
from metassay.stats.arrays import FloatArray
from metassay.stats.correlation import system_agreement
from metassay.stats.random import RESAMPLED_UNITS, SEGMENT_SUBSETS, branch
from metassay.stats.sign_flip import upper_tail
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
    """The meta-metric of each metric under blocks of weights `[draws, units]`; None where it takes too long.

    That is so for Kendall's tau and Spearman's rho over many cells, which would be sorted anew each time.
    """
    if meta.level in {SEGMENT, PER_SYSTEM} and meta.name != "pearson":
        return None
    function = _value_function(meta, judged)
    return np.concatenate(map_blocks(function, blocks, workers), axis=1)


def _value_function(meta: MetaMetric, judged: Judged) -> Callable[[FloatArray], FloatArray]:
    """From weights `[draws, units]` to values `[metrics, draws]`; what every block needs is computed here."""
    if meta.level == ITEM:
        by_item = values_by_item(meta, judged)
        return lambda weights: _item_values(judged, by_item, weights)
    if meta.level in {SEGMENT, PER_SYSTEM}:
        return lambda weights: _cell_correlations(judged, weights, per_system=meta.level == PER_SYSTEM)
    human, metrics = judged.per_unit(judged.human), judged.per_unit(judged.metrics)
    if meta.name == "spa":
        return lambda weights: _soft_accuracies(human, metrics, weights)
    return lambda weights: system_agreement(meta.name, weights @ human.T, weights @ metrics.swapaxes(1, 2))


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


def _soft_accuracies(human: FloatArray, metrics: FloatArray, weights: FloatArray) -> FloatArray:
    """SPA of each metric on each resample: weighted sums of the differences and of their squares."""
    first, second = np.triu_indices(len(human), 1)

    def p_values(scores: FloatArray) -> FloatArray:
        differences = scores[first] - scores[second]
        return upper_tail(weights @ differences.T, weights @ (differences * differences).T)

    p_human = p_values(human)
    return np.stack([agreement(p_human, p_values(metric)) for metric in metrics])


def _item_values(judged: Judged, by_item: FloatArray, weights: FloatArray) -> FloatArray:
    defined = ~np.isnan(by_item)
    total = judged.per_unit(np.where(defined, by_item, 0.0)) @ weights.T
    count = judged.per_unit(defined.astype(np.float64)) @ weights.T
    mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean


def _cell_correlations(judged: Judged, weights: FloatArray, *, per_system: bool) -> FloatArray:
    """Pearson's r over all cells, or the mean of the systems' own, of each resample, from weighted sums."""
    human = judged.human - judged.human.mean()
    scores = judged.standardised

    def total(cells: FloatArray) -> FloatArray:
        grouped = cells if per_system else cells.sum(axis=-2, keepdims=True)
        return np.asarray(judged.per_unit(grouped) @ weights.T, dtype=np.float64)

    count, h, hh = total(np.ones_like(human)), total(human), total(human * human)
    x, xx, xh = total(scores), total(scores * scores), total(scores * human)
    spread = (xx - x * x / count) * (hh - h * h / count)
    defined = spread > 1e-12 * xx * hh
    r = np.where(defined, (xh - x * h / count) / np.sqrt(np.where(defined, spread, 1.0)), np.nan)
    return mean_where_defined(r.swapaxes(-1, -2))
