"""Two null hypotheses about the system dependence of a metric, each tested by simulation.

*Equal*: the expected human score given the metric, E[h | m], is the same function for every system. Then the
residuals h − f_G(m) can be exchanged between the systems of an item; the statistic is SysDep. With enough
data every noisy metric fails this test. It keeps its level where residuals have the same spread in all
systems: with one system three times as noisy as the others it rejects in 12 % instead of 5 %.

*Fair*: the metric is the human score plus independent noise, with as much noise as gives the correlation that
the metric has. Such a metric shrinks every system towards the mean but favours none; the statistic is the
range of the residuals of the expected deviations. The hypothesis includes that the noise has the same size
everywhere: a metric that notices only large errors fails this test, however evenly it treats systems.

Metrics that scored the same outputs are tested together and share all random draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from metassay.meta.dependence.deviations import (
    compute_range_over_groups,
    compute_residual_correction_factor,
    measure_how_much_groups_are_overrated,
)
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.meta.dependence.shrinkage import (
    compute_bias_without_regression_to_mean,
    separate_regression_to_mean,
)
from metassay.stats.arrays import FloatArray, IntArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.isotonic import (
    fit_isotonic,
    fit_isotonic_to_each_score_row,
    predict_isotonic,
    refit_isotonic_with_permuted_residuals,
)

# With the observed value 1,000 values, so that p-values are multiples of .001.
DRAWS = 999
# From this number of metrics on, no p-value of .001 would be significant after the correction for the number
# of metrics, so that more values are drawn.
_MANY_METRICS = 50
_DRAWS_PER_METRIC = 40
# Distance of the angles, arccos of a correlation with human scores, for which noise is simulated.
ANGLE_STEP = np.pi / 64
# Random numbers that are held in memory at the same time.
BATCH_NUMBERS = 2**19


def choose_number_of_draws(metric_count: int) -> int:
    """Choose how many random draws a test makes by default, given the number of metrics.

    With enough draws, the smallest p-value can be significant after Holm's correction for the number of
    metrics.

    >>> choose_number_of_draws(43), choose_number_of_draws(58)
    (999, 2319)
    """
    if metric_count < _MANY_METRICS:
        return DRAWS
    return _DRAWS_PER_METRIC * metric_count - 1


def compute_p_values_of_equal_treatment(
    outputs_by_metric: Sequence[ScoredOutputs],
    rng: np.random.Generator,
    draws: int = DRAWS,
    *,
    workers: int = 1,
) -> list[float]:
    """Compute for each metric the p-value of the hypothesis that it treats all systems alike.

    Equal metric scores then mean equal human quality in all systems. Under the null hypothesis, the expected
    human score given the metric score is the same function for every group. All metrics scored the same
    outputs.
    """
    simulated = simulate_bias_under_equal_treatment(outputs_by_metric, rng, draws, workers=workers)
    p_values = []
    for outputs, sysdep in zip(outputs_by_metric, simulated):
        observed = float(compute_range_over_groups(measure_how_much_groups_are_overrated(outputs)))
        p_values.append(_compute_p_value_from_simulated_values(observed, sysdep, outputs))
    return p_values


def compute_p_values_of_metric_fairness(
    outputs_by_metric: Sequence[ScoredOutputs],
    rng: np.random.Generator,
    draws: int = DRAWS,
    *,
    workers: int = 1,
) -> list[float | None]:
    """Compute for each metric the p-value of the hypothesis that it is the human score plus random noise.

    Such a metric favours no system. All metrics scored the same outputs. The p-value is None for two groups,
    because a line through two points leaves no residual.
    """
    if outputs_by_metric[0].group_count < 3:
        return [None] * len(outputs_by_metric)
    simulated = simulate_bias_of_noisy_human_scores(outputs_by_metric, rng, draws, workers=workers)
    p_values: list[float | None] = []
    for outputs, residual_ranges in zip(outputs_by_metric, simulated):
        observed = separate_regression_to_mean(
            measure_how_much_groups_are_overrated(outputs), outputs.human_means_of_groups
        ).residual_range
        p_values.append(_compute_p_value_from_simulated_values(observed, residual_ranges, outputs))
    return p_values


def _compute_p_value_from_simulated_values(
    observed: float, simulated: FloatArray, outputs: ScoredOutputs
) -> float:
    """Compute the share of simulated values that are at least as large as the observed value.

    The observed value is counted as well.
    """
    # values that differ only by rounding are equal
    tolerance = 1e-9 * float(np.ptp(outputs.human_scores))
    return float((1 + np.count_nonzero(simulated >= observed - tolerance)) / (1 + len(simulated)))


def simulate_bias_under_equal_treatment(
    outputs_by_metric: Sequence[ScoredOutputs],
    rng: np.random.Generator,
    draws: int = DRAWS,
    *,
    workers: int = 1,
) -> FloatArray:
    """Simulate how much metrics that treat all systems alike seem to favour some system by chance.

    Systems exchange residuals within an item, in the same way for all items of a cluster, and f_G is fitted
    again. Where every item belongs to one group (domains, speakers), whole clusters exchange groups instead.
    Returns SysDep, `[metrics, draws]`.
    """
    outputs = outputs_by_metric[0]
    for units in (outputs.clusters, outputs.items):
        if _has_one_group_per_unit(units, outputs.groups):
            return _simulate_bias_by_permuting_groups(outputs_by_metric, units, rng, draws)
    return _simulate_bias_by_permuting_residuals(outputs_by_metric, rng, draws, workers)


def simulate_bias_of_noisy_human_scores(
    outputs_by_metric: Sequence[ScoredOutputs],
    rng: np.random.Generator,
    draws: int = DRAWS,
    *,
    workers: int = 1,
) -> FloatArray:
    """Simulate how much metrics that are human scores plus noise seem to favour a system by chance.

    The simulated metrics have the same correlation r with human scores as the metric: the standard deviation
    of the noise is that of human scores times tan(arccos r). If r is not positive, the metrics are pure
    noise. The distribution depends on the metric only through r. It is simulated for angles arccos r in steps
    of π/64; between them, each quantile is interpolated. Returns sorted values, `[metrics, draws]`.
    """
    correlations = np.array([compute_pearson_over_all_outputs(metric) for metric in outputs_by_metric])
    positions: FloatArray = np.arccos(np.maximum(correlations, 0.0)) / ANGLE_STEP
    below = np.floor(positions).astype(np.int64)
    above = np.ceil(positions).astype(np.int64)
    steps = np.unique(np.concatenate([below, above]))
    # All metrics scored the same outputs, so that any of them has the human scores.
    ranges = _simulate_bias_of_noisy_metrics(outputs_by_metric[0], steps * ANGLE_STEP, rng, draws, workers)
    quantiles = np.sort(ranges, axis=1)
    lower = quantiles[np.searchsorted(steps, below)]
    upper = quantiles[np.searchsorted(steps, above)]
    return lower + (positions - below)[:, np.newaxis] * (upper - lower)


def _simulate_bias_of_noisy_metrics(
    outputs: ScoredOutputs, correlation_angles: FloatArray, rng: np.random.Generator, draws: int, workers: int
) -> FloatArray:
    """Simulate metrics that are human scores plus noise, and return how much they seem to favour a system."""
    residual_ranges = np.empty((len(correlation_angles), draws))
    with ThreadPoolExecutor(workers) as pool:
        for batch in _split_draws_into_batches(draws, len(outputs.human_scores)):
            noise = rng.standard_normal((batch.stop - batch.start, len(outputs.human_scores)))
            compute_bias = partial(_compute_bias_of_noisy_metric, outputs, noise)
            residual_ranges[:, batch] = list(pool.map(compute_bias, correlation_angles))
    return residual_ranges


def _compute_bias_of_noisy_metric(
    outputs: ScoredOutputs, noise: FloatArray, correlation_angle: float
) -> FloatArray:
    """Add noise to human scores, and return how much such a metric seems to favour a system.

    There is one metric for each row of noise. The size of the noise gives the metric a correlation of
    cos(`correlation_angle`) with human scores.
    """
    human_sd = _compute_human_standard_deviation(outputs)
    # cos · h + sin · noise is ordered like h + tan · noise
    scores = np.cos(correlation_angle) * outputs.human_scores + np.sin(correlation_angle) * human_sd * noise
    means = fit_isotonic_to_each_score_row(
        scores, outputs.human_scores, outputs.weights, outputs.groups, outputs.group_count
    )
    return compute_bias_without_regression_to_mean(
        means - outputs.human_means_of_groups, outputs.human_means_of_groups
    )


def compute_pearson_over_all_outputs(outputs: ScoredOutputs) -> float:
    """Compute Pearson's correlation of metric and human scores over all outputs.

    It is 0 if either is constant.
    """
    weights = outputs.weights
    human = outputs.human_scores - np.average(outputs.human_scores, weights=weights)
    metric = outputs.metric_scores - np.average(outputs.metric_scores, weights=weights)
    scale = np.sqrt((weights @ human**2) * (weights @ metric**2))
    if scale <= 0:
        return 0.0
    return float(np.clip(weights @ (human * metric) / scale, -1, 1))


def _compute_human_standard_deviation(outputs: ScoredOutputs) -> float:
    """Compute the weighted standard deviation of the human scores."""
    mean = np.average(outputs.human_scores, weights=outputs.weights)
    return float(np.sqrt(np.average((outputs.human_scores - mean) ** 2, weights=outputs.weights)))


def _split_draws_into_batches(draws: int, numbers_per_draw: int) -> Iterator[slice]:
    """Split a number of random draws into batches that fit in memory, as slices."""
    size = max(1, BATCH_NUMBERS // numbers_per_draw)
    for start in range(0, draws, size):
        yield slice(start, min(start + size, draws))


def _predict_human_scores_with_residuals(outputs: ScoredOutputs) -> tuple[FloatArray, FloatArray]:
    """Predict human scores by isotonic regression on metric scores. Returns predictions and residuals.

    The residuals are enlarged, because the fit follows the data too closely.
    """
    fit = fit_isotonic(outputs.sorted_metric_scores, outputs.human_scores, outputs.weights)
    fitted = predict_isotonic(outputs.sorted_metric_scores, fit, outputs.metric_scores)
    return fitted, (outputs.human_scores - fitted) * compute_residual_correction_factor(fit, len(fitted))


def _has_one_group_per_unit(unit_of_output: LongArray, group_of_output: LongArray) -> bool:
    """Return whether all outputs of each item, or of each cluster of items, belong to one group."""
    distinct_pairs = np.unique(np.stack([unit_of_output, group_of_output]), axis=1).shape[1]
    return bool(distinct_pairs == unit_of_output.max() + 1)


def _simulate_bias_by_permuting_groups(
    outputs_by_metric: Sequence[ScoredOutputs],
    unit_of_output: LongArray,
    rng: np.random.Generator,
    draws: int,
) -> FloatArray:
    """Shuffle the groups of items or clusters, and compute how much a metric seems to favour a group."""
    outputs = outputs_by_metric[0]
    # The fit to all groups does not depend on which output is in which group: it is made once.
    unit_groups = np.zeros(unit_of_output.max() + 1, dtype=np.int64)
    unit_groups[unit_of_output] = outputs.groups
    total_weights = np.bincount(unit_of_output, outputs.weights)
    residual_sums = []
    for metric in outputs_by_metric:
        _, residuals = _predict_human_scores_with_residuals(metric)
        residual_sums.append(np.bincount(unit_of_output, outputs.weights * residuals))
    sysdep = np.empty((len(outputs_by_metric), draws))
    for draw in range(draws):
        groups = rng.permutation(unit_groups)
        group_weights = np.bincount(groups, total_weights)
        for row, sums in enumerate(residual_sums):
            sysdep[row, draw] = compute_range_over_groups(np.bincount(groups, sums) / group_weights)
    return sysdep


def _simulate_bias_by_permuting_residuals(
    outputs_by_metric: Sequence[ScoredOutputs], rng: np.random.Generator, draws: int, workers: int
) -> FloatArray:
    """Shuffle the errors of a metric between systems, and compute how much it seems to favour a system.

    Errors are shuffled within each item.
    """
    outputs = outputs_by_metric[0]
    output_positions = _tabulate_output_positions_by_item(outputs)
    item_clusters = np.zeros(len(output_positions), dtype=np.int64)
    item_clusters[outputs.items] = outputs.clusters
    fits = [_predict_human_scores_with_residuals(metric) for metric in outputs_by_metric]
    sysdep = np.empty((len(outputs_by_metric), draws))
    with ThreadPoolExecutor(workers) as pool:
        for batch in _split_draws_into_batches(draws, len(outputs.items)):
            permutations = np.empty((batch.stop - batch.start, len(outputs.items)), dtype=np.int32)
            for row in permutations:
                uniform_numbers = rng.random((outputs.cluster_count, output_positions.shape[1]))
                shuffle_outputs_between_systems(output_positions, item_clusters, uniform_numbers, row)
            compute_bias = partial(_compute_bias_with_permuted_residuals, permutations)
            sysdep[:, batch] = list(pool.map(compute_bias, outputs_by_metric, fits))
    return sysdep


def _compute_bias_with_permuted_residuals(
    permutations: IntArray, outputs: ScoredOutputs, fit_and_residuals: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Fit a metric again with permuted residuals, and return how much it seems to favour a system.

    There is one fit for each permutation.
    """
    fitted, residuals = fit_and_residuals
    deviations = refit_isotonic_with_permuted_residuals(
        outputs.sorted_metric_scores,
        fitted,
        residuals,
        permutations,
        outputs.weights,
        outputs.groups,
        outputs.group_count,
    )
    return compute_range_over_groups(deviations)


def _tabulate_output_positions_by_item(outputs: ScoredOutputs) -> LongArray:
    """Return a table with the position of the output of each item (row) and system (column).

    It is -1 where there is no output.
    """
    item_count = int(outputs.items.max()) + 1
    system_count = int(outputs.systems.max()) + 1
    output_positions = np.full((item_count, system_count), -1, dtype=np.int64)
    output_positions[outputs.items, outputs.systems] = np.arange(len(outputs.items))
    return output_positions


@kernel
def shuffle_outputs_between_systems(
    output_positions: NDArray[np.int64],
    cluster_of_item: NDArray[np.int64],
    uniform_random_numbers: FloatArray,
    permutation: IntArray,
) -> None:
    """Shuffle the outputs of each item between its systems, and write the new positions.

    Items of a cluster are shuffled alike. `output_positions[item, system]` is the position of an output, or
    -1 where there is none. An item without outputs of some systems uses the order of its cluster without
    these systems. `permutation` is filled with the position from which each output takes its residual.
    """
    system_count = output_positions.shape[1]
    orders = np.empty(uniform_random_numbers.shape, np.int64)
    for cluster in range(len(uniform_random_numbers)):
        orders[cluster] = np.arange(system_count)
        # Fisher-Yates shuffle
        for last in range(system_count - 1, 0, -1):
            other = int(uniform_random_numbers[cluster, last] * (last + 1))
            orders[cluster, last], orders[cluster, other] = orders[cluster, other], orders[cluster, last]
    for item in range(len(output_positions)):
        order = orders[cluster_of_item[item]]
        source = 0
        for system in range(system_count):
            if output_positions[item, system] < 0:
                continue
            while output_positions[item, order[source]] < 0:
                source += 1
            permutation[output_positions[item, system]] = output_positions[item, order[source]]
            source += 1
