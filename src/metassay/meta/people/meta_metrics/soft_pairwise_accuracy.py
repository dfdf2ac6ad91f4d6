"""Soft pairwise accuracy: whether a metric orders systems as people do, and is as sure of it as they are.

Thompson et al. (2024). Over all pairs of systems i < j, with p_ij the one-sided p-value that i scores higher
than j (`metassay.stats.sign_flip`), h for people and m for the metric:

    SPA = mean of 1 - |p^h_ij - p^m_ij|

Scores are `[systems, segments]`, higher is better. A segment with NaN in either is dropped for both.

A metric that never differs has p = .5 everywhere, and SPA = mean of 1 - |p^h - .5|: the fewer segments, the
higher. So compare SPA at equal numbers of segments only, with that value in sight. With one segment every
normal p-value is .16, .5 or .84.

Pairwise accuracy: the share of pairs of systems that a metric orders as people do (Kocmi et al. 2021).

    PA = mean over pairs i < j of [sign(mean h_i - mean h_j) = sign(mean m_i - mean m_j)]

PA is Kendall's tau on another scale: tau = 2 PA - 1 where nothing ties. A metric that never differs has PA 0
where people see differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.errors import InputError, UnknownName
from metassay.meta.people.meta_metrics.base import MetaMetric, Procedure, Resampled
from metassay.meta.people.meta_metrics.correlation_levels import OfSystemMeans
from metassay.stats.arrays import FloatArray
from metassay.stats.random import make_generator
from metassay.stats.sign_flip import (
    TIE_TOLERANCE,
    corpus_p_values,
    draw_flips,
    estimate_normal_error,
    find_difference_signs,
    mtme_p_values,
    normal_p_values,
    normal_upper_tail,
    sign_flip_p_values,
    weighted_p_values,
)
from metassay.stats.soft_accuracy import soft_accuracy
from metassay.stats.swapped_soft_accuracy import swap_cells, swap_permuted_segments, swap_segments
from metassay.stats.swaps import SwapStatistic, standardize_metrics


@dataclass(frozen=True)
class PairwiseAccuracy(OfSystemMeans):
    """`pa`."""

    name: str = "pa"

    def values(self, judged: ScoreArrays, procedure: Procedure | None = None) -> FloatArray:
        """PA of each metric."""
        del procedure
        return np.asarray(_same_order(judged).mean(axis=-1), dtype=np.float64)

    def on_subsets(self, judged: ScoreArrays, chosen: NDArray[np.int64]) -> FloatArray:
        """Dropping systems changes no sign: means over fewer pairs."""
        return mean_over_pairs(_same_order(judged).astype(np.float64), chosen, len(judged.human))

    def with_gaps(self, differences: FloatArray, weights: FloatArray) -> FloatArray:
        """Each pair of systems on the segments that both have."""
        sums = [weights @ d.T for d in differences]
        squares = [weights @ (d * d).T for d in differences]
        size = [TIE_TOLERANCE * np.sqrt(weights.sum(axis=1)[:, None] * q) for q in squares]
        signs = [np.where(np.abs(s) <= tolerance, 0.0, np.sign(s)) for s, tolerance in zip(sums, size)]
        same: FloatArray = (signs[0] == signs[1]).mean(axis=1)
        return same

    def pooled(self, values: FloatArray, pairs: FloatArray) -> FloatArray:
        """Over all system pairs of all data sets, as WMT21 to WMT23 did."""
        return np.array([float(pairs @ values[:, m] / pairs.sum()) for m in range(values.shape[1])])


def pairwise_accuracy(human: ArrayLike, metric: ArrayLike) -> float:
    """PA of one metric: the share of system pairs that it orders as people do (Kocmi et al. 2021).

    >>> pairwise_accuracy([[1, 2, 3, 4], [0, 1, 2, 2]], [[2, 3, 3, 5], [1, 1, 2, 3]])
    1.0
    """
    both = np.stack(complete_segments(human, metric))
    by_people, by_metric = find_difference_signs(both)
    return float((by_people == by_metric).mean())


def mean_over_pairs(agreed: FloatArray, chosen: NDArray[np.int64], systems: int) -> FloatArray:
    """Means `[metrics, trials]` of what pairs contribute, `[metrics, pairs]`, over the pairs chosen."""
    inside = np.zeros((len(chosen), systems), dtype=np.bool_)
    np.put_along_axis(inside, chosen, values=True, axis=1)
    first, second = np.triu_indices(systems, 1)
    pairs = (inside[:, first] & inside[:, second]).astype(np.float64)
    values: FloatArray = agreed @ pairs.T / pairs.sum(axis=1)
    return values


def complete_segments(human: ArrayLike, metric: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both as float64 `[systems, segments]`, without the segments where either lacks a score."""
    human = np.asarray(human, dtype=np.float64)
    metric = np.asarray(metric, dtype=np.float64)
    if human.shape != metric.shape:
        raise InputError(
            f"human scores have shape {human.shape}, metric scores {metric.shape}: they must agree."
        )
    if human.ndim != 2 or human.shape[0] < 2:
        raise InputError(
            f"scores of at least two systems are needed, [systems, segments]; got {human.shape}."
        )
    if np.isinf(human).any() or np.isinf(metric).any():
        raise InputError("a score is infinite.", remedy="Leave a score that does not exist as NaN.")
    complete = ~(np.isnan(human) | np.isnan(metric)).any(axis=0)
    if not complete.any():
        raise InputError("no segment has a human and a metric score of every system.")
    return human[:, complete], metric[:, complete]


def _same_order(judged: ScoreArrays) -> NDArray[np.bool_]:
    """Whether each metric orders each pair of systems as people do, `[metrics, pairs]`."""
    signs = find_difference_signs(np.concatenate([judged.human[None], judged.metrics]))
    return np.asarray(signs[1:] == signs[0])


METHODS = ("normal", "permutation", "mtme")


@dataclass(frozen=True)
class SoftPairwiseAccuracy(MetaMetric):
    """`spa`. On resamples the normal p-values are used whatever the method: they differ from those of
    permutations by less than Monte-Carlo error.

    Swap segments (`perm-inputs`): other swaps compare system i under one metric with system j under the
    other, and then the difficulty of segments no longer cancels.
    """

    name: str = "spa"

    def values(self, judged: ScoreArrays, procedure: Procedure | None = None) -> FloatArray:
        """SPA of each metric."""
        p = self.pair_preferences(judged, procedure or Procedure())
        return soft_accuracy(p[0], p[1:])

    def pair_preferences(self, judged: ScoreArrays, procedure: Procedure) -> FloatArray:
        """The p-values of which SPA is the agreement."""
        both = judged.sum_over_clusters(np.concatenate([judged.human[None], judged.metrics]))
        drawn = {"permutations": procedure.permutations, "seed": procedure.seed}
        return preferences(both, method=procedure.method, **drawn)

    def resampled(self, judged: ScoreArrays) -> Resampled:
        """Weighted sums of the differences between systems and of their squares make the p-values."""
        scores = np.concatenate(
            [judged.sum_over_clusters(judged.human)[None], judged.sum_over_clusters(judged.metrics)]
        )

        def values(weights: FloatArray) -> FloatArray:
            p = weighted_p_values(scores, weights)
            return soft_accuracy(p[0], p[1:])

        return values

    def closed_form_error(self, judged: ScoreArrays) -> float:
        """The Edgeworth correction of the normal p-values, averaged over pairs of systems."""
        error = np.abs(
            estimate_normal_error(
                judged.sum_over_clusters(np.concatenate([judged.human[None], judged.metrics]))
            )
        )
        return float(error.mean(axis=-1).max())

    def swapped(self, judged: ScoreArrays, procedure: Procedure) -> SwapStatistic:
        """p-values of the swapped scores; normal ones, or by one set of flips for all draws."""
        scores, people = (
            judged.sum_over_clusters(standardize_metrics(judged.metrics)),
            judged.sum_over_clusters(judged.human),
        )
        if procedure.method == "normal":
            p_human = preferences(people)
            function = swap_segments if procedure.test == "perm-inputs" else swap_cells
            return partial(function, p_human, scores)
        p_human = preferences(
            people, method="permutation", permutations=procedure.permutations, seed=procedure.seed
        )
        flips = draw_flips(make_generator(procedure.seed), procedure.permutations, people.shape[1])
        as_numbers = np.ascontiguousarray(flips.T.astype(np.float32))
        return partial(swap_permuted_segments, p_human, scores, flips=as_numbers)

    def on_subsets(self, judged: ScoreArrays, chosen: NDArray[np.int64]) -> FloatArray:
        """Dropping systems changes no p-value: means over fewer pairs."""
        p = preferences(judged.sum_over_clusters(np.concatenate([judged.human[None], judged.metrics])))
        return mean_over_pairs(1.0 - np.abs(p[1:] - p[0]), chosen, len(judged.human))

    def with_gaps(self, differences: FloatArray, weights: FloatArray) -> FloatArray:
        """Each pair of systems on the segments that both have."""
        p_human, p_metric = (normal_upper_tail(weights @ d.T, weights @ (d * d).T) for d in differences)
        return soft_accuracy(p_human, p_metric)


def soft_pairwise_accuracy(
    human: ArrayLike, metric: ArrayLike, *, method: str = "normal", permutations: int = 1000, seed: int = 0
) -> float:
    """SPA of one metric: agreement with people about which system is better and how surely.

    `method`: `normal` (the limit of many permutations, deterministic), `permutation` (seeded; people and
    metric share the permutations) or `mtme` (what mt-metrics-eval computes for systems in this order).

    >>> round(soft_pairwise_accuracy([[1, 2, 3, 4], [0, 1, 2, 2]], [[2, 3, 3, 5], [1, 1, 2, 3]]), 4)
    0.9995
    """
    human, metric = complete_segments(human, metric)
    both = np.stack([human, metric])
    p_human, p_metric = preferences(both, method=method, permutations=permutations, seed=seed)
    return float(soft_accuracy(p_human, p_metric))


def corpus_soft_pairwise_accuracy(
    human: FloatArray,
    statistics: FloatArray,
    score: Callable[[FloatArray], FloatArray],
    *,
    permutations: int = 1000,
    seed: int = 0,
) -> float:
    """SPA of a corpus-level metric: sufficient statistics are permuted, not segment scores.

    `human` is `[systems, segments]` without gaps, `statistics` `[systems, segments, s]`, higher `score` of
    summed statistics is better. People and metric share the permutations.
    """
    if human.shape != statistics.shape[:2]:
        raise InputError(f"statistics {statistics.shape} do not fit human scores {human.shape}.")
    p_human = preferences(human, method="permutation", permutations=permutations, seed=seed)
    p_metric = corpus_p_values(statistics, score, make_generator(seed), permutations)
    return float(soft_accuracy(p_human, p_metric))


def preferences(
    scores: FloatArray, *, method: str = "normal", permutations: int = 1000, seed: int = 0
) -> FloatArray:
    """p_ij of every pair of systems, `[..., pairs]`, for complete scores `[..., systems, segments]`."""
    if method == "normal":
        return normal_p_values(scores)
    if permutations < 1:
        raise InputError(
            f"{permutations} permutations are too few.", remedy="Ask for at least 1; 1000 is usual."
        )
    if method == "permutation":
        return sign_flip_p_values(scores, make_generator(seed), permutations)
    if method == "mtme":
        return mtme_p_values(scores, permutations)
    raise UnknownName("method", method, METHODS)
