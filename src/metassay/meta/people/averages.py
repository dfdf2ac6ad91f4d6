"""Average rankings of metrics over data sets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.meta.people.meta_metrics.metric_differences import (
    MetricDifferences,
    find_pair_positions,
)
from metassay.meta.people.metric_comparison import PValueMatrices
from metassay.meta.people.significance_clusters import (
    assign_significance_clusters_by_p_values,
    list_metric_comparisons,
    sort_metrics_best_first,
)
from metassay.results.base import none_if_nan
from metassay.results.rank import AveragedMetric, AverageRanking
from metassay.stats.arrays import FloatArray, LongArray

if TYPE_CHECKING:
    from metassay.meta.people.ranking import MetricRanking


def average_rankings_over_datasets(rankings: Sequence[MetricRanking]) -> list[AverageRanking]:
    """Average the values of each metric over data sets and rank the metrics by the means, for each
    meta-metric (measure of agreement with human scores) that was used on several data sets.
    """
    averages = []
    for meta_metric in dict.fromkeys(ranking.meta_metric for ranking in rankings):
        of_datasets = []
        for ranking in rankings:
            if ranking.meta_metric == meta_metric and ranking.context_column is None:
                of_datasets.append(ranking)
        if len(of_datasets) > 1:
            averages.append(_average_meta_metric(meta_metric, of_datasets))
    return averages


def remove_reference_suffix(metric_name: str) -> str:
    """Remove from a metric name the suffix for its reference, such as `-refA`.

    >>> remove_reference_suffix("COMET-refA"), remove_reference_suffix("CometKiwi-src")
    ('COMET', 'CometKiwi-src')
    """
    return re.sub(r"-ref[A-Z]$", "", metric_name)


def _average_meta_metric(meta_metric: MetaMetric, rankings: Sequence[MetricRanking]) -> AverageRanking:
    """Average the values of one meta-metric over data sets, and rank the metrics by the means. Only metrics
    that all data sets have are ranked.
    """
    positions = [_map_metric_names_to_positions(ranking) for ranking in rankings]
    names = sorted(set.intersection(*(set(of_dataset) for of_dataset in positions)))
    common_positions = [
        np.array([of_dataset[name] for name in names], dtype=np.int64) for of_dataset in positions
    ]
    values = np.stack([ranking.values[index] for ranking, index in zip(rankings, common_positions)])
    scaled = values / 2 + 0.5 if meta_metric.is_correlation else values
    mean = scaled.mean(axis=0)
    p_values = _test_differences_averaged_over_datasets(meta_metric, rankings, common_positions)
    holm = rankings[0].holm
    best_first = sort_metrics_best_first(mean, names)
    clusters = assign_significance_clusters_by_p_values(best_first, mean, p_values.one_sided, holm=holm)
    system_counts = np.array([len(ranking.data.cube.systems) for ranking in rankings])
    pooled = meta_metric.pool_values_over_datasets(values, system_counts * (system_counts - 1) / 2)
    metrics = []
    for m in best_first:
        metrics.append(
            AveragedMetric(
                metric=names[m],
                value=none_if_nan(mean[m]),
                rank=clusters.get(m),
                pooled=None if pooled is None else none_if_nan(pooled[m]),
            )
        )
    return AverageRanking(
        meta_metric=str(meta_metric),
        datasets=[ranking.data.cube.dataset for ranking in rankings],
        metrics=metrics,
        comparisons=list_metric_comparisons(best_first, names, p_values, holm=holm),
    )


def _map_metric_names_to_positions(ranking: MetricRanking) -> dict[str, int]:
    """Return a dictionary from metric name to position in a ranking. The suffix for the reference, such as
    `-refA`, is removed where names stay unique.
    """
    names = ranking.data.metric_names[: ranking.data.metric_count]
    short_names = [remove_reference_suffix(name) for name in names]
    positions = {}
    for position, (name, short_name) in enumerate(zip(names, short_names)):
        is_unique = short_names.count(short_name) == 1
        positions[short_name if is_unique else name] = position
    return positions


def _test_differences_averaged_over_datasets(
    meta_metric: MetaMetric, rankings: Sequence[MetricRanking], metric_positions: Sequence[LongArray]
) -> PValueMatrices:
    """Test whether the differences between metrics, averaged over data sets, are larger than by chance.
    Returns the p-values.
    """
    count = len(metric_positions[0])
    first, second = np.triu_indices(count, 1)
    scale = 0.5 if meta_metric.is_correlation else 1.0  # correlations are mapped to the range from 0 to 1
    observed = np.zeros(len(first))
    drawn = np.zeros((len(first), 1), dtype=np.float32)
    is_resampled = False
    for ranking, index in zip(rankings, metric_positions):
        if ranking.differences is None or count < 2:
            return PValueMatrices.create_nan_matrices(count)
        differences = _select_differences_of_pairs(
            ranking.differences, index[first], index[second], ranking.data.metric_count
        )
        observed += scale * differences.observed / len(rankings)
        drawn = drawn + np.float32(scale / len(rankings)) * differences.drawn
        is_resampled = differences.is_resampled
    mean = MetricDifferences(observed, drawn, is_resampled)
    return PValueMatrices.compute_p_values_from_differences(mean, count, ~np.isnan(observed))


def _select_differences_of_pairs(
    differences: MetricDifferences, first_metrics: LongArray, second_metrics: LongArray, metric_count: int
) -> MetricDifferences:
    """Select the differences between the two metrics of each given pair. The sign is reversed where a
    pair is stored in the other order.
    """
    positions = find_pair_positions(
        np.minimum(first_metrics, second_metrics), np.maximum(first_metrics, second_metrics), metric_count
    )
    sign: FloatArray = np.where(first_metrics < second_metrics, 1.0, -1.0)
    return MetricDifferences(
        differences.observed[positions] * sign,
        differences.drawn[positions] * sign[:, None].astype(np.float32),
        differences.is_resampled,
    )
