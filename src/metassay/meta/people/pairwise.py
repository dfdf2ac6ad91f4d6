"""Whether a metric orders systems as people do, and is as sure of it as they are (Thompson et al. 2024).

Over all pairs of systems i < j, with p_ij the one-sided p-value that i scores higher than j
(`metassay.stats.sign_flip`), h for people and m for the metric:

    SPA = mean of 1 - |p^h_ij - p^m_ij|
    PA  = mean of [sign(mean h_i - mean h_j) = sign(mean m_i - mean m_j)]

Scores are `[systems, segments]`, higher is better. A segment with NaN in either is dropped for both.
PA is Kendall's tau on another scale: tau = 2 PA - 1 where nothing ties.

A metric that never differs has p = .5 everywhere, and SPA = mean of 1 - |p^h - .5|: the fewer segments, the
higher. So compare SPA at equal numbers of segments only, with that value in sight. Its PA is 0 where people
see differences. With one segment every normal p-value is .16, .5 or .84.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from metassay.errors import InputError, UnknownName
from metassay.stats.arrays import FloatArray
from metassay.stats.random import from_seed
from metassay.stats.sign_flip import (
    corpus_p_values,
    difference_signs,
    flip_p_values,
    mtme_p_values,
    normal_p_values,
)

METHODS = ("normal", "permutation", "mtme")


def soft_pairwise_accuracy(
    human: ArrayLike, metric: ArrayLike, *, method: str = "normal", permutations: int = 1000, seed: int = 0
) -> float:
    """SPA of one metric: agreement with people about which system is better and how surely.

    `method`: `normal` (the limit of many permutations, deterministic), `permutation` (seeded; people and
    metric share the permutations) or `mtme` (what mt-metrics-eval computes for systems in this order).
    """
    human, metric = complete_segments(human, metric)
    both = np.stack([human, metric])
    p_human, p_metric = preferences(both, method=method, permutations=permutations, seed=seed)
    return float(agreement(p_human, p_metric))


def pairwise_accuracy(human: ArrayLike, metric: ArrayLike) -> float:
    """PA of one metric: the share of system pairs that it orders as people do (Kocmi et al. 2021)."""
    both = np.stack(complete_segments(human, metric))
    by_people, by_metric = difference_signs(both)
    return float((by_people == by_metric).mean())


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
    p_metric = corpus_p_values(statistics, score, from_seed(seed), permutations)
    return float(agreement(p_human, p_metric))


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
        return flip_p_values(scores, from_seed(seed), permutations)
    if method == "mtme":
        return mtme_p_values(scores, permutations)
    raise UnknownName("method", method, METHODS)


def agreement(p_human: FloatArray, p_metric: FloatArray) -> FloatArray:
    """`mean over pairs of 1 - |p^h - p^m|`, over the last axis."""
    agreed: FloatArray = 1.0 - np.abs(p_human - p_metric).mean(axis=-1)
    return agreed


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
