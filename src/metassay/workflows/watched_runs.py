"""Read from finished runs the values that `watch` follows over several runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from metassay.meta.contexts.cluster_accuracy_sums import ClusterAccuracySums
from metassay.results.assay import GLOBAL, AssayContent
from metassay.results.judge import JudgeContent
from metassay.results.rank import RankContent
from metassay.results.watch import ACCURACY, HUMAN_AGREEMENT, JUDGE_ACCURACY, JUDGE_CONSISTENCY
from metassay.stats.arrays import FloatArray
from metassay.store.run_folder import RunFolder
from metassay.workflows.cluster_accuracy_files import read_accuracy_sums_by_cluster
from metassay.workflows.run_files import RESULT

# Values over fewer clusters are not close enough to normal to be watched.
SMALLEST_RUN = 30
# Rankings over more or fewer items than this factor are not compared.
MOST_UNEQUAL_ITEMS = 1.25
_NORMAL_QUANTILE = 1.96


class SeriesKey(NamedTuple):
    """The name of a metric or judge, and what is measured of it. Both together identify a series of values
    over runs.
    """

    name: str
    measure: str


@dataclass(frozen=True)
class Measurement:
    """One value that was measured for a metric or judge in one run, with its variance."""

    value: float
    variance: float
    clusters: int
    """Independent items or documents that the value rests on."""
    systems: int | None = None
    """Number of systems that were ranked; None where the value does not depend on it."""


@dataclass(frozen=True)
class MeasuredRun:
    """All values measured in one run. Only runs with the same `kind` can be compared."""

    kind: str
    measurements: dict[SeriesKey, Measurement]
    measures_of_few_clusters: frozenset[str] = frozenset()
    """Measures that rest on too few items or documents to be watched."""


def read_metric_accuracies_of_assay(run_folder: RunFolder) -> MeasuredRun:
    """Read from an assay run the accuracy of every metric, and how well every metric agrees with human
    scores.
    """
    result = run_folder.read_result(RESULT, AssayContent)
    sums_by_cluster = read_accuracy_sums_by_cluster(run_folder)[GLOBAL, GLOBAL]
    measurements = {}
    measures_of_few_clusters: frozenset[str] = frozenset()
    for row in result.overall:
        if row.accuracy is None or row.low is None or row.high is None:
            continue
        if row.clusters < SMALLEST_RUN:
            measures_of_few_clusters = frozenset({ACCURACY})
            continue
        # The variance over clusters does not depend on resamples, unlike that from the interval.
        variance = _compute_accuracy_variance(sums_by_cluster, row.metric)
        measurement = Measurement(row.accuracy, _make_variance_positive(variance, row.clusters), row.clusters)
        measurements[SeriesKey(row.metric, ACCURACY)] = measurement
    comparison = result.human_comparison
    if comparison is not None:
        for entry in comparison.metrics:
            agreement = _build_measurement_from_interval(
                entry.accuracy, (entry.low, entry.high), comparison.items
            )
            if agreement is not None:
                measurements[SeriesKey(entry.metric, HUMAN_AGREEMENT)] = agreement
    return MeasuredRun(f"the task {result.task}", measurements, measures_of_few_clusters)


def read_metric_agreement_with_humans(run_folder: RunFolder) -> MeasuredRun:
    """Read from a run of `rank` how well every metric agrees with human scores over all items, by each
    meta-metric (measure of agreement).

    Meta-metrics such as SPA depend on the number of items and systems: see
    `have_similar_system_and_item_counts`.
    """
    result = run_folder.read_result("results/rank.json", RankContent)
    rankings = [ranking for ranking in result.rankings if ranking.is_global]
    has_several_datasets = len({ranking.dataset for ranking in rankings}) > 1
    measurements = {}
    for ranking in rankings:
        measure = ranking.meta_metric
        if has_several_datasets:
            measure = f"{measure} on {ranking.dataset}"
        for metric in ranking.defined_metrics:
            measurement = _build_measurement_from_interval(
                metric.value, (metric.low, metric.high), metric.items
            )
            if measurement is not None:
                measurements[SeriesKey(metric.metric, measure)] = replace(
                    measurement, systems=ranking.systems
                )
    return MeasuredRun(f"the human score {result.human}", measurements)


def read_judge_accuracy_and_consistency(run_folder: RunFolder) -> MeasuredRun:
    """Read from a run of `judge` the accuracy of every judge, and how often the judge gives the same verdict
    if two outputs are swapped.
    """
    result = run_folder.read_result("results/judge.json", JudgeContent)
    measurements = {}
    for judge in result.judges:
        consistency_interval = judge.intervals.get("both_orders_same", (None, None))
        of_measures = {
            JUDGE_ACCURACY: _build_measurement_from_interval(
                judge.accuracy, (judge.low, judge.high), result.items
            ),
            JUDGE_CONSISTENCY: _build_measurement_from_interval(
                judge.both_orders_same, consistency_interval, result.items
            ),
        }
        for measure, measurement in of_measures.items():
            if measurement is not None:
                measurements[SeriesKey(judge.judge, measure)] = measurement
    return MeasuredRun(f"{result.kind} verdicts compared with {result.gold}", measurements)


def have_similar_system_and_item_counts(
    first_measurement: Measurement, other_measurement: Measurement
) -> bool:
    """Return whether two measurements can be compared: both have the same number of systems and about the
    same number of items.

    The SPA of a metric rises with the number of items, by about .01 from 100 to 150 items of WMT23.
    """
    if first_measurement.systems is None:
        return True
    ratio = other_measurement.clusters / first_measurement.clusters
    return (
        first_measurement.systems == other_measurement.systems
        and 1 / MOST_UNEQUAL_ITEMS <= ratio <= MOST_UNEQUAL_ITEMS
    )


# How runs of each command are read; runs of other commands cannot be watched.
MEASURED_COMMANDS: dict[str, Callable[[RunFolder], MeasuredRun]] = {
    "assay": read_metric_accuracies_of_assay,
    "rank": read_metric_agreement_with_humans,
    "judge": read_judge_accuracy_and_consistency,
}


def _build_measurement_from_interval(
    value: float | None, confidence_interval: tuple[float | None, float | None], cluster_count: int
) -> Measurement | None:
    """Build a measured value whose variance is computed from its confidence interval. Returns None if the run
    has too few items.
    """
    low, high = confidence_interval
    if value is None or low is None or high is None or cluster_count < SMALLEST_RUN:
        return None
    # A 95 % interval of a normal distribution is 2 × 1.96 standard errors wide.
    variance = ((high - low) / (2 * _NORMAL_QUANTILE)) ** 2
    return Measurement(value, _make_variance_positive(variance, cluster_count), cluster_count)


def _make_variance_positive(variance: float, cluster_count: int) -> float:
    """Increase a variance a little. Otherwise it would be 0 for a metric that ordered every pair
    correctly.
    """
    return variance + 0.25 / cluster_count**2


def _compute_accuracy_variance(accuracy_sums: ClusterAccuracySums, metric: str) -> float:
    """Compute the variance of a metric's accuracy from its sums over single items or documents."""
    weights: FloatArray = accuracy_sums.weights[metric]
    cluster_accuracies: FloatArray = accuracy_sums.accuracies[metric]
    total = weights.sum()
    clusters = len(weights)
    deviations = (cluster_accuracies - cluster_accuracies.sum() / total * weights) / total
    return float(clusters / (clusters - 1) * (deviations**2).sum())
