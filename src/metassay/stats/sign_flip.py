"""Paired sign-flip tests: how surely does one system score higher than another.

Two systems are compared by their differences d, one per segment. Under the null hypothesis each difference
may as well have the other sign. The one-sided p-value is the share of sign assignments whose sum is at least
the observed one (Fisher 1935; Thompson et al. 2024, section 2). With Z the set of flipped segments,

    p_ij = P( sum over Z of x_i  <=  sum over Z of x_j )

so one matrix product serves all pairs of systems. Scores are `[..., systems, segments]`, float64 without NaN;
p-values are `[..., pairs]`, pairs i < j in the order of `numpy.triu_indices`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import ndtr

from metassay.stats.arrays import FloatArray, IntArray
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.compilation import kernel
from metassay.stats.random import make_generator

MTME_SEED = 4
"""The seed of mt-metrics-eval."""

BLOCK = 2048
"""Flips evaluated at once: bounds memory, and is fixed so that results never depend on it."""

MAX_NORMAL_ERROR = 0.003
"""SPA is drawn where its closed form is off by more per pair of systems: twice the noise of 1,000 draws."""

FLIPS = 1000
"""Draws where the closed form is poor."""

TIE = 1e-11
"""Sums that differ by less than this share of their possible size are equal but for rounding."""


def normal_p_values(scores: FloatArray) -> FloatArray:
    """p-values from the normal limit of the sign-flip distribution, `1 - Phi(sum d / sqrt(sum d^2))`.

    The limit of infinitely many flips: no seed, no Monte-Carlo error. Systems that never differ get .5.

    >>> normal_p_values(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    array([0.5])
    """
    return normal_upper_tail(*sum_differences(scores))


def weighted_p_values(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Normal p-values under weights `[draws, segments]`: `[metrics, draws, pairs]`."""
    first, second = np.triu_indices(scores.shape[-2], 1)
    found = []
    for own in scores:
        differences = own[first] - own[second]
        found.append(normal_upper_tail(weights @ differences.T, weights @ (differences * differences).T))
    return np.stack(found)


def soft_accuracy(p_human: FloatArray, p_metric: FloatArray) -> FloatArray:
    """`mean over pairs of 1 - |p^h - p^m|`, over the last axis."""
    agreed: FloatArray = 1.0 - np.abs(p_human - p_metric).mean(axis=-1)
    return agreed


def estimate_soft_accuracies(human: FloatArray, metrics: FloatArray, seed: int = 0) -> FloatArray:
    """`soft_accuracy` of each metric, `[metrics]`: in closed form, or by draws where that is poor.

    `human` is `[systems, segments]`, `metrics` `[metrics, systems, segments]`.
    """
    scores = np.concatenate([human[None], metrics])
    poor = float(np.abs(estimate_normal_error(scores)).mean(axis=-1).max()) > MAX_NORMAL_ERROR
    p = sign_flip_p_values(scores, make_generator(seed), FLIPS) if poor else normal_p_values(scores)
    return soft_accuracy(p[0], p[1:])


def resample_soft_accuracies(
    human: FloatArray,
    metrics: FloatArray,
    draws: ClusterBootstrap,
    cluster: IntArray,
    *,
    rest: bool = False,
) -> FloatArray:
    """`soft_accuracy` of each metric under each draw's weights, `[metrics, draws]`, in closed form.

    With `rest` under what the weights leave of 1: of random halves the other half.
    """
    first, second = np.triu_indices(len(human), 1)

    def p_values(scores: FloatArray) -> FloatArray:
        differences = scores[first] - scores[second]
        columns = np.concatenate([differences, differences**2])
        sums = draws.resample_sums(columns, cluster)
        sums = columns.sum(axis=1, keepdims=True) - sums if rest else sums
        return normal_upper_tail(sums[: len(first)].T, np.maximum(sums[len(first) :].T, 0))

    people = p_values(human)  # a metric at a time keeps memory at pairs of systems by draws
    return np.array([soft_accuracy(people, p_values(scores)) for scores in metrics])


def estimate_normal_error(scores: FloatArray) -> FloatArray:
    """By how much `normal_p_values` are off, `[..., pairs]`: the first term of the Edgeworth series.

    Signs are symmetric, so it is that of the kurtosis, phi(z) (z^3 - 3 z) / 12 * sum d^4 / (sum d^2)^2: large
    where a few segments carry most of a difference.
    """
    first, second = np.triu_indices(scores.shape[-2], 1)
    error = np.zeros((*scores.shape[:-2], len(first)))
    for pair, (i, j) in enumerate(zip(first, second)):  # a pair at a time keeps memory at one row of segments
        squares = (scores[..., i, :] - scores[..., j, :]) ** 2
        total = squares.sum(axis=-1)
        some = total > 0
        safe = np.where(some, total, 1)
        z = (scores[..., i, :] - scores[..., j, :]).sum(axis=-1) / np.sqrt(safe)
        heavy = (squares**2).sum(axis=-1) / safe**2
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        error[..., pair] = np.where(some, density * (z**3 - 3 * z) / 12 * heavy, 0)
    return error


def normal_upper_tail(sums: FloatArray, squares: FloatArray) -> FloatArray:
    """`1 - Phi(sum d / sqrt(sum d^2))`, .5 where there is no difference at all."""
    z = np.divide(sums, np.sqrt(squares), out=np.zeros_like(sums), where=squares > 0)
    tail: FloatArray = ndtr(-z)
    return tail


def sum_differences(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum and sum of squares of the differences of every two systems, each `[..., pairs]`."""
    *outer, systems, segments = scores.shape
    flat = np.ascontiguousarray(scores, dtype=np.float64).reshape(-1, systems, segments)
    sums, squares = _difference_sums(flat)
    shape = (*outer, sums.shape[-1])
    return sums.reshape(shape), squares.reshape(shape)


def find_difference_signs(scores: FloatArray) -> NDArray[np.int8]:
    """Which system of each pair has the higher mean: 1 the first, -1 the second, 0 equal but for rounding."""
    sums, squares = sum_differences(scores)
    possible = np.sqrt(scores.shape[-1] * squares)  # at least the sum of |d|, by Cauchy and Schwarz
    signs: NDArray[np.int8] = np.where(np.abs(sums) <= TIE * possible, 0, np.sign(sums)).astype(np.int8)
    return signs


def sign_flip_p_values(scores: FloatArray, rng: np.random.Generator, flips: int) -> FloatArray:
    """p-values from random flips, the same ones for every pair; a flipped sum of zero counts half.

    Counting ties half makes `p_ij + p_ji = 1`, so the order of the systems does not matter.
    """
    *outer, systems, segments = scores.shape
    centred = scores - scores.mean(axis=-2, keepdims=True)  # the same differences, smaller rounding errors
    rows = centred.reshape(-1, segments)
    tolerance = TIE * np.abs(centred).max(axis=-2, initial=0.0).sum(axis=-1).reshape(-1)
    counts = np.zeros((len(tolerance), systems * (systems - 1) // 2), dtype=np.int64)
    for start in range(0, flips, BLOCK):
        flipped = draw_flips(rng, min(BLOCK, flips - start), segments)
        sums = (rows @ flipped.T.astype(np.float64)).reshape(-1, systems, len(flipped))
        _count_halves(sums, tolerance, counts)
    return (counts / (2.0 * flips)).reshape(*outer, -1)


def corpus_p_values(
    statistics: FloatArray,
    score: Callable[[FloatArray], FloatArray],
    rng: np.random.Generator,
    flips: int,
) -> FloatArray:
    """p-values of scores that are no mean of segment scores, such as corpus BLEU.

    `statistics` is `[systems, segments, s]`; `score` takes summed statistics `[..., s]`. Two systems exchange
    their statistics of the flipped segments and are scored again; equal differences count half. For a mean
    of segment scores this is `sign_flip_p_values`.
    """
    systems, segments, _ = statistics.shape
    total = statistics.sum(axis=1)
    observed = score(total)
    first, second = np.triu_indices(systems, 1)
    counts = np.zeros(len(first))
    for start in range(0, flips, BLOCK):
        flipped = draw_flips(rng, min(BLOCK, flips - start), segments).astype(np.float64)
        moved = np.stack([flipped @ own for own in statistics])
        for pair, (i, j) in enumerate(zip(first, second)):
            change = moved[j] - moved[i]
            apart = score(total[i] + change) - score(total[j] - change) - (observed[i] - observed[j])
            tolerance = TIE * max(1.0, abs(float(observed[i])), abs(float(observed[j])))
            counts[pair] += (apart > tolerance).sum() + (apart >= -tolerance).sum()
    return counts / (2.0 * flips)


def draw_flips(rng: np.random.Generator, flips: int, segments: int) -> NDArray[np.bool_]:
    """Fair coins, `[flips, segments]`: row by row, so that blocks of rows make up the same stream."""
    return rng.random((flips, segments), dtype=np.float32) < 0.5


def mtme_p_values(scores: FloatArray, flips: int) -> FloatArray:
    """p-values exactly as mt-metrics-eval computes them: its seed, its float32 arithmetic, its `>=`.

    They depend on the order of the systems: with ties, `p_ij + p_ji` exceeds 1.
    """
    *outer, systems, segments = scores.shape
    rng = make_generator(MTME_SEED)
    signs = 2 * np.rint(rng.random((flips, segments), dtype=np.float32)) - 1
    first, second = np.triu_indices(systems, 1)
    p = []
    for one in scores.reshape(-1, systems, segments).astype(np.float32):
        null = signs @ one.T
        observed = one.sum(axis=1)
        larger = null[:, first] - null[:, second] >= observed[first] - observed[second]
        p.append(larger.mean(axis=0, dtype=np.float64))
    return np.array(p).reshape(*outer, -1)


def draw_sign_flip_sums(differences: FloatArray, rng: np.random.Generator, draws: int) -> FloatArray:
    """Sums of the rows of `differences` `[rows, units]` under random signs, `[rows, draws]`.

    All rows share the signs.
    """
    flipped = draw_flips(rng, draws, differences.shape[1])
    null: FloatArray = differences @ (1.0 - 2.0 * flipped).T
    return null


@njit(cache=True, nogil=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator]
def _difference_sums(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    metrics, systems, segments = scores.shape
    pairs = systems * (systems - 1) // 2
    sums = np.zeros((metrics, pairs))
    squares = np.zeros((metrics, pairs))
    for m in range(metrics):
        pair = 0
        for i in range(systems):
            for j in range(i + 1, systems):
                total = 0.0
                square = 0.0
                for k in range(segments):
                    difference = scores[m, i, k] - scores[m, j, k]
                    total += difference
                    square += difference * difference
                sums[m, pair] = total
                squares[m, pair] = square
                pair += 1
    return sums, squares


@kernel
def _count_halves(sums: FloatArray, tolerance: FloatArray, counts: NDArray[np.int64]) -> None:
    """Add 2 for every flip whose sum is lower for the first system, 1 for every tie."""
    metrics, systems, flips = sums.shape
    for m in range(metrics):
        pair = 0
        for i in range(systems):
            for j in range(i + 1, systems):
                count = 0
                for k in range(flips):
                    difference = sums[m, j, k] - sums[m, i, k]
                    count += (difference > tolerance[m]) + (difference >= -tolerance[m])
                counts[m, pair] += count
                pair += 1
