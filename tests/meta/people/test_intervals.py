"""Bootstrap of meta-metrics against drawing the columns themselves."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.intervals import (
    evaluate_meta_metric_on_bootstrap_resamples,
)
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.stats.intervals import percentile_interval_or_nan


@pytest.fixture
def scores() -> ScoreArrays:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(5, 1)) + rng.normal(size=(5, 24))
    return ScoreArrays(human, human + rng.normal(size=(3, 5, 24)))


@pytest.mark.parametrize(
    "name",
    ["spa", "pa", "pearson", "kendall", "pearson:segment", "pearson:item", "pearson:per_system", "acc_eq"],
)
@pytest.mark.parametrize("clustered", [False, True])
def test_a_resample_equals_repeating_the_drawn_segments(
    scores: ScoreArrays, name: str, clustered: bool
) -> None:
    meta_metric = parse_meta_metric(name)
    clusters = np.arange(24) // 3 if clustered else None
    scores = ScoreArrays(scores.human, scores.metrics, clusters)
    size = 24 if clusters is None else 8
    weights = np.random.default_rng(1).multinomial(size, np.full(size, 1 / size), size=7)
    evaluate_with_cluster_weights = meta_metric.build_resampling_function(scores)
    assert evaluate_with_cluster_weights is not None
    values = evaluate_with_cluster_weights(weights.astype(float))
    assert values.shape == (3, 7)
    for draw, counts in enumerate(weights):
        drawn, copies = np.repeat(np.arange(24), counts if clusters is None else counts[clusters]), None
        if clusters is not None:  # each copy of a document is a unit of its own
            drawn = np.concatenate([np.tile(np.arange(3 * u, 3 * u + 3), t) for u, t in enumerate(counts)])
            copies = np.repeat(np.arange(len(drawn) // 3), 3)
        again = ScoreArrays(scores.human[:, drawn], scores.metrics[:, :, drawn], copies)
        if name == "acc_eq":  # epsilon stays that of all items
            continue
        np.testing.assert_allclose(values[:, draw], meta_metric.evaluate_metrics(again), atol=1e-9)


def test_the_interval_of_a_mean_over_items_is_the_textbook_one(scores: ScoreArrays) -> None:
    meta_metric = parse_meta_metric("acc_eq")
    values = evaluate_meta_metric_on_bootstrap_resamples(meta_metric, scores, draws=4000, seed=0)
    assert values is not None
    by_item = meta_metric.evaluate_metrics_by_item(scores)
    low, high = percentile_interval_or_nan(values)
    error = by_item.std(axis=1) / np.sqrt(24)
    np.testing.assert_allclose(low, by_item.mean(axis=1) - 1.96 * error, atol=0.012)
    np.testing.assert_allclose(high, by_item.mean(axis=1) + 1.96 * error, atol=0.012)


def test_kendall_over_all_cells_has_no_bootstrap(scores: ScoreArrays) -> None:
    meta_metric = parse_meta_metric("kendall:segment")
    assert evaluate_meta_metric_on_bootstrap_resamples(meta_metric, scores, draws=5, seed=0) is None
