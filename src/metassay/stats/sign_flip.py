"""Paired sign-flip tests: how certain it is that one system scores higher than another.

Two systems are compared by their differences d, one per segment. Under the null hypothesis each difference
could as well have the other sign. The one-sided p-value is the share of sign assignments whose sum is at
least the observed one (Fisher, 1935; Thompson et al., 2024, section 2). With Z the set of flipped segments,

    p_ij = P( sum over Z of x_i  <=  sum over Z of x_j ),

so that one matrix product serves all pairs of systems. Scores are [..., systems, segments], float64 without
NaN; p-values are [..., pairs], pairs i < j in the order of `numpy.triu_indices`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import BoolArray, FloatArray
from metassay.stats.compilation import kernel

# The seed of mt-metrics-eval.
MTME_SEED = 4
# Flips evaluated at a time: bounds memory. Fixed, so that results do not depend on it.
FLIPS_PER_BLOCK = 2048
# Sums are equal if they differ by less than this share of their possible size.
TIE_TOLERANCE = 1e-11


def compute_normal_p_values(scores: FloatArray) -> FloatArray:
    """Compute for each pair of systems the p-value that the first scores higher by chance.

    This is the normal approximation of the sign-flip test. p = 1 - Phi(Σ d / √Σ d²) is the limit of
    infinitely many flips: no seed, no Monte-Carlo error. Systems that never differ get .5.

    >>> compute_normal_p_values(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    array([0.5])
    """
    return compute_normal_p_values_from_sums(*sum_score_differences_of_system_pairs(scores))


def compute_weighted_p_values_of_system_pairs(scores: FloatArray, segment_weights: FloatArray) -> FloatArray:
    """Compute normal p-values for all pairs of systems, once for each row of segment weights.

    Returns [metrics, draws, pairs].
    """
    first, second = np.triu_indices(scores.shape[-2], 1)
    p_values = []
    for metric_scores in scores:
        differences = metric_scores[first] - metric_scores[second]
        sums = segment_weights @ differences.T
        squares = segment_weights @ (differences * differences).T
        p_values.append(compute_normal_p_values_from_sums(sums, squares))
    return np.stack(p_values)


def compute_normal_p_values_from_sums(
    difference_sums: FloatArray, squared_difference_sums: FloatArray
) -> FloatArray:
    """Compute p-values of pairs of systems from the sums of their score differences and squared differences.

    It is 1 - Phi(sum / √squares), the probability of a larger sum by chance; 0.5 if the systems never differ.
    """
    from scipy.special import ndtr

    z = np.divide(
        difference_sums,
        np.sqrt(squared_difference_sums),
        out=np.zeros_like(difference_sums),
        where=squared_difference_sums > 0,
    )
    tail: FloatArray = ndtr(-z)
    return tail


def estimate_normal_p_value_errors(scores: FloatArray) -> FloatArray:
    """Estimate the error of the normal approximation of the p-value of each pair of systems.

    Signs are symmetric, so the first term of the error is that of the kurtosis of the differences,

        phi(z) (z³ - 3 z) / 12 · Σ d⁴ / (Σ d²)²,

    which is large if a few segments carry most of a difference.
    """
    first, second = np.triu_indices(scores.shape[-2], 1)
    errors = np.zeros((*scores.shape[:-2], len(first)))
    for pair, (i, j) in enumerate(zip(first, second)):  # one pair at a time, to save memory
        differences = scores[..., i, :] - scores[..., j, :]
        squares = differences**2
        total = squares.sum(axis=-1)
        differs = total > 0
        safe_total = np.where(differs, total, 1)
        z = differences.sum(axis=-1) / np.sqrt(safe_total)
        concentration = (squares**2).sum(axis=-1) / safe_total**2
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        errors[..., pair] = np.where(differs, density * (z**3 - 3 * z) / 12 * concentration, 0)
    return errors


def sum_score_differences_of_system_pairs(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum the score differences of every two systems over segments, and also the squared differences.

    Both arrays are [..., pairs].
    """
    systems = scores.shape[-2]
    sums = []
    squares = []
    for i in range(systems - 1):
        differences = scores[..., i : i + 1, :] - scores[..., i + 1 :, :]
        sums.append(differences.sum(axis=-1))
        squares.append(np.einsum("...k,...k->...", differences, differences))
    if systems < 2:
        empty = np.empty((*scores.shape[:-2], 0))
        return empty, empty
    return np.concatenate(sums, axis=-1), np.concatenate(squares, axis=-1)


def find_better_system_of_each_pair(scores: FloatArray) -> NDArray[np.int8]:
    """Find the better system of each pair by mean score: 1 for the first, -1 for the second, 0 for a tie."""
    sums, squares = sum_score_differences_of_system_pairs(scores)
    largest_sums = np.sqrt(scores.shape[-1] * squares)  # at least Σ |d|, by Cauchy and Schwarz
    is_tie = np.abs(sums) <= TIE_TOLERANCE * largest_sums
    signs: NDArray[np.int8] = np.where(is_tie, 0, np.sign(sums)).astype(np.int8)
    return signs


def compute_sign_flip_p_values(scores: FloatArray, rng: np.random.Generator, flip_count: int) -> FloatArray:
    """Compute for each pair of systems the p-value that the first scores higher by chance, from sign flips.

    The signs of score differences are flipped. Counting ties half makes p_ij + p_ji = 1, so that the order of
    the systems does not matter.
    """
    *outer, systems, segments = scores.shape
    # The same differences from smaller numbers have smaller rounding errors.
    centred = scores - scores.mean(axis=-2, keepdims=True)
    rows = centred.reshape(-1, segments)
    largest_sums = np.abs(centred).max(axis=-2, initial=0.0).sum(axis=-1).reshape(-1)
    counts = np.zeros((len(largest_sums), systems * (systems - 1) // 2), dtype=np.int64)
    for start in range(0, flip_count, FLIPS_PER_BLOCK):
        flipped = draw_sign_flips(rng, min(FLIPS_PER_BLOCK, flip_count - start), segments)
        sums = (rows @ flipped.T.astype(np.float64)).reshape(-1, systems, len(flipped))
        _count_wins_of_second_system(sums, TIE_TOLERANCE * largest_sums, counts)
    return (counts / (2.0 * flip_count)).reshape(*outer, -1)


def compute_corpus_p_values(
    statistics: FloatArray,
    compute_score: Callable[[FloatArray], FloatArray],
    rng: np.random.Generator,
    flips: int,
) -> FloatArray:
    """Compute p-values of system pairs by exchanging outputs, for metrics that score a whole corpus, such as
    BLEU.

    `statistics` is [systems, segments, s]; `compute_score` takes summed statistics [..., s]. Two systems
    exchange their statistics of the flipped segments and are scored again; equal differences count half. For
    a mean of segment scores this equals `compute_sign_flip_p_values`.
    """
    systems, segments, _ = statistics.shape
    total = statistics.sum(axis=1)
    observed = compute_score(total)
    first, second = np.triu_indices(systems, 1)
    counts = np.zeros(len(first))
    for start in range(0, flips, FLIPS_PER_BLOCK):
        flipped = draw_sign_flips(rng, min(FLIPS_PER_BLOCK, flips - start), segments).astype(np.float64)
        flipped_sums = np.stack([flipped @ system_statistics for system_statistics in statistics])
        for pair, (i, j) in enumerate(zip(first, second)):
            change = flipped_sums[j] - flipped_sums[i]
            permuted = compute_score(total[i] + change) - compute_score(total[j] - change)
            excess = permuted - (observed[i] - observed[j])
            tolerance = TIE_TOLERANCE * max(1.0, abs(float(observed[i])), abs(float(observed[j])))
            counts[pair] += (excess > tolerance).sum() + (excess >= -tolerance).sum()
    return counts / (2.0 * flips)


def compute_p_values_like_mt_metrics_eval(scores: FloatArray, flips: int) -> FloatArray:
    """Compute the p-value of each pair of systems exactly as mt-metrics-eval does.

    The p-values depend on the order of the systems: with ties, p_ij + p_ji exceeds 1.
    """
    *outer, systems, segments = scores.shape
    rng = np.random.default_rng(MTME_SEED)
    signs = 2 * np.rint(rng.random((flips, segments), dtype=np.float32)) - 1
    first, second = np.triu_indices(systems, 1)
    p_values = []
    for metric_scores in scores.reshape(-1, systems, segments).astype(np.float32):
        null = signs @ metric_scores.T
        observed = metric_scores.sum(axis=1)
        is_extreme = null[:, first] - null[:, second] >= observed[first] - observed[second]
        p_values.append(is_extreme.mean(axis=0, dtype=np.float64))
    return np.array(p_values).reshape(*outer, -1)


def draw_sign_flips(rng: np.random.Generator, flips: int, segments: int) -> BoolArray:
    """Draw at random which segments change their sign, with one row for each draw.

    Returns [flips, segments].
    """
    return rng.random((flips, segments), dtype=np.float32) < 0.5


def sum_under_random_signs(differences: FloatArray, rng: np.random.Generator, draws: int) -> FloatArray:
    """Sum each row of differences many times, each time with random signs. All rows share the signs.

    Returns [rows, draws].
    """
    flipped = draw_sign_flips(rng, draws, differences.shape[1])
    sums: FloatArray = differences @ (1.0 - 2.0 * flipped).T
    return sums


@kernel
def _count_wins_of_second_system(
    flipped_score_sums: FloatArray, tie_tolerances: FloatArray, half_win_counts: NDArray[np.int64]
) -> None:
    """Count for each pair of systems how often the second has the higher sum under random signs.

    A win adds 2 to the count, and a tie adds 1.
    """
    metrics, systems, flips = flipped_score_sums.shape
    for m in range(metrics):
        pair = 0
        for i in range(systems):
            for j in range(i + 1, systems):
                count = 0
                for k in range(flips):
                    difference = flipped_score_sums[m, j, k] - flipped_score_sums[m, i, k]
                    count += (difference > tie_tolerances[m]) + (difference >= -tie_tolerances[m])
                half_win_counts[m, pair] += count
                pair += 1
