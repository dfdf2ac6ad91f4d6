"""Cluster weights: their distribution and what they estimate; intervals: known values, limits, percentiles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binomtest, poisson

from metassay.stats.bootstrap import ClusterBootstrap, ClusterHalves
from metassay.stats.intervals import (
    ClusteredProportions,
    clustered_wilson_interval,
    compute_interval_widening_factor,
    percentile_interval,
    proportion_interval,
    widened_percentile_interval,
)


def made(seed=0, resamples=1000):
    return ClusterBootstrap(np.random.default_rng(seed), resamples)


def test_weights_follow_a_poisson_distribution_with_mean_one():
    weights = made().draw_cluster_weights(np.arange(500, dtype=np.int32))
    shares = np.bincount(weights.astype(int).ravel()) / weights.size
    assert shares[:5] == pytest.approx(poisson.pmf(np.arange(5), 1), abs=0.003)
    assert weights.mean() == pytest.approx(1, abs=0.005)


def test_clusters_and_resamples_are_independent():
    weights = made().draw_cluster_weights(np.arange(300, dtype=np.int32))
    for table in (weights, weights.T):
        correlation = np.corrcoef(table[:200])[np.triu_indices(200, 1)]
        assert abs(correlation.mean()) < 0.005
        assert correlation.std() == pytest.approx(1 / np.sqrt(table.shape[1]), rel=0.05)


def test_a_cluster_has_the_same_weights_wherever_it_appears():
    bootstrap = made()
    everything = bootstrap.draw_cluster_weights(np.arange(50, dtype=np.int32))
    some = bootstrap.draw_cluster_weights(np.array([7, 3, 7], dtype=np.int32))
    assert (some == everything[[7, 3, 7]]).all()


def test_weights_that_another_thread_puts_in_place_meanwhile_do_no_harm():
    """The other one knows fewer clusters, and is done between two looks of this one."""

    class Raced(ClusterBootstrap):
        looks, held = 0, np.empty((0, 5))

        @property
        def _first_weights(self):
            self.looks += 1
            return self.held if self.looks == 1 else self.held[:2]

        @_first_weights.setter
        def _first_weights(self, known):
            self.held = known

    clusters = np.arange(9, dtype=np.int32)
    alone, raced = (kind(np.random.default_rng(1), 5) for kind in (ClusterBootstrap, Raced))
    assert np.array_equal(raced.draw_cluster_weights(clusters), alone.draw_cluster_weights(clusters))


def test_more_resamples_do_not_change_the_first_ones():
    clusters = np.arange(20, dtype=np.int32)
    assert (
        made(resamples=1000).draw_cluster_weights(clusters)[:, :10]
        == made(resamples=10).draw_cluster_weights(clusters)
    ).all()


def test_ratios_are_the_weighted_ratios():
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 900, 3000).astype(np.int32)
    numerator, denominator = rng.random((3, 3000)), rng.random((3, 3000))
    bootstrap = made(resamples=25)
    weights = bootstrap.draw_cluster_weights(clusters)
    expected = (numerator @ weights) / (denominator @ weights)
    assert bootstrap.resample_ratios(numerator, denominator, clusters) == pytest.approx(expected)
    shared = (numerator @ weights) / (denominator[:1] @ weights)
    assert bootstrap.resample_ratios(numerator, denominator[:1], clusters) == pytest.approx(shared)


def test_a_resample_without_weight_is_undefined():
    bootstrap = made(resamples=200)
    clusters = np.array([4], dtype=np.int32)
    ratios = bootstrap.resample_ratios(np.array([[0.5]]), np.array([[1.0]]), clusters)
    empty = bootstrap.draw_cluster_weights(clusters)[0] == 0
    assert np.isnan(ratios[0, empty]).all()
    assert (ratios[0, ~empty] == 0.5).all()
    assert 0.25 < empty.mean() < 0.5  # e^-1


def test_spread_of_the_mean_is_the_standard_error():
    values = np.random.default_rng(2).normal(size=(1, 400))
    draws = made(resamples=4000).resample_ratios(values, np.ones((1, 400)), np.arange(400, dtype=np.int32))
    assert draws.std() == pytest.approx(values.std() / 20, rel=0.06)


def test_halves_split_every_cluster_to_one_side():
    rng = np.random.default_rng(3)
    halves = ClusterHalves(rng, 50)
    clusters = np.repeat(np.arange(40, dtype=np.int32), 2)
    values, sizes = rng.random((2, 80)), np.ones((1, 80))
    side = halves.draw_cluster_weights(clusters)
    assert set(np.unique(side)) == {0.0, 1.0}
    assert (side[::2] == side[1::2]).all()
    here, there = halves.compute_ratios_in_random_halves(values, sizes, clusters)
    assert here == pytest.approx((values @ side) / side.sum(axis=0))
    assert there == pytest.approx((values @ (1 - side)) / (1 - side).sum(axis=0))


def found(estimate, variance, clusters, observations=10**9):
    estimate = np.atleast_1d(np.asarray(estimate, dtype=float))
    columns = (np.broadcast_to(column, estimate.shape) for column in (variance, clusters, observations))
    return ClusteredProportions(estimate, *columns)


def test_wilson_equals_scipy_for_independent_observations():
    n = 10**7  # so many that Student's t is the normal quantile
    for hits in (n // 50, n // 2, n - n // 50):
        share = hits / n
        expected = binomtest(hits, n).proportion_ci(method="wilson")
        low, high = clustered_wilson_interval(found(share, share * (1 - share) / n, n))
        assert low[0] == pytest.approx(expected.low, rel=1e-6)
        assert high[0] == pytest.approx(expected.high, rel=1e-6)


def test_effective_size_is_one_observation_per_cluster_when_all_agree():
    assert found(1.0, 0.0, 12).effective_sample_size().tolist() == [12]


def test_effective_size_falls_with_the_spread_between_clusters():
    sizes = found([0.5, 0.5], np.array([0.25 / 160, 0.25 / 40]), 40).effective_sample_size()
    assert sizes == pytest.approx([160, 40])


def test_clusters_that_happen_to_agree_do_not_multiply_the_observations():
    assert found(0.5, 1e-12, 2, 80).effective_sample_size().tolist() == [80]


def test_all_right_still_has_a_lower_end_below_one():
    low, high = proportion_interval(found(1.0, 0.0, 50), np.ones((1, 100)))
    assert 0.9 < low[0] < 0.95  # the rule of three gives .94
    assert high[0] == 1


def test_a_single_cluster_has_no_interval():
    low, high = proportion_interval(found(0.5, np.nan, 1), np.full((1, 10), 0.5))
    assert np.isnan(low[0])
    assert np.isnan(high[0])


@pytest.mark.parametrize("clusters", [9, 90])
def test_the_interval_always_holds_the_estimate(clusters):
    rng = np.random.default_rng(0)
    estimate = rng.random(50)
    low, high = proportion_interval(found(estimate, 1e-4, clusters), rng.random((50, 30)))
    assert (low <= estimate).all()
    assert (high >= estimate).all()
    assert (low >= 0).all()
    assert (high <= 1).all()


def test_percentiles_leave_out_what_is_undefined():
    rng = np.random.default_rng(1)
    values = rng.random((20, 101))
    values[rng.random(values.shape) < 0.2] = np.nan
    low, high = percentile_interval(values)
    assert low == pytest.approx(np.nanpercentile(values, 2.5, axis=1))
    assert high == pytest.approx(np.nanpercentile(values, 97.5, axis=1))
    assert np.isnan(percentile_interval(np.full((1, 5), np.nan))[0][0])


@pytest.mark.parametrize("count", [1, 2, 40, 41, 1000])
def test_percentiles_without_gaps_equal_numpy(count):
    values = np.random.default_rng(count).random((7, count))
    low, high = percentile_interval(values)
    assert low == pytest.approx(np.percentile(values, 2.5, axis=1))
    assert high == pytest.approx(np.percentile(values, 97.5, axis=1))
    assert percentile_interval(values[0])[0] == pytest.approx(low[0])


def test_few_clusters_stretch_by_student_over_normal():
    assert compute_interval_widening_factor(np.array([2, 5, 30])) == pytest.approx(
        [12.7062 / 1.959964, 2.776445 / 1.959964, 2.04523 / 1.959964], rel=1e-5
    )  # two-sided 5 % points of t with 1, 4 and 29 degrees of freedom, from a table


def test_percentiles_are_widened_about_the_estimate():
    """Resamples from .40 to .60 about .50, four degrees of freedom: 1.4166 times as far on either side."""
    draws = np.linspace(0.4, 0.6, 2001)[None]
    low, high = widened_percentile_interval(np.array([0.5]), draws, np.array([5]))
    assert (low[0], high[0]) == pytest.approx((0.5 - 0.095 * 1.41658, 0.5 + 0.095 * 1.41658), rel=1e-4)
    low, high = widened_percentile_interval(np.array([0.55]), draws, np.array([5]))
    assert (low[0], high[0]) == pytest.approx((0.55 - 0.145 * 1.41658, 0.55 + 0.045 * 1.41658), rel=1e-4)


@pytest.mark.parametrize(
    ("estimate", "size", "clusters", "by_score"),
    [
        (0.5, 100, 20, False),
        (0.5, 100, 19, True),  # their resamples are too coarse
        (0.3, 100, 50, False),  # thirty errors
        (0.29, 100, 50, True),  # 29 right ones
        (0.71, 100, 50, True),  # 29 errors
    ],
)
def test_wilson_stands_in_where_clusters_or_errors_are_few(estimate, size, clusters, by_score):
    data = found(estimate, estimate * (1 - estimate) / size, clusters)
    draws = np.linspace(estimate - 0.3, estimate + 0.2, 401)[None]  # nothing like a score interval
    ends = proportion_interval(data, draws)
    expected = (
        clustered_wilson_interval(data)
        if by_score
        else widened_percentile_interval(data.estimate, draws, data.clusters)
    )
    assert [end[0] for end in ends] == pytest.approx([end[0] for end in expected])


def test_wilson_takes_student_s_quantile_for_few_clusters():
    """By hand for 5 of 10 with t = 2.776: centre .5, half √(.025 + t² / 400) · t / (1 + t² / 10)."""
    t = 2.776445
    half = t / (1 + t**2 / 10) * np.sqrt(0.025 + t**2 / 400)
    low, high = clustered_wilson_interval(found(0.5, 0.025, 5))
    assert (low[0], high[0]) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-5)


def test_the_factor_for_small_samples_is_scipys_for_any_number_of_clusters() -> None:
    for clusters in (2, 20, 501, 502, 1_000, 10**6):
        expected = stats.t.ppf(0.975, clusters - 1) / stats.norm.ppf(0.975)
        assert compute_interval_widening_factor(np.array(clusters)) == pytest.approx(expected, rel=1e-12)
