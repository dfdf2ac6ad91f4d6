"""Trends of accuracy along ordered contexts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from metassay.meta.contexts.trend import correlate_accuracy_with_numeric_contexts

BUCKETS = [f"[{n},{n + 1}]" for n in (-3, -2, -1, 0, 1, 2)]


def test_a_trend_is_spearmans_correlation_with_the_order() -> None:
    accuracy = np.random.default_rng(0).random((3, 6))
    expected = [spearmanr(range(6), row).statistic for row in accuracy]
    assert correlate_accuracy_with_numeric_contexts("score:6", BUCKETS, accuracy) == pytest.approx(expected)
    turned = correlate_accuracy_with_numeric_contexts(
        "score:6", BUCKETS[::-1], accuracy[:, ::-1]
    )  # the contexts' own order counts, not that of the list
    assert turned == pytest.approx(expected)


def test_contexts_where_a_metric_is_undefined_are_passed_over() -> None:
    accuracy = np.array([[0.1, np.nan, 0.2, 0.3, 0.4, 0.5], [0.1, np.nan, np.nan, 0.3, 0.4, 0.5], [0.5] * 6])
    assert correlate_accuracy_with_numeric_contexts("score:6", BUCKETS, accuracy) == [
        pytest.approx(1.0),
        None,
        None,
    ]


def test_names_and_few_contexts_have_no_trend() -> None:
    assert (
        correlate_accuracy_with_numeric_contexts("score:6", [*BUCKETS[:5], "news"], np.ones((1, 6))) is None
    )
    assert correlate_accuracy_with_numeric_contexts("score:6", BUCKETS[:4], np.ones((1, 4))) is None
