"""Pairwise deletion: the definition pair by pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from ranking_helpers import rank_cubes, to_json_object

from metassay.data.score_cube import ScoreCube
from metassay.meta.pairwise import pairwise_accuracy, soft_pairwise_accuracy
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.meta.people.pairwise_deletion import estimate_human_agreement_with_pairwise_deletion

FUNCTIONS = {"spa": soft_pairwise_accuracy, "pa": pairwise_accuracy}


@pytest.fixture
def scores() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    human, metric = rng.normal(size=(4, 15)), rng.normal(size=(4, 15))
    human[rng.random((4, 15)) < 0.4] = np.nan
    metric[rng.random((4, 15)) < 0.2] = np.nan
    return human, metric


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_pair_of_systems_is_compared_on_the_items_that_both_have(scores, name: str) -> None:
    human, metric = scores
    meta_metric = parse_meta_metric(name)
    estimate = estimate_human_agreement_with_pairwise_deletion(meta_metric, human, metric, draws=50)
    expected = [FUNCTIONS[name](human[[i, j]], metric[[i, j]]) for i, j in combinations(range(4), 2)]
    assert estimate.value == pytest.approx(np.mean(expected), abs=1e-12)
    assert estimate.low <= estimate.high


@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_gaps_the_value_equals_that_of_complete_items(name: str) -> None:
    rng = np.random.default_rng(1)
    human, metric = rng.normal(size=(5, 20)), rng.normal(size=(5, 20))
    estimate = estimate_human_agreement_with_pairwise_deletion(
        parse_meta_metric(name), human, metric, draws=20
    )
    assert estimate.value == pytest.approx(FUNCTIONS[name](human, metric), abs=1e-12)


def test_pairs_without_a_common_item_are_left_out() -> None:
    human = np.array([[1.0, 2.0, np.nan], [0.0, 1.0, np.nan], [np.nan, np.nan, 1.0]])
    estimate = estimate_human_agreement_with_pairwise_deletion(
        parse_meta_metric("pa"), human, human, draws=10
    )
    assert estimate.value == 1.0
    alone = estimate_human_agreement_with_pairwise_deletion(
        parse_meta_metric("pa"), human[[0, 2]], human[[0, 2]], draws=10
    )
    assert np.isnan(alone.value)
    with pytest.raises(ValueError, match="items with scores for all systems"):
        estimate_human_agreement_with_pairwise_deletion(parse_meta_metric("pearson"), human, human)


def test_metrics_are_ranked_where_no_item_is_complete(scores) -> None:
    human, metric = scores
    human[np.arange(4)[:, None] == np.arange(15) % 4] = np.nan  # no segment is rated for all systems
    ids = tuple(map(str, range(4))), tuple(map(str, range(15)))
    table = ScoreCube("x", *ids, {"mqm": human}, {"m": metric, "n": -metric})
    with pytest.raises(ValueError, match="--missing pairwise"):
        rank_cubes([table], settings=ComparisonSettings(draws=20))
    (ranking,) = rank_cubes([table], settings=ComparisonSettings(draws=20), pairwise=True)
    rows = {row["metric"]: row for row in to_json_object(ranking)["metrics"]}
    expected = [
        soft_pairwise_accuracy(human[[i, j]], metric[[i, j]])
        for i, j in combinations(range(4), 2)
        if (~np.isnan((human + metric)[[i, j]])).all(axis=0).any()
    ]
    assert rows["m"]["value"] == pytest.approx(np.mean(expected))
    assert to_json_object(ranking)["comparisons"] == []
