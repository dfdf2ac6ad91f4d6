"""Intervals for clustered proportions: known values, limits, and percentiles as numpy has them."""

import numpy as np
import pytest
from scipy.stats import binomtest

from metassay.stats.bootstrap import Proportions, cluster_interval, percentiles, wilson


def found(estimate, variance, clusters, observations=10**9):
    estimate = np.atleast_1d(np.asarray(estimate, dtype=float))
    columns = (np.broadcast_to(column, estimate.shape) for column in (variance, clusters, observations))
    return Proportions(estimate, *columns)


def test_wilson_equals_scipy_for_independent_observations():
    n = 10**7  # so many that Student's t is the normal quantile
    for hits in (n // 50, n // 2, n - n // 50):
        share = hits / n
        expected = binomtest(hits, n).proportion_ci(method="wilson")
        low, high = wilson(found(share, share * (1 - share) / n, n))
        assert low[0] == pytest.approx(expected.low, rel=1e-6)
        assert high[0] == pytest.approx(expected.high, rel=1e-6)


def test_effective_size_is_one_observation_per_cluster_when_all_agree():
    assert found(1.0, 0.0, 12).effective_size().tolist() == [12]


def test_effective_size_falls_with_the_spread_between_clusters():
    sizes = found([0.5, 0.5], np.array([0.25 / 160, 0.25 / 40]), 40).effective_size()
    assert sizes == pytest.approx([160, 40])


def test_clusters_that_happen_to_agree_do_not_multiply_the_observations():
    assert found(0.5, 1e-12, 2, 80).effective_size().tolist() == [80]


def test_all_right_still_has_a_lower_end_below_one():
    low, high = cluster_interval(found(1.0, 0.0, 50), np.ones((1, 100)))
    assert 0.9 < low[0] < 0.95  # the rule of three gives .94
    assert high[0] == 1


def test_a_single_cluster_has_no_interval():
    low, high = cluster_interval(found(0.5, np.nan, 1), np.full((1, 10), 0.5))
    assert np.isnan(low[0])
    assert np.isnan(high[0])


@pytest.mark.parametrize("clusters", [9, 90])
def test_the_interval_always_holds_the_estimate(clusters):
    rng = np.random.default_rng(0)
    estimate = rng.random(50)
    low, high = cluster_interval(found(estimate, 1e-4, clusters), rng.random((50, 30)))
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


@pytest.mark.parametrize("count", [1, 2, 40, 41, 1000])
def test_percentiles_without_gaps_equal_numpy(count):
    values = np.random.default_rng(count).random((7, count))
    low, high = percentiles(values)
    assert low == pytest.approx(np.percentile(values, 2.5, axis=1))
    assert high == pytest.approx(np.percentile(values, 97.5, axis=1))
    assert percentiles(values[0])[0] == pytest.approx(low[0])
