"""Estimators of f_G keep the mean, are non-decreasing, and find a known function."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from metassay.meta.dependence.deviations import measure_how_much_groups_are_overrated
from metassay.meta.dependence.estimators import (
    ESTIMATORS,
    measure_overrating_by_each_method,
    predict_human_scores_by_binned_means,
    predict_human_scores_by_monotone_spline,
)
from metassay.meta.dependence.scored_outputs import build_scored_outputs


@pytest.fixture
def outputs():
    rng = np.random.default_rng(0)
    metric = rng.normal(size=(4, 500)) + np.linspace(-1, 1, 4)[:, None]
    human = np.tanh(metric) + 0.3 * rng.normal(size=metric.shape)
    return build_scored_outputs(human, metric, weights=rng.exponential(size=500))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_keeps_the_mean_and_finds_the_true_function(outputs, name):
    fitted = ESTIMATORS[name](outputs)
    assert np.average(fitted, weights=outputs.weights) == pytest.approx(
        np.average(outputs.human_scores, weights=outputs.weights), abs=1e-9
    )
    assert np.sqrt(np.mean((fitted - np.tanh(outputs.metric_scores)) ** 2)) < 0.08


def test_spline_of_decreasing_data_is_constant():
    rng = np.random.default_rng(1)
    metric = rng.normal(size=(2, 300))
    falling = build_scored_outputs(-metric + 0.1 * rng.normal(size=metric.shape), metric)
    fitted = predict_human_scores_by_monotone_spline(falling)
    np.testing.assert_allclose(fitted, falling.human_scores.mean(), atol=1e-8)


def test_spline_fits_a_line_exactly(outputs):
    metric = outputs.metric_scores.reshape(4, -1)
    line = build_scored_outputs(2 * metric + 1, metric)
    np.testing.assert_allclose(predict_human_scores_by_monotone_spline(line), line.human_scores, atol=1e-8)


def test_equal_scores_are_in_one_bin():
    metric = np.array([[0.0, 0, 1, 1], [0, 1, 2, 2]])
    human = np.array([[1.0, 2, 3, 4], [6, 8, 0, 1]])
    expected = [[3, 3, 5, 5], [3, 5, 0.5, 0.5]]
    np.testing.assert_allclose(
        predict_human_scores_by_binned_means(build_scored_outputs(human, metric), bins=50).reshape(2, 4),
        expected,
    )


@pytest.mark.parametrize("name", ["binned", "spline"])
def test_constant_metric_predicts_the_mean_for_every_output(name):
    human = np.random.default_rng(2).normal(size=(3, 20))
    fitted = ESTIMATORS[name](build_scored_outputs(human, np.ones((3, 20))))
    np.testing.assert_allclose(fitted, human.mean(), atol=1e-9)


def test_isotonic_estimator_gives_the_expected_deviations(outputs):
    np.testing.assert_allclose(
        measure_overrating_by_each_method(outputs)["isotonic"],
        measure_how_much_groups_are_overrated(outputs),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("pair", ["en-de", "he-en", "zh-en"])
def test_estimators_agree_on_the_order_of_wmt23_metrics_by_sysdep(real_data, pair):
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{pair}_metrics.parquet")).sort("system", "seg_id")
    shape = (table["system"].n_unique(), -1)
    human = table["mqm"].to_numpy().reshape(shape)
    sysdep = {name: [] for name in ESTIMATORS}
    for column in table.columns[4::3]:
        outputs = build_scored_outputs(human, table[column].to_numpy().reshape(shape))
        for name, deviations in measure_overrating_by_each_method(outputs).items():
            sysdep[name].append(np.ptp(deviations))
    assert spearmanr(sysdep["isotonic"], sysdep["binned"]).statistic > 0.95
    assert spearmanr(sysdep["isotonic"], sysdep["spline"]).statistic > 0.95
