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

from metassay.meta.contexts.accuracy import AccuracySums
from metassay.stats.arrays import FloatArray, LongArray, round_off_float_errors
from metassay.stats.bootstrap import ClusterHalves
from metassay.stats.clustering import group_similar_rows
from metassay.stats.intervals import IntervalEstimate, compute_interval_widening_factor, percentile_interval
from metassay.stats.isotonic import fit_non_decreasing_rows
from metassay.stats.rank_correlation import correlate_all_rows, correlate_rows

# Above this number, contexts are compared only with all outputs: the matrix grows with its square.
FULL_MATRIX = 300
# Above this number of contexts the cells get no intervals: each needs a rank correlation per resample.
ALL_INTERVALS = 100
# Distances that are equal up to rounding count as reached.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ContextRankingComparison:
    """Rank correlation between the metric rankings in one context and over all outputs: interval, p-value of
    a difference, and the highest correlation that sampling noise allows.
    """

    low: float
    high: float
    p: float
    ceiling: float


@dataclass(frozen=True)
class AgreementMatrix:
    """Matrix of rank correlations between the metric rankings in every two contexts. The first row is for all
    outputs, and similar contexts are next to each other.

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


def correlate_context_with_global_ranking(
    context_accuracies: FloatArray,
    context_resamples: FloatArray,
    global_accuracies: FloatArray,
    global_resamples: FloatArray,
    correlation_name: str,
    cluster_count: int,
) -> tuple[float, float, float]:
    """Compare the ranking of metrics in one context with the ranking over all outputs. Returns the ends of an
    interval for the rank correlation, and a p-value.

    `context_accuracies` is [metrics], `context_resamples` [metrics, resamples]. The test asks whether the
    context truly orders the metrics as all outputs do. Its statistic is the distance of the accuracies,
    weighed by their precision, from the nearest ones in the global order; under the null, accuracies are
    drawn around those nearest ones with the deviations of the resamples, stretched for small numbers of
    clusters.
    """
    # The order over all outputs comes first, as the reference of statistics that are not symmetric.
    agreement = correlate_metric_rankings(
        global_accuracies, global_resamples, context_accuracies, context_resamples, correlation_name
    )
    if np.isnan(agreement.value):
        return float("nan"), float("nan"), float("nan")
    p = _compute_p_value_of_ranking_difference(
        context_accuracies, context_resamples, global_accuracies, cluster_count
    )
    return agreement.low, agreement.high, p


def correlate_metric_rankings(
    first_values: FloatArray,
    first_resamples: FloatArray,
    second_values: FloatArray,
    second_resamples: FloatArray,
    statistic: str,
) -> IntervalEstimate:
    """Compute the rank correlation of two rankings of the same metrics, with an interval from bootstrap
    resamples.
    """
    observed = float(
        correlate_rows(
            round_off_float_errors(first_values),
            round_off_float_errors(second_values),
            statistic,
        )[0]
    )
    drawn = correlate_rows(
        round_off_float_errors(first_resamples.T),
        round_off_float_errors(second_resamples.T),
        statistic,
    )
    low, high = _compute_percentile_interval_with_observed(drawn, observed)
    return IntervalEstimate(observed, low, high)


def _compute_p_value_of_ranking_difference(
    accuracies: FloatArray, resamples: FloatArray, global_accuracies: FloatArray, cluster_count: int
) -> float:
    """Test whether metrics rank differently in one context than over all outputs together. Returns the
    p-value.
    """
    # Metrics that are tied over all outputs may come in any order: they are put in the order of the context.
    known = np.flatnonzero(~(np.isnan(accuracies) | np.isnan(global_accuracies)))
    order = known[np.lexsort((accuracies[known], round_off_float_errors(global_accuracies[known])))]
    deviations = (resamples[order] - accuracies[order, None]).T
    deviations = deviations[~np.isnan(deviations).any(axis=1)]
    if cluster_count < 2 or len(deviations) < 2:
        return float("nan")
    deviations = deviations * compute_interval_widening_factor(np.array(cluster_count))
    variances = deviations.var(axis=0)
    # The floor keeps a metric that is always right from deciding everything.
    weights = 1 / np.maximum(variances, variances.max() * 1e-3 + 1e-12)
    nearest, distance = fit_non_decreasing_rows(accuracies[order], weights)
    _, null_distances = fit_non_decreasing_rows(nearest + deviations, weights)
    return float((1 + (null_distances >= distance[0] - _ROUNDING).sum()) / (1 + len(null_distances)))


def estimate_split_half_ranking_reliability(
    accuracy_sums: AccuracySums,
    metric_positions: LongArray,
    context_position: int,
    random_halves: ClusterHalves,
    correlation_name: str,
) -> float:
    """Estimate the rank correlation between the metric rankings in two random samples of the same context.
    Other contexts cannot be expected to agree more than this.

    The agreement of random halves of the context's clusters is extrapolated to the full number of clusters
    (`extrapolate_agreement_to_full_sample`).
    """
    cells = accuracy_sums.get_cluster_slice_of_context(context_position)
    weight = (
        accuracy_sums.weight if len(accuracy_sums.weight) == 1 else accuracy_sums.weight[metric_positions]
    )
    first, second = random_halves.compute_ratios_in_random_halves(
        accuracy_sums.weighted_accuracy[metric_positions, cells],
        weight[:, cells],
        accuracy_sums.clusters[cells],
    )
    return estimate_agreement_of_full_samples_from_halves(first, second, correlation_name)


def estimate_agreement_of_full_samples_from_halves(
    first_half: FloatArray, second_half: FloatArray, statistic: str
) -> float:
    """Estimate the rank correlation between the metric rankings in two full samples, from the values of
    metrics in random halves of one sample.
    """
    agreements = correlate_rows(
        round_off_float_errors(first_half.T), round_off_float_errors(second_half.T), statistic
    )
    agreements = agreements[~np.isnan(agreements)]
    if not len(agreements):
        return float("nan")
    return extrapolate_agreement_to_full_sample(float(agreements.mean()))


def extrapolate_agreement_to_full_sample(agreement_of_halves: float) -> float:
    """Extrapolate a rank correlation between two half samples to samples of full size.

    Kendall's τ is taken as a correlation r = sin(π τ / 2) (Greiner, 1909), which is 2 r / (1 + r) for samples
    twice as large (Spearman, 1910; Brown, 1910), and converted back. Both samples rank the same truth, so
    that a negative agreement is noise; it is returned as it is.

    >>> round(extrapolate_agreement_to_full_sample(0.5), 3), extrapolate_agreement_to_full_sample(1.0)
    (0.622, 1.0)
    """
    if agreement_of_halves <= 0:
        return agreement_of_halves
    r = np.sin(np.pi / 2 * agreement_of_halves)
    return float(2 / np.pi * np.arcsin(2 * r / (1 + r)))


def compute_rank_correlations_between_contexts(
    accuracies: FloatArray,
    resampled_accuracies: Sequence[FloatArray],
    comparisons_with_global: Sequence[ContextRankingComparison],
    correlation_name: str,
    workers: int = 1,
) -> AgreementMatrix:
    """Compute rank correlations between the metric rankings in every two contexts, and between each context
    and all outputs.

    Accuracies are [contexts + 1, metrics], "global" first.
    """
    rows = round_off_float_errors(accuracies)
    context_count = len(accuracies) - 1
    with_global = correlate_rows(rows[:1], rows, correlation_name)
    if context_count <= FULL_MATRIX:
        matrix = correlate_all_rows(rows, correlation_name)
        order, groups = group_similar_rows(matrix[1:, 1:])
    else:
        matrix = with_global[None]
        groups = np.zeros(context_count, dtype=np.int64)
        # Undefined agreements come last; a rank correlation is at least −1.
        order = np.argsort(-np.nan_to_num(with_global[1:], nan=-2.0), kind="stable")
    positions = np.concatenate([[0], 1 + order])
    if resampled_accuracies:
        low, high = _compute_intervals_of_agreement_matrix(
            resampled_accuracies, matrix, correlation_name, workers
        )
    else:
        low = np.array([[context.low for context in comparisons_with_global]])
        high = np.array([[context.high for context in comparisons_with_global]])
    return AgreementMatrix(
        statistic=correlation_name,
        order=order,
        groups=groups[order],
        matrix=_reorder_rows_and_columns(matrix, positions),
        low=_reorder_rows_and_columns(low, positions),
        high=_reorder_rows_and_columns(high, positions),
        ceiling=np.array([context.ceiling for context in comparisons_with_global])[positions],
        p_global=np.array([context.p for context in comparisons_with_global])[positions],
    )


def _compute_intervals_of_agreement_matrix(
    resamples: Sequence[FloatArray], agreement_matrix: FloatArray, statistic: str, workers: int
) -> tuple[FloatArray, FloatArray]:
    """Compute the 95 % interval of every entry in the matrix of rank correlations between contexts."""
    draws = [round_off_float_errors(row.T) for row in resamples]

    def compute_intervals_of_correlation_row(row: int) -> list[tuple[float, float]]:
        """Compute the intervals of one row of the matrix."""
        intervals = []
        # The matrix is symmetric: only cells on and above the diagonal are computed.
        for j in range(row, len(draws)):
            values = correlate_rows(draws[row], draws[j], statistic)
            intervals.append(_compute_percentile_interval_with_observed(values, agreement_matrix[row, j]))
        return intervals

    low = np.full_like(agreement_matrix, np.nan)
    high = np.full_like(agreement_matrix, np.nan)
    with ThreadPoolExecutor(workers) as pool:
        for i, intervals in enumerate(pool.map(compute_intervals_of_correlation_row, range(len(draws)))):
            low[i, i:], high[i, i:] = np.array(intervals).T
    below_diagonal = np.tril_indices(len(low), -1)
    low[below_diagonal] = low.T[below_diagonal]
    high[below_diagonal] = high.T[below_diagonal]
    return low, high


def _compute_percentile_interval_with_observed(
    resampled_values: FloatArray, observed_value: float
) -> tuple[float, float]:
    """Compute a percentile interval from resampled values, and widen it if it does not contain the observed
    value.

    Resampled rankings are noisier than the observed one, so they agree less.
    """
    if np.isnan(observed_value):
        return float("nan"), float("nan")
    low, high = percentile_interval(resampled_values)
    return float(np.fmin(low, observed_value)), float(np.fmax(high, observed_value))


def _reorder_rows_and_columns(matrix: FloatArray, positions: LongArray) -> FloatArray:
    """Reorder the rows and columns of a matrix by the given positions. A matrix with a single row keeps that
    row.
    """
    if len(matrix) == 1:
        return matrix[:, positions]
    return matrix[np.ix_(positions, positions)]
