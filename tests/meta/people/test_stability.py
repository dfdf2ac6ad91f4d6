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
    values = meta_metric.evaluate_on_system_subsets(scores, subsets)
    assert values is not None
    for position, systems in enumerate(subsets):
        smaller = scores.select_items_and_systems(systems=systems)
        np.testing.assert_allclose(values[:, position], meta_metric.evaluate_metrics(smaller), atol=1e-12)


def test_correlation_with_all_systems_grows_with_the_number_of_systems(scores: ScoreArrays) -> None:
    rows = measure_stability_over_systems("set", [parse_meta_metric("spa")], scores, trials=200)
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


def test_meta_metrics_are_compared_on_the_same_subsets() -> None:
    """PA is equal for all metrics on most subsets of three systems; these count for no meta-metric."""
    rng = np.random.default_rng(1)
    human = np.arange(5.0)[:, None] + rng.normal(size=(5, 50))
    metrics = np.stack([human, human, human[[0, 1, 2, 4, 3]]])  # the last one orders one pair wrongly
    metrics = metrics + rng.normal(size=metrics.shape)
    both = [parse_meta_metric("pa"), parse_meta_metric("spa")]
    rows = measure_stability_over_systems("set", both, ScoreArrays(human, metrics))
    # of the 10 subsets of three systems, 3 contain the pair; of the 5 subsets of four, 3
    assert [(row.meta_metric, row.systems, row.trials) for row in rows] == [
        *[("pa", 3, 3), ("spa", 3, 3), ("pa", 4, 3), ("spa", 4, 3)],
    ]
    alone = measure_stability_over_systems("set", both[1:], ScoreArrays(human, metrics))
    assert [row.trials for row in alone] == [10, 5]


@pytest.mark.parametrize(
    ("language_pair", "reference"), [("en-de", "refA"), ("he-en", "refB"), ("zh-en", "refA")]
)
def test_spa_is_more_stable_than_pa_on_wmt23(
    real_data: Callable[[str], Path], language_pair: str, reference: str
) -> None:
    """Figure 2 of the paper: SPA is above PA at every number of systems."""
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{language_pair}_metrics.parquet")).sort(
        "system", "seg_id"
    )
    names = [name for name in table.columns if name.endswith(f"-{reference}")]
    systems = table["system"].n_unique()
    human, *metrics = (table[name].to_numpy().reshape(systems, -1) for name in ["mqm", *names])
    scores = ScoreArrays(human, np.stack(metrics))
    meta_metrics = [parse_meta_metric("pa"), parse_meta_metric("spa")]
    rows = measure_stability_over_systems(language_pair, meta_metrics, scores, trials=1500)
    correlations = {(row.meta_metric, row.systems): row.correlation for row in rows}
    for size in (3, 4):
        pa, spa = correlations["pa", size], correlations["spa", size]
        assert pa is not None
        assert spa is not None
        assert spa > pa
