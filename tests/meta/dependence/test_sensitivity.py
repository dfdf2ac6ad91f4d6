"""Sensitivities: each row is SysDep on what its name says, and noise and numbers move it as they must."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.meta.dependence.curves import (
    by_bootstraps,
    by_number_of_systems,
    by_quality_mix,
    by_sample_size,
    sensitivities,
)
from metassay.meta.dependence.deviations import system_dependence
from metassay.meta.dependence.scored_outputs import cells_of


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    human = rng.normal(size=(8, 200)) + np.linspace(-1, 1, 8)[:, None]
    return human, human + 2 * rng.normal(size=human.shape)


def test_by_quality_is_measuring_those_rows_alone(scores):
    human, metric = scores
    order = np.argsort(-human.mean(axis=1))
    rows = {"better half": order[:4], "worse half": order[4:], "both ends": np.r_[order[:2], order[-2:]]}
    for found in by_quality_mix(cells_of(human, metric)):
        mine = np.sort(rows[found.value])
        alone = system_dependence(human[mine], metric[mine], bootstraps=0)
        assert found.sysdep == pytest.approx(alone.sysdep, abs=1e-12)
        assert found.constant == pytest.approx(np.ptp(human[mine].mean(axis=1)))


def test_by_bootstraps_averages_seeds(scores):
    runs = [system_dependence(*scores, bootstraps=50, seed=seed).sysdep for seed in range(3)]
    (found,) = by_bootstraps(cells_of(*scores), bootstraps=[50])
    assert found.sysdep == pytest.approx(np.mean(runs))
    assert found.sd == pytest.approx(np.std(runs, ddof=1))


def test_fewer_segments_are_noisier_and_all_of_them_are_the_whole(scores):
    found = by_sample_size(cells_of(*scores), np.random.default_rng(0))
    assert found[0].sd > found[2].sd > found[3].sd == 0
    assert found[0].residual_range > found[3].residual_range
    assert found[3].sysdep == system_dependence(*scores, bootstraps=0).sysdep


def test_the_range_grows_with_the_number_of_systems(scores):
    found = by_number_of_systems(cells_of(*scores), np.random.default_rng(0))
    assert [row.value for row in found] == ["3", "4", "6", "8"]
    assert found[0].sysdep < found[-1].sysdep == system_dependence(*scores, bootstraps=0).sysdep


def test_the_whole_table_is_reproducible(scores):
    assert sensitivities(cells_of(*scores), seed=5) == sensitivities(cells_of(*scores), seed=5)
    assert {row.change for row in sensitivities(cells_of(*scores))} == {
        "bootstraps",
        "share of clusters",
        "systems",
        "quality",
    }
