"""Bootstrap intervals of meta-metrics: segments, or clusters of them, drawn with replacement.

People's scores are drawn with the metrics'. Inside SPA the normal p-values are used whatever the method:
their resamples differ from those of permutations by less than Monte-Carlo error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from metassay.meta.meta_metrics import ITEM, SEGMENT, Judged, MetaMetric, values_by_item
from metassay.meta.pairwise import agreement
from metassay.stats.correlation import system_agreement
from metassay.stats.sign_flip import FloatArray, upper_tail

BLOCK = 100
"""Resamples made at once: bounds memory, and is fixed so that results never depend on it."""


def bootstrap_values(
    meta: MetaMetric, judged: Judged, *, draws: int, seed: int, stream: int = 0, size: int | None = None
) -> FloatArray | None:
    """The meta-metric of each metric on each resample, `[metrics, draws]`; None where it takes too long.

    A resample has as many units as the data, or `size`.
    """
    units = judged.human.shape[1] if judged.units is None else int(judged.units.max()) + 1
    share = np.full(units, 1.0 / units)

    def resample(rng: np.random.Generator, count: int) -> FloatArray:
        return rng.multinomial(size or units, share, size=count).astype(np.float64)

    return weighted_values(meta, judged, _blocks(resample, draws, seed, (stream, 1)))


def subsampled_values(
    meta: MetaMetric, judged: Judged, *, segments: int, draws: int, seed: int, stream: int = 0
) -> FloatArray | None:
    """The meta-metric of each metric on random subsets of the segments, `[metrics, draws]`."""

    def subset(rng: np.random.Generator, count: int) -> FloatArray:
        order = np.argsort(rng.random((count, judged.human.shape[1])), axis=1)
        return (order < segments).astype(np.float64)

    alone = Judged(judged.human, judged.metrics)
    return weighted_values(meta, alone, _blocks(subset, draws, seed, (stream, 2)))


def weighted_values(meta: MetaMetric, judged: Judged, blocks: Iterable[FloatArray]) -> FloatArray | None:
    """The meta-metric of each metric under blocks of weights `[draws, units]`; None where it takes too long.

    That is so for Kendall's tau and Spearman's rho over all cells, which would be sorted anew each time.
    """
    if meta.level == SEGMENT and meta.name != "pearson":
        return None
    by_item = values_by_item(meta, judged) if meta.level == ITEM else None
    values = []
    for weights in blocks:
        if by_item is not None:
            values.append(_item_values(judged, by_item, weights))
        elif meta.level == SEGMENT:
            values.append(_cell_correlations(judged, weights))
        elif meta.name == "spa":
            values.append(_soft_accuracies(judged, weights))
        else:
            human, metrics = judged.per_unit(judged.human), judged.per_unit(judged.metrics)
            values.append(system_agreement(meta.name, weights @ human.T, weights @ metrics.swapaxes(1, 2)))
    return np.concatenate(values, axis=1)


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
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*key, block)))
        yield draw(rng, min(BLOCK, draws - start))


def _soft_accuracies(judged: Judged, weights: FloatArray) -> FloatArray:
    """SPA of each metric on each resample: weighted sums of the differences and of their squares."""
    first, second = np.triu_indices(len(judged.human), 1)

    def p_values(scores: FloatArray) -> FloatArray:
        per_unit = judged.per_unit(scores)
        differences = per_unit[first] - per_unit[second]
        return upper_tail(weights @ differences.T, weights @ (differences * differences).T)

    p_human = p_values(judged.human)
    return np.stack([agreement(p_human, p_values(metric)) for metric in judged.metrics])


def _item_values(judged: Judged, by_item: FloatArray, weights: FloatArray) -> FloatArray:
    defined = ~np.isnan(by_item)
    total = judged.per_unit(np.where(defined, by_item, 0.0)) @ weights.T
    count = judged.per_unit(defined.astype(np.float64)) @ weights.T
    mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean


def _cell_correlations(judged: Judged, weights: FloatArray) -> FloatArray:
    """Pearson's r over all cells of each resample, from weighted sums."""
    human = judged.human - judged.human.mean()
    scores = judged.standardised

    def total(cells: FloatArray) -> FloatArray:
        return np.asarray(judged.per_unit(cells.sum(axis=-2)) @ weights.T, dtype=np.float64)

    count, h, hh = total(np.ones_like(human)), total(human), total(human * human)
    x, xx, xh = total(scores), total(scores * scores), total(scores * human)
    spread = (xx - x * x / count) * (hh - h * h / count)
    defined = spread > 1e-12 * xx * hh
    return np.where(defined, (xh - x * h / count) / np.sqrt(np.where(defined, spread, 1.0)), np.nan)
