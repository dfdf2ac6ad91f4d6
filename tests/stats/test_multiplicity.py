"""Holm's adjustment against its definition by sequential rejection; which may be the best: ties, duplicates, gaps."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm as normal
from scipy.stats import t as student

from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.multiplicity import (
    adjust_p_values_by_benjamini_yekutieli,
    adjust_p_values_by_holm,
    select_candidates_that_may_be_best,
)


def test_example_of_the_step_down_rule():
    assert adjust_p_values_by_holm([0.01, 0.02, 0.03, 0.005]) == pytest.approx([0.03, 0.04, 0.04, 0.02])


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
        assert ((adjust_p_values_by_holm(p) <= level) == rejected).all()


def test_weighted_holm_is_the_closed_test_of_weighted_bonferroni():
    """By enumeration: a hypothesis is rejected if every set of hypotheses that contains it is."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        count = int(rng.integers(1, 7))
        p = rng.random(count) ** 2
        weights = rng.integers(1, 6, size=count).astype(float)
        subsets = [np.array(bits, dtype=bool) for bits in product((False, True), repeat=count)]
        expected = [
            max(min(1, (p[each] / weights[each]).min() * weights[each].sum()) for each in subsets if each[i])
            for i in range(count)
        ]
        assert adjust_p_values_by_holm(p, weights) == pytest.approx(expected)
        with_gap = adjust_p_values_by_holm([*p, np.nan], [*weights, 3.0])
        assert with_gap[:count] == pytest.approx(expected)
        assert np.isnan(with_gap[count])


def test_tests_not_made_are_not_counted():
    adjusted = adjust_p_values_by_holm([0.01, np.nan, 0.04])
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(adjusted[1])


def resampled(values, resamples=1000, seed=0):
    bootstrap = ClusterBootstrap(np.random.default_rng(seed), resamples)
    clusters = values.shape[1]
    return bootstrap.resample_ratios(values, np.ones((1, clusters)), np.arange(clusters, dtype=np.int32))


def test_a_clear_leader_stands_alone():
    rng = np.random.default_rng(0)
    values = (rng.random((3, 300)) < np.array([[0.9], [0.6], [0.5]])).astype(float)
    top, p = select_candidates_that_may_be_best(values.mean(axis=1), resampled(values), 300)
    assert top.tolist() == [True, False, False]
    assert p[0] == 1


def test_two_of_a_kind_are_both_kept():
    values = np.random.default_rng(1).random((1, 100)).repeat(2, axis=0)
    top, _ = select_candidates_that_may_be_best(values.mean(axis=1), resampled(values), 100)
    assert top.all()


def test_with_two_metrics_the_p_value_is_that_of_a_paired_comparison():
    rng = np.random.default_rng(2)
    values = rng.random((2, 400))
    values[0] += 0.03
    difference = values[0] - values[1]
    z = difference.mean() / (difference.std(ddof=1) / 20)
    _, p = select_candidates_that_may_be_best(values.mean(axis=1), resampled(values, 5000), 400)

    assert p[1] == pytest.approx(student.sf(z, 399), abs=0.015)


def test_paired_comparison_sees_what_independent_intervals_hide():
    rng = np.random.default_rng(3)
    difficulty = rng.normal(0, 0.3, 200)
    values = np.stack([difficulty + 0.02, difficulty]) + rng.normal(0, 0.02, (2, 200))
    top, _ = select_candidates_that_may_be_best(values.mean(axis=1), resampled(values), 200)
    assert top.tolist() == [True, False]


def test_without_an_estimate_a_metric_is_out():
    values = np.random.default_rng(4).random((2, 50))
    estimate, draws = values.mean(axis=1), resampled(values)
    top, _ = select_candidates_that_may_be_best(
        np.append(estimate, np.nan), np.vstack([draws, np.full((1, 1000), np.nan)]), 50
    )
    assert not top[2]
    assert top[:2].any()


def test_a_single_cluster_tells_nothing_apart():
    top, p = select_candidates_that_may_be_best(np.array([0.9, 0.1]), np.zeros((2, 10)), 1)
    assert top.all()
    assert p.tolist() == [1, 1]


@pytest.mark.parametrize(("z", "kept"), [(1.48, True), (1.84, False)])
def test_who_may_be_best_is_told_at_five_per_cent(z, kept):
    """A lead of 1.48 standard errors has p = .07 and proves nothing; one of 1.84 has p = .033."""
    values = np.zeros((2, 10_000))
    values[0] = np.tile([1.0, -1.0], 5000) + z / 100
    top, p = select_candidates_that_may_be_best(values.mean(axis=1), resampled(values, 8000), 10_000)
    assert p[1] == pytest.approx(normal.sf(z), abs=0.01)
    assert top.tolist() == [True, kept]


def test_no_estimate_is_impossible():
    values = np.stack([np.full(100, 0.9), np.full(100, 0.1)]) + np.random.default_rng(0).normal(
        0, 0.01, (2, 100)
    )
    _, p = select_candidates_that_may_be_best(values.mean(axis=1), resampled(values, 99), 100)
    assert p[1] == pytest.approx(1 / 100)


def test_who_may_be_best_among_few_clusters_is_as_with_draws_that_stray_further():
    rng = np.random.default_rng(5)
    estimate, strays = np.array([0.8, 0.7]), rng.normal(0, 0.3, (2, 500))
    wider = student.ppf(0.975, 5) / normal.ppf(0.975)
    _, few = select_candidates_that_may_be_best(estimate, estimate[:, None] + strays, 6)
    _, many = select_candidates_that_may_be_best(estimate, estimate[:, None] + wider * strays, 10**9)
    _, plain = select_candidates_that_may_be_best(estimate, estimate[:, None] + strays, 10**9)
    assert few[1] == pytest.approx(many[1])
    assert few[1] > plain[1]


def test_leads_of_means_that_never_differ_are_measured_in_half_observations():
    """Ten clusters, and a third estimate that differs by chance: of two that are always equal, none is out."""
    rng = np.random.default_rng(6)
    values = rng.random((2, 10))[[0, 0, 1]]
    estimate = values.mean(axis=1)
    draws = resampled(values, 400)
    top, p = select_candidates_that_may_be_best(estimate, draws, 10)
    assert np.isfinite(p).all()
    assert top[0] == top[1]
    alone, _ = select_candidates_that_may_be_best(estimate[[0, 2]], draws[[0, 2]], 10)
    assert top[[0, 2]].tolist() == alone.tolist()


def test_the_step_up_rule_under_any_dependence():
    """By hand: 1 + ½ + ⅓ = 11/6; .01 · 3, .02 · 3/2 and .04 · 1 times that, never falling from the last back."""
    assert adjust_p_values_by_benjamini_yekutieli([0.04, 0.01, 0.02]) == pytest.approx(
        [0.04 * 11 / 6, 0.03 * 11 / 6, 0.03 * 11 / 6]
    )
    adjusted = adjust_p_values_by_benjamini_yekutieli([0.04, np.nan, 0.03])
    assert adjusted[[0, 2]] == pytest.approx([0.06, 0.06])
    assert np.isnan(adjusted[1])
