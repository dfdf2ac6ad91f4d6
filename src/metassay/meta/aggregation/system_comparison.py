"""Tests of the difference between every two systems of a test set."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.aggregation.system_scores import ResamplingSettings
from metassay.metrics.base import Metric, StatisticsMetric
from metassay.results.base import none_if_nan
from metassay.results.score import SystemComparison
from metassay.stats.arrays import FloatArray
from metassay.stats.multiplicity import adjust_p_values_by_holm
from metassay.stats.sufficient_statistics import (
    FromStatistics,
    approximate_randomization,
    compute_means_from_sums_and_counts,
    convert_scores_to_sums_and_counts,
    paired_bootstrap,
    sum_statistics_within_clusters,
)

TESTS = {"bootstrap": paired_bootstrap, "randomization": approximate_randomization}
LEAST_DRAWS = {"bootstrap": 1000, "randomization": 10_000}
"""How many draws a test makes by default, at least."""
DRAWS_PER_COMPARISON = 100
"""How many draws a test makes by default for each pair of systems. The smallest p-value is 1 / (draws + 1).
With too few draws, it would not be significant after the correction for the number of pairs."""
MOST_DRAWS = 100_000
"""How many draws a test makes by default, at most, so that hundreds of systems do not take minutes."""


def compare_systems(
    score_cube: ScoreCube,
    metric: Metric,
    test_name: str,
    *,
    draws: int | None = None,
    seed: int = 0,
    group: str | None = None,
    cluster_column: str | None = None,
) -> list[SystemComparison]:
    """Test for every two systems whether their scores differ.

    The test uses the segments for which all systems have outputs. Corpus scores are compared where the metric
    has them, else means of segment scores. `test_name` is `bootstrap` or `randomization`. p-values are
    two-sided; `p_holm` is corrected for all pairs. `group` is the name of the test set in the result.
    `cluster_column` names the metadata column whose values, such as documents, are resampled or exchanged as
    a whole. By default, many systems are compared with more `draws`.
    """
    pairs = list(combinations(range(len(score_cube.systems)), 2))
    if draws is None:
        draws = max(LEAST_DRAWS[test_name], min(DRAWS_PER_COMPARISON * len(pairs), MOST_DRAWS))
    if draws < 1:
        raise InputError(f"{draws} draws are not enough for a test.")
    statistics, from_statistics = get_statistics_and_score_function(score_cube, metric)
    is_common = ~np.isnan(statistics).any(axis=(0, 2))
    segment_count = int(is_common.sum())
    if len(score_cube.systems) < 2 or segment_count == 0:
        return []
    units = statistics[:, is_common]
    if cluster_column is not None:
        cluster_numbers = score_cube.assign_items_to_clusters(cluster_column)
        units = sum_statistics_within_clusters(units, cluster_numbers[is_common])
    rng = ResamplingSettings(seed=seed).create_random_generator(score_cube.dataset, test_name, units.shape[1])
    result = TESTS[test_name](units, from_statistics, rng, draws=draws)
    adjusted = adjust_p_values_by_holm([result.p[pair] for pair in pairs])
    comparisons = []
    for (a, b), p_holm in zip(pairs, adjusted):
        comparisons.append(
            SystemComparison(
                group=group,
                metric=metric.spec,
                a=score_cube.systems[a],
                b=score_cube.systems[b],
                difference=none_if_nan(result.differences[a, b]),
                p=none_if_nan(result.p[a, b]),
                test=test_name,
                p_holm=none_if_nan(p_holm),
                segments=segment_count,
            )
        )
    return comparisons


def get_statistics_and_score_function(
    score_cube: ScoreCube, metric: Metric, *, use_segment_means: bool = False
) -> tuple[FloatArray, FromStatistics]:
    """Return the sufficient statistics of each output, and a function that turns their sums into a score.

    The statistics are `[systems, segments, s]`, NaN where an output is missing. The score is the corpus
    score. With `use_segment_means`, and for metrics without statistics, it is the mean of the segment scores.
    """
    if isinstance(metric, StatisticsMetric) and not use_segment_means:
        return score_cube.statistics[metric.spec], metric.from_statistics
    segment_scores = score_cube.metric_scores[metric.spec]
    statistics = convert_scores_to_sums_and_counts(segment_scores)
    statistics[np.isnan(segment_scores)] = np.nan
    return statistics, compute_means_from_sums_and_counts
