"""Holm's adjustment against its definition by sequential rejection; which may be the best: ties, duplicates, gaps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.multiplicity import holm, may_be_best


def test_example_of_the_step_down_rule():
    assert holm([0.01, 0.02, 0.03, 0.005]) == pytest.approx([0.03, 0.04, 0.04, 0.02])


def test_adjusted_p_rejects_exactly_where_the_sequential_procedure_does():
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.random(rng.integers(1, 10)) ** 3
        level = rng.random() * 0.2
        rejected = np.zeros(len(p), dtype=bool)
        for step, which in enumerate(np.argsort(p)):
            if p[which] > level / (len(p) - step):
                break
            rejected[which] = True
        assert ((holm(p) <= level) == rejected).all()


def test_tests_not_made_are_not_counted():
    adjusted = holm([0.01, np.nan, 0.04])
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(adjusted[1])


def resampled(values, resamples=1000, seed=0):
    bootstrap = ClusterBootstrap(np.random.default_rng(seed), resamples)
    clusters = values.shape[1]
    return bootstrap.ratios(values, np.ones((1, clusters)), np.arange(clusters, dtype=np.int32))


def test_a_clear_leader_stands_alone():
    rng = np.random.default_rng(0)
    values = (rng.random((3, 300)) < np.array([[0.9], [0.6], [0.5]])).astype(float)
    top, p = may_be_best(values.mean(axis=1), resampled(values), 300)
    assert top.tolist() == [True, False, False]
    assert p[0] == 1


def test_two_of_a_kind_are_both_kept():
    values = np.random.default_rng(1).random((1, 100)).repeat(2, axis=0)
    top, _ = may_be_best(values.mean(axis=1), resampled(values), 100)
    assert top.all()


def test_with_two_metrics_the_p_value_is_that_of_a_paired_comparison():
    rng = np.random.default_rng(2)
    values = rng.random((2, 400))
    values[0] += 0.03
    difference = values[0] - values[1]
    z = difference.mean() / (difference.std(ddof=1) / 20)
    _, p = may_be_best(values.mean(axis=1), resampled(values, 5000), 400)

    assert p[1] == pytest.approx(student.sf(z, 399), abs=0.015)


def test_paired_comparison_sees_what_independent_intervals_hide():
    rng = np.random.default_rng(3)
    difficulty = rng.normal(0, 0.3, 200)
    values = np.stack([difficulty + 0.02, difficulty]) + rng.normal(0, 0.02, (2, 200))
    top, _ = may_be_best(values.mean(axis=1), resampled(values), 200)
    assert top.tolist() == [True, False]


def test_without_an_estimate_a_metric_is_out():
    values = np.random.default_rng(4).random((2, 50))
    estimate, draws = values.mean(axis=1), resampled(values)
    top, _ = may_be_best(np.append(estimate, np.nan), np.vstack([draws, np.full((1, 1000), np.nan)]), 50)
    assert not top[2]
    assert top[:2].any()


def test_a_single_cluster_tells_nothing_apart():
    top, p = may_be_best(np.array([0.9, 0.1]), np.zeros((2, 10)), 1)
    assert top.all()
    assert p.tolist() == [1, 1]
