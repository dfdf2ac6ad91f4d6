"""How the three aggregations agree with each other, on few segments, and with human scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from metassay.data.directions import orient_scores
from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.aggregation.system_scores import (
    ResamplingSettings,
    compute_corpus_segment_and_bootstrap_scores,
    find_outputs_with_statistics,
)
from metassay.metrics.base import Scores, StatisticsMetric
from metassay.results.aggregate import (
    AGGREGATIONS,
    BOOTSTRAP,
    CORPUS,
    MEAN_GROUP,
    SEGMENT,
    AggregatedSystem,
    AggregationPair,
    DownsampledAgreement,
    HumanCorrelation,
)
from metassay.results.base import none_if_nan
from metassay.stats.resampling import draw_random_segment_subsets
from metassay.stats.sufficient_statistics import (
    compute_means_from_sums_and_counts,
    convert_scores_to_sums_and_counts,
    sum_statistics_of_resamples,
)

# How the paper marks the aggregation in the name of a metric.
PREFIXES = {CORPUS: "", SEGMENT: "m-", BOOTSTRAP: "x-"}

SystemsByMetric = Mapping[str, Sequence[AggregatedSystem]]


@dataclass(frozen=True)
class AggregationComparison:
    """System scores by corpus, segment and bootstrap aggregation, compared with human scores."""

    systems: list[AggregatedSystem]
    between: list[AggregationPair]
    downsampled: list[DownsampledAgreement]
    human: list[HumanCorrelation]


def compare_ways_to_aggregate_scores(
    score_cubes: Sequence[ScoreCube],
    metrics: Sequence[StatisticsMetric],
    resampling_settings: ResamplingSettings | None = None,
) -> AggregationComparison:
    """Compute system scores by corpus, segment and bootstrap aggregation, and compare them."""
    if not score_cubes or not metrics:
        raise InputError("aggregation needs at least one test set and one metric with statistics.")
    resampling_settings = resampling_settings or ResamplingSettings()
    with threadpool_limits(1):  # one BLAS thread, so that results are equal to the last bit on any machine
        systems_by_metric: dict[str, list[AggregatedSystem]] = {}
        downsampled: list[DownsampledAgreement] = []
        for metric in metrics:
            systems = [
                row
                for cube in score_cubes
                for row in compute_corpus_segment_and_bootstrap_scores(cube, metric, resampling_settings)
            ]
            systems_by_metric[metric.spec] = systems
        for metric in metrics:
            downsampled += _correlate_aggregations_on_samples(
                score_cubes, metric, systems_by_metric[metric.spec], resampling_settings
            )
        human = _correlate_with_human_scores(score_cubes, metrics, systems_by_metric, resampling_settings)
    return AggregationComparison(
        systems=list(itertools.chain.from_iterable(systems_by_metric.values())),
        between=_correlate_system_scores_of_metrics(metrics, systems_by_metric),
        downsampled=downsampled,
        human=human,
    )


def _negate_if_lower_is_better(metric: StatisticsMetric, score: float | None) -> float:
    """Return the score, negated if lower is better for this metric; NaN if the score is None."""
    if score is None:
        return math.nan
    return orient_scores(score, higher_is_better=metric.higher_is_better)


def _correlate_system_scores_of_metrics(
    metrics: Sequence[StatisticsMetric], systems_by_metric: SystemsByMetric
) -> list[AggregationPair]:
    """Correlate the system scores of every two combinations of a metric and a way to aggregate."""
    scores_by_name: dict[str, dict[tuple[str, str], float]] = {}
    for metric in metrics:
        for aggregation in AGGREGATIONS:
            scores_by_name[PREFIXES[aggregation] + metric.spec] = {
                (row.group, row.system): _negate_if_lower_is_better(
                    metric, row.get_score_of_aggregation(aggregation)
                )
                for row in systems_by_metric[metric.spec]
            }
    pairs = []
    for x, y in itertools.combinations(scores_by_name, 2):
        systems = sorted(scores_by_name[x].keys() & scores_by_name[y].keys())
        x_scores = [scores_by_name[x][system] for system in systems]
        y_scores = [scores_by_name[y][system] for system in systems]
        correlation = pearson_correlation(x_scores, y_scores)
        pairs.append(AggregationPair(x, y, groups=len(systems), pearson=none_if_nan(correlation)))
    return pairs


def _correlate_aggregations_on_samples(
    score_cubes: Sequence[ScoreCube],
    metric: StatisticsMetric,
    aggregated_systems: Sequence[AggregatedSystem],
    resampling_settings: ResamplingSettings,
) -> list[DownsampledAgreement]:
    """Correlate corpus scores, segment means and bootstrap scores on small random samples of segments."""
    bootstrap_scores = np.array(
        [row.bootstrap for row in aggregated_systems], dtype=np.float64
    )  # None becomes NaN
    rows = []
    for sample_size in resampling_settings.sample_sizes:
        samples = [
            _compute_system_scores_on_random_segments(cube, metric, sample_size, resampling_settings)
            for cube in score_cubes
        ]
        corpus = np.concatenate([sample.corpus for sample in samples])
        segment = np.concatenate([sample.segment for sample in samples])
        bootstrap = np.broadcast_to(bootstrap_scores[:, None], corpus.shape)
        comparisons = (
            (CORPUS, SEGMENT, corpus, segment),
            (CORPUS, BOOTSTRAP, corpus, bootstrap),
            (SEGMENT, BOOTSTRAP, segment, bootstrap),
        )
        for aggregation, against, x, y in comparisons:
            correlations = [pearson_correlation(x[:, draw], y[:, draw]) for draw in range(x.shape[1])]
            low, median, high = _compute_median_with_interval(correlations)
            row = DownsampledAgreement(
                metric=metric.spec,
                aggregation=aggregation,
                against=against,
                segments=sample_size,
                median=median,
                low=low,
                high=high,
            )
            rows.append(row)
    return rows


@dataclass(frozen=True)
class SampleScores:
    """Corpus scores and segment means of systems on random samples of segments."""

    corpus: Scores
    segment: Scores


def _compute_system_scores_on_random_segments(
    score_cube: ScoreCube, metric: StatisticsMetric, sample_size: int, resampling_settings: ResamplingSettings
) -> SampleScores:
    """Compute the scores of all systems on the same random samples of segments.

    A segment that a system lacks adds nothing to the sums of that system.
    """
    statistics = score_cube.statistics[metric.spec]
    is_present = find_outputs_with_statistics(statistics)
    has_outputs = is_present.any(axis=1)
    segment_count = statistics.shape[1]
    rng = resampling_settings.create_random_generator(
        score_cube.dataset, f"downsampled {sample_size}", segment_count
    )
    counts = draw_random_segment_subsets(
        segment_count, min(sample_size, segment_count), resampling_settings.repeats, rng
    )
    statistics_or_zero = np.where(is_present[..., None], statistics, 0.0)[has_outputs]
    sums = sum_statistics_of_resamples(statistics_or_zero, counts)
    segment_scores = score_cube.metric_scores[metric.spec][has_outputs]
    segment_sums = sum_statistics_of_resamples(convert_scores_to_sums_and_counts(segment_scores), counts)
    return SampleScores(
        corpus=metric.from_statistics(np.ascontiguousarray(sums)),
        segment=compute_means_from_sums_and_counts(segment_sums),
    )


def _compute_median_with_interval(values: Iterable[float]) -> tuple[float | None, float | None, float | None]:
    """Compute the 2.5 %, 50 % and 97.5 % quantiles of values, ignoring NaN.

    Each is None if all values are NaN.
    """
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return None, None, None
    low, median, high = np.quantile(defined, (0.025, 0.5, 0.975))
    return float(low), float(median), float(high)


def _correlate_with_human_scores(
    score_cubes: Sequence[ScoreCube],
    metrics: Sequence[StatisticsMetric],
    systems_by_metric: SystemsByMetric,
    resampling: ResamplingSettings,
) -> list[HumanCorrelation]:
    """Correlate system scores with mean human scores on each test set, and average the correlations.

    A test set needs at least two rated systems.
    """
    human_names = sorted({name for cube in score_cubes for name in cube.human_scores})
    rows: list[HumanCorrelation] = []
    for human in human_names:
        rated_cubes = [cube for cube in score_cubes if _count_rated_systems(cube, human) >= 2]
        for metric in metrics:
            by_group = {}
            for cube in rated_cubes:
                by_group[cube.dataset] = _correlate_with_human_scores_on_test_set(
                    cube, human, metric, systems_by_metric[metric.spec], resampling
                )
            rows += _list_correlations_with_human_scores(human, metric.spec, by_group)
    return rows


def _count_rated_systems(score_cube: ScoreCube, human_column: str) -> int:
    """Count the systems that have at least one output with a human score."""
    if human_column not in score_cube.human_scores:
        return 0
    is_rated = ~np.isnan(score_cube.human_scores[human_column])
    return int(is_rated.any(axis=1).sum())


@dataclass(frozen=True)
class HumanCorrelations:
    """Correlations between system scores and mean human scores, for each way to aggregate scores."""

    systems: int
    by_aggregation: Mapping[str, float]


def _correlate_with_human_scores_on_test_set(
    score_cube: ScoreCube,
    human_column: str,
    metric: StatisticsMetric,
    systems: Sequence[AggregatedSystem],
    resampling: ResamplingSettings,
) -> HumanCorrelations:
    """Correlate the metric scores of systems with their mean human scores on one test set.

    Both are computed on the segments that people rated.
    """
    human_scores = score_cube.human_scores[human_column]
    is_rated = ~np.isnan(human_scores)
    is_present = find_outputs_with_statistics(score_cube.statistics[metric.spec])
    if (is_rated | ~is_present).all():  # all scored segments are rated: the scores are known already
        rows = [row for row in systems if row.group == score_cube.dataset]
    else:
        rows = compute_corpus_segment_and_bootstrap_scores(score_cube, metric, resampling, is_rated)
    human_means = [float(np.nanmean(human_scores[score_cube.systems.index(row.system)])) for row in rows]
    by_aggregation = {}
    for aggregation in AGGREGATIONS:
        scores = [
            _negate_if_lower_is_better(metric, row.get_score_of_aggregation(aggregation)) for row in rows
        ]
        by_aggregation[aggregation] = pearson_correlation(scores, human_means)
    return HumanCorrelations(len(rows), by_aggregation)


def _list_correlations_with_human_scores(
    human_column: str, metric: str, correlations_by_test_set: Mapping[str, HumanCorrelations]
) -> list[HumanCorrelation]:
    """List the correlations with human scores on each test set, and their mean."""
    rows = []
    for aggregation in AGGREGATIONS:
        defined = []
        for group, correlations in correlations_by_test_set.items():
            correlation = correlations.by_aggregation[aggregation]
            if not math.isnan(correlation):
                defined.append(correlation)
            row = HumanCorrelation(
                human_column, metric, aggregation, group, correlations.systems, none_if_nan(correlation)
            )
            rows.append(row)
        if defined:
            system_count = sum(correlations.systems for correlations in correlations_by_test_set.values())
            mean = float(np.mean(defined))
            rows.append(HumanCorrelation(human_column, metric, aggregation, MEAN_GROUP, system_count, mean))
    return rows


def pearson_correlation(
    first_scores: Sequence[float] | Scores, second_scores: Sequence[float] | Scores
) -> float:
    """Compute Pearson's correlation over the pairs in which both scores are defined (not NaN)."""
    x_values = np.asarray(first_scores, dtype=np.float64)
    y_values = np.asarray(second_scores, dtype=np.float64)
    is_defined = ~(np.isnan(x_values) | np.isnan(y_values))
    x_values = x_values[is_defined]
    y_values = y_values[is_defined]
    if len(x_values) < 2 or np.ptp(x_values) == 0 or np.ptp(y_values) == 0:
        return math.nan
    return float(np.corrcoef(x_values, y_values)[0, 1])
