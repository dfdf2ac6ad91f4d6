"""The two null hypotheses: exact enumeration where it is possible, calibration and power by simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from metassay.meta.dependence.deviations import expected_deviations, spread
from metassay.meta.dependence.null_hypotheses import (
    _exchange,
    equal_null,
    fair_null,
    noise_for,
    p_equal,
    p_fair,
    pooled_pearson,
)
from metassay.meta.dependence.scored_outputs import cells_of


def mapped(rng, *, systems=5, segments=60, shift=0.0):
    """h = f(m) + noise: every system has the same E[h | m], unless the metric adds a constant to one."""
    quality = np.linspace(-0.5, 0.5, systems)[:, None]
    metric = quality + rng.normal(size=(1, segments)) + rng.normal(size=(systems, segments))
    human = 2 * np.tanh(metric) + rng.normal(size=metric.shape)
    metric[2] += shift
    return cells_of(human, metric)


def noisy(rng, *, systems=5, segments=60, shift=0.0):
    """m = h + noise: shrunk, but nobody is preferred, unless the metric adds a constant to one."""
    quality = np.linspace(-0.5, 0.5, systems)[:, None]
    human = quality + rng.normal(size=(1, segments)) + rng.normal(size=(systems, segments))
    metric = human + rng.normal(size=human.shape)
    metric[2] += shift
    return cells_of(human, metric)


def rejections(test, world, simulations, **options):
    p = [
        test(world(np.random.default_rng([seed, 1]), **options), np.random.default_rng([seed, 2]), 199)
        for seed in range(simulations)
    ]
    return np.mean(np.array(p) <= 0.05)


@pytest.mark.parametrize(("test", "world"), [(p_equal, mapped), (p_fair, noisy)])
def test_neither_test_cries_wolf(test, world):
    assert rejections(test, world, 150) <= 0.11


@pytest.mark.slow
@pytest.mark.parametrize(("test", "world"), [(p_equal, mapped), (p_fair, noisy)])
@pytest.mark.parametrize("size", [(5, 60), (3, 100)])
def test_the_size_of_both_tests_is_five_percent(test, world, size):
    share = rejections(test, world, 2000, systems=size[0], segments=size[1])
    print(f"\n{test.__name__}, {size[0]} systems, {size[1]} segments: rejects {share:.3f} at .05")
    assert 0.035 <= share <= 0.065


@pytest.mark.parametrize("test", [p_equal, p_fair])
@pytest.mark.parametrize("world", [mapped, noisy])
def test_a_constant_added_to_one_system_is_caught_by_both(test, world):
    power = rejections(test, world, 40, segments=150, shift=0.8)
    print(f"\n{test.__name__}, {world.__name__} world, one system +0.8: power {power:.2f}")
    assert power >= 0.9


def test_the_equal_test_rejects_a_noisy_but_fair_metric_and_the_fair_test_does_not():
    cells = noisy(np.random.default_rng(3), systems=6, segments=800)
    assert p_equal(cells, np.random.default_rng(0), 199) <= 0.01
    assert p_fair(cells, np.random.default_rng(0), 199) > 0.05


def test_exchanging_residuals_draws_from_all_permutations_within_items():
    rng = np.random.default_rng(4)
    residual = rng.normal(size=6)
    table = np.array([[0, 1], [2, 3], [4, 5]])
    seen = {tuple(_exchange(table, np.arange(3), rng.random((3, 2)), residual).tolist()) for _ in range(300)}
    items = residual.reshape(3, 2)
    every = {
        tuple(np.concatenate([row[::-1] if swap else row for row, swap in zip(items, swaps)]).tolist())
        for swaps in product([False, True], repeat=3)
    }
    assert seen == every


def test_items_of_a_cluster_are_exchanged_alike_even_where_scores_are_missing():
    table = np.array([[0, 1, 2], [3, 4, 5], [6, -1, 7]])
    residual = np.array([0.0, 1, 2, 10, 11, 12, 20, 22])
    for seed in range(20):
        uniform = np.random.default_rng(seed).random((1, 3))
        swapped = _exchange(table, np.zeros(3, dtype=np.int64), uniform, residual)
        np.testing.assert_array_equal(swapped[3:6] - swapped[:3], [10, 10, 10])
        order = [unit for unit in swapped[:3] if unit != 1]
        np.testing.assert_array_equal(swapped[6:] - 20, order)


def test_nested_groups_exchange_whole_clusters():
    """Two domains of two documents each: the six ways to deal four documents are all there is."""
    human = np.full((2, 8), np.nan)
    human[0, :4], human[1, 4:] = [0, 1, 5, 5], [2, 2, 4, 7]
    cells = cells_of(human, np.zeros((2, 8)), clusters=[0, 0, 1, 1, 2, 2, 3, 3])
    null = equal_null(cells, np.random.default_rng(0), 400)
    # mean residuals of the documents are their means less a common one: 0.5, 5, 2, 5.5; steps of the fit: one
    means, scale = np.array([0.5, 5, 2, 5.5]), np.sqrt(8 / 6.5)
    possible = {
        round(scale * abs(means[list(one)].mean() - means[list(other)].mean()), 9)
        for one, other in [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]
    }
    assert {round(value, 9) for value in null} == possible


def test_matched_noise_gives_the_metric_its_own_correlation():
    rng = np.random.default_rng(5)
    cells = noisy(rng, systems=8, segments=2000)
    correlation = pooled_pearson(cells)
    assert correlation == pytest.approx(np.corrcoef(cells.human, cells.metric)[0, 1])
    simulated = cells.human + noise_for(cells, correlation) * rng.standard_normal(len(cells.human))
    assert np.corrcoef(cells.human, simulated)[0, 1] == pytest.approx(correlation, abs=0.01)


def test_a_metric_that_is_the_human_score_passes_both():
    human = np.random.default_rng(6).normal(size=(4, 30))
    cells = cells_of(human, human)
    assert p_equal(cells, np.random.default_rng(0), 99) == 1
    assert p_fair(cells, np.random.default_rng(0), 99) == 1


def test_a_metric_without_correlation_is_compared_with_noise():
    human = np.random.default_rng(7).normal(size=(5, 80)) + np.arange(5)[:, None]
    backwards = cells_of(human, -human)
    assert pooled_pearson(backwards) == pytest.approx(-1)
    assert p_fair(backwards, np.random.default_rng(0), 99) == 1
    assert fair_null(backwards, np.random.default_rng(0), 20).max() < spread(expected_deviations(backwards))


def test_two_systems_have_no_residual_to_test():
    assert p_fair(cells_of(np.eye(2), np.eye(2)), np.random.default_rng(0)) is None
