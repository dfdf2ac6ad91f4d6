"""Isotonic regression against scikit-learn, and what follows from its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from metassay.stats.isotonic import (
    fit_isotonic,
    fit_isotonic_to_each_score_row,
    fit_isotonic_to_each_value_row,
    fit_isotonic_to_resamples,
    predict_isotonic,
    refit_isotonic_with_permuted_residuals,
)
from metassay.stats.sorted_scores import sort_scores


def official(x, y, weights, at):
    return IsotonicRegression(out_of_bounds="clip").fit(x, y, sample_weight=weights).predict(at)


@pytest.mark.parametrize("distinct", [3, 20, 10_000])
@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_scikit_learns(seed, distinct):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, distinct, 300) / 7
    y = 0.2 * x + rng.normal(size=300)
    weights = rng.exponential(size=300)
    scores = sort_scores(x)
    at = rng.uniform(x.min() - 1, x.max() + 1, 500)
    ours = predict_isotonic(scores, fit_isotonic(scores, y, weights), at)
    np.testing.assert_allclose(ours, official(x, y, weights, at), rtol=0, atol=1e-9)


def test_values_a_resample_misses_are_interpolated_or_clipped_as_scikit_learn_does():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=200).round(1), rng.normal(size=200)
    weights = rng.integers(0, 2, 200).astype(float)
    weights[np.argsort(x)[[0, 1, -1]]] = 0
    scores = sort_scores(x)
    ours = predict_isotonic(scores, fit_isotonic(scores, y, weights), x)
    np.testing.assert_allclose(ours, official(x, y, weights, x), rtol=0, atol=1e-9)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(-50, 50), st.integers(1, 4)), min_size=1, max_size=40)
)
def test_the_fit_rises_keeps_the_mean_and_leaves_a_rising_series_alone(points):
    x, y, weights = (np.array(column, dtype=float) for column in zip(*points))
    scores = sort_scores(x)
    fitted = fit_isotonic(scores, y, weights)
    assert (np.diff(fitted) >= 0).all()
    at_points = predict_isotonic(scores, fitted, x)
    assert np.average(at_points, weights=weights) == pytest.approx(np.average(y, weights=weights), abs=1e-12)
    np.testing.assert_allclose(fit_isotonic(scores, at_points, weights), fitted, rtol=0, atol=1e-12)


def test_a_resample_is_the_fit_on_repeated_rows():
    rng = np.random.default_rng(2)
    n, clusters = 120, 15
    x, y, weights = rng.integers(0, 40, n) / 3, rng.normal(size=n), rng.exponential(size=n)
    group, cluster = rng.integers(0, 3, n), rng.integers(0, clusters, n)
    counts = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=4).astype(np.uint32)
    original, resampled = fit_isotonic_to_resamples(sort_scores(x), y, weights, group, 3, cluster, counts)
    for b in range(4):
        rows = np.repeat(np.arange(n), counts[b, cluster])
        fit = IsotonicRegression(out_of_bounds="clip").fit(x[rows], y[rows], sample_weight=weights[rows])
        for g in range(3):
            mine, drawn = np.flatnonzero(group == g), rows[group[rows] == g]
            assert original[b, g] == pytest.approx(np.average(fit.predict(x[mine]), weights=weights[mine]))
            assert resampled[b, g] == pytest.approx(np.average(fit.predict(x[drawn]), weights=weights[drawn]))


def test_a_group_that_a_resample_misses_has_no_mean():
    x, y, one = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]), np.ones(3)
    group = cluster = np.array([0, 1, 2])
    counts = np.array([[2, 0, 1], [0, 0, 0]], dtype=np.uint32)
    original, resampled = fit_isotonic_to_resamples(sort_scores(x), y, one, group, 3, cluster, counts)
    np.testing.assert_array_equal(original, [[1.0, 2.5, 4.0], [np.nan] * 3])
    np.testing.assert_array_equal(resampled, [[1.0, np.nan, 4.0], [np.nan] * 3])


def test_group_means_average_the_pooled_fit():
    y = np.array([[0.0, 4.0, 2.0, 6.0], [1.0, 1.0, 1.0, 1.0]])
    means = fit_isotonic_to_each_value_row(
        sort_scores([1.0, 2.0, 3.0, 4.0]), y, np.ones(4), np.array([0, 0, 1, 1]), 2
    )
    np.testing.assert_array_equal(means, [[1.5, 4.5], [1, 1]])


@pytest.mark.parametrize("decimals", [0, 1, 12])
@pytest.mark.parametrize("size", [4, 16, 17, 80, 1000])
def test_fits_on_many_metrics_are_fits_on_each(size, decimals):
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=(5, size)), decimals)
    y = x.mean(axis=0) + rng.normal(size=size)
    weights, group = rng.exponential(size=size), rng.permutation(np.arange(size) % 4)
    means = fit_isotonic_to_each_score_row(x, y, weights, group, 4)
    for row, found in zip(x, means):
        fit = IsotonicRegression(out_of_bounds="clip").fit(row, y, sample_weight=weights).predict(row)
        expected = [np.average(fit[group == g], weights=weights[group == g]) for g in range(4)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("decimals", [0, 1, 12])
@pytest.mark.parametrize("size", [4, 16, 17, 80, 1000])
def test_deviations_of_permuted_residuals_are_those_of_fits_on_the_permuted_values(size, decimals):
    rng = np.random.default_rng(4)
    x = np.round(rng.normal(size=size), decimals)
    fitted, residuals, weights = x / 2, rng.normal(size=size), rng.exponential(size=size)
    group = rng.permutation(np.arange(size) % 4)
    sources = np.stack([rng.permutation(size) for _ in range(3)]).astype(np.int32)
    deviations = refit_isotonic_with_permuted_residuals(
        sort_scores(x), fitted, residuals, sources, weights, group, 4
    )
    for row, row_deviations in zip(sources, deviations):
        y = fitted + residuals[row]
        fit = official(x, y, weights, x)
        expected = [np.average((fit - y)[group == g], weights=weights[group == g]) for g in range(4)]
        np.testing.assert_allclose(row_deviations, expected, rtol=0, atol=1e-9)


def test_weights_that_rounding_loses_do_not_change_a_fit():
    y = np.array([1.0, 3.0, 2.0, 4.0, 1e30])
    weights = np.array([1.0, 1.0, 1.0, 1.0, 1e-30])
    means = fit_isotonic_to_each_score_row(
        np.arange(5.0)[np.newaxis], y, weights, np.array([0, 0, 1, 1, 2]), 3
    )
    np.testing.assert_allclose(means[0, :2], [1.75, 3.25], rtol=0, atol=1e-12)
