"""Order metrics by value, group them into significance clusters, and list their comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from metassay.meta.people.metric_comparison import PValueMatrices
from metassay.results.base import none_if_nan
from metassay.results.rank import MetricComparison
from metassay.stats.arrays import FloatArray, round_off_float_errors
from metassay.stats.levels import SIGNIFICANCE_LEVEL
from metassay.stats.multiplicity import adjust_p_values_by_holm


def sort_metrics_best_first(metric_values: FloatArray, metric_names: Sequence[str]) -> list[int]:
    """Sort metrics by descending value and then by name, and return their positions. Undefined values
    come last.
    """
    is_undefined = np.isnan(metric_values)
    # values that differ only by floating-point errors are ordered by name
    descending = np.where(is_undefined, 0.0, -round_off_float_errors(metric_values))
    return sorted(range(len(metric_values)), key=lambda m: (is_undefined[m], descending[m], metric_names[m]))


def assign_significance_clusters(
    metrics_best_first: Sequence[int], is_different: NDArray[np.bool_]
) -> dict[int, int]:
    """Group metrics that do not differ significantly. The groups are numbered from 1 for the best
    metrics.

    A metric opens a new cluster if it differs from any metric of the current one. Greedy, as in WMT: two
    metrics of different clusters need not differ from each other.
    """
    clusters: dict[int, int] = {}
    cluster = 1
    members: list[int] = []
    for metric in metrics_best_first:
        if any(is_different[member, metric] for member in members):
            cluster += 1
            members = []
        members.append(metric)
        clusters[metric] = cluster
    return clusters


def assign_significance_clusters_by_p_values(
    metrics_best_first: Sequence[int],
    metric_values: FloatArray,
    one_sided_p_values: FloatArray,
    *,
    holm: bool = False,
) -> dict[int, int]:
    """Group metrics that do not differ significantly, given the p-values for all pairs. Returns the group of
    each metric, numbered from 1 for the best.
    """
    defined = [metric for metric in metrics_best_first if not np.isnan(metric_values[metric])]
    pairs = _list_metric_pairs_in_ranking_order(defined)
    p_values = np.array([one_sided_p_values[pair] for pair in pairs])
    if pairs and np.isnan(p_values).all():
        return {}
    if holm:
        p_values = adjust_p_values_by_holm(p_values)
    symmetric = np.full(one_sided_p_values.shape, np.nan)
    for (a, b), p in zip(pairs, p_values):
        symmetric[a, b] = p
        symmetric[b, a] = p
    return assign_significance_clusters(defined, np.nan_to_num(symmetric, nan=1.0) <= SIGNIFICANCE_LEVEL)


def list_metric_comparisons(
    metrics_best_first: Sequence[int],
    metric_names: Sequence[str],
    p_values: PValueMatrices,
    *,
    holm: bool = False,
    one_sided_by_test: Mapping[str, FloatArray] | None = None,
) -> list[MetricComparison]:
    """List the p-values of all tested pairs of metrics. The better metric of a pair comes first.

    `one_sided_by_test` has the one-sided p-values of `perm-inputs` and `perm-systems` where both were made.
    """
    one_sided_by_test = one_sided_by_test or {}
    pairs = [
        pair
        for pair in _list_metric_pairs_in_ranking_order(metrics_best_first)
        if not np.isnan(p_values.one_sided[pair])
    ]
    one_sided = [float(p_values.one_sided[pair]) for pair in pairs]
    adjusted = adjust_p_values_by_holm(one_sided) if holm and pairs else None
    comparisons = []
    for position, pair in enumerate(pairs):
        p_by_test = {test: none_if_nan(matrix[pair]) for test, matrix in one_sided_by_test.items()}
        comparisons.append(
            MetricComparison(
                better=metric_names[pair[0]],
                worse=metric_names[pair[1]],
                p=one_sided[position],
                p_two_sided=float(p_values.two_sided[pair]),
                p_holm=None if adjusted is None else float(adjusted[position]),
                p_inputs=p_by_test.get("perm-inputs"),
                p_systems=p_by_test.get("perm-systems"),
            )
        )
    return comparisons


def _list_metric_pairs_in_ranking_order(metrics_best_first: Sequence[int]) -> list[tuple[int, int]]:
    """List all pairs of metrics, the better metric of each pair first."""
    return [
        (a, b) for position, a in enumerate(metrics_best_first) for b in metrics_best_first[position + 1 :]
    ]
