"""Other estimators of f_G: they keep the mean, rise where they should, and agree where the truth is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from metassay.meta.dependence.curves import (
    ESTIMATORS,
    binned_means,
    deviations_by_estimator,
    monotone_spline,
)
from metassay.meta.dependence.deviations import expected_deviations
from metassay.meta.dependence.scored_outputs import cells_of


@pytest.fixture
def cells():
    rng = np.random.default_rng(0)
    metric = rng.normal(size=(4, 500)) + np.linspace(-1, 1, 4)[:, None]
    human = np.tanh(metric) + 0.3 * rng.normal(size=metric.shape)
    return cells_of(human, metric, weights=rng.exponential(size=500))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_keeps_the_mean_and_finds_the_function(cells, name):
    fitted = ESTIMATORS[name](cells)
    assert np.average(fitted, weights=cells.weight) == pytest.approx(
        np.average(cells.human, weights=cells.weight), abs=1e-9
    )
    assert np.sqrt(np.mean((fitted - np.tanh(cells.metric)) ** 2)) < 0.08


def test_the_spline_rises_even_where_the_data_fall():
    rng = np.random.default_rng(1)
    metric = rng.normal(size=(2, 300))
    falling = cells_of(-metric + 0.1 * rng.normal(size=metric.shape), metric)
    fitted = monotone_spline(falling)
    np.testing.assert_allclose(fitted, falling.human.mean(), atol=1e-8)


def test_a_spline_that_can_be_exact_is(cells):
    straight = cells.with_metric(cells.metric)
    line = cells_of((2 * straight.metric + 1).reshape(4, -1), straight.metric.reshape(4, -1))
    np.testing.assert_allclose(monotone_spline(line), line.human, atol=1e-8)


def test_equal_scores_share_a_bin_and_as_many_bins_as_scores_reproduce_their_means():
    metric = np.array([[0.0, 0, 1, 1], [0, 1, 2, 2]])
    human = np.array([[1.0, 2, 3, 4], [6, 8, 0, 1]])
    expected = [[3, 3, 5, 5], [3, 5, 0.5, 0.5]]
    np.testing.assert_allclose(binned_means(cells_of(human, metric), bins=50).reshape(2, 4), expected)


@pytest.mark.parametrize("name", ["binned", "spline"])
def test_a_constant_metric_is_the_same_to_all(name):
    human = np.random.default_rng(2).normal(size=(3, 20))
    np.testing.assert_allclose(ESTIMATORS[name](cells_of(human, np.ones((3, 20)))), human.mean(), atol=1e-9)


def test_the_published_estimator_is_among_them(cells):
    np.testing.assert_allclose(
        deviations_by_estimator(cells)["isotonic"], expected_deviations(cells), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("pair", ["en-de", "he-en", "zh-en"])
def test_the_order_of_wmt23_metrics_by_sysdep_is_not_an_artefact_of_isotonic_regression(real_data, pair):
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{pair}_metrics.parquet")).sort("system", "seg_id")
    shape = (table["system"].n_unique(), -1)
    human = table["mqm"].to_numpy().reshape(shape)
    sysdep = {name: [] for name in ESTIMATORS}
    for column in table.columns[4::3]:
        found = deviations_by_estimator(cells_of(human, table[column].to_numpy().reshape(shape)))
        for name, deviations in found.items():
            sysdep[name].append(np.ptp(deviations))
    assert spearmanr(sysdep["isotonic"], sysdep["binned"]).statistic > 0.95
    assert spearmanr(sysdep["isotonic"], sysdep["spline"]).statistic > 0.95
