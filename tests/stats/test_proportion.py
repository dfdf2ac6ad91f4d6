"""Intervals for clustered proportions: known values, limits, and percentiles as numpy has them."""

import numpy as np
import pytest
from scipy.stats import binomtest

from metassay.stats.proportion import cluster_interval, effective_size, percentiles, wilson


def test_wilson_equals_scipy_for_independent_observations():
    n = 10**7  # so many that Student's t is the normal quantile
    for share in (0.02, 0.5, 0.98):
        hits = round(share * n)
        estimate = np.array([hits / n])
        variance = estimate * (1 - estimate) / n
        expected = binomtest(hits, n).proportion_ci(method="wilson")
        low, high = wilson(estimate, variance, np.array([n]))
        assert low[0] == pytest.approx(expected.low, rel=1e-6)
        assert high[0] == pytest.approx(expected.high, rel=1e-6)


def test_effective_size_is_one_observation_per_cluster_when_all_agree():
    assert effective_size(np.array([1.0]), np.array([0.0]), np.array([12])).tolist() == [12]


def test_effective_size_falls_with_the_spread_between_clusters():
    share, clusters = np.array([0.5, 0.5]), np.array([40, 40])
    sizes = effective_size(share, np.array([0.25 / 160, 0.25 / 40]), clusters)
    assert sizes == pytest.approx([160, 40])


def test_all_right_still_has_a_lower_end_below_one():
    low, high = cluster_interval(np.array([1.0]), np.ones((1, 100)), np.array([0.0]), np.array([50]))
    assert 0.9 < low[0] < 0.95  # the rule of three gives .94
    assert high[0] == 1


def test_a_single_cluster_has_no_interval():
    low, high = cluster_interval(np.array([0.5]), np.full((1, 10), 0.5), np.array([np.nan]), np.array([1]))
    assert np.isnan(low[0])
    assert np.isnan(high[0])


def test_the_interval_always_holds_the_estimate():
    rng = np.random.default_rng(0)
    estimate = rng.random(50)
    low, high = cluster_interval(estimate, rng.random((50, 30)), np.full(50, 1e-4), np.full(50, 9))
    assert (low <= estimate).all()
    assert (high >= estimate).all()
    assert (low >= 0).all()
    assert (high <= 1).all()


def test_percentiles_leave_out_what_is_undefined():
    rng = np.random.default_rng(1)
    values = rng.random((20, 101))
    values[rng.random(values.shape) < 0.2] = np.nan
    low, high = percentiles(values)
    assert low == pytest.approx(np.nanpercentile(values, 2.5, axis=1))
    assert high == pytest.approx(np.nanpercentile(values, 97.5, axis=1))
    assert np.isnan(percentiles(np.full((1, 5), np.nan))[0][0])
