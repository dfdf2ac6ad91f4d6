"""Order, clusters and comparisons of metrics."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.meta.people.metric_comparison import PValueMatrices
from metassay.meta.people.significance_clusters import (
    assign_significance_clusters,
    assign_significance_clusters_by_p_values,
    list_metric_comparisons,
)


def test_a_cluster_starts_where_a_metric_differs_from_any_of_the_current_cluster() -> None:
    """The shared task's rule: 1 ~ 2, 3 differs from 1 only, 4 differs from nobody since 3."""
    is_different = np.zeros((4, 4), dtype=bool)
    is_different[0, 2] = is_different[2, 0] = True
    assert assign_significance_clusters([0, 1, 2, 3], is_different) == {0: 1, 1: 1, 2: 2, 3: 2}
    is_different[2, 3] = is_different[3, 2] = True
    assert assign_significance_clusters([0, 1, 2, 3], is_different) == {0: 1, 1: 1, 2: 2, 3: 3}


P_VALUES = np.array([[np.nan, 0.04, 0.02], [0.9, np.nan, 0.03], [0.9, 0.9, np.nan]])


def test_clusters_are_formed_with_or_without_holm() -> None:
    """.02, .03 and .04 are all significant alone; adjusted by Holm all three are .06."""
    values = np.array([0.9, 0.8, 0.7])
    assert assign_significance_clusters_by_p_values([0, 1, 2], values, P_VALUES) == {0: 1, 1: 2, 2: 3}
    assert assign_significance_clusters_by_p_values([0, 1, 2], values, P_VALUES, holm=True) == {
        0: 1,
        1: 1,
        2: 1,
    }


def test_metrics_of_different_clusters_differ_at_the_five_per_cent_level() -> None:
    p = np.array([[np.nan, 0.06], [0.94, np.nan]])
    assert assign_significance_clusters_by_p_values([0, 1], np.array([0.9, 0.8]), p) == {0: 1, 1: 1}
    assert assign_significance_clusters_by_p_values(
        [0, 1], np.array([0.9, 0.8]), np.where(p == 0.06, 0.05, p)
    ) == {
        0: 1,
        1: 2,
    }


def test_comparisons_are_adjusted_by_holm_on_request() -> None:
    p_values = PValueMatrices(P_VALUES, 2 * P_VALUES)
    comparisons = list_metric_comparisons([0, 1, 2], ["a", "b", "c"], p_values, holm=True)
    pairs = [(comparison.better, comparison.worse, comparison.p) for comparison in comparisons]
    assert pairs == [("a", "b", 0.04), ("a", "c", 0.02), ("b", "c", 0.03)]
    assert [comparison.p_holm for comparison in comparisons] == pytest.approx([0.06, 0.06, 0.06])
