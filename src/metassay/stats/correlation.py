"""Agreement of two score vectors: Pearson, Spearman, Kendall b and c, and the share of pairs ordered alike.

NaN where a statistic is undefined, as for a vector that never varies. `correlate_systems` and
`swap_system_correlations` take one short vector per metric (a mean per system); `correlate` takes two vectors
of any length.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from metassay.errors import UnknownName
from metassay.stats.arrays import FloatArray
from metassay.stats.compilation import kernel
from metassay.stats.swaps import Swaps

PEARSON, SPEARMAN, KENDALL_B, KENDALL_C, PAIRWISE = range(5)
STATISTICS = {
    "pearson": PEARSON,
    "spearman": SPEARMAN,
    "kendall": KENDALL_B,
    "kendall_c": KENDALL_C,
    "pa": PAIRWISE,
}

TIE = 1e-11
"""Two means closer than this share of the largest are equal but for rounding."""


def correlate(statistic: str, x: FloatArray, y: FloatArray) -> float:
    """One of pearson, spearman, kendall (b), kendall_c of two vectors of any length.

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
    """Correlation of each value with the next, and the one-sided p-value that it is positive by chance.

    r = Σ (x_i - m)(x_i+1 - m) / Σ (x_i - m)²; were all orders alike, (r + 1/n) √n would be about standard
    normal (Wald and Wolfowitz, 1943). NaN for values that never vary.

    >>> r, p = lag_one_autocorrelation(np.repeat([0.0, 1.0, 0.0, 1.0], 5))
    >>> round(r, 2), p < 0.01
    (0.65, True)
    """
    centred = np.asarray(values, dtype=np.float64) - np.mean(values)
    squares = float(centred @ centred)
    if squares <= 0:
        return math.nan, math.nan
    r = float(centred[:-1] @ centred[1:]) / squares
    return r, float(ndtr(-(r + 1 / len(centred)) * math.sqrt(len(centred))))


def correlate_systems(
    statistic: str, human: FloatArray, metrics: FloatArray, *, exact: bool = False
) -> FloatArray:
    """The statistic of short vectors: `human` `[..., systems]` with `metrics` `[..., systems]`, broadcast.

    Means of many scores tie when they are equal but for rounding; with `exact`, for scores as they were
    given, only when they are equal.
    """
    code, tie = _code(statistic), 0.0 if exact else TIE
    human, metrics = np.broadcast_arrays(human, metrics)
    *outer, systems = metrics.shape
    out = np.empty(metrics.size // systems)
    left, right = (np.ascontiguousarray(a, dtype=np.float64).reshape(-1, systems) for a in (human, metrics))
    _agreement_of_rows(code, left, right, tie, out)
    return out.reshape(outer)


def swap_system_correlations(
    statistic: str, human: FloatArray, scores: FloatArray, swaps: Swaps
) -> NDArray[np.float32]:
    """The difference of the statistic between A' and B' for all pairs of metrics A < B after swaps.

    `human` `[systems]` means; `scores` `[metrics, systems, segments]`, standardised;
    the result is `[draws, pairs of metrics]`.
    """
    swapped = swaps.swapped_sums(scores)
    metrics = len(scores)
    out = np.empty((len(swaps), metrics * (metrics - 1) // 2), dtype=np.float32)
    _swapped_means(_code(statistic), np.ascontiguousarray(human), scores.sum(axis=-1), swapped, out)
    return out


def williams_test(r_a: float, r_b: float, r_ab: float, n: int) -> float:
    """One-sided p-value that correlation `r_a` exceeds `r_b`, both with the same variable (Williams 1959).

    `r_ab` is the correlation of the two metrics with each other, `n` the number of systems:

        t = (r_a - r_b) sqrt( (n-1)(1+r_ab) / (2 K (n-1)/(n-3) + (r_a+r_b)^2/4 (1-r_ab)^3) ),  n - 3 degrees
        K = 1 - r_a^2 - r_b^2 - r_ab^2 + 2 r_a r_b r_ab
    """
    if n < 4 or any(map(math.isnan, (r_a, r_b, r_ab))):
        return math.nan
    k = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    below = 2 * k * (n - 1) / (n - 3) + ((r_a + r_b) / 2) ** 2 * (1 - r_ab) ** 3
    if below <= 1e-15:
        return 0.5 if abs(r_a - r_b) < 1e-12 else float(r_a < r_b)
    t = (r_a - r_b) * math.sqrt((n - 1) * (1 + r_ab) / below)
    return float(stdtr(n - 3, -t))


def _code(statistic: str) -> int:
    if statistic not in STATISTICS:
        raise UnknownName("statistic", statistic, STATISTICS)
    return STATISTICS[statistic]


@kernel
def _agreement_of_rows(
    code: int, human: FloatArray, metrics: FloatArray, tie: float, out: FloatArray
) -> None:
    for row in range(len(metrics)):
        out[row] = _agreement(code, human[row], metrics[row], tie)


@kernel
def _swapped_means(
    code: int, human: FloatArray, total: FloatArray, swapped: FloatArray, out: NDArray[np.float32]
) -> None:
    draws, metrics, systems = swapped.shape
    first = np.empty(systems, np.float64)
    second = np.empty(systems, np.float64)
    for t in range(draws):
        column = 0
        for a in range(metrics):
            for b in range(a + 1, metrics):
                for i in range(systems):
                    moved = swapped[t, b, i] - swapped[t, a, i]
                    first[i] = total[a, i] + moved
                    second[i] = total[b, i] - moved
                out[t, column] = _agreement(code, human, first, TIE) - _agreement(code, human, second, TIE)
                column += 1


@kernel
def _agreement(code: int, x: FloatArray, y: FloatArray, tie: float) -> float:
    if code == PEARSON:
        return _pearson(x, y)
    if code == SPEARMAN:
        return _pearson(_ranks(x, tie), _ranks(y, tie))
    return _ordered_alike(code, x, y, tie)


@kernel
def _pearson(x: FloatArray, y: FloatArray) -> float:
    n = len(x)
    mean_x = x.sum() / n
    mean_y = y.sum() / n
    xx = yy = xy = 0.0
    for i in range(n):
        dx = x[i] - mean_x
        dy = y[i] - mean_y
        xx += dx * dx
        yy += dy * dy
        xy += dx * dy
    tiny = (TIE * n) ** 2
    if xx <= tiny * mean_x * mean_x or yy <= tiny * mean_y * mean_y or xx == 0.0 or yy == 0.0:
        return np.nan
    return float(min(1.0, max(-1.0, xy / np.sqrt(xx * yy))))


@kernel
def _ranks(x: FloatArray, tie: float) -> FloatArray:
    """Ranks from 1, equal values sharing the mean of theirs; quadratic, for short vectors."""
    ranks = np.empty(len(x), np.float64)
    tolerance = tie * np.abs(x).max()
    for i in range(len(x)):
        below = 0.0
        for j in range(len(x)):
            if abs(x[i] - x[j]) <= tolerance:
                below += 0.5
            elif x[j] < x[i]:
                below += 1.0
        ranks[i] = below + 0.5
    return ranks


@kernel
def _ordered_alike(code: int, x: FloatArray, y: FloatArray, tie: float) -> float:
    """Kendall's tau b or c, or the share of pairs with the same sign of difference, ties included."""
    n = len(x)
    tolerance_x = tie * np.abs(x).max()
    tolerance_y = tie * np.abs(y).max()
    balance = same = 0
    untied_x = untied_y = 0
    for i in range(n):
        for j in range(i + 1, n):
            dx, dy = x[i] - x[j], y[i] - y[j]
            sign_x = 0 if abs(dx) <= tolerance_x else (1 if dx > 0 else -1)
            sign_y = 0 if abs(dy) <= tolerance_y else (1 if dy > 0 else -1)
            balance += sign_x * sign_y
            same += sign_x == sign_y
            untied_x += sign_x != 0
            untied_y += sign_y != 0
    if code == PAIRWISE:
        return same / (n * (n - 1) / 2)
    if untied_x == 0 or untied_y == 0:
        return np.nan
    if code == KENDALL_B:
        return float(balance / np.sqrt(float(untied_x) * float(untied_y)))
    classes = min(_distinct(x, tolerance_x), _distinct(y, tolerance_y))
    return 2.0 * balance / (n * n * (classes - 1) / classes)


@kernel
def _distinct(x: FloatArray, tolerance: float) -> int:
    ordered = np.sort(x)
    count = 1
    for i in range(1, len(ordered)):
        count += ordered[i] - ordered[i - 1] > tolerance
    return count
