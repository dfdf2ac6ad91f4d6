"""The order of scores against NumPy's, and nearest values in order against scipy's isotonic regression."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from metassay.stats.isotonic import fit_non_decreasing_rows
from metassay.stats.sorted_scores import sort_scores


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_scores_are_sorted_as_numpy_sorts_them(values):
    x = np.array(values, dtype=float)
    np.testing.assert_array_equal(sort_scores(x).order, np.argsort(x, kind="stable"))


def test_scores_that_differ_by_rounding_are_one_knot_but_small_ones_are_not():
    assert len(sort_scores([0.1 + 0.2, 0.3]).knots) == 1
    assert len(sort_scores([1e-30, 2e-30]).knots) == 2
    assert len(sort_scores([0.3, 0.3 + 2e-15]).knots) == 2


def test_knots_and_offsets_give_the_scores():
    x = np.random.default_rng(0).integers(-5, 5, 100) / 3
    scores = sort_scores(x)
    np.testing.assert_array_equal(scores.knots, np.unique(x))
    np.testing.assert_array_equal(scores.knots[scores.knot_of_score] + scores.offset, np.sort(x))


def test_every_row_is_an_isotonic_regression():
    rng = np.random.default_rng(0)
    rows, weights = rng.integers(0, 5, (200, 9)) / 4, rng.uniform(0.2, 3, 9)
    nearest, distance = fit_non_decreasing_rows(rows, weights)
    for row, found, far in zip(rows, nearest, distance):
        expected = isotonic_regression(row, weights=weights).x
        assert found == pytest.approx(expected, abs=1e-12)
        assert far == pytest.approx((weights * (row - expected) ** 2).sum(), abs=1e-12)


def test_values_in_order_are_their_own_nearest():
    nearest, distance = fit_non_decreasing_rows(np.array([0.1, 0.1, 0.7]), np.ones(3))
    assert nearest.tolist() == [[0.1, 0.1, 0.7]]
    assert distance.tolist() == [0.0]
