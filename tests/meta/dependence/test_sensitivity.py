"""Sensitivity of SysDep: each row equals a separate measurement on the data that it names."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.meta.dependence.deviations import system_dependence
from metassay.meta.dependence.scored_outputs import build_scored_outputs
from metassay.meta.dependence.sensitivity import (
    measure_metric_bias_by_number_of_resamples,
    measure_metric_bias_by_number_of_systems,
    measure_metric_bias_by_quality_of_systems,
    measure_metric_bias_by_sample_size,
    measure_metric_bias_under_changed_settings,
)


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    human = rng.normal(size=(8, 200)) + np.linspace(-1, 1, 8)[:, None]
    return human, human + 2 * rng.normal(size=human.shape)


@pytest.fixture
def outputs(scores):
    return build_scored_outputs(*scores)


def test_quality_rows_equal_measurements_of_these_systems(scores, outputs):
    human, metric = scores
    order = np.argsort(-human.mean(axis=1))
    systems = {"better half": order[:4], "worse half": order[4:], "both ends": np.r_[order[:2], order[-2:]]}
    for row in measure_metric_bias_by_quality_of_systems(outputs):
        selected = np.sort(systems[row.value])
        expected = system_dependence(human[selected], metric[selected], bootstraps=0)
        assert row.sysdep == pytest.approx(expected.sysdep, abs=1e-12)
        assert row.constant == pytest.approx(np.ptp(human[selected].mean(axis=1)))


def test_bootstrap_row_is_the_mean_over_seeds(scores, outputs):
    sysdep = [system_dependence(*scores, bootstraps=50, seed=seed).sysdep for seed in range(3)]
    row = measure_metric_bias_by_number_of_resamples(outputs)[0]
    assert row.sysdep == pytest.approx(np.mean(sysdep))
    assert row.sd == pytest.approx(np.std(sysdep, ddof=1))


def test_sysdep_of_fewer_segments_varies_more(scores, outputs):
    rows = measure_metric_bias_by_sample_size(outputs, np.random.default_rng(0))
    assert rows[0].sd > rows[2].sd > rows[3].sd == 0
    assert rows[0].residual_range > rows[3].residual_range
    assert rows[3].sysdep == system_dependence(*scores, bootstraps=0).sysdep


def test_sysdep_grows_with_the_number_of_systems(scores, outputs):
    rows = measure_metric_bias_by_number_of_systems(outputs, np.random.default_rng(0))
    assert [row.value for row in rows] == ["3", "4", "6", "8"]
    assert rows[0].sysdep < rows[-1].sysdep == system_dependence(*scores, bootstraps=0).sysdep


def test_sensitivity_is_reproducible_and_has_all_changes(outputs):
    rows = measure_metric_bias_under_changed_settings(outputs, seed=5)
    assert rows == measure_metric_bias_under_changed_settings(outputs, seed=5)
    assert {row.change for row in rows} == {"bootstraps", "share of clusters", "systems", "quality"}
