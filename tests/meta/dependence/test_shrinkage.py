"""Shrinkage and residual, SysDep of a constant metric, and SysDep without single systems."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import linregress

from metassay.meta.dependence.deviations import measure_how_much_groups_are_overrated, system_dependence
from metassay.meta.dependence.scored_outputs import build_scored_outputs
from metassay.meta.dependence.shrinkage import (
    compute_bias_of_constant_metric,
    compute_metric_bias_leaving_out_each_system,
    separate_regression_to_mean,
)


def test_shrinkage_is_the_regression_of_deviations_on_human_means():
    rng = np.random.default_rng(0)
    deviations = rng.normal(size=9)
    human_means = rng.normal(size=9)
    parts = separate_regression_to_mean(deviations, human_means)
    line = linregress(human_means, deviations)
    fitted = line.intercept + line.slope * human_means
    np.testing.assert_allclose(parts.shrinkage, fitted, atol=1e-12)
    np.testing.assert_allclose(parts.shrinkage + parts.residual, deviations, atol=1e-15)
    assert parts.slope == pytest.approx(line.slope)
    assert parts.residual_range == pytest.approx(np.ptp(deviations - fitted))


def test_systems_with_equal_human_means_have_no_shrinkage():
    parts = separate_regression_to_mean(np.array([1.0, -1.0, 0.0]), np.full(3, 2.0))
    np.testing.assert_array_equal(parts.shrinkage, np.zeros(3))
    assert parts.residual_range == 2


def test_deviations_of_a_constant_metric_are_shrinkage_only():
    rng = np.random.default_rng(1)
    outputs = build_scored_outputs(rng.normal(size=(6, 40)), np.zeros((6, 40)))
    parts = separate_regression_to_mean(
        measure_how_much_groups_are_overrated(outputs), outputs.human_means_of_groups
    )
    assert parts.slope == pytest.approx(-1)
    assert parts.residual_range == pytest.approx(0, abs=1e-12)
    assert compute_bias_of_constant_metric(outputs) == pytest.approx(np.ptp(outputs.human_means_of_groups))


def test_sysdep_without_a_system_equals_that_of_the_other_rows():
    rng = np.random.default_rng(2)
    human = rng.normal(size=(4, 50)) + np.arange(4)[:, None]
    metric = human + rng.normal(size=(4, 50))
    sysdep = compute_metric_bias_leaving_out_each_system(build_scored_outputs(human, metric))
    for system in range(4):
        others = np.delete(np.arange(4), system)
        assert sysdep[system] == system_dependence(human[others], metric[others], bootstraps=0).sysdep


def test_sysdep_without_one_of_two_systems_is_undefined():
    assert np.isnan(
        compute_metric_bias_leaving_out_each_system(build_scored_outputs(np.eye(2), np.eye(2)))
    ).all()


def test_residual_range_orders_bleu_and_xcomet_differently_from_sysdep(real_data):
    table = pl.read_parquet(real_data("wmt23/wmt23_en-de_metrics.parquet")).sort("system", "seg_id")
    human = table["mqm"].to_numpy().reshape(12, -1)
    ranges = {}
    for name in ("XCOMET-Ensemble-refA", "BLEU-refA"):
        outputs = build_scored_outputs(human, table[name].to_numpy().reshape(12, -1))
        ranges[name] = separate_regression_to_mean(
            measure_how_much_groups_are_overrated(outputs), outputs.human_means_of_groups
        ).residual_range
    assert round(ranges["XCOMET-Ensemble-refA"], 1) == 2.0
    assert round(ranges["BLEU-refA"], 1) == 0.9


@pytest.mark.parametrize("pair", ["en-de", "he-en", "zh-en"])
@pytest.mark.parametrize("metric", ["BLEU", "chrF", "COMET", "BLEURT-20"])
def test_deviations_of_common_metrics_correlate_with_human_means(real_data, pair, metric):
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{pair}_metrics.parquet")).sort("system", "seg_id")
    shape = (table["system"].n_unique(), -1)
    name = next(column for column in table.columns if column.rpartition("-")[0] == metric)
    outputs = build_scored_outputs(
        table["mqm"].to_numpy().reshape(shape), table[name].to_numpy().reshape(shape)
    )
    correlation = np.corrcoef(measure_how_much_groups_are_overrated(outputs), outputs.human_means_of_groups)[
        0, 1
    ]
    assert round(correlation, 2) <= -0.94
