"""Cluster weights: their distribution, their independence of how work is divided, and what they estimate."""

import numpy as np
import pytest
from scipy.stats import poisson

from metassay.stats.bootstrap import ClusterBootstrap, ClusterHalves


def made(seed=0, resamples=1000):
    return ClusterBootstrap(np.random.default_rng(seed), resamples)


def test_weights_follow_a_poisson_distribution_with_mean_one():
    weights = made().weights(np.arange(500, dtype=np.int32))
    shares = np.bincount(weights.astype(int).ravel()) / weights.size
    assert shares[:5] == pytest.approx(poisson.pmf(np.arange(5), 1), abs=0.003)
    assert weights.mean() == pytest.approx(1, abs=0.005)


def test_clusters_and_resamples_are_independent():
    weights = made().weights(np.arange(300, dtype=np.int32))
    for table in (weights, weights.T):
        correlation = np.corrcoef(table[:200])[np.triu_indices(200, 1)]
        assert abs(correlation.mean()) < 0.005
        assert correlation.std() == pytest.approx(1 / np.sqrt(table.shape[1]), rel=0.05)


def test_a_cluster_has_the_same_weights_wherever_it_appears():
    bootstrap = made()
    everything = bootstrap.weights(np.arange(50, dtype=np.int32))
    some = bootstrap.weights(np.array([7, 3, 7], dtype=np.int32))
    assert (some == everything[[7, 3, 7]]).all()


def test_more_resamples_do_not_change_the_first_ones():
    clusters = np.arange(20, dtype=np.int32)
    assert (made(resamples=1000).weights(clusters)[:, :10] == made(resamples=10).weights(clusters)).all()


def test_ratios_are_the_weighted_ratios():
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 900, 3000).astype(np.int32)
    numerator, denominator = rng.random((3, 3000)), rng.random((3, 3000))
    bootstrap = made(resamples=25)
    weights = bootstrap.weights(clusters)
    expected = (numerator @ weights) / (denominator @ weights)
    assert bootstrap.ratios(numerator, denominator, clusters) == pytest.approx(expected)
    shared = (numerator @ weights) / (denominator[:1] @ weights)
    assert bootstrap.ratios(numerator, denominator[:1], clusters) == pytest.approx(shared)


def test_a_resample_without_weight_is_undefined():
    bootstrap = made(resamples=200)
    clusters = np.array([4], dtype=np.int32)
    ratios = bootstrap.ratios(np.array([[0.5]]), np.array([[1.0]]), clusters)
    empty = bootstrap.weights(clusters)[0] == 0
    assert np.isnan(ratios[0, empty]).all()
    assert (ratios[0, ~empty] == 0.5).all()
    assert 0.25 < empty.mean() < 0.5  # e^-1


def test_spread_of_the_mean_is_the_standard_error():
    values = np.random.default_rng(2).normal(size=(1, 400))
    draws = made(resamples=4000).ratios(values, np.ones((1, 400)), np.arange(400, dtype=np.int32))
    assert draws.std() == pytest.approx(values.std() / 20, rel=0.06)


def test_halves_split_every_cluster_to_one_side():
    rng = np.random.default_rng(3)
    halves = ClusterHalves(rng, 50)
    clusters = np.repeat(np.arange(40, dtype=np.int32), 2)
    values, sizes = rng.random((2, 80)), np.ones((1, 80))
    side = halves.weights(clusters)
    assert set(np.unique(side)) == {0.0, 1.0}
    assert (side[::2] == side[1::2]).all()
    here, there = halves.halves(values, sizes, clusters)
    assert here == pytest.approx((values @ side) / side.sum(axis=0))
    assert there == pytest.approx((values @ (1 - side)) / (1 - side).sum(axis=0))
