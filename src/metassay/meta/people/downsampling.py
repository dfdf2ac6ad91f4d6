"""How the values of metrics change with fewer items."""

from __future__ import annotations

import numpy as np

from metassay.meta.people.intervals import evaluate_meta_metric_on_random_items
from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.ranking_data import RankingData
from metassay.results.rank import DownsampledValue
from metassay.stats.intervals import percentile_interval_or_nan

SHARES_OF_ITEMS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
# Random subsets of the items per subset size.
SUBSETS_PER_SIZE = 100
# Data sets with fewer items are not made smaller.
_FEWEST_ITEMS = 10


def choose_item_subset_sizes(item_count: int) -> list[int]:
    """Choose how many items to use when agreement with human scores is measured on fewer items. Returns
    several numbers in ascending order.
    """
    return sorted({max(2, round(share * item_count)) for share in SHARES_OF_ITEMS})


def evaluate_metrics_on_item_subsets(
    ranking_data: RankingData, meta_metric: MetaMetric, settings: ComparisonSettings
) -> list[DownsampledValue]:
    """Compute how well each metric agrees with human scores on random subsets of the items, for several
    subset sizes.

    The constant baseline is included, because its SPA falls as the number of items grows.
    """
    count = ranking_data.metric_count
    items = int(ranking_data.is_scored_by_all_metrics.sum())
    if ranking_data.pairwise or items < _FEWEST_ITEMS or count < 2:
        return []
    with_constant = ranking_data.scores.select_metrics(np.arange(count + 1))
    scores = with_constant.select_items_and_systems(items=ranking_data.is_scored_by_all_metrics)
    rows = []
    for size in choose_item_subset_sizes(items):
        if size < items:
            values = evaluate_meta_metric_on_random_items(
                meta_metric,
                scores,
                items=size,
                draws=SUBSETS_PER_SIZE,
                seed=settings.seed,
                stream=settings.stream,
                workers=settings.workers,
            )
        else:
            values = meta_metric.evaluate_metrics(scores, settings)[:, None]
        if values is None:
            return []
        low, high = percentile_interval_or_nan(values)
        is_first = values[:count] >= np.fmax.reduce(values[:count], axis=0)
        for metric in range(count + 1):
            if np.isnan(values[metric]).any():
                continue
            row = DownsampledValue(
                items=size,
                metric=ranking_data.metric_names[metric],
                median=float(np.median(values[metric])),
                low=float(low[metric]),
                high=float(high[metric]),
                first=float(is_first[metric].mean()) if metric < count else None,
            )
            rows.append(row)
    return rows
