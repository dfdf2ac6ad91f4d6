"""Correlations of score vectors: Pearson, Spearman, Kendall b and c, and the share of pairs ordered alike.

NaN where a statistic is undefined, as for a vector that never varies. `correlate` takes two vectors of any
length; `correlate_system_scores` and `compute_system_correlation_differences` take many short
ones, the mean scores of systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from metassay.errors import UnknownName
from metassay.stats.arrays import Float32Array, FloatArray
from metassay.stats.compilation import kernel
from metassay.stats.score_exchanges import ScoreExchanges

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
    """Compute a correlation of two vectors, such as Pearson's or Kendall's, by its name.

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
    """Compute the correlation between each value of a series and the next value, and its one-sided p-value.

        r = Σ (x_i - m)(x_i+1 - m) / Σ (x_i - m)²

    If all orders were equally likely, (r + 1/n) √n would be about standard normal (Wald and Wolfowitz, 1943).
    Both are NaN if all values are equal.

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


def williams_test(
    correlation_a: float, correlation_b: float, correlation_ab: float, system_count: int
) -> float:
    """Test whether metric a correlates better with human scores than metric b (Williams, 1959). Returns the
    p-value.

    The test is one-sided. `correlation_a` and `correlation_b` are the correlations of two metrics with human
    scores, `correlation_ab` is the correlation of the two metrics, and n the number of systems:

        t = (r_a - r_b) √( (n-1)(1+r_ab) / (2 K (n-1)/(n-3) + (r_a+r_b)²/4 (1-r_ab)³) ),  n - 3 degrees
        K = 1 - r_a² - r_b² - r_ab² + 2 r_a r_b r_ab
    """
    if system_count < 4 or any(map(math.isnan, (correlation_a, correlation_b, correlation_ab))):
        return math.nan
    k = (
        1
        - correlation_a**2
        - correlation_b**2
        - correlation_ab**2
        + 2 * correlation_a * correlation_b * correlation_ab
    )
    denominator = (
        2 * k * (system_count - 1) / (system_count - 3)
        + ((correlation_a + correlation_b) / 2) ** 2 * (1 - correlation_ab) ** 3
    )
    if denominator <= 1e-15:  # the metrics determine each other, so the difference has no variance
        return 0.5 if abs(correlation_a - correlation_b) < 1e-12 else float(correlation_a < correlation_b)
    t = (correlation_a - correlation_b) * math.sqrt((system_count - 1) * (1 + correlation_ab) / denominator)
    from scipy.special import stdtr

    return float(stdtr(system_count - 3, -t))


def correlate_system_scores(
    statistic: str, human_scores: FloatArray, metric_scores: FloatArray, *, exact: bool = False
) -> FloatArray:
    """Correlate human scores with metric scores of systems, separately for each row. The systems are on the
    last axis.

    Means of many scores tie if they are equal up to rounding; with `exact`, for scores as they were given,
    only if they are equal.
    """
    human_scores, metric_scores = np.broadcast_arrays(human_scores, metric_scores)
    *outer, systems = metric_scores.shape
    human_rows = np.ascontiguousarray(human_scores, dtype=np.float64).reshape(-1, systems)
    metric_rows = np.ascontiguousarray(metric_scores, dtype=np.float64).reshape(-1, systems)
    values = np.empty(len(metric_rows))
    tolerance = 0.0 if exact else TIE_TOLERANCE
    _fill_correlation_of_each_row(
        _get_correlation_number(statistic), human_rows, metric_rows, tolerance, values
    )
    return values.reshape(outer)


def compute_system_correlation_differences(
    correlation_name: str, human_means: FloatArray, metric_scores: FloatArray, score_exchanges: ScoreExchanges
) -> Float32Array:
    """Compute how much two metrics differ in correlation with human scores after an exchange of scores.

    All pairs of metrics are compared. The correlations are over systems. Returns [draws, pairs].
    `human_means` has the mean score of each system; `metric_scores` are standardised, [metrics, systems,
    segments].
    """
    exchanged_sums = score_exchanges.sum_exchanged_scores(metric_scores)
    metrics = len(metric_scores)
    differences = np.empty((len(score_exchanges), metrics * (metrics - 1) // 2), dtype=np.float32)
    _fill_correlation_differences(
        _get_correlation_number(correlation_name),
        np.ascontiguousarray(human_means),
        metric_scores.sum(axis=-1),
        exchanged_sums,
        differences,
    )
    return differences


def _get_correlation_number(correlation_name: str) -> int:
    """Return the integer that stands for the name of a correlation in compiled code.

    An unknown name raises an error.
    """
    if correlation_name not in STATISTICS:
        raise UnknownName("statistic", correlation_name, STATISTICS)
    return STATISTICS[correlation_name]


@kernel
def _fill_correlation_of_each_row(
    correlation_number: int,
    human_score_rows: FloatArray,
    metric_score_rows: FloatArray,
    tie_tolerance: float,
    correlations: FloatArray,
) -> None:
    """Correlate each row of human scores with the same row of metric scores."""
    for row in range(len(metric_score_rows)):
        correlations[row] = _correlate_vectors(
            correlation_number, human_score_rows[row], metric_score_rows[row], tie_tolerance
        )


@kernel
def _fill_correlation_differences(
    correlation_number: int,
    human_means: FloatArray,
    score_sums: FloatArray,
    exchanged_sums: FloatArray,
    correlation_differences: Float32Array,
) -> None:
    """Write how much two metrics differ in correlation with human scores after each random exchange."""
    draws, metrics, systems = exchanged_sums.shape
    first = np.empty(systems)
    second = np.empty(systems)
    for draw in range(draws):
        column = 0
        for a in range(metrics):
            for b in range(a + 1, metrics):
                for i in range(systems):
                    change = exchanged_sums[draw, b, i] - exchanged_sums[draw, a, i]
                    first[i] = score_sums[a, i] + change
                    second[i] = score_sums[b, i] - change
                value_a = _correlate_vectors(correlation_number, human_means, first, TIE_TOLERANCE)
                value_b = _correlate_vectors(correlation_number, human_means, second, TIE_TOLERANCE)
                correlation_differences[draw, column] = value_a - value_b
                column += 1


@kernel
def _correlate_vectors(correlation_number: int, x: FloatArray, y: FloatArray, tie_tolerance: float) -> float:
    """Compute a correlation of two vectors. The number says which one, such as Pearson's or Kendall's."""
    if correlation_number == _PEARSON:
        return _pearson_correlation(x, y)
    if correlation_number == _SPEARMAN:
        return _pearson_correlation(_average_ranks(x, tie_tolerance), _average_ranks(y, tie_tolerance))
    return _compute_kendall_tau_or_pairwise_accuracy(correlation_number, x, y, tie_tolerance)


@kernel
def _pearson_correlation(x: FloatArray, y: FloatArray) -> float:
    """Compute Pearson's correlation of two vectors. It is NaN where one of them does not vary."""
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
def _average_ranks(values: FloatArray, tolerance: float) -> FloatArray:
    """Rank values in ascending order from 1. Equal values share the mean of their ranks.

    Values are equal if they differ by at most the tolerance.
    """
    ranks = np.empty(len(values))
    largest_tie = tolerance * np.abs(values).max()
    for i in range(len(values)):
        below = 0.0
        for j in range(len(values)):
            if abs(values[i] - values[j]) <= largest_tie:
                below += 0.5
            elif values[j] < values[i]:
                below += 1.0
        ranks[i] = below + 0.5
    return ranks


@kernel
def _compute_kendall_tau_or_pairwise_accuracy(
    correlation_number: int, x: FloatArray, y: FloatArray, tie_tolerance: float
) -> float:
    """Compute Kendall's tau-b or tau-c, or the share of pairs that both vectors order alike."""
    n = len(x)
    largest_tie_x = tie_tolerance * np.abs(x).max()
    largest_tie_y = tie_tolerance * np.abs(y).max()
    concordant_minus_discordant = 0
    same_sign = 0
    untied_x = 0
    untied_y = 0
    for i in range(n):
        for j in range(i + 1, n):
            sign_x = _compute_sign_unless_tied(x[i] - x[j], largest_tie_x)
            sign_y = _compute_sign_unless_tied(y[i] - y[j], largest_tie_y)
            concordant_minus_discordant += sign_x * sign_y
            same_sign += sign_x == sign_y
            untied_x += sign_x != 0
            untied_y += sign_y != 0
    if correlation_number == _PAIRWISE_ACCURACY:
        return same_sign / (n * (n - 1) / 2)
    if untied_x == 0 or untied_y == 0:
        return np.nan
    if correlation_number == _KENDALL_B:
        return float(concordant_minus_discordant / np.sqrt(float(untied_x) * float(untied_y)))
    classes = min(_count_distinct_values(x, largest_tie_x), _count_distinct_values(y, largest_tie_y))
    return 2.0 * concordant_minus_discordant / (n * n * (classes - 1) / classes)


@kernel
def _compute_sign_unless_tied(difference: float, tolerance: float) -> int:
    """Return the sign of a difference: 1, -1, or 0 if it is not larger than the tolerance for ties."""
    if abs(difference) <= tolerance:
        return 0
    return 1 if difference > 0 else -1


@kernel
def _count_distinct_values(values: FloatArray, tie_tolerance: float) -> int:
    """Count the distinct values of an array. Values that differ by at most the tolerance count as one."""
    ordered = np.sort(values)
    count = 1
    for i in range(1, len(ordered)):
        count += ordered[i] - ordered[i - 1] > tie_tolerance
    return count
