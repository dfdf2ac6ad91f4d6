"""Corpus, segment and bootstrap aggregation of segments to system scores (Cavalin et al., 2024).

| aggregation | name    | definition                                                             |
|-------------|---------|------------------------------------------------------------------------|
| corpus      | BLEU    | statistics summed over segments, one score                             |
| segment     | m-BLEU  | mean of the segment scores                                             |
| bootstrap   | x-BLEU  | mean of corpus scores over 1000 resamples of 1000 segments             |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_cube import ScoreCube
from metassay.metrics.base import Scores, StatisticsMetric
from metassay.results.aggregate import AggregatedSystem, StandardErrors
from metassay.results.base import none_if_nan
from metassay.stats.arrays import LongArray
from metassay.stats.intervals import compute_interval_widening_factor
from metassay.stats.random import create_random_generator_from_text
from metassay.stats.sufficient_statistics import (
    FromStatistics,
    compute_means_from_sums_and_counts,
    convert_scores_to_sums_and_counts,
    draw_bootstrap_scores,
    sum_statistics_within_clusters,
)

BoolArray = NDArray[np.bool_]
# Of more segments, random groups are resampled for intervals, which is faster and nearly as precise.
MOST_RESAMPLED_SEGMENTS = 20_000
# Number of these groups. It makes the width of an interval uncertain by 1.6 %; 1,000 resamples do so by 3 %.
RESAMPLED_GROUPS = 2_000


@dataclass(frozen=True)
class ResamplingSettings:
    """Settings for resampling: how many resamples to draw, of how many segments, with which random seed."""

    resamples: int = 1000
    size: int = 1000
    """Segments in each resample of the bootstrap aggregation."""
    repeats: int = 1000
    """Draws for each number of segments in `sample_sizes`."""
    sample_sizes: tuple[int, ...] = (1, 10, 100)
    seed: int = 0

    def create_random_generator(self, test_set: str, name: str, segment_count: int) -> np.random.Generator:
        """Create a random generator for a test set, a purpose and a number of segments.

        Systems and metrics with the same segments therefore get the same resamples.
        """
        return create_random_generator_from_text(self.seed, f"{test_set}\0{name}\0{segment_count}")


@dataclass(frozen=True)
class SystemsWithSameSegments:
    """A group of systems that have outputs for exactly the same segments.

    Systems and segments are row and column numbers of a score table.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    def select_values(self, output_values: Scores) -> Scores:
        """Return the part of an array that belongs to the systems of this group and to their segments.

        The array is `[systems, segments, ...]`.
        """
        return output_values[np.ix_(self.rows, self.columns)]


def group_systems_with_same_segments(has_output: BoolArray) -> list[SystemsWithSameSegments]:
    """Group systems that have outputs for exactly the same segments.

    Their segments can be resampled together. `has_output` is `[systems, segments]`. Systems without any
    segment are left out.
    """
    systems_by_pattern: dict[bytes, list[int]] = {}
    for system, pattern in enumerate(has_output):
        if pattern.any():
            systems_by_pattern.setdefault(pattern.tobytes(), []).append(system)
    return [
        SystemsWithSameSegments(np.array(systems), np.flatnonzero(has_output[systems[0]]))
        for systems in systems_by_pattern.values()
    ]


def find_outputs_with_statistics(output_statistics: Scores) -> BoolArray:
    """Return a Boolean mask of the outputs that a metric scored."""
    return ~np.isnan(output_statistics[..., 0])


def compute_corpus_segment_and_bootstrap_scores(
    score_cube: ScoreCube,
    metric: StatisticsMetric,
    resampling: ResamplingSettings,
    is_included: BoolArray | None = None,
) -> list[AggregatedSystem]:
    """Compute the score of every system in three ways: corpus score, mean of segment scores, and bootstrap
    mean.

    `is_included`, `[systems, segments]`, restricts the segments of each system. Systems without segments are
    left out.
    """
    is_present = find_outputs_with_statistics(score_cube.statistics[metric.spec])
    if is_included is not None:
        is_present &= is_included
    aggregated: dict[int, AggregatedSystem] = {}
    for systems in group_systems_with_same_segments(is_present):
        rows = _compute_scores_of_systems_with_same_segments(score_cube, metric, systems, resampling)
        aggregated.update(zip(systems.rows.tolist(), rows))
    return [aggregated[system] for system in sorted(aggregated)]


def _compute_scores_of_systems_with_same_segments(
    score_cube: ScoreCube,
    metric: StatisticsMetric,
    systems_with_same_segments: SystemsWithSameSegments,
    resampling_settings: ResamplingSettings,
) -> list[AggregatedSystem]:
    """Compute scores and standard errors of systems that have outputs for exactly the same segments."""
    statistics = systems_with_same_segments.select_values(score_cube.statistics[metric.spec])
    segment_scores = systems_with_same_segments.select_values(score_cube.metric_scores[metric.spec])
    segment_count = segment_scores.shape[1]
    corpus = metric.from_statistics(statistics.sum(axis=1))
    segment = compute_means_from_sums_and_counts(
        convert_scores_to_sums_and_counts(segment_scores).sum(axis=1)
    )
    resampled_bootstrap = _resample_corpus_scores(score_cube.dataset, metric, statistics, resampling_settings)
    bootstrap = resampled_bootstrap.mean(axis=1)

    def compute_corpus_and_segment_scores(statistic_sums: Scores) -> Scores:
        """Compute corpus scores and means of segment scores from sums of statistics."""
        return np.stack(
            [
                metric.from_statistics(statistic_sums[..., :-2]),
                compute_means_from_sums_and_counts(statistic_sums[..., -2:]),
            ]
        )

    # one array with the statistics of both, so that their standard errors come from the same resamples
    both_statistics = np.concatenate([statistics, convert_scores_to_sums_and_counts(segment_scores)], axis=2)
    rng = resampling_settings.create_random_generator(score_cube.dataset, "standard error", segment_count)
    resampled_corpus, resampled_segment = draw_bootstrap_scores(
        both_statistics, compute_corpus_and_segment_scores, rng, draws=resampling_settings.resamples
    )
    entries = []
    for position, system in enumerate(systems_with_same_segments.rows):
        if segment_count > 1:
            standard_errors = StandardErrors(
                corpus=_compute_bootstrap_standard_error(resampled_corpus[position]),
                segment=_compute_bootstrap_standard_error(resampled_segment[position]),
                bootstrap=_compute_bootstrap_standard_error(resampled_bootstrap[position]),
            )
        else:
            standard_errors = StandardErrors(None, None, None)  # resamples of one segment do not vary
        entry = AggregatedSystem(
            group=score_cube.dataset,
            system=score_cube.systems[system],
            metric=metric.spec,
            corpus=none_if_nan(corpus[position]),
            segment=none_if_nan(segment[position]),
            bootstrap=none_if_nan(bootstrap[position]),
            standard_errors=standard_errors,
        )
        entries.append(entry)
    return entries


def _compute_bootstrap_standard_error(resampled_scores: Scores) -> float | None:
    """Compute the standard error of a score as its standard deviation over bootstrap resamples."""
    return none_if_nan(resampled_scores.std(ddof=1))


def _resample_corpus_scores(
    test_set: str, metric: StatisticsMetric, statistics: Scores, resampling: ResamplingSettings
) -> Scores:
    """Compute corpus scores of systems on bootstrap resamples that all have the same number of segments."""
    rng = resampling.create_random_generator(test_set, "bootstrap", statistics.shape[1])
    return draw_bootstrap_scores(
        statistics, metric.from_statistics, rng, draws=resampling.resamples, size=resampling.size
    )


def compute_corpus_scores(score_cube: ScoreCube, metric: StatisticsMetric) -> Scores:
    """Compute the corpus score of each system on the segments for which it has outputs.

    A system without outputs gets NaN.
    """
    statistics = score_cube.statistics[metric.spec]
    scores = metric.from_statistics(np.nansum(statistics, axis=1))
    has_outputs = find_outputs_with_statistics(statistics).any(axis=1)
    return np.where(has_outputs, scores, np.nan)


def compute_bootstrap_scores(
    score_cube: ScoreCube, metric: StatisticsMetric, resampling: ResamplingSettings
) -> Scores:
    """Compute the mean corpus score of each system over bootstrap resamples of its segments.

    A system without segments gets NaN.
    """
    statistics = score_cube.statistics[metric.spec]
    scores = np.full(len(score_cube.systems), np.nan)
    for systems in group_systems_with_same_segments(find_outputs_with_statistics(statistics)):
        group_statistics = systems.select_values(statistics)
        resampled = _resample_corpus_scores(score_cube.dataset, metric, group_statistics, resampling)
        scores[systems.rows] = resampled.mean(axis=1)
    return scores


def estimate_score_intervals(
    statistics: Scores,
    compute_score: FromStatistics,
    test_set: str,
    resampling: ResamplingSettings,
    cluster_numbers: LongArray | None = None,
) -> tuple[Scores, Scores]:
    """Estimate 95 % intervals for the score of each system by resampling segments.

    `statistics` are `[systems, segments, s]`, NaN where a system has no score. Intervals are widened for few
    segments by t / z · √(n / (n - 1)) (Hesterberg, 2015). A single segment has no interval (NaN). More than
    `MOST_RESAMPLED_SEGMENTS` segments are divided at random into groups, and groups are resampled.
    `cluster_numbers` says to which cluster each segment belongs, if clusters are to be resampled instead.
    """
    low = np.full(len(statistics), np.nan)
    high = np.full(len(statistics), np.nan)
    for systems in group_systems_with_same_segments(find_outputs_with_statistics(statistics)):
        present_statistics = systems.select_values(statistics)
        if cluster_numbers is not None:
            present_statistics = sum_statistics_within_clusters(
                present_statistics, cluster_numbers[systems.columns]
            )
        unit_count = present_statistics.shape[1]
        if unit_count == 1:
            continue
        rng = resampling.create_random_generator(test_set, "interval", unit_count)
        if unit_count > MOST_RESAMPLED_SEGMENTS:
            present_statistics = _sum_statistics_over_random_segment_groups(present_statistics, rng)
        resampled = draw_bootstrap_scores(present_statistics, compute_score, rng, draws=resampling.resamples)
        scores = compute_score(present_statistics.sum(axis=1))
        widening = compute_interval_widening_factor(np.array(unit_count)) * np.sqrt(
            unit_count / (unit_count - 1)
        )
        lower, upper = np.quantile(resampled, [0.025, 0.975], axis=1)
        low[systems.rows] = scores + (lower - scores) * widening
        high[systems.rows] = scores + (upper - scores) * widening
    return low, high


def _sum_statistics_over_random_segment_groups(statistics: Scores, rng: np.random.Generator) -> Scores:
    """Divide segments into random groups of nearly equal size, and sum the statistics over each group."""
    segment_count = statistics.shape[1]
    starts = np.linspace(0, segment_count, RESAMPLED_GROUPS, endpoint=False).astype(np.int64)
    sums: Scores = np.add.reduceat(statistics[:, rng.permutation(segment_count)], starts, axis=1)
    return sums
