"""How many items separate two systems or two metrics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.meta.people.power import (
    count_items_needed_to_separate_metrics,
    count_items_needed_to_separate_systems,
)


def test_the_required_items_give_the_promised_power_in_a_simulation() -> None:
    rng = np.random.default_rng(2)
    pilot = np.stack([np.zeros(4000), rng.normal(0.25, 1.0, 4000)])
    items = int(count_items_needed_to_separate_systems(pilot)[0])
    assert items == pytest.approx((1.645 + 0.842) ** 2 / 0.25**2, rel=0.15)
    p_values = [
        stats.ttest_1samp(rng.normal(0.25, 1.0, items), 0, alternative="greater").pvalue for _ in range(800)
    ]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.8, abs=0.06)


def test_systems_with_equal_means_cannot_be_separated() -> None:
    assert np.isinf(count_items_needed_to_separate_systems(np.ones((2, 5)))[0])


def test_metrics_that_differ_more_need_fewer_items() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(7, 1)) * 0.5 + rng.normal(size=(7, 120))
    noise = np.array([0.5, 1.0, 2.0, 8.0])[:, None, None]
    scores = ScoreArrays(human, human + noise * rng.normal(size=(4, 7, 120)))
    items = count_items_needed_to_separate_metrics(parse_meta_metric("spa"), scores, draws=200)
    assert items is not None
    assert (items >= 1).all()
    assert items[2] < items[0]  # metrics 0 and 3 differ more than 0 and 1


def test_equal_metrics_cannot_be_separated() -> None:
    human = np.random.default_rng(0).normal(size=(7, 120))
    scores = ScoreArrays(human, np.stack([human, human]))
    items = count_items_needed_to_separate_metrics(parse_meta_metric("spa"), scores, draws=50)
    assert items is not None
    assert np.isinf(items[0])
