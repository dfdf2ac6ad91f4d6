"""The p-values of system pairs that SPA compares, for the heatmaps of the report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.intervals import PValueMethods
from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.ranking_data import RankingData
from metassay.results.rank import MetricPairPValues, SystemPairPValues
from metassay.stats.arrays import LongArray

# With more systems p-values are not listed: their heatmap could not be read.
MOST_SYSTEMS = 20


def list_p_values_of_system_pairs(
    ranking_data: RankingData, meta_metric: MetaMetric, p_value_methods: PValueMethods
) -> SystemPairPValues | None:
    """List for every two systems the p-value of the hypothesis that the first is no better than the second.
    There is one from human scores and one from each metric.

    0 means that the first system of a pair is certainly better, 1 that the second is. None for meta-metrics
    without p-values, for scores with gaps, and for fewer than three or more than `MOST_SYSTEMS` systems.
    """
    systems = len(ranking_data.cube.systems)
    if ranking_data.pairwise or not 3 <= systems <= MOST_SYSTEMS:
        return None
    best_first = np.argsort(-ranking_data.scores.human.mean(axis=1), kind="stable")
    first, second = np.triu_indices(systems, 1)
    rows = []
    for metrics, scores, settings in _group_metrics_by_p_value_method(ranking_data, p_value_methods):
        p_values = meta_metric.compute_pair_p_values(scores, settings)
        if p_values is None:
            return None
        square = np.zeros((len(p_values), systems, systems))
        square[:, first, second] = p_values
        square[:, second, first] = 1.0 - p_values
        human, *of_metrics = np.round(square[:, best_first[first], best_first[second]], 4).tolist()
        for metric, metric_p_values in zip(metrics, of_metrics):
            rows.append(
                MetricPairPValues(
                    metric=ranking_data.metric_names[metric], human=human, metric_p_values=metric_p_values
                )
            )
    if not rows:
        return None
    rows.sort(key=lambda row: row.metric)
    return SystemPairPValues(systems=[ranking_data.cube.systems[system] for system in best_first], rows=rows)


def _group_metrics_by_p_value_method(
    ranking_data: RankingData, p_value_methods: PValueMethods
) -> Iterator[tuple[LongArray, ScoreArrays, ComparisonSettings]]:
    """Group metrics that scored the same items and need the same p-value method. Yields each group with
    its scores and settings.
    """
    for metrics, scores in ranking_data.scores.select_metrics(
        ranking_data.metric_positions
    ).split_by_complete_items():
        for permuted in (False, True):
            positions = np.flatnonzero(p_value_methods.is_permuted[metrics] == permuted)
            if len(positions):
                settings = p_value_methods.get_settings_for_p_values(by_permutation=permuted)
                yield metrics[positions], scores.select_metrics(positions), settings
