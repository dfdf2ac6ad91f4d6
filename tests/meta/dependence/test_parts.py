"""Shrinkage and residual, the constant metric, and leaving systems out."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import linregress

from metassay.meta.dependence.deviations import (
    constant_sysdep,
    expected_deviations,
    leave_one_out,
    split_deviations,
    system_dependence,
)
from metassay.meta.dependence.scored_outputs import cells_of


def test_the_split_is_the_regression_of_deviations_on_human_means():
    rng = np.random.default_rng(0)
    deviations, means = rng.normal(size=9), rng.normal(size=9)
    split = split_deviations(deviations, means)
    line = linregress(means, deviations)
    np.testing.assert_allclose(split.shrinkage, line.intercept + line.slope * means, atol=1e-12)
    np.testing.assert_allclose(split.shrinkage + split.residual, deviations, atol=1e-15)
    assert split.slope == pytest.approx(line.slope)
    assert split.residual_range == pytest.approx(np.ptp(deviations - line.intercept - line.slope * means))


def test_equal_human_means_leave_nothing_to_shrink():
    split = split_deviations(np.array([1.0, -1.0, 0.0]), np.full(3, 2.0))
    np.testing.assert_array_equal(split.shrinkage, np.zeros(3))
    assert split.residual_range == 2


def test_a_constant_metric_is_all_shrinkage():
    rng = np.random.default_rng(1)
    cells = cells_of(rng.normal(size=(6, 40)), np.zeros((6, 40)))
    split = split_deviations(expected_deviations(cells), cells.human_means)
    assert split.slope == pytest.approx(-1)
    assert split.residual_range == pytest.approx(0, abs=1e-12)
    assert constant_sysdep(cells) == pytest.approx(np.ptp(cells.human_means))


def test_leaving_a_system_out_is_measuring_without_its_row():
    rng = np.random.default_rng(2)
    human = rng.normal(size=(4, 50)) + np.arange(4)[:, None]
    metric = human + rng.normal(size=(4, 50))
    for k, sysdep in enumerate(leave_one_out(cells_of(human, metric))):
        rest = np.delete(np.arange(4), k)
        assert sysdep == system_dependence(human[rest], metric[rest], bootstraps=0).sysdep


def test_two_systems_cannot_spare_one():
    assert np.isnan(leave_one_out(cells_of(np.eye(2), np.eye(2)))).all()


def test_after_shrinkage_the_order_of_bleu_and_xcomet_is_reversed(real_data):
    table = pl.read_parquet(real_data("wmt23/wmt23_en-de_metrics.parquet")).sort("system", "seg_id")
    human = table["mqm"].to_numpy().reshape(12, -1)
    ranges = {}
    for name in ("XCOMET-Ensemble-refA", "BLEU-refA"):
        cells = cells_of(human, table[name].to_numpy().reshape(12, -1))
        ranges[name] = split_deviations(expected_deviations(cells), cells.human_means).residual_range
    assert round(ranges["XCOMET-Ensemble-refA"], 1) == 2.0
    assert round(ranges["BLEU-refA"], 1) == 0.9


@pytest.mark.parametrize("pair", ["en-de", "he-en", "zh-en"])
@pytest.mark.parametrize("metric", ["BLEU", "chrF", "COMET", "BLEURT-20"])
def test_deviations_of_common_metrics_follow_the_human_means(real_data, pair, metric):
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{pair}_metrics.parquet")).sort("system", "seg_id")
    shape = (table["system"].n_unique(), -1)
    name = next(column for column in table.columns if column.rpartition("-")[0] == metric)
    cells = cells_of(table["mqm"].to_numpy().reshape(shape), table[name].to_numpy().reshape(shape))
    correlation = np.corrcoef(expected_deviations(cells), cells.human_means)[0, 1]
    assert round(correlation, 2) <= -0.94
