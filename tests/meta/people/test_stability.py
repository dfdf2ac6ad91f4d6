"""How rankings of metrics change with fewer systems and items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.meta.people.stability import measure_stability_over_items, measure_stability_over_systems


@pytest.fixture
def scores() -> ScoreArrays:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(7, 1)) * 0.5 + rng.normal(size=(7, 120))
    noise = np.array([0.5, 1.0, 2.0, 8.0])[:, None, None]
    return ScoreArrays(human, human + noise * rng.normal(size=(4, 7, 120)))


@pytest.mark.parametrize("name", ["spa", "pa", "pearson", "kendall"])
def test_values_on_system_subsets_equal_values_of_the_smaller_arrays(scores: ScoreArrays, name: str) -> None:
    meta_metric = parse_meta_metric(name)
    subsets = np.array([[0, 2, 5, 6], [1, 2, 3, 4]])
    values = meta_metric.compute_on_system_subsets(scores, subsets)
    assert values is not None
    for position, systems in enumerate(subsets):
        smaller = scores.restrict_to(systems=systems)
        np.testing.assert_allclose(values[:, position], meta_metric.compute(smaller), atol=1e-12)


def test_correlation_with_all_systems_grows_with_the_number_of_systems(scores: ScoreArrays) -> None:
    rows = measure_stability_over_systems("set", parse_meta_metric("spa"), scores, trials=200)
    assert [row.systems for row in rows] == [3, 4, 5, 6]
    correlations = [row.correlation for row in rows if row.correlation is not None]
    assert len(correlations) == len(rows)
    assert correlations[-1] > correlations[0]
    assert all(-1 <= correlation <= 1 for correlation in correlations)


def test_intervals_shrink_with_the_number_of_items(scores: ScoreArrays) -> None:
    rows = measure_stability_over_items("set", parse_meta_metric("pearson"), scores, "abcd", trials=200)
    widths = [row.high - row.low for row in rows if row.metric == "b" and row.high and row.low]
    assert len(widths) == 7
    assert widths[-1] < widths[0]


def test_spa_is_more_stable_than_pa_on_wmt23(real_data: Callable[[str], Path]) -> None:
    """Figure 2 of the paper, en-de: SPA lies above PA at every number of systems."""
    table = pl.read_parquet(real_data("wmt23/wmt23_en-de_metrics.parquet")).sort("system", "seg_id")
    names = [name for name in table.columns if name.endswith("-refA")]
    human, *metrics = (table[name].to_numpy().reshape(12, -1) for name in ["mqm", *names])
    scores = ScoreArrays(human, np.stack(metrics))
    spa = measure_stability_over_systems("en-de", parse_meta_metric("spa"), scores, trials=300)
    pa = measure_stability_over_systems("en-de", parse_meta_metric("pa"), scores, trials=300)
    for spa_row, pa_row in zip(spa, pa, strict=True):
        assert spa_row.correlation is not None
        assert pa_row.correlation is not None
        assert spa_row.correlation > pa_row.correlation
