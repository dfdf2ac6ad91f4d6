"""Two null hypotheses about the system dependence of a metric, each tested by simulation.

*Equal*: the expected human score given the metric, E[h | m], is the same function for every system. Then the
residuals h − f_G(m) can be exchanged between the systems of an item; the statistic is SysDep. With enough
data every noisy metric fails this test. It keeps its level where residuals have the same spread in all
systems: with one system three times as noisy as the others it rejects in 12 % instead of 5 %.

*Fair*: the metric is the human score plus independent noise, with as much noise as gives the correlation that
the metric has. Such a metric shrinks every system towards the mean but favours none; the statistic is the
range of the residuals of the expected deviations. The hypothesis includes that the noise has the same size
everywhere: a metric that notices only large errors fails this test, however evenly it treats systems.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from metassay.meta.dependence.deviations import error_inflation_factor, expected_deviations, range_over_groups
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.meta.dependence.shrinkage import split_deviations
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.isotonic import fit_isotonic, fit_scores_by_group, fit_values_by_group, predict_isotonic

DRAWS = 999
BATCH_SIZE = 16
"""Draws that are held in memory at the same time."""


def equal_mapping_p_value(outputs: ScoredOutputs, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """P-value of system dependence if metric scores mean the same human quality in every group.

    Under the null hypothesis, the expected human score given the metric score is the same function for every
    group.
    """
    observed = float(range_over_groups(expected_deviations(outputs)))
    return _compute_p_value(observed, simulate_dependence_of_equal_mappings(outputs, rng, draws), outputs)


def fair_metric_p_value(outputs: ScoredOutputs, rng: np.random.Generator, draws: int = DRAWS) -> float | None:
    """P-value of the residual range if the metric is the human score plus noise that favours no group.

    None for two groups, because a line through two points leaves no residual.
    """
    if outputs.group_count < 3:
        return None
    observed = split_deviations(expected_deviations(outputs), outputs.human_means).residual_range
    return _compute_p_value(observed, simulate_residual_ranges_of_fair_metrics(outputs, rng, draws), outputs)


def _compute_p_value(observed: float, simulated: FloatArray, outputs: ScoredOutputs) -> float:
    """Compute the share of values, simulated or observed, that are at least as large as the observed one."""
    # values that differ only by rounding are equal
    tolerance = 1e-9 * float(np.ptp(outputs.human_scores))
    return float((1 + np.count_nonzero(simulated >= observed - tolerance)) / (1 + len(simulated)))


def simulate_dependence_of_equal_mappings(
    outputs: ScoredOutputs, rng: np.random.Generator, draws: int = DRAWS
) -> FloatArray:
    """Simulate the system dependence of a metric that treats all groups alike, by exchanging residuals.

    Systems exchange residuals within an item, in the same way for all items of a cluster, and f_G is fitted
    again. Where every item belongs to one group (domains, speakers), whole clusters exchange groups instead.
    """
    fit = fit_isotonic(outputs.sorted_metric_scores, outputs.human_scores, outputs.weights)
    fitted = predict_isotonic(outputs.sorted_metric_scores, fit, outputs.metric_scores)
    residuals = (outputs.human_scores - fitted) * error_inflation_factor(fit, len(fitted))
    for units in (outputs.clusters, outputs.items):
        if _has_one_group_per_unit(units, outputs.groups):
            return _simulate_by_permuting_groups(outputs, residuals, units, rng, draws)
    return _simulate_by_permuting_residuals(outputs, fitted, residuals, rng, draws)


def simulate_residual_ranges_of_fair_metrics(
    outputs: ScoredOutputs, rng: np.random.Generator, draws: int = DRAWS
) -> FloatArray:
    """Simulate the residual range of metrics that are the human score plus noise: h + N(0, σ²).

    σ gives the simulated metrics the correlation that the metric has with human scores. If that correlation
    is not positive, the metrics are pure noise.
    """
    correlation = pooled_pearson_correlation(outputs)
    if correlation > 0:
        signal = outputs.human_scores
        noise_sd = noise_sd_for_correlation(outputs, correlation)
    else:
        signal = np.zeros_like(outputs.human_scores)
        noise_sd = 1.0
    residual_ranges: list[float] = []
    for batch_size in _list_batch_sizes(draws):
        metric_scores = signal + noise_sd * rng.standard_normal((batch_size, len(signal)))
        means = fit_scores_by_group(
            metric_scores, outputs.human_scores, outputs.weights, outputs.groups, outputs.group_count
        )
        residual_ranges += [
            split_deviations(deviations, outputs.human_means).residual_range
            for deviations in means - outputs.human_means
        ]
    return np.array(residual_ranges)


def pooled_pearson_correlation(outputs: ScoredOutputs) -> float:
    """Pearson correlation of metric and human scores over all outputs; 0 where either is constant."""
    weights = outputs.weights
    human = outputs.human_scores - np.average(outputs.human_scores, weights=weights)
    metric = outputs.metric_scores - np.average(outputs.metric_scores, weights=weights)
    scale = np.sqrt((weights @ human**2) * (weights @ metric**2))
    if scale <= 0:
        return 0.0
    return float(np.clip(weights @ (human * metric) / scale, -1, 1))


def noise_sd_for_correlation(outputs: ScoredOutputs, correlation: float) -> float:
    """Standard deviation of noise with which human scores have a given correlation with noisy ones."""
    mean = np.average(outputs.human_scores, weights=outputs.weights)
    variance = np.average((outputs.human_scores - mean) ** 2, weights=outputs.weights)
    return float(np.sqrt(variance * (1 / correlation**2 - 1)))


def _list_batch_sizes(draw_count: int) -> Iterator[int]:
    """Yield the sizes of batches that sum to a number of draws."""
    for start in range(0, draw_count, BATCH_SIZE):
        yield min(BATCH_SIZE, draw_count - start)


def _has_one_group_per_unit(units: LongArray, groups: LongArray) -> bool:
    """Whether all outputs of every unit (an item or a cluster) belong to one group."""
    distinct_pairs = np.unique(np.stack([units, groups]), axis=1).shape[1]
    return bool(distinct_pairs == units.max() + 1)


def _simulate_by_permuting_groups(
    outputs: ScoredOutputs, residuals: FloatArray, units: LongArray, rng: np.random.Generator, draws: int
) -> FloatArray:
    """Simulate system dependence by permuting the groups of whole units (items or clusters).

    The fit over all outputs stays the same, because it does not depend on groups.
    """
    unit_groups = np.zeros(units.max() + 1, dtype=np.int64)
    unit_groups[units] = outputs.groups
    residual_sums = np.bincount(units, outputs.weights * residuals)
    total_weights = np.bincount(units, outputs.weights)
    sysdep = np.empty(draws)
    for draw in range(draws):
        groups = rng.permutation(unit_groups)
        group_means = np.bincount(groups, residual_sums) / np.bincount(groups, total_weights)
        sysdep[draw] = range_over_groups(group_means)
    return sysdep


def _simulate_by_permuting_residuals(
    outputs: ScoredOutputs, fitted: FloatArray, residuals: FloatArray, rng: np.random.Generator, draws: int
) -> FloatArray:
    """Simulate system dependence by permuting residuals between the systems of each item.

    The fit over all outputs is repeated for each permutation.
    """
    system_count = int(outputs.systems.max()) + 1
    item_count = int(outputs.items.max()) + 1
    output_positions = np.full((item_count, system_count), -1, dtype=np.int64)
    output_positions[outputs.items, outputs.systems] = np.arange(len(outputs.items))
    item_clusters = np.zeros(item_count, dtype=np.int64)
    item_clusters[outputs.items] = outputs.clusters
    sysdep = [np.empty(0)]
    for batch_size in _list_batch_sizes(draws):
        human_scores = np.empty((batch_size, len(residuals)))
        for draw in range(batch_size):
            uniforms = rng.random((outputs.cluster_count, system_count))
            human_scores[draw] = fitted + _permute_residuals_within_items(
                output_positions, item_clusters, uniforms, residuals
            )
        predicted_means = fit_values_by_group(
            outputs.sorted_metric_scores, human_scores, outputs.weights, outputs.groups, outputs.group_count
        )
        human_means = np.stack([outputs.average_by_group(scores) for scores in human_scores])
        sysdep.append(range_over_groups(predicted_means - human_means))
    return np.concatenate(sysdep)


@kernel
def _permute_residuals_within_items(
    output_positions: NDArray[np.int64],
    item_clusters: NDArray[np.int64],
    uniform_numbers: FloatArray,
    residuals: FloatArray,
) -> FloatArray:
    """Permute residuals between the systems of each item, with one order of the systems per cluster.

    `output_positions[item, system]` is the position of an output, or -1 where there is none. An item without
    outputs of some systems uses the order of its cluster without these systems.
    """
    system_count = output_positions.shape[1]
    orders = np.empty(uniform_numbers.shape, np.int64)
    for cluster in range(len(uniform_numbers)):
        orders[cluster] = np.arange(system_count)
        # Fisher-Yates shuffle
        for last in range(system_count - 1, 0, -1):
            other = int(uniform_numbers[cluster, last] * (last + 1))
            orders[cluster, last], orders[cluster, other] = orders[cluster, other], orders[cluster, last]
    permuted = residuals.copy()
    for item in range(len(output_positions)):
        order = orders[item_clusters[item]]
        source = 0
        for system in range(system_count):
            if output_positions[item, system] < 0:
                continue
            while output_positions[item, order[source]] < 0:
                source += 1
            permuted[output_positions[item, system]] = residuals[output_positions[item, order[source]]]
            source += 1
    return permuted
