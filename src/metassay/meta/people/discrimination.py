"""How finely a meta-metric tells metrics apart (Thompson et al., 2024, sections 4.3 and 4.4, table 1).

It counts the distinct values, the significant comparisons and the significance clusters. Metrics with exactly
the same scores count as one; `significant_…_with_copies` counts each of them, as the table of the paper does.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.metric_comparison import compute_metric_differences
from metassay.meta.people.significance_clusters import (
    assign_significance_clusters,
    sort_metrics_best_first,
)
from metassay.results.rank import DiscriminationRow
from metassay.stats.levels import SIGNIFICANCE_LEVEL


def count_significant_metric_differences(
    dataset: str, meta_metric: MetaMetric, scores: ScoreArrays, test_settings: ComparisonSettings
) -> DiscriminationRow:
    """Count how many pairs of metrics differ significantly according to a meta-metric, and how many
    different values it has.
    """
    copies = _count_identical_metrics(scores)
    different_metrics = np.array(list(copies))
    copy_counts = np.array(list(copies.values()))
    different = scores.select_metrics(different_metrics)
    values = meta_metric.evaluate_metrics(different, test_settings)
    row = DiscriminationRow(
        dataset=dataset,
        meta_metric=str(meta_metric),
        systems=len(scores.human),
        metrics=len(scores.metrics),
        different_metrics=len(values),
        distinct_values=len(np.unique(np.round(values[~np.isnan(values)], 10))),
        comparisons=len(values) * (len(values) - 1) // 2,
    )
    differences = compute_metric_differences(meta_metric, different, test_settings)
    if differences is None:
        return row
    best_first = sort_metrics_best_first(values, [str(position) for position in range(len(values))])
    first, second = np.triu_indices(len(values), 1)
    pair_copies = copy_counts[first] * copy_counts[second]
    one_sided, two_sided = (p <= SIGNIFICANCE_LEVEL for p in differences.compute_p_values())
    return msgspec.structs.replace(
        row,
        significant_one_sided=int(one_sided.sum()),
        significant_one_sided_with_copies=int(pair_copies[one_sided].sum()),
        clusters_one_sided=_count_significance_clusters(best_first, one_sided),
        significant_two_sided=int(two_sided.sum()),
        significant_two_sided_with_copies=int(pair_copies[two_sided].sum()),
        clusters_two_sided=_count_significance_clusters(best_first, two_sided),
    )


def _count_significance_clusters(metrics_best_first: list[int], is_significant: NDArray[np.bool_]) -> int:
    """Count the groups into which metrics fall if metrics of one group do not differ significantly. Takes the
    metrics from best to worst, and which pairs of metrics differ.
    """
    count = len(metrics_best_first)
    matrix = np.zeros((count, count), dtype=np.bool_)
    matrix[np.triu_indices(count, 1)] = is_significant
    return max(assign_significance_clusters(metrics_best_first, matrix | matrix.T).values(), default=0)


def _count_identical_metrics(scores: ScoreArrays) -> dict[int, int]:
    """Find metrics with exactly the same scores. Returns a dictionary from the position of the first such
    metric to the number of them.
    """
    first_with_scores: dict[bytes, int] = {}
    counts: dict[int, int] = {}
    for position, metric in enumerate(scores.metrics):
        first = first_with_scores.setdefault(metric.tobytes(), position)
        counts[first] = counts.get(first, 0) + 1
    return counts
