"""The system dependence of all metrics of a data set, measured on the same resamples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.dependence.comparison import (
    DependenceDifference,
    compare_measured_metric_biases,
    measure_and_compare_metric_biases,
)
from metassay.meta.dependence.curves import fit_human_score_curves
from metassay.meta.dependence.deviations import (
    SystemDependence,
    compute_range_over_groups,
    measure_metric_bias_between_systems,
)
from metassay.meta.dependence.estimators import measure_overrating_by_each_method
from metassay.meta.dependence.grouped_outputs import (
    GroupedOutputs,
    GroupingColumns,
    assign_outputs_to_groups,
    list_metrics_to_analyze,
)
from metassay.meta.dependence.null_hypotheses import (
    DRAWS,
    compute_p_values_of_equal_treatment,
    compute_p_values_of_metric_fairness,
    compute_pearson_over_all_outputs,
)
from metassay.meta.dependence.panel import average_scores_of_other_metrics, standardize_scores
from metassay.meta.dependence.rankings import (
    find_system_pairs_in_wrong_order,
    rank_systems_by_human_and_metric_scores,
)
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.meta.dependence.sensitivity import measure_metric_bias_under_changed_settings
from metassay.meta.dependence.shrinkage import (
    compute_bias_of_constant_metric,
    compute_metric_bias_leaving_out_each_system,
    separate_regression_to_mean,
)
from metassay.results.base import replace_nan_by_none
from metassay.results.depend import DependenceComparison, LocalDependence, MetricCurves, MetricDependence
from metassay.results.insufficient_data import InsufficientData
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import Counts
from metassay.stats.random import EQUAL_DEPENDENCE, FAIR_DEPENDENCE
from metassay.stats.resampling import FEWEST_CLUSTERS, draw_cluster_counts

Progress = Callable[[str, int, int], None]

# Name of the score that takes the place of the human score where there is none.
PANEL = "the mean of the other metrics"


class MissingScores(Enum):
    """Which outputs lack the human score or the metric score, so that a metric cannot be measured."""

    ALL_OUTPUTS = auto()
    ALL_GROUPS_BUT_ONE = auto()


@dataclass(frozen=True)
class SamplingSettings:
    """The numbers of bootstrap resamples and of random draws per test, and the random seed.

    With `sensitivity`, SysDep is also measured with other resamples, sample sizes and choices of systems.
    """

    bootstraps: int = 200
    draws: int = DRAWS
    seed: int = 0
    sensitivity: bool = False


@dataclass(frozen=True)
class PValues:
    """P-values that a metric treats all systems alike, and that it is the human score plus random noise.

    `equal`: metric scores mean the same human quality in every group. `fair`: the residual range is that of
    human scores plus noise; None for two groups.
    """

    equal: float
    fair: float | None


@dataclass(frozen=True)
class MetricMeasurement:
    """The measured system dependence of one metric, with the outputs on which it was measured.

    System dependence is how much more a metric overrates one system than another. `is_scored` marks these
    outputs among all outputs of the data set.
    """

    outputs: ScoredOutputs = field(repr=False)
    is_scored: NDArray[np.bool_] = field(repr=False)
    resample_counts: Counts = field(repr=False)
    dependence: SystemDependence
    unclear_because: InsufficientData | None
    """Why nothing can be claimed about the metric, such as too few items. None if the data suffices."""


@dataclass(frozen=True)
class DependenceAnalysis:
    """How much more each metric of a data set overrates one system than another.

    This is its system dependence; the lowest comes first. `left_out` has the reason for each metric that
    could not be measured: missing scores, or the error for one without human scores. `measurements` are by
    metric.
    """

    metrics: Sequence[MetricDependence]
    comparisons: Sequence[DependenceComparison] = ()
    left_out: Mapping[str, MissingScores | InputError] = field(default_factory=dict)
    measurements: Mapping[str, MetricMeasurement] = field(default_factory=dict, repr=False)

    @cached_property
    def predicted_human_score_curves(self) -> dict[str, MetricCurves]:
        """For each metric, curves that predict the human score from the metric score.

        There is one curve for all outputs, and one for each group, such as a system.
        """
        curves: dict[str, MetricCurves] = {}
        for entry in self.metrics:
            measurement = self.measurements[entry.metric]
            curves[entry.metric] = fit_human_score_curves(measurement.outputs, measurement.resample_counts)
        return curves


def analyze_metric_bias_between_systems(
    outputs: GroupedOutputs,
    sampling: SamplingSettings | None = None,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> DependenceAnalysis:
    """Measure how much more each metric overrates one system than another, and compare the metrics.

    This is system dependence. Outputs may be grouped by another column than the system. Where a metric has no
    score, only that metric loses the output. A metric that scored fewer than two groups is left out.
    `progress` is called with the number of metrics that are done.
    """
    sampling = sampling or SamplingSettings()
    resample_counts = draw_cluster_counts(len(outputs.cluster.names), sampling.bootstraps, sampling.seed)
    left_out: dict[str, MissingScores | InputError] = {}
    for metric in outputs.metrics:
        reason = _find_missing_scores(outputs, metric)
        if reason is not None:
            left_out[metric] = reason
    metrics = sorted(set(outputs.metrics) - set(left_out))
    if not metrics:
        raise InputError("no metric has scores next to human scores for two or more groups.")

    measure_bias = partial(_measure_bias_of_metric_between_systems, outputs, resample_counts=resample_counts)
    workers = max(1, workers)
    with ThreadPoolExecutor(workers) as pool:
        measurements = dict(zip(metrics, pool.map(measure_bias, metrics)))
        p_values = _compute_p_values_of_metrics(measurements, sampling, workers)

        def build_bias_result_of_metric(metric: str) -> MetricDependence:
            return _build_metric_bias_result(
                outputs, metric, measurements[metric], p_values[metric], resample_counts, sampling
            )

        entries: list[MetricDependence] = []
        for entry in pool.map(build_bias_result_of_metric, metrics):
            entries.append(entry)
            if progress is not None:
                progress("metrics", len(entries), len(metrics))
        if sampling.bootstraps:
            sufficient = {name: each for name, each in measurements.items() if each.unclear_because is None}
            comparisons = _compare_biases_of_all_metric_pairs(outputs, sufficient, resample_counts, pool)
        else:
            comparisons = []
    return DependenceAnalysis(sort_by_metric_bias(entries), comparisons, left_out, measurements)


def analyze_metric_bias_without_human_scores(
    score_cube: ScoreCube,
    grouping: GroupingColumns,
    sampling: SamplingSettings,
    *,
    progress: Progress | None = None,
) -> DependenceAnalysis:
    """Measure how much more each metric overrates one system than another, without human scores.

    The mean of the standardised scores of all other metrics takes their place. No two metrics are compared,
    because each is measured against another panel.
    """
    metrics = list_metrics_to_analyze(score_cube, grouping)
    if len(metrics) < 2:
        raise InputError(f"{score_cube.dataset} has only one metric, but a panel needs at least two.")
    standardized_scores = {
        metric: standardize_scores(score_cube.get_higher_is_better_scores(metric)) for metric in metrics
    }
    entries: list[MetricDependence] = []
    left_out: dict[str, MissingScores | InputError] = {}
    measurements: dict[str, MetricMeasurement] = {}
    for done, metric in enumerate(metrics, start=1):
        panel_cube = replace(
            score_cube, human_scores={PANEL: average_scores_of_other_metrics(standardized_scores, metric)}
        )
        try:
            outputs = assign_outputs_to_groups(panel_cube, PANEL, replace(grouping, metrics=(metric,)))
            analysis = analyze_metric_bias_between_systems(outputs, sampling)
        except InputError as error:
            left_out[metric] = error
        else:
            entries.extend(analysis.metrics)
            measurements.update(analysis.measurements)
        if progress is not None:
            progress("metrics", done, len(metrics))
    if not entries:
        raise InputError("no metric has scores next to those of other metrics for two or more groups.")
    return DependenceAnalysis(sort_by_metric_bias(entries), [], left_out, measurements)


def sort_by_metric_bias(metric_results: Sequence[MetricDependence]) -> list[MetricDependence]:
    """Sort results of metrics by system dependence, the lowest first, and then by name."""
    return sorted(metric_results, key=lambda entry: (entry.sysdep, entry.metric))


def _find_missing_scores(outputs: GroupedOutputs, *metrics: str) -> MissingScores | None:
    """Return the reason why the bias of metrics between systems cannot be measured, or None if it can.

    Several metrics are measured on the outputs that all of them scored.
    """
    group_count = len(outputs.group.list_distinct_codes(outputs.find_outputs_with_complete_scores(*metrics)))
    if group_count == 0:
        return MissingScores.ALL_OUTPUTS
    if group_count == 1:
        return MissingScores.ALL_GROUPS_BUT_ONE
    return None


def _find_insufficient_data(outputs: ScoredOutputs) -> InsufficientData | None:
    """Return the reason why measured bias between systems says nothing about other items, or None if it
    does.
    """
    if (outputs.human_scores == outputs.human_scores[0]).all():
        return InsufficientData("equal_human_scores")
    clusters = outputs.cluster_count
    if clusters >= FEWEST_CLUSTERS:
        return None
    has_clusters = clusters < len(np.unique(outputs.items))
    return InsufficientData("few_clusters" if has_clusters else "few_items", clusters)


def _measure_bias_of_metric_between_systems(
    outputs: GroupedOutputs, metric: str, resample_counts: Counts
) -> MetricMeasurement:
    """Measure how much more one metric overrates one system than another.

    Only outputs that the metric scored are used. There are no intervals if the outputs do not suffice.
    """
    is_scored = outputs.find_outputs_with_complete_scores(metric)
    scored_outputs = outputs.select_scored_outputs(metric, is_scored)
    scored_resamples = outputs.drop_unused_clusters_from_resamples(resample_counts, is_scored)
    dependence = measure_metric_bias_between_systems(scored_outputs, scored_resamples)
    unclear_because = _find_insufficient_data(scored_outputs)
    if unclear_because is not None:
        dependence = dependence.drop_intervals()
    return MetricMeasurement(scored_outputs, is_scored, scored_resamples, dependence, unclear_because)


def _compute_p_values_of_metrics(
    measurements: Mapping[str, MetricMeasurement], sampling: SamplingSettings, workers: int
) -> dict[str, PValues]:
    """Compute p-values that metrics treat all systems alike, or are human scores plus random noise."""
    metrics_by_outputs: dict[bytes, list[str]] = {}
    for metric, measurement in measurements.items():
        metrics_by_outputs.setdefault(measurement.is_scored.tobytes(), []).append(metric)
    p_values: dict[str, PValues] = {}
    for metrics in metrics_by_outputs.values():
        scored = [measurements[metric].outputs for metric in metrics]
        # every metric gets the same random numbers, so that no metric depends on which others there are
        equal_rng = np.random.default_rng([sampling.seed, EQUAL_DEPENDENCE])
        fair_rng = np.random.default_rng([sampling.seed, FAIR_DEPENDENCE])
        equal = compute_p_values_of_equal_treatment(scored, equal_rng, sampling.draws, workers=workers)
        fair = compute_p_values_of_metric_fairness(scored, fair_rng, sampling.draws, workers=workers)
        p_values.update(zip(metrics, map(PValues, equal, fair)))
    return p_values


def _build_metric_bias_result(
    grouped_outputs: GroupedOutputs,
    metric: str,
    measurement: MetricMeasurement,
    p_values: PValues,
    resample_counts: Counts,
    sampling: SamplingSettings,
) -> MetricDependence:
    """Build the result for one metric: system dependence, p-values, rankings, and values in contexts."""
    outputs = measurement.outputs
    dependence = measurement.dependence
    parts = separate_regression_to_mean(dependence.deviations, outputs.human_means_of_groups)
    constant = compute_bias_of_constant_metric(outputs)
    estimators = {}
    for name, deviations in measure_overrating_by_each_method(outputs).items():
        estimators[name] = float(compute_range_over_groups(deviations))
    return MetricDependence(
        metric=metric,
        dataset=grouped_outputs.cube.dataset,
        sysdep=dependence.sysdep,
        low=dependence.low,
        high=dependence.high,
        constant=constant,
        ratio=dependence.sysdep / constant if constant > 0 else None,
        slope=parts.slope,
        residual_range=parts.residual_range,
        p_equal=p_values.equal,
        p_fair=None if measurement.unclear_because is not None else p_values.fair,
        pearson=compute_pearson_over_all_outputs(outputs),
        outputs=len(outputs.human_scores),
        deviations=_map_group_names_to_values(outputs, dependence.deviations),
        shrinkage=_map_group_names_to_values(outputs, parts.shrinkage),
        residual=_map_group_names_to_values(outputs, parts.residual),
        inversions=find_system_pairs_in_wrong_order(outputs, dependence.deviations),
        deviations_low=_map_group_names_to_values_or_none(outputs, dependence.deviations_low),
        deviations_high=_map_group_names_to_values_or_none(outputs, dependence.deviations_high),
        leave_one_out=_map_group_names_to_values_or_none(
            outputs, compute_metric_bias_leaving_out_each_system(outputs)
        ),
        human_means=_map_group_names_to_values(outputs, outputs.human_means_of_groups),
        metric_means=_map_group_names_to_values(outputs, outputs.metric_means_of_groups),
        remapped_means=_map_group_names_to_values(
            outputs, outputs.human_means_of_groups + dependence.deviations
        ),
        rankings=rank_systems_by_human_and_metric_scores(outputs, dependence.deviations),
        estimators=estimators,
        local=_measure_metric_bias_in_each_context(grouped_outputs, metric, resample_counts),
        sensitivity=measure_metric_bias_under_changed_settings(outputs, seed=sampling.seed)
        if sampling.sensitivity
        else [],
        unclear_because=measurement.unclear_because,
    )


def _map_group_names_to_values(outputs: ScoredOutputs, group_values: FloatArray) -> dict[str, float]:
    """Return a dictionary from the name of each group of outputs to its value."""
    return dict(zip(outputs.group_names, group_values.tolist()))


def _map_group_names_to_values_or_none(
    outputs: ScoredOutputs, group_values: FloatArray | None
) -> dict[str, float | None]:
    """Return a dictionary from the name of each group of outputs to its value, or None if it is undefined."""
    if group_values is None:
        return dict.fromkeys(outputs.group_names)
    return dict(zip(outputs.group_names, replace_nan_by_none(group_values)))


def _measure_metric_bias_in_each_context(
    outputs: GroupedOutputs, metric: str, resample_counts: Counts
) -> list[LocalDependence]:
    """Measure in each context how much more a metric overrates one system than another.

    A context is, for example, a domain. Outputs may be grouped by another column than the system. Contexts
    with fewer than two groups are skipped, and so are columns with one value.
    """
    is_scored = outputs.find_outputs_with_complete_scores(metric)
    entries = []
    for column_name, column in outputs.contexts.items():
        codes = column.list_distinct_codes(is_scored).tolist()
        if len(codes) < 2:
            continue
        for code in codes:
            in_context = is_scored & (column.codes == code)
            if len(outputs.group.list_distinct_codes(in_context)) < 2:
                continue
            entry = _measure_metric_bias_in_context(
                outputs, metric, resample_counts, in_context, column_name, column.names[code]
            )
            entries.append(entry)
    return entries


def _measure_metric_bias_in_context(
    grouped_outputs: GroupedOutputs,
    metric: str,
    resample_counts: Counts,
    is_in_context: NDArray[np.bool_],
    context_column: str,
    context: str,
) -> LocalDependence:
    """Measure how much more a metric overrates one system than another in one context, such as a domain."""
    outputs = grouped_outputs.select_scored_outputs(metric, is_in_context)
    resamples = grouped_outputs.drop_unused_clusters_from_resamples(resample_counts, is_in_context)
    dependence = measure_metric_bias_between_systems(
        outputs, _drop_resamples_without_outputs(resamples, outputs)
    )
    if _find_insufficient_data(outputs) is not None:
        dependence = dependence.drop_intervals()
    return LocalDependence(
        column=context_column,
        context=context,
        outputs=len(outputs.human_scores),
        sysdep=dependence.sysdep,
        low=dependence.low,
        high=dependence.high,
        constant=compute_bias_of_constant_metric(outputs),
        residual_range=separate_regression_to_mean(
            dependence.deviations, outputs.human_means_of_groups
        ).residual_range,
    )


def _drop_resamples_without_outputs(resample_counts: Counts, outputs: ScoredOutputs) -> Counts:
    """Drop bootstrap resamples that contain none of the given outputs.

    If some group of outputs, such as a system, is in no resample, all are dropped.
    """
    nonempty = resample_counts[resample_counts.any(axis=1)]
    for group in range(outputs.group_count):
        clusters = np.unique(outputs.clusters[outputs.groups == group])
        if not nonempty[:, clusters].any():
            return nonempty[:0]
    return nonempty


def _compare_biases_of_all_metric_pairs(
    outputs: GroupedOutputs,
    bias_measurements: Mapping[str, MetricMeasurement],
    resample_counts: Counts,
    thread_pool: Executor,
) -> list[DependenceComparison]:
    """Compare the system dependence of every two metrics.

    Two metrics are compared on the outputs that both of them scored. Pairs whose common outputs belong to
    fewer than two groups are left out.
    """
    compare_biases = partial(_compare_biases_of_two_metrics, outputs, bias_measurements, resample_counts)
    pairs = list(combinations(bias_measurements, 2))
    comparisons = []
    for (a, b), result in zip(pairs, thread_pool.map(lambda pair: compare_biases(*pair), pairs)):
        if result is None:
            continue
        comparison = DependenceComparison(
            dataset=outputs.cube.dataset,
            a=a,
            b=b,
            difference=result.difference,
            low=result.low,
            high=result.high,
            p=result.p,
        )
        comparisons.append(comparison)
    return comparisons


def _compare_biases_of_two_metrics(
    outputs: GroupedOutputs,
    bias_measurements: Mapping[str, MetricMeasurement],
    resample_counts: Counts,
    first_metric: str,
    second_metric: str,
) -> DependenceDifference | None:
    """Compare two metrics by how much more they overrate one system than another.

    They are compared on the outputs that both of them scored. Returns None if these outputs belong to fewer
    than two groups.
    """
    first = bias_measurements[first_metric]
    second = bias_measurements[second_metric]
    if np.array_equal(first.is_scored, second.is_scored):
        return compare_measured_metric_biases(first.dependence, second.dependence)
    if _find_missing_scores(outputs, first_metric, second_metric) is not None:
        return None
    # the metrics were measured on different outputs: measure both again on those that they share
    is_scored_by_both = first.is_scored & second.is_scored
    shared_outputs = outputs.select_scored_outputs(first_metric, is_scored_by_both)
    other_scores = outputs.get_scores(second_metric)[is_scored_by_both]
    shared_resamples = outputs.drop_unused_clusters_from_resamples(resample_counts, is_scored_by_both)
    return measure_and_compare_metric_biases(shared_outputs, other_scores, shared_resamples)
