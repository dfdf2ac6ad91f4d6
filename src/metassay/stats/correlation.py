"""Correlations of score vectors: Pearson, Spearman, Kendall b and c, and the share of pairs ordered alike.

NaN where a statistic is undefined, as for a vector that never varies. `correlate` takes two vectors of any
length; `correlate_systems` and `compare_correlations_after_swaps` take many short ones, the mean scores of
systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from metassay.errors import UnknownName
from metassay.stats.arrays import Float32Array, FloatArray
from metassay.stats.compilation import kernel
from metassay.stats.swaps import Swaps

_PEARSON, _SPEARMAN, _KENDALL_B, _KENDALL_C, _PAIRWISE_ACCURACY = range(5)
STATISTICS = {
    "pearson": _PEARSON,
    "spearman": _SPEARMAN,
    "kendall": _KENDALL_B,
    "kendall_c": _KENDALL_C,
    "pa": _PAIRWISE_ACCURACY,
}
# Two means are equal if they differ by less than this share of the largest.
TIE_TOLERANCE = 1e-11


def correlate(statistic: str, x: FloatArray, y: FloatArray) -> float:
    """Correlate two vectors of any length: pearson, spearman, kendall (tau-b) or kendall_c, as scipy does.

    >>> round(correlate("kendall", np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 4)
    0.3333
    """
    from scipy import stats

    functions: dict[str, Callable[[], float]] = {
        "pearson": lambda: stats.pearsonr(x, y).statistic,
        "spearman": lambda: stats.spearmanr(x, y).statistic,
        "kendall": lambda: stats.kendalltau(x, y).statistic,
        "kendall_c": lambda: stats.kendalltau(x, y, variant="c").statistic,
    }
    if statistic not in functions:
        raise UnknownName("correlation", statistic, functions)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(functions[statistic]())


def lag_one_autocorrelation(values: FloatArray) -> tuple[float, float]:
    """Correlate each value with the next; also return the one-sided p-value that this is positive by chance.

        r = Σ (x_i - m)(x_i+1 - m) / Σ (x_i - m)²

    If all orders were equally likely, (r + 1/n) √n would be about standard normal (Wald and Wolfowitz, 1943).
    NaN for values that never vary.

    >>> r, p = lag_one_autocorrelation(np.repeat([0.0, 1.0, 0.0, 1.0], 5))
    >>> round(r, 2), p < 0.01
    (0.65, True)
    """
    centred = np.asarray(values, dtype=np.float64) - np.mean(values)
    squares = float(centred @ centred)
    if squares <= 0:
        return math.nan, math.nan
    n = len(centred)
    r = float(centred[:-1] @ centred[1:]) / squares
    from scipy.special import ndtr

    return r, float(ndtr(-(r + 1 / n) * math.sqrt(n)))


def williams_test(r_a: float, r_b: float, r_ab: float, n: int) -> float:
    """Test whether correlation `r_a` exceeds `r_b`, both with the same variable (Williams, 1959).

    Returns the one-sided p-value. `r_ab` is the correlation of the two metrics, `n` the number of systems:

        t = (r_a - r_b) √( (n-1)(1+r_ab) / (2 K (n-1)/(n-3) + (r_a+r_b)²/4 (1-r_ab)³) ),  n - 3 degrees
        K = 1 - r_a² - r_b² - r_ab² + 2 r_a r_b r_ab
    """
    if n < 4 or any(map(math.isnan, (r_a, r_b, r_ab))):
        return math.nan
    k = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    denominator = 2 * k * (n - 1) / (n - 3) + ((r_a + r_b) / 2) ** 2 * (1 - r_ab) ** 3
    if denominator <= 1e-15:  # the metrics determine each other, so the difference has no variance
        return 0.5 if abs(r_a - r_b) < 1e-12 else float(r_a < r_b)
    t = (r_a - r_b) * math.sqrt((n - 1) * (1 + r_ab) / denominator)
    from scipy.special import stdtr

    return float(stdtr(n - 3, -t))


def correlate_systems(
    statistic: str, human: FloatArray, metrics: FloatArray, *, exact: bool = False
) -> FloatArray:
    """Correlate `human` [..., systems] with `metrics` [..., systems], broadcast against each other.

    Means of many scores tie if they are equal up to rounding; with `exact`, for scores as they were given,
    only if they are equal.
    """
    human, metrics = np.broadcast_arrays(human, metrics)
    *outer, systems = metrics.shape
    human_rows = np.ascontiguousarray(human, dtype=np.float64).reshape(-1, systems)
    metric_rows = np.ascontiguousarray(metrics, dtype=np.float64).reshape(-1, systems)
    values = np.empty(len(metric_rows))
    tolerance = 0.0 if exact else TIE_TOLERANCE
    _correlate_rows(_find_statistic_code(statistic), human_rows, metric_rows, tolerance, values)
    return values.reshape(outer)


def compare_correlations_after_swaps(
    statistic: str, human: FloatArray, scores: FloatArray, swaps: Swaps
) -> Float32Array:
    """Compute the statistic of A' minus that of B' after swaps, for all metrics A < B: [draws, pairs].

    `human` has the mean score of each system; `scores` are standardised, [metrics, systems, segments].
    """
    swapped = swaps.sum_swapped_scores(scores)
    metrics = len(scores)
    differences = np.empty((len(swaps), metrics * (metrics - 1) // 2), dtype=np.float32)
    _fill_swapped_differences(
        _find_statistic_code(statistic),
        np.ascontiguousarray(human),
        scores.sum(axis=-1),
        swapped,
        differences,
    )
    return differences


def _find_statistic_code(statistic: str) -> int:
    if statistic not in STATISTICS:
        raise UnknownName("statistic", statistic, STATISTICS)
    return STATISTICS[statistic]


@kernel
def _correlate_rows(
    code: int, human: FloatArray, metrics: FloatArray, tolerance: float, values: FloatArray
) -> None:
    for row in range(len(metrics)):
        values[row] = _correlate(code, human[row], metrics[row], tolerance)


@kernel
def _fill_swapped_differences(
    code: int, human: FloatArray, total: FloatArray, swapped: FloatArray, differences: Float32Array
) -> None:
    draws, metrics, systems = swapped.shape
    first = np.empty(systems)
    second = np.empty(systems)
    for draw in range(draws):
        column = 0
        for a in range(metrics):
            for b in range(a + 1, metrics):
                for i in range(systems):
                    change = swapped[draw, b, i] - swapped[draw, a, i]
                    first[i] = total[a, i] + change
                    second[i] = total[b, i] - change
                value_a = _correlate(code, human, first, TIE_TOLERANCE)
                value_b = _correlate(code, human, second, TIE_TOLERANCE)
                differences[draw, column] = value_a - value_b
                column += 1


@kernel
def _correlate(code: int, x: FloatArray, y: FloatArray, tolerance: float) -> float:
    if code == _PEARSON:
        return _pearson(x, y)
    if code == _SPEARMAN:
        return _pearson(_rank(x, tolerance), _rank(y, tolerance))
    return _compare_pairs(code, x, y, tolerance)


@kernel
def _pearson(x: FloatArray, y: FloatArray) -> float:
    n = len(x)
    mean_x = x.sum() / n
    mean_y = y.sum() / n
    xx = 0.0
    yy = 0.0
    xy = 0.0
    for i in range(n):
        dx = x[i] - mean_x
        dy = y[i] - mean_y
        xx += dx * dx
        yy += dy * dy
        xy += dx * dy
    rounding = (TIE_TOLERANCE * n) ** 2
    if xx <= rounding * mean_x * mean_x or yy <= rounding * mean_y * mean_y or xx == 0.0 or yy == 0.0:
        return np.nan
    return float(min(1.0, max(-1.0, xy / np.sqrt(xx * yy))))


@kernel
def _rank(x: FloatArray, tolerance: float) -> FloatArray:
    """Rank from 1, equal values sharing the mean of their ranks; quadratic, for short vectors."""
    ranks = np.empty(len(x))
    largest_tie = tolerance * np.abs(x).max()
    for i in range(len(x)):
        below = 0.0
        for j in range(len(x)):
            if abs(x[i] - x[j]) <= largest_tie:
                below += 0.5
            elif x[j] < x[i]:
                below += 1.0
        ranks[i] = below + 0.5
    return ranks


@kernel
def _compare_pairs(code: int, x: FloatArray, y: FloatArray, tolerance: float) -> float:
    """Compute Kendall's tau b or c, or the share of pairs with the same sign of difference, ties included."""
    n = len(x)
    largest_tie_x = tolerance * np.abs(x).max()
    largest_tie_y = tolerance * np.abs(y).max()
    concordant_minus_discordant = 0
    same_sign = 0
    untied_x = 0
    untied_y = 0
    for i in range(n):
        for j in range(i + 1, n):
            sign_x = _sign(x[i] - x[j], largest_tie_x)
            sign_y = _sign(y[i] - y[j], largest_tie_y)
            concordant_minus_discordant += sign_x * sign_y
            same_sign += sign_x == sign_y
            untied_x += sign_x != 0
            untied_y += sign_y != 0
    if code == _PAIRWISE_ACCURACY:
        return same_sign / (n * (n - 1) / 2)
    if untied_x == 0 or untied_y == 0:
        return np.nan
    if code == _KENDALL_B:
        return float(concordant_minus_discordant / np.sqrt(float(untied_x) * float(untied_y)))
    classes = min(_count_distinct(x, largest_tie_x), _count_distinct(y, largest_tie_y))
    return 2.0 * concordant_minus_discordant / (n * n * (classes - 1) / classes)


@kernel
def _sign(difference: float, largest_tie: float) -> int:
    if abs(difference) <= largest_tie:
        return 0
    return 1 if difference > 0 else -1


@kernel
def _count_distinct(x: FloatArray, largest_tie: float) -> int:
    ordered = np.sort(x)
    count = 1
    for i in range(1, len(ordered)):
        count += ordered[i] - ordered[i - 1] > largest_tie
    return count
