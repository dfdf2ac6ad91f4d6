"""H2: whether the order of the metrics changes with the context.

For every two contexts, and every context against all outputs together, the rank agreement of the metrics'
accuracies (Deviyani and Diaz, 2025, section 4.3). Agreement below 1 may be sampling noise alone; so each
value has an interval from the cluster bootstrap, each context a noise ceiling (how well the orders in two
samples like it would agree, from random halves of it) and a test that its order differs from the global one.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from metassay.meta.contexts.accuracy import AccuracyTally
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.bootstrap import ClusterHalves
from metassay.stats.clustering import cluster_rows
from metassay.stats.intervals import percentile_interval, small_sample_factor
from metassay.stats.isotonic import fit_monotone_rows
from metassay.stats.rank_correlation import correlate_all_rows, correlate_rows

FULL_MATRIX = 300
ALL_INTERVALS = 100
_ROUNDING = 1e-9
_TIE_DECIMALS = 12  # sums in another order differ in the 16th decimal; such accuracies are tied


@dataclass(frozen=True)
class AgreementInterval:
    """Agreement of two orders of the metrics with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ContextOrder:
    """One context against all outputs: interval of the agreement, p-value, and noise ceiling."""

    low: float
    high: float
    p: float
    ceiling: float


@dataclass(frozen=True)
class AgreementMatrix:
    """Rank agreement between all contexts of a column, "global" first, the others ordered by similarity.

    `matrix` is [contexts, contexts] up to 300 contexts, else its first row only; `low` and `high` are
    complete up to 100. `order` has the context at each position (from 0, without "global"), `groups` its
    group of similar contexts.
    """

    statistic: str
    order: LongArray
    groups: LongArray
    matrix: FloatArray
    low: FloatArray
    high: FloatArray
    ceiling: FloatArray
    p_global: FloatArray


def compare_with_global(
    accuracy: FloatArray,
    resamples: FloatArray,
    global_accuracy: FloatArray,
    global_resamples: FloatArray,
    statistic: str,
    clusters: int,
) -> tuple[float, float, float]:
    """Compute the interval of one context's agreement with all outputs, and the p-value of a difference.

    `accuracy` is [metrics], `resamples` [metrics, resamples]. The test asks whether the context truly orders
    the metrics as all outputs do. Its statistic is the distance of the accuracies, weighed by their
    precision, from the nearest ones in the global order; under the null, accuracies are drawn around those
    nearest ones with the deviations of the resamples, stretched for small numbers of clusters.
    """
    # the order of all outputs is the reference of statistics that are not symmetric
    agreement = compare_orders(global_accuracy, global_resamples, accuracy, resamples, statistic)
    if np.isnan(agreement.value):
        return float("nan"), float("nan"), float("nan")
    p = _order_p_value(accuracy, resamples, global_accuracy, clusters)
    return agreement.low, agreement.high, p


def compare_orders(
    first: FloatArray,
    first_resamples: FloatArray,
    second: FloatArray,
    second_resamples: FloatArray,
    statistic: str,
) -> AgreementInterval:
    """Compute the agreement of two orders of the metrics [metrics] and its interval from joint resamples."""
    observed = float(correlate_rows(_round_ties(first), _round_ties(second), statistic)[0])
    drawn = correlate_rows(_round_ties(first_resamples.T), _round_ties(second_resamples.T), statistic)
    low, high = _agreement_interval(drawn, observed)
    return AgreementInterval(observed, low, high)


def _order_p_value(
    accuracy: FloatArray, resamples: FloatArray, global_accuracy: FloatArray, clusters: int
) -> float:
    """Compute the p-value that a context orders the metrics as all outputs do."""
    known = np.flatnonzero(~(np.isnan(accuracy) | np.isnan(global_accuracy)))
    order = known[np.lexsort((accuracy[known], _round_ties(global_accuracy[known])))]
    deviations = (resamples[order] - accuracy[order, None]).T
    deviations = deviations[~np.isnan(deviations).any(axis=1)]
    if clusters < 2 or len(deviations) < 2:
        return float("nan")
    deviations = deviations * small_sample_factor(np.array(clusters))
    variances = deviations.var(axis=0)
    # The floor keeps a metric that is always right from deciding everything.
    weights = 1 / np.maximum(variances, variances.max() * 1e-3 + 1e-12)
    nearest, distance = fit_monotone_rows(accuracy[order], weights)
    _, null_distances = fit_monotone_rows(nearest + deviations, weights)
    return float((1 + (null_distances >= distance[0] - _ROUNDING).sum()) / (1 + len(null_distances)))


def noise_ceiling(
    tally: AccuracyTally, metrics: LongArray, context: int, halves: ClusterHalves, statistic: str
) -> float:
    """Estimate the agreement that two samples of a context as large as ours would have; NaN if undefined.

    Two random halves of the context's clusters agree at τ, being half as large; `extrapolate_agreement` gives
    the agreement at full size.
    """
    cells = tally.cells_of(context)
    weight = tally.weight if len(tally.weight) == 1 else tally.weight[metrics]
    first, second = halves.split_ratios(tally.credit[metrics, cells], weight[:, cells], tally.clusters[cells])
    return half_sample_ceiling(first, second, statistic)


def half_sample_ceiling(first: FloatArray, second: FloatArray, statistic: str) -> float:
    """Estimate the agreement at full size from values of two halves, [metrics, splits] each."""
    agreements = correlate_rows(_round_ties(first.T), _round_ties(second.T), statistic)
    agreements = agreements[~np.isnan(agreements)]
    if not len(agreements):
        return float("nan")
    return extrapolate_agreement(float(agreements.mean()))


def extrapolate_agreement(half_agreement: float) -> float:
    """Extrapolate the agreement of two half samples to samples of full size, both ranking the same truth.

    Rank agreement as a correlation r = sin(π τ / 2) (Greiner, 1909), doubled in length by 2 r / (1 + r)
    (Spearman, 1910; Brown, 1910), and back. Negative agreement is noise about 0 and stays as it is.

    >>> round(extrapolate_agreement(0.5), 3), extrapolate_agreement(1.0)
    (0.622, 1.0)
    """
    if half_agreement <= 0:
        return half_agreement
    r = np.sin(np.pi / 2 * half_agreement)
    return float(2 / np.pi * np.arcsin(2 * r / (1 + r)))


def compare_all_orders(
    accuracy: FloatArray,
    resamples: Sequence[FloatArray],
    against_global: Sequence[ContextOrder],
    statistic: str,
    workers: int = 1,
) -> AgreementMatrix:
    """Compute the agreement of every two rows of accuracies [contexts + 1, metrics], "global" first.

    `against_global` has the comparison of every row with the first. `resamples` has [metrics, resamples] for
    every row, where there are few enough contexts for intervals of all cells; else it is empty.
    """
    rows = _round_ties(accuracy)
    context_count = len(accuracy) - 1
    with_global = correlate_rows(rows[:1], rows, statistic)
    if context_count <= FULL_MATRIX:
        matrix = correlate_all_rows(rows, statistic)
        order, groups = cluster_rows(matrix[1:, 1:])
    else:
        matrix = with_global[None]
        groups = np.zeros(context_count, dtype=np.int64)
        order = np.argsort(-np.nan_to_num(with_global[1:], nan=-2.0), kind="stable")
    positions = np.concatenate([[0], 1 + order])
    if resamples:
        low, high = _all_intervals(resamples, matrix, statistic, workers)
    else:
        low = np.array([[context.low for context in against_global]])
        high = np.array([[context.high for context in against_global]])
    return AgreementMatrix(
        statistic=statistic,
        order=order,
        groups=groups[order],
        matrix=_reorder(matrix, positions),
        low=_reorder(low, positions),
        high=_reorder(high, positions),
        ceiling=np.array([context.ceiling for context in against_global])[positions],
        p_global=np.array([context.p for context in against_global])[positions],
    )


def _all_intervals(
    resamples: Sequence[FloatArray], matrix: FloatArray, statistic: str, workers: int
) -> tuple[FloatArray, FloatArray]:
    """Compute the interval of every cell of the matrix."""
    draws = [_round_ties(row.T) for row in resamples]

    def intervals_of_row(i: int) -> list[tuple[float, float]]:
        intervals = []
        for j in range(i, len(draws)):
            values = correlate_rows(draws[i], draws[j], statistic)
            intervals.append(_agreement_interval(values, matrix[i, j]))
        return intervals

    low = np.full_like(matrix, np.nan)
    high = np.full_like(matrix, np.nan)
    with ThreadPoolExecutor(workers) as pool:
        for i, intervals in enumerate(pool.map(intervals_of_row, range(len(draws)))):
            low[i, i:], high[i, i:] = np.array(intervals).T
    below_diagonal = np.tril_indices(len(low), -1)
    low[below_diagonal] = low.T[below_diagonal]
    high[below_diagonal] = high.T[below_diagonal]
    return low, high


def _agreement_interval(values: FloatArray, observed: float) -> tuple[float, float]:
    """Return percentiles, widened to hold the estimate: resampled orders are noisier, so they agree less."""
    if np.isnan(observed):
        return float("nan"), float("nan")
    low, high = percentile_interval(values)
    return float(np.fmin(low, observed)), float(np.fmax(high, observed))


def _reorder(matrix: FloatArray, positions: LongArray) -> FloatArray:
    if len(matrix) == 1:
        return matrix[:, positions]
    return matrix[np.ix_(positions, positions)]


def _round_ties(accuracy: FloatArray) -> FloatArray:
    return np.round(accuracy, _TIE_DECIMALS)
