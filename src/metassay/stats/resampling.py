"""Resampling of scores that come from sufficient statistics: no text is scored twice.

Statistics are `[systems, segments, s]`; a score is a function of their sum over segments. Resamples are
counts `[draws, segments]`, so that all resampled sums are one matrix product.

Isotonic fits of a whole and of its groups, once and on resamples: what system dependence is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.intervals import small_sample_factor
from metassay.stats.isotonic import (
    Counts,
    fit_isotonic,
    fit_resamples_by_group,
    fit_values_by_group,
    predict_isotonic,
)
from metassay.stats.parallel import map_blocks
from metassay.stats.random import RESAMPLED_UNITS, make_branch_generator, make_generator
from metassay.stats.score_order import SortedScores, sort_scores

FromStatistics = Callable[[FloatArray], FloatArray]
"""Scores from sums of statistics: [..., s] to [...]."""

BLOCK = 100
"""Resamples made at once: bounds memory, and is fixed so that results never depend on it."""
_CELLS = 4_000_000
"""Counts that are held at a time."""
_TOLERANCE = 1e-12


class SystemComparisons(NamedTuple):
    """All pairs of systems: `differences[i, j]` is the score of i less that of j; p-values are two-sided."""

    differences: FloatArray
    p: FloatArray


def draw_bootstrap_counts(segments: int, size: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """How often each segment is drawn when `size` are drawn with replacement: [draws, segments]."""
    drawn = rng.integers(0, segments, size=(draws, size))
    drawn += segments * np.arange(draws)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=draws * segments)
    return counts.reshape(draws, segments).astype(np.float64)


def draw_subset_counts(segments: int, size: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """1 for the segments of a random subset of this size, else 0: [draws, segments]."""
    counts = np.zeros((draws, segments))
    chosen = np.argpartition(rng.random((draws, segments)), size - 1, axis=1)[:, :size]
    np.put_along_axis(counts, chosen, 1.0, axis=1)
    return counts


def draw_cluster_counts(clusters: int, bootstraps: int, seed: int) -> NDArray[np.uint32]:
    """How often each of `bootstraps` resamples holds each cluster: uint32[bootstraps, clusters]."""
    if bootstraps < 0:
        raise InputError(f"bootstraps must be 0 or more, not {bootstraps}.")
    rng = make_generator(seed)
    counts = np.empty((bootstraps, clusters), dtype=np.uint32)
    for row in counts:
        row[:] = np.bincount(rng.integers(0, clusters, clusters), minlength=clusters)
    return counts


def map_bootstrap(
    function: Callable[[FloatArray], FloatArray],
    units: int,
    *,
    draws: int,
    seed: int,
    stream: int = 0,
    size: int | None = None,
    workers: int | None = None,
) -> FloatArray:
    """`function` of the weights of each resample, `[..., draws]`; as many units as there are, or `size`."""
    blocks = draw_bootstrap_blocks(units, size or units, draws, seed, (stream, RESAMPLED_UNITS))
    return np.concatenate(map_blocks(function, blocks, workers), axis=1)


def draw_bootstrap_blocks(
    units: int, size: int, draws: int, seed: int, key: tuple[int, ...]
) -> Iterator[FloatArray]:
    """Resamples of `size` units with replacement, as weights `[block, units]`, a block at a time."""
    share = np.full(units, 1.0 / units)
    for rng, count in _streams(draws, seed, key):
        yield rng.multinomial(size, share, size=count).astype(np.float64)


def draw_subset_blocks(
    units: int, size: int, draws: int, seed: int, key: tuple[int, ...]
) -> Iterator[FloatArray]:
    """Random subsets of `size` units, as weights `[block, units]`, a block at a time."""
    for rng, count in _streams(draws, seed, key):
        order = np.argsort(rng.random((count, units)), axis=1)
        yield (order < size).astype(np.float64)


def _streams(draws: int, seed: int, key: tuple[int, ...]) -> Iterator[tuple[np.random.Generator, int]]:
    for block, start in enumerate(range(0, draws, BLOCK)):
        yield make_branch_generator(seed, *key, block), min(BLOCK, draws - start)


def sum_resamples(statistics: FloatArray, counts: FloatArray) -> FloatArray:
    """Sums over each resample: [systems, segments, s] and [draws, segments] to [systems, draws, s]."""
    systems, segments, width = statistics.shape
    flat = np.ascontiguousarray(statistics.transpose(1, 0, 2)).reshape(segments, systems * width)
    return (counts @ flat).reshape(len(counts), systems, width).transpose(1, 0, 2)


def score_resamples(
    statistics: FloatArray, counts: FloatArray, from_statistics: FromStatistics
) -> FloatArray:
    """The score of each system on each resample: [systems, draws]."""
    return from_statistics(np.ascontiguousarray(sum_resamples(statistics, counts)))


def draw_bootstrap_scores(
    statistics: FloatArray,
    from_statistics: FromStatistics,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
    size: int | None = None,
) -> FloatArray:
    """Scores on bootstrap resamples of `size` segments, by default as many as there are: [systems, draws].

    Drawn in parts, so that memory does not grow with draws × segments; systems share the resamples.
    """
    segments = statistics.shape[1]
    part = max(1, _CELLS // segments)
    return np.concatenate(
        [
            score_resamples(
                statistics,
                draw_bootstrap_counts(segments, size or segments, min(part, draws - start), rng),
                from_statistics,
            )
            for start in range(0, draws, part)
        ],
        axis=-1,
    )


def make_mean_statistics(scores: FloatArray) -> FloatArray:
    """Statistics of a plain mean: [..., segments] to [..., segments, 2], with weight 0 where undefined."""
    defined = ~np.isnan(scores)
    return np.stack([np.where(defined, scores, 0.0), defined.astype(np.float64)], axis=-1)


def mean_from_statistics(statistics: FloatArray) -> FloatArray:
    """The mean that `make_mean_statistics` are of; NaN where nothing is defined."""
    total, weight = np.moveaxis(statistics, -1, 0)
    return np.where(weight > 0, total / np.maximum(weight, 1), np.nan)


def paired_bootstrap(
    statistics: FloatArray,
    from_statistics: FromStatistics,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
) -> SystemComparisons:
    """Paired bootstrap over segments (Koehn, 2004) between all pairs of systems.

    The null hypothesis is that the true difference is 0. With d the observed and d* the resampled difference,

        p = (1 + #{|d* − mean d*| ≥ |d|}) / (draws + 1)

    so the resampled differences are shifted to where the hypothesis has them (Riezler and Maxwell, 2005).
    """
    scores = draw_bootstrap_scores(statistics, from_statistics, rng, draws=draws)
    observed = from_statistics(statistics.sum(axis=1))
    differences = observed[:, None] - observed[None, :]
    p = np.ones_like(differences)
    for i in range(len(scores)):
        for j in range(i):
            sampled = scores[i] - scores[j]
            p[i, j] = p[j, i] = _share(np.abs(sampled - sampled.mean()), differences[i, j])
    return SystemComparisons(differences, p)


def approximate_randomization(
    statistics: FloatArray,
    from_statistics: FromStatistics,
    rng: np.random.Generator,
    *,
    draws: int = 10_000,
) -> SystemComparisons:
    """Approximate randomisation (Noreen, 1989) between all pairs of systems.

    The null hypothesis is that outputs of the two systems are exchangeable: each segment's outputs change
    sides with probability 1/2, and

        p = (1 + #{|d*| ≥ |d|}) / (draws + 1).

    All pairs share the draws. With P the sums over the chosen segments and T over all, the first of two
    mixed systems has the sums P_i + T_j − P_j: the cost of the sums is linear in systems.
    """
    systems, segments, _ = statistics.shape
    observed = from_statistics(statistics.sum(axis=1))
    differences = observed[:, None] - observed[None, :]
    extreme = np.zeros((systems, systems))
    total = statistics.sum(axis=1)[:, None]
    part_size = max(1, _CELLS // segments)
    for start in range(0, draws, part_size):
        size = min(part_size, draws - start)
        chosen = rng.integers(2, size=(size, segments), dtype=bool).astype(np.float64)
        part = sum_resamples(statistics, chosen)
        rest = total - part
        for i in range(systems):
            for j in range(i):
                mixed = from_statistics(np.stack([part[i] + rest[j], part[j] + rest[i]]))
                extreme[i, j] += _at_least(np.abs(mixed[0] - mixed[1]), differences[i, j]).sum()
    extreme += extreme.T + draws * np.eye(systems)
    return SystemComparisons(differences, (extreme + 1) / (draws + 1))


def _share(sampled: FloatArray, observed: float) -> float:
    return float((_at_least(sampled, observed).sum() + 1) / (len(sampled) + 1))


def _at_least(sampled: FloatArray, observed: float) -> NDArray[np.bool_]:
    """Whether absolute differences reach the observed one; equal up to rounding counts as reached."""
    bound = abs(observed)
    reached: NDArray[np.bool_] = sampled >= bound - _TOLERANCE * max(1.0, bound)
    return reached


@dataclass(frozen=True)
class GroupFits:
    """Means by group of a rising function of the scores, fitted to the whole or to the group alone.

    `remapped` are those of one fit to the whole. The others are `[resamples, groups]`, NaN where a resample
    misses a group: `pooled` means of the resampled fit over the group's outputs as they are, `replicated`
    over those drawn, `own` of the group's own fit, `drawn` the mean value of those drawn. `fit` is the fit to
    the whole, `fitted` what it gives each output, `few` how much wider errors are for few clusters.
    """

    remapped: FloatArray
    pooled: FloatArray
    replicated: FloatArray
    own: FloatArray
    drawn: FloatArray
    fit: FloatArray
    fitted: FloatArray
    few: float


def group_fits(
    order: SortedScores,
    scores: FloatArray,
    values: FloatArray,
    weight: FloatArray,
    group: LongArray,
    cluster: LongArray,
    counts: Counts,
) -> GroupFits:
    """All fits of `values` on `scores`, sorted in `order`; resample b has cluster c `counts[b, c]` times."""
    groups, clusters = int(group.max()) + 1, int(cluster.max()) + 1
    remapped = fit_values_by_group(order, values[np.newaxis], weight, group, groups)[0]
    pooled, replicated = fit_resamples_by_group(order, values, weight, group, groups, cluster, counts)
    own = np.empty((len(counts), groups))
    drawn = np.empty_like(own)
    for k in range(groups):
        mine = np.flatnonzero(group == k)
        original, resampled = fit_resamples_by_group(
            sort_scores(scores[mine]),
            values[mine],
            weight[mine],
            np.zeros(len(mine), dtype=np.int64),
            1,
            cluster[mine],
            counts,
        )
        own[:, k], drawn[:, k] = original[:, 0], resampled[:, 0]
    fit = fit_isotonic(order, values, weight)
    few = float(small_sample_factor(np.array(clusters)))
    return GroupFits(remapped, pooled, replicated, own, drawn, fit, predict_isotonic(order, fit, scores), few)
