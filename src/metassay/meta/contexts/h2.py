"""H2: whether the order of the metrics changes with the context.

For every two contexts, and every context against the whole, the rank agreement of the metrics' accuracies
(Deviyani and Diaz, 2025, section 4.3). Agreement below 1 may be sampling noise alone; so each value has an
interval from the cluster bootstrap, each context a noise ceiling (how well the orders in two samples like it
would agree, from random halves of it) and a test that its order differs from the whole's.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from metassay.meta.contexts.accuracy import Tally
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.bootstrap import ClusterHalves
from metassay.stats.clustering import cluster_rows
from metassay.stats.intervals import percentile_interval, small_sample_factor
from metassay.stats.isotonic import fit_monotone_rows
from metassay.stats.rank_correlation import correlate_all_rows, correlate_rows

FULL_MATRIX = 300
ALL_INTERVALS = 100
_ROUNDING = 1e-9
_EQUAL = 12  # decimals to which accuracies must agree to be tied: sums in another order differ in the 16th


@dataclass(frozen=True)
class OrderChange:
    """H2 over the whole and its contexts, the whole first, the rest ordered by similarity.

    `matrix` is [contexts, contexts] up to 300 contexts, else its first row only; `low` and `high` are whole
    up to 100. `order` gives each place's context (from 0, without the whole), `group` its cluster.
    """

    statistic: str
    order: LongArray
    group: LongArray
    matrix: FloatArray
    low: FloatArray
    high: FloatArray
    ceiling: FloatArray
    p_global: FloatArray


@dataclass(frozen=True)
class ContextOrder:
    """One context against the whole: interval of the agreement, p-value, and the context's noise ceiling."""

    low: float
    high: float
    p: float
    ceiling: float


def compare_with_global(
    accuracy: FloatArray,
    resamples: FloatArray,
    overall: FloatArray,
    overall_resamples: FloatArray,
    statistic: str,
    clusters: int,
) -> tuple[float, float, float]:
    """Interval of the agreement of one context [metrics] with the whole, and the p-value of a difference.

    The test asks whether the context truly orders the metrics as the whole does. Its statistic is the
    distance of the accuracies, weighed by their precision, from the nearest ones in the whole's order; under
    the null, accuracies are drawn around those nearest ones with the deviations of the resamples, stretched
    for small numbers of clusters.
    """
    observed, low, high = paired_agreement(accuracy, resamples, overall, overall_resamples, statistic)
    if np.isnan(observed):
        return (float("nan"),) * 3
    return low, high, _differs(accuracy, resamples, overall, clusters)


def paired_agreement(
    one: FloatArray, one_resamples: FloatArray, other: FloatArray, other_resamples: FloatArray, statistic: str
) -> tuple[float, float, float]:
    """Agreement of two orders of the metrics [metrics] and its interval from resamples drawn jointly."""
    observed = float(correlate_rows(_tied(one), _tied(other), statistic)[0])
    drawn = correlate_rows(_tied(one_resamples.T), _tied(other_resamples.T), statistic)
    return observed, *_interval(drawn, observed)


def half_agreement(one: FloatArray, other: FloatArray, statistic: str) -> float:
    """The agreement at full size of what two halves say, [metrics, splits] each; NaN if never defined."""
    values = correlate_rows(_tied(one.T), _tied(other.T), statistic)
    values = values[~np.isnan(values)]
    return full_size(float(values.mean())) if len(values) else float("nan")


def _differs(accuracy: FloatArray, resamples: FloatArray, overall: FloatArray, clusters: int) -> float:
    known = np.flatnonzero(~(np.isnan(accuracy) | np.isnan(overall)))
    order = known[np.lexsort((accuracy[known], np.round(overall[known], _EQUAL)))]
    deviations = (resamples[order] - accuracy[order, None]).T
    deviations = deviations[~np.isnan(deviations).any(axis=1)]
    if clusters < 2 or len(deviations) < 2:
        return float("nan")
    deviations = deviations * small_sample_factor(np.array(clusters))
    spread = deviations.var(axis=0)
    weights = 1 / np.maximum(spread, spread.max() * 1e-3 + 1e-12)  # a metric always right is not all-decisive
    nearest, distance = fit_monotone_rows(accuracy[order], weights)
    _, null = fit_monotone_rows(nearest + deviations, weights)
    return float((1 + (null >= distance[0] - _ROUNDING).sum()) / (1 + len(null)))


def split_half(tally: Tally, rows: LongArray, context: int, halves: ClusterHalves, statistic: str) -> float:
    """The agreement that two samples of a context as large as ours would have; NaN if never defined.

    Two random halves of the context's clusters agree at τ, being half as large; `full_size` extrapolates.
    """
    part = tally.part(context)
    size = tally.size if len(tally.size) == 1 else tally.size[rows]
    here, there = halves.split_ratios(tally.credit[rows, part], size[:, part], tally.cluster[part])
    return half_agreement(here, there, statistic)


def full_size(halves: float) -> float:
    """Agreement of two samples from that of two samples half as large, both being ranks of the same truth.

    Rank agreement as a correlation r = sin(π τ / 2) (Greiner, 1909), doubled in length by 2 r / (1 + r)
    (Spearman, 1910; Brown, 1910), and back. Negative agreement is noise about 0 and stays as it is.

    >>> round(full_size(0.5), 3), full_size(1.0)
    (0.622, 1.0)
    """
    r = np.sin(np.pi / 2 * halves)
    return float(2 / np.pi * np.arcsin(2 * r / (1 + r))) if halves > 0 else halves


def order_change(
    accuracy: FloatArray,
    kept: Sequence[FloatArray],
    against_global: Sequence[ContextOrder],
    statistic: str,
    workers: int = 1,
) -> OrderChange:
    """H2 from accuracies [contexts + 1, metrics], the whole first.

    `against_global` has a finding per context and first the whole's own; `kept` the resamples
    [metrics, resamples] of every row, where there are few enough contexts for intervals of all cells.
    """
    rows, contexts = _tied(accuracy), len(accuracy) - 1
    first_row = correlate_rows(rows[:1], rows, statistic)
    if contexts <= FULL_MATRIX:
        matrix = correlate_all_rows(rows, statistic)
        order, group = cluster_rows(matrix[1:, 1:])
    else:
        matrix, group = first_row[None], np.zeros(contexts, dtype=np.int64)
        order = np.argsort(-np.nan_to_num(first_row[1:], nan=-2.0), kind="stable")
    place = np.concatenate([[0], 1 + order])
    low = np.array([[finding.low for finding in against_global]])
    high = np.array([[finding.high for finding in against_global]])
    if kept:
        low, high = _all_intervals(kept, matrix, statistic, workers)
    return OrderChange(
        statistic=statistic,
        order=order,
        group=group[order],
        matrix=_reordered(matrix, place),
        low=_reordered(low, place),
        high=_reordered(high, place),
        ceiling=np.array([finding.ceiling for finding in against_global])[place],
        p_global=np.array([finding.p for finding in against_global])[place],
    )


def _all_intervals(
    kept: Sequence[FloatArray], matrix: FloatArray, statistic: str, workers: int
) -> tuple[FloatArray, FloatArray]:
    draws = [_tied(resamples.T) for resamples in kept]

    def one_row(i: int) -> list[tuple[float, float]]:
        compared = (correlate_rows(draws[i], draws[j], statistic) for j in range(i, len(draws)))
        return [_interval(values, matrix[i, i + step]) for step, values in enumerate(compared)]

    low, high = np.full_like(matrix, np.nan), np.full_like(matrix, np.nan)
    with ThreadPoolExecutor(workers) as pool:
        for i, ends in enumerate(pool.map(one_row, range(len(draws)))):
            low[i, i:], high[i, i:] = np.array(ends).T
    lower = np.tril_indices(len(low), -1)
    low[lower], high[lower] = low.T[lower], high.T[lower]
    return low, high


def _interval(values: FloatArray, observed: float) -> tuple[float, float]:
    """Percentiles, stretched to hold the estimate: resampled orders are noisier than ours, so agree less."""
    if np.isnan(observed):
        return float("nan"), float("nan")
    low, high = percentile_interval(values)
    return float(np.fmin(low, observed)), float(np.fmax(high, observed))


def _reordered(matrix: FloatArray, place: LongArray) -> FloatArray:
    return matrix[:, place] if len(matrix) == 1 else matrix[np.ix_(place, place)]


def _tied(accuracy: FloatArray) -> FloatArray:
    return np.round(accuracy, _EQUAL)
