"""The order of scores against NumPy's, and which scores count as equal."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metassay.stats.score_order import sort_scores


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_scores_are_sorted_as_numpy_sorts_them(values):
    x = np.array(values, dtype=float)
    np.testing.assert_array_equal(sort_scores(x).order, np.argsort(x, kind="stable"))


def test_scores_that_differ_by_rounding_are_one_knot_but_small_ones_are_not():
    assert len(sort_scores([0.1 + 0.2, 0.3]).knots) == 1
    assert len(sort_scores([1e-30, 2e-30]).knots) == 2
    assert len(sort_scores([0.3, 0.3 + 2e-15]).knots) == 2


def test_levels_and_knots_give_the_scores_back():
    x = np.random.default_rng(0).integers(-5, 5, 100) / 3
    scores = sort_scores(x)
    np.testing.assert_array_equal(scores.knots, np.unique(x))
    np.testing.assert_array_equal(scores.knots[scores.level] + scores.beyond, np.sort(x))
