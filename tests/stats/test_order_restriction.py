"""Nearest values in order, against scipy's isotonic regression."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from metassay.stats.score_order import nearest_in_order


def test_every_row_is_an_isotonic_regression():
    rng = np.random.default_rng(0)
    rows, weights = rng.integers(0, 5, (200, 9)) / 4, rng.uniform(0.2, 3, 9)
    nearest, distance = nearest_in_order(rows, weights)
    for row, found, far in zip(rows, nearest, distance):
        expected = isotonic_regression(row, weights=weights).x
        assert found == pytest.approx(expected, abs=1e-12)
        assert far == pytest.approx((weights * (row - expected) ** 2).sum(), abs=1e-12)


def test_values_in_order_are_their_own_nearest():
    nearest, distance = nearest_in_order(np.array([0.1, 0.1, 0.7]), np.ones(3))
    assert nearest.tolist() == [[0.1, 0.1, 0.7]]
    assert distance.tolist() == [0.0]
