"""Tests of whether one metric agrees with people better than another by more than chance.

Both metrics are standardised and their scores exchanged at random (`metassay.stats.score_exchanges`), and the
meta-metric of both is recomputed each time. The p-value that A beats B is the share of draws in which the
difference is at least the observed one, with the observed one counted among the draws.

`bootstrap` resamples items with their human scores instead. It is conservative: resampled orders are noisier
than the observed one, and of metrics that are equally good it separates fewer (1 %) than the level allows
(5 %).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.intervals import PValueMethods, evaluate_meta_metric_on_bootstrap_resamples
from metassay.meta.people.meta_metrics.base import SYSTEM, MetaMetric
from metassay.meta.people.meta_metrics.comparison_settings import (
    BOOTSTRAP,
    NO_TEST,
    WILLIAMS,
    ComparisonSettings,
)
from metassay.meta.people.meta_metrics.metric_differences import (
    MetricDifferences,
    compute_differences_of_all_row_pairs,
)
from metassay.meta.people.ranking_data import RankingData
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.correlation import correlate, williams_test
from metassay.stats.score_exchanges import list_metric_pairs

# From this number of systems on, a test for systems like these is reported next to one for these systems.
MANY_SYSTEMS = 8
THESE_SYSTEMS = "these systems"
SYSTEMS_LIKE_THESE = "systems like these"
# What each test generalises to: metrics that differ on these systems may not differ on others.
POPULATION_OF_TEST = {
    "perm-inputs": THESE_SYSTEMS,
    "perm-both": THESE_SYSTEMS,
    "cells": THESE_SYSTEMS,
    BOOTSTRAP: THESE_SYSTEMS,
    "perm-systems": SYSTEMS_LIKE_THESE,
    WILLIAMS: SYSTEMS_LIKE_THESE,
}

# The test that generalises the other way.
OTHER_TEST = {"perm-inputs": "perm-systems", "perm-systems": "perm-inputs"}


@dataclass(frozen=True)
class PValueMatrices:
    """For every two metrics: the p-value of the hypothesis that the metric of the row agrees no better with
    human scores than the metric of the column.

    NaN where two metrics were not tested.
    """

    one_sided: FloatArray
    two_sided: FloatArray

    @classmethod
    def create_nan_matrices(cls, metric_count: int) -> PValueMatrices:
        """Create matrices filled with NaN, for metrics that are not tested against each other."""
        shape = (metric_count, metric_count)
        return cls(np.full(shape, np.nan), np.full(shape, np.nan))

    @classmethod
    def compute_p_values_from_differences(
        cls, differences: MetricDifferences, metric_count: int, is_defined: NDArray[np.bool_]
    ) -> PValueMatrices:
        """Compute p-values for every two metrics in both directions, from observed and random differences."""
        matrices = cls.create_nan_matrices(metric_count)
        first, second = np.triu_indices(metric_count, 1)
        for first_is_better in (True, False):
            one_sided, two_sided = differences.compute_p_values(np.full(len(first), first_is_better))
            better, worse = (first, second) if first_is_better else (second, first)
            matrices.one_sided[better[is_defined], worse[is_defined]] = one_sided[is_defined]
            matrices.two_sided[better[is_defined], worse[is_defined]] = two_sided[is_defined]
        return matrices


def compute_metric_differences(
    meta_metric: MetaMetric,
    scores: ScoreArrays,
    settings: ComparisonSettings,
    metric_pairs: LongArray | None = None,
) -> MetricDifferences | None:
    """Compute the difference in agreement with human scores between the metrics of each pair, as observed and
    in random draws. Returns None if metrics are not tested.

    `metric_pairs` are rows A < B; by default all pairs, in the order of `numpy.triu_indices`.
    """
    if metric_pairs is None:
        metric_pairs = list_metric_pairs(len(scores.metrics))
    if settings.test != BOOTSTRAP:
        return meta_metric.compare_metric_pairs(scores, settings, metric_pairs)
    resampled = evaluate_meta_metric_on_bootstrap_resamples(
        meta_metric,
        scores,
        draws=settings.draws,
        seed=settings.seed,
        stream=settings.stream,
        workers=settings.workers,
    )
    if resampled is None:
        return None
    observed = compute_differences_of_all_row_pairs(meta_metric.evaluate_metrics(scores, settings))
    drawn = compute_differences_of_all_row_pairs(resampled).astype(np.float32)
    differences = MetricDifferences(observed, drawn, is_resampled=True)
    return differences.select_pairs(metric_pairs, len(scores.metrics))


def compare_all_metrics_on_shared_items(
    ranking_data: RankingData, meta_metric: MetaMetric, p_value_methods: PValueMethods
) -> MetricDifferences | None:
    """Compute the difference in agreement with human scores between every two metrics, on the items that both
    metrics scored.

    p-values inside the meta-metric are from permutations for the pairs in which one metric needs them.
    """
    settings = p_value_methods.settings
    if settings.test in {NO_TEST, WILLIAMS} or ranking_data.metric_count < 2:
        return None
    scores = ranking_data.scores.select_metrics(ranking_data.metric_positions)
    metric_pairs = list_metric_pairs(ranking_data.metric_count)
    is_permuted = p_value_methods.is_permuted[metric_pairs].any(axis=1)
    observed = np.full(len(metric_pairs), np.nan)
    drawn = np.full((len(metric_pairs), settings.draws), np.nan, dtype=np.float32)
    for permuted in (False, True):
        pairs = np.flatnonzero(is_permuted == permuted)
        if not len(pairs):
            continue
        differences = compare_metrics_on_shared_items(
            meta_metric,
            scores,
            p_value_methods.get_settings_for_p_values(by_permutation=permuted),
            metric_pairs[pairs],
        )
        if differences is None:
            return None
        observed[pairs] = differences.observed
        drawn[pairs] = differences.drawn
    return MetricDifferences(observed, drawn, is_resampled=settings.test == BOOTSTRAP)


def compare_metrics_on_shared_items(
    meta_metric: MetaMetric, scores: ScoreArrays, settings: ComparisonSettings, metric_pairs: LongArray
) -> MetricDifferences | None:
    """Compute the difference in agreement with human scores between the metrics of each given pair, on the
    items that both metrics scored.
    """
    if settings.test != BOOTSTRAP:
        differences = meta_metric.compare_incomplete_metrics(scores, settings, metric_pairs)
        if differences is not None:
            return differences
    # pairs that share the same items are compared together
    shared_items = scores.has_all_scores[metric_pairs].all(axis=1)
    patterns, pattern_of_pair = np.unique(shared_items, axis=0, return_inverse=True)
    observed = np.full(len(metric_pairs), np.nan)
    drawn = np.full((len(metric_pairs), settings.draws), np.nan, dtype=np.float32)
    for number, items in enumerate(patterns):
        if not items.any():
            continue
        pairs = np.flatnonzero(pattern_of_pair.ravel() == number)
        metrics, positions = np.unique(metric_pairs[pairs], return_inverse=True)
        differences = compute_metric_differences(
            meta_metric,
            scores.select_metrics(metrics).select_items_and_systems(items=items),
            settings,
            positions.reshape(len(pairs), 2),
        )
        if differences is None:
            return None
        observed[pairs] = differences.observed
        drawn[pairs] = differences.drawn
    return MetricDifferences(observed, drawn)


def compute_p_value_matrices(
    ranking_data: RankingData,
    settings: ComparisonSettings,
    metric_values: FloatArray,
    differences: MetricDifferences | None,
) -> PValueMatrices:
    """Compute one-sided and two-sided p-values of the difference between every two metrics."""
    if settings.test == WILLIAMS:
        metrics = ranking_data.scores.select_metrics(ranking_data.metric_positions)
        one_sided = compute_williams_p_values(
            metrics.select_items_and_systems(items=ranking_data.is_scored_by_all_metrics)
        )
        return PValueMatrices(one_sided, 2 * np.minimum(one_sided, one_sided.T))
    if differences is None:
        return PValueMatrices.create_nan_matrices(ranking_data.metric_count)
    first, second = np.triu_indices(ranking_data.metric_count, 1)
    is_defined = ~(
        np.isnan(differences.observed) | np.isnan(metric_values[first]) | np.isnan(metric_values[second])
    )
    return PValueMatrices.compute_p_values_from_differences(
        differences, ranking_data.metric_count, is_defined
    )


def compute_p_values_for_other_population(
    ranking_data: RankingData,
    meta_metric: MetaMetric,
    p_value_methods: PValueMethods,
    metric_values: FloatArray,
) -> FloatArray | None:
    """Compute p-values of a second test between metrics: about similar systems if the first test is about the
    given systems, and the other way round.

    Returns None with few systems, where one of the tests has no power.
    """
    settings = p_value_methods.settings
    other_test = OTHER_TEST.get(settings.test)
    if other_test is None or meta_metric.level != SYSTEM or len(ranking_data.cube.systems) < MANY_SYSTEMS:
        return None
    other_methods = replace(p_value_methods, settings=replace(settings, test=other_test))
    differences = compare_all_metrics_on_shared_items(ranking_data, meta_metric, other_methods)
    if differences is None:
        return None
    return compute_p_value_matrices(
        ranking_data, other_methods.settings, metric_values, differences
    ).one_sided


def compute_williams_p_values(scores: ScoreArrays) -> FloatArray:
    """Test for every two metrics whether the first correlates more strongly with human scores (Williams'
    test, 1959). Returns the p-values.

    One-sided, for Pearson's r of the mean scores of systems.
    """
    human_means = scores.human.mean(axis=-1)
    metric_means = scores.metrics.mean(axis=-1)
    r = np.array([correlate("pearson", human_means, means) for means in metric_means])
    p = np.full((len(r), len(r)), np.nan)
    for a in range(len(r)):
        for b in range(len(r)):
            if a != b:
                r_between = correlate("pearson", metric_means[a], metric_means[b])
                p[a, b] = williams_test(r[a], r[b], r_between, len(human_means))
    return p
