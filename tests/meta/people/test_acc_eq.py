"""acc_eq against trying every epsilon, and its known chance level."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metassay.meta.people.meta_metrics.acc_eq import tie_calibrated_accuracy


def accuracy(human: np.ndarray, metric: np.ndarray, epsilon: float) -> float:
    """The definition, pair by pair."""
    items = []
    for h, m in zip(human.T, metric.T):
        right = []
        for i, j in combinations(range(len(h)), 2):
            metric_says = 0 if abs(m[i] - m[j]) <= epsilon else np.sign(m[i] - m[j])
            right.append(metric_says == np.sign(h[i] - h[j]))
        items.append(np.mean(right))
    return float(np.mean(items))


@pytest.mark.parametrize("seed", range(5))
def test_calibration_finds_the_smallest_best_epsilon(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human = rng.integers(-3, 1, (4, 12)).astype(float)
    metric = np.round(human + rng.normal(size=(4, 12)), 1)
    result = tie_calibrated_accuracy(human, metric)
    candidates = sorted({0.0, *(abs(m[i] - m[j]) for m in metric.T for i, j in combinations(range(4), 2))})
    tried = [accuracy(human, metric, epsilon) for epsilon in candidates]
    assert result.accuracy == pytest.approx(max(tried), abs=1e-12)
    assert result.epsilon == candidates[int(np.argmax(np.round(tried, 12)))]
    assert accuracy(human, metric, result.epsilon) == pytest.approx(result.accuracy, abs=1e-12)


def test_a_fixed_epsilon_is_used_as_given() -> None:
    rng = np.random.default_rng(9)
    human, metric = rng.integers(0, 3, (5, 8)).astype(float), rng.normal(size=(5, 8))
    result = tie_calibrated_accuracy(human, metric, epsilon=0.5)
    assert result.epsilon == 0.5
    assert result.accuracy == pytest.approx(accuracy(human, metric, 0.5), abs=1e-12)


def test_people_agree_with_themselves_and_a_constant_metric_ties_everything() -> None:
    human = np.random.default_rng(0).integers(-4, 1, (6, 30)).astype(float)
    ties = float(np.mean([h[i] == h[j] for h in human.T for i, j in combinations(range(6), 2)]))
    assert tie_calibrated_accuracy(human, 2 * human).accuracy == 1.0
    assert tie_calibrated_accuracy(human, np.zeros_like(human)).accuracy == pytest.approx(ties)


def test_cross_fitting_removes_the_optimism_of_calibration() -> None:
    """A useless metric on many items: calibrated on itself it beats chance, cross-fitted it does not."""
    rng = np.random.default_rng(4)
    plain, crossed, chance = [], [], []
    for seed in range(200):
        human, metric = rng.integers(0, 2, (4, 10)).astype(float), rng.normal(size=(4, 10))
        plain.append(tie_calibrated_accuracy(human, metric).accuracy)
        crossed.append(tie_calibrated_accuracy(human, metric, cross_fit_seed=seed).accuracy)
        chance.append(tie_calibrated_accuracy(human, metric).chance)
    assert np.mean(plain) > np.mean(chance)
    assert np.mean(crossed) < np.mean(plain) - 0.01


def test_the_chance_level_of_wmt23_en_de(real_data: Callable[[str], Path]) -> None:
    """Known: 23.2 % of human pairs tie, and a random metric gets .382."""
    table = pl.read_parquet(real_data("wmt23/wmt23_en-de_metrics.parquet")).sort("system", "seg_id")
    human = table["mqm"].to_numpy().reshape(12, -1)
    rng = np.random.default_rng(0)
    result = [tie_calibrated_accuracy(human, rng.normal(size=human.shape), epsilon=0.0) for _ in range(20)]
    assert result[0].chance == pytest.approx((1 - 0.232) / 2, abs=5e-4)
    assert np.mean([random.accuracy for random in result]) == pytest.approx(0.382, abs=0.004)
