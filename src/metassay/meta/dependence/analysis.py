"""The system dependence of all metrics of a data set, measured on the same resamples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.dependence.comparison import SysDepDifference, compare_dependence, compare_metrics
from metassay.meta.dependence.curves import fit_curves
from metassay.meta.dependence.deviations import SystemDependence, measure_dependence, range_over_groups
from metassay.meta.dependence.estimators import compute_deviations_by_estimator
from metassay.meta.dependence.grouped_outputs import GroupedOutputs, Grouping, choose_metrics, group_outputs
from metassay.meta.dependence.null_hypotheses import (
    DRAWS,
    equal_mapping_p_value,
    fair_metric_p_value,
    pooled_pearson,
)
from metassay.meta.dependence.panel import average_other_metrics, standardize_scores
from metassay.meta.dependence.rankings import find_inversions, rank_groups
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.meta.dependence.sensitivity import measure_sensitivity
from metassay.meta.dependence.shrinkage import (
    constant_metric_sysdep,
    split_deviations,
    sysdep_without_each_group,
)
from metassay.results.base import to_optional_list
from metassay.results.depend import DependenceComparison, LocalDependence, MetricCurves, MetricDependence
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import Counts
from metassay.stats.random import EQUAL_DEPENDENCE, FAIR_DEPENDENCE, make_keyed_generator
from metassay.stats.resampling import draw_cluster_counts

Progress = Callable[[str, int, int], None]

PANEL = "the mean of the other metrics"
"""Name of the score that takes the place of the human score where there is none."""


@dataclass(frozen=True)
class Sampling:
    """Numbers of bootstrap resamples and of draws per test, and the seed.

    With `sensitivity`, SysDep is also measured with other resamples, sample sizes and choices of systems.
    """

    bootstraps: int = 200
    draws: int = DRAWS
    seed: int = 0
    sensitivity: bool = False


@dataclass(frozen=True)
class MetricMeasurement:
    """The outputs that a metric was measured on, and its system dependence."""

    outputs: ScoredOutputs = field(repr=False)
    resample_counts: Counts = field(repr=False)
    dependence: SystemDependence


@dataclass(frozen=True)
class DependenceAnalysis:
    """System dependence of all metrics of one data set, sorted by SysDep.

    `left_out` has the reason for each metric that could not be measured. `measurements` are by metric.
    """

    metrics: Sequence[MetricDependence]
    comparisons: Sequence[DependenceComparison] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    measurements: Mapping[str, MetricMeasurement] = field(default_factory=dict, repr=False)

    @cached_property
    def curves(self) -> dict[str, MetricCurves]:
        """Fitted functions that predict human scores from each metric, for charts."""
        curves: dict[str, MetricCurves] = {}
        for entry in self.metrics:
            measurement = self.measurements[entry.metric]
            curves[entry.metric] = fit_curves(measurement.outputs, measurement.resample_counts)
        return curves


def analyze_dependence(
    outputs: GroupedOutputs,
    sampling: Sampling | None = None,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> DependenceAnalysis:
    """Measure the system dependence of every metric and compare all pairs of metrics.

    Where a metric has no score, only that metric loses the output. A metric that scored fewer than two groups
    is left out. `progress` is called with the number of metrics that are done.
    """
    sampling = sampling or Sampling()
    resample_counts = draw_cluster_counts(len(outputs.cluster.names), sampling.bootstraps, sampling.seed)
    left_out: dict[str, str] = {}
    for metric in outputs.metrics:
        reason = _reason_not_measurable(outputs, metric)
        if reason is not None:
            left_out[metric] = reason
    metrics = sorted(set(outputs.metrics) - set(left_out))
    if not metrics:
        raise InputError("no metric has scores next to human scores for two or more groups.")

    def measure(metric: str) -> tuple[MetricMeasurement, MetricDependence]:
        measurement = _measure_metric(outputs, metric, resample_counts)
        return measurement, _build_entry(outputs, metric, measurement, resample_counts, sampling)

    measurements: dict[str, MetricMeasurement] = {}
    entries: list[MetricDependence] = []
    with ThreadPoolExecutor(max(1, workers)) as pool:
        for metric, (measurement, entry) in zip(metrics, pool.map(measure, metrics)):
            measurements[metric] = measurement
            entries.append(entry)
            if progress is not None:
                progress("metrics", len(entries), len(metrics))
        if sampling.bootstraps:
            comparisons = _compare_all_metrics(outputs, measurements, resample_counts, pool)
        else:
            comparisons = []
    return DependenceAnalysis(sort_by_sysdep(entries), comparisons, left_out, measurements)


def analyze_panel_dependence(
    cube: ScoreCube, grouping: Grouping, sampling: Sampling, *, progress: Progress | None = None
) -> DependenceAnalysis:
    """Measure the system dependence of each metric with the mean of all others in place of human scores.

    Scores are standardised first. No two metrics are compared, because each is measured against another
    panel.
    """
    metrics = choose_metrics(cube, grouping)
    if len(metrics) < 2:
        raise InputError(f"{cube.dataset} has only one metric: a panel needs at least two.")
    standardized_scores = {metric: standardize_scores(cube.orient_scores(metric)) for metric in metrics}
    entries: list[MetricDependence] = []
    left_out: dict[str, str] = {}
    measurements: dict[str, MetricMeasurement] = {}
    for done, metric in enumerate(metrics, start=1):
        panel_cube = replace(cube, human_scores={PANEL: average_other_metrics(standardized_scores, metric)})
        try:
            outputs = group_outputs(panel_cube, PANEL, replace(grouping, metrics=(metric,)))
            analysis = analyze_dependence(outputs, sampling)
        except InputError as error:
            left_out[metric] = str(error).rstrip(".")
        else:
            entries.extend(analysis.metrics)
            measurements.update(analysis.measurements)
        if progress is not None:
            progress("metrics", done, len(metrics))
    if not entries:
        raise InputError("no metric has scores next to those of other metrics for two or more groups.")
    return DependenceAnalysis(sort_by_sysdep(entries), [], left_out, measurements)


def sort_by_sysdep(entries: Sequence[MetricDependence]) -> list[MetricDependence]:
    """Sort metrics by SysDep, those with equal SysDep by name."""
    return sorted(entries, key=lambda entry: (entry.sysdep, entry.metric))


def _reason_not_measurable(outputs: GroupedOutputs, *metrics: str) -> str | None:
    """Return why the metrics cannot be measured on the outputs that all of them scored; None if they can."""
    group_count = len(outputs.group.find_present_codes(outputs.find_scored_outputs(*metrics)))
    if group_count == 0:
        return "no output has both scores"
    if group_count == 1:
        return "only one group has both scores"
    return None


def _measure_metric(outputs: GroupedOutputs, metric: str, resample_counts: Counts) -> MetricMeasurement:
    is_scored = outputs.find_scored_outputs(metric)
    scored_outputs = outputs.select(metric, is_scored)
    scored_resamples = outputs.select_resamples(resample_counts, is_scored)
    dependence = measure_dependence(scored_outputs, scored_resamples)
    return MetricMeasurement(scored_outputs, scored_resamples, dependence)


def _build_entry(
    grouped_outputs: GroupedOutputs,
    metric: str,
    measurement: MetricMeasurement,
    resample_counts: Counts,
    sampling: Sampling,
) -> MetricDependence:
    """Build the entry of one metric in the result: measurement, tests, rankings and contexts."""
    outputs = measurement.outputs
    dependence = measurement.dependence
    parts = split_deviations(dependence.deviations, outputs.human_means)
    constant = constant_metric_sysdep(outputs)
    estimators = {
        name: float(range_over_groups(deviations))
        for name, deviations in compute_deviations_by_estimator(outputs).items()
    }
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
        # every metric gets the same random numbers, so that no metric depends on which others there are
        p_equal=equal_mapping_p_value(
            outputs, make_keyed_generator(sampling.seed, EQUAL_DEPENDENCE), sampling.draws
        ),
        p_fair=fair_metric_p_value(
            outputs, make_keyed_generator(sampling.seed, FAIR_DEPENDENCE), sampling.draws
        ),
        pearson=pooled_pearson(outputs),
        outputs=len(outputs.human_scores),
        deviations=_by_group(outputs, dependence.deviations),
        shrinkage=_by_group(outputs, parts.shrinkage),
        residual=_by_group(outputs, parts.residual),
        inversions=find_inversions(outputs, dependence.deviations),
        deviations_low=_by_group_optional(outputs, dependence.deviations_low),
        deviations_high=_by_group_optional(outputs, dependence.deviations_high),
        leave_one_out=_by_group_optional(outputs, sysdep_without_each_group(outputs)),
        human_means=_by_group(outputs, outputs.human_means),
        metric_means=_by_group(outputs, outputs.metric_means),
        remapped_means=_by_group(outputs, outputs.human_means + dependence.deviations),
        rankings=rank_groups(outputs, dependence.deviations),
        estimators=estimators,
        local=_measure_in_contexts(grouped_outputs, metric, resample_counts),
        sensitivity=measure_sensitivity(outputs, seed=sampling.seed) if sampling.sensitivity else [],
    )


def _by_group(outputs: ScoredOutputs, values: FloatArray) -> dict[str, float]:
    """Return values by name of group."""
    return dict(zip(outputs.group_names, values.tolist()))


def _by_group_optional(outputs: ScoredOutputs, values: FloatArray | None) -> dict[str, float | None]:
    """Return values by name of group, with None where a value, or all of them, are undefined."""
    if values is None:
        return dict.fromkeys(outputs.group_names)
    return dict(zip(outputs.group_names, to_optional_list(values)))


def _measure_in_contexts(
    outputs: GroupedOutputs, metric: str, resample_counts: Counts
) -> list[LocalDependence]:
    """Measure SysDep in every context that has at least two groups; columns with one value are skipped."""
    is_scored = outputs.find_scored_outputs(metric)
    entries = []
    for column_name, column in outputs.contexts.items():
        codes = column.find_present_codes(is_scored).tolist()
        if len(codes) < 2:
            continue
        for code in codes:
            in_context = is_scored & (column.codes == code)
            if len(outputs.group.find_present_codes(in_context)) < 2:
                continue
            entry = _measure_in_context(
                outputs, metric, resample_counts, in_context, column_name, column.names[code]
            )
            entries.append(entry)
    return entries


def _measure_in_context(
    grouped_outputs: GroupedOutputs,
    metric: str,
    resample_counts: Counts,
    in_context: NDArray[np.bool_],
    column: str,
    context: str,
) -> LocalDependence:
    outputs = grouped_outputs.select(metric, in_context)
    resamples = grouped_outputs.select_resamples(resample_counts, in_context)
    dependence = measure_dependence(outputs, _drop_empty_resamples(resamples, outputs))
    return LocalDependence(
        column=column,
        context=context,
        outputs=len(outputs.human_scores),
        sysdep=dependence.sysdep,
        low=dependence.low,
        high=dependence.high,
        constant=constant_metric_sysdep(outputs),
        residual_range=split_deviations(dependence.deviations, outputs.human_means).residual_range,
    )


def _drop_empty_resamples(resample_counts: Counts, outputs: ScoredOutputs) -> Counts:
    """Drop resamples that contain no cluster of a small context; drop all if a group is in none of them."""
    nonempty = resample_counts[resample_counts.any(axis=1)]
    for group in range(outputs.group_count):
        clusters = np.unique(outputs.clusters[outputs.groups == group])
        if not nonempty[:, clusters].any():
            return nonempty[:0]
    return nonempty


def _compare_all_metrics(
    outputs: GroupedOutputs,
    measurements: Mapping[str, MetricMeasurement],
    resample_counts: Counts,
    pool: Executor,
) -> list[DependenceComparison]:
    """Compare every two metrics on the outputs that both scored, if these belong to two or more groups."""
    pairs = [pair for pair in combinations(measurements, 2) if _reason_not_measurable(outputs, *pair) is None]

    def compare(pair: tuple[str, str]) -> SysDepDifference:
        return _compare_pair(outputs, measurements, resample_counts, *pair)

    comparisons = []
    for (a, b), result in zip(pairs, pool.map(compare, pairs)):
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


def _compare_pair(
    outputs: GroupedOutputs,
    measurements: Mapping[str, MetricMeasurement],
    resample_counts: Counts,
    a: str,
    b: str,
) -> SysDepDifference:
    first = measurements[a]
    second = measurements[b]
    is_scored_by_both = outputs.find_scored_outputs(a, b)
    if is_scored_by_both.sum() == len(first.outputs.human_scores) == len(second.outputs.human_scores):
        return compare_dependence(first.dependence, second.dependence)
    # the metrics were measured on different outputs: measure both again on those that they share
    shared_outputs = outputs.select(a, is_scored_by_both)
    other_scores = outputs.get_scores(b)[is_scored_by_both]
    shared_resamples = outputs.select_resamples(resample_counts, is_scored_by_both)
    return compare_metrics(shared_outputs, other_scores, shared_resamples)
