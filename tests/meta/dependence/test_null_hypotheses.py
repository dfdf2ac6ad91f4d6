"""Both null hypotheses: exact enumeration where possible, false positives and power by simulation."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.isotonic import IsotonicRegression

from metassay.meta.dependence.deviations import (
    compute_range_over_groups,
    measure_how_much_groups_are_overrated,
)
from metassay.meta.dependence.null_hypotheses import (
    compute_p_values_of_equal_treatment,
    compute_p_values_of_metric_fairness,
    compute_pearson_over_all_outputs,
    shuffle_outputs_between_systems,
    simulate_bias_of_noisy_human_scores,
    simulate_bias_under_equal_treatment,
)
from metassay.meta.dependence.scored_outputs import build_scored_outputs


def equal_mapping_p_value(outputs, rng, draws=999):
    return compute_p_values_of_equal_treatment([outputs], rng, draws)[0]


def fair_metric_p_value(outputs, rng, draws=999):
    return compute_p_values_of_metric_fairness([outputs], rng, draws)[0]


def simulate_equal_mapping(rng, *, systems=5, segments=60, shift=0.0):
    """h = f(m) + noise: E[h | m] is the same for every system, unless `shift` is added to the metric of one."""
    quality = np.linspace(-0.5, 0.5, systems)[:, None]
    metric = quality + rng.normal(size=(1, segments)) + rng.normal(size=(systems, segments))
    human = 2 * np.tanh(metric) + rng.normal(size=metric.shape)
    metric[2] += shift
    return build_scored_outputs(human, metric)


def simulate_noisy_metric(rng, *, systems=5, segments=60, shift=0.0):
    """m = h + noise: no system is favoured beyond shrinkage, unless `shift` is added to the metric of one."""
    quality = np.linspace(-0.5, 0.5, systems)[:, None]
    human = quality + rng.normal(size=(1, segments)) + rng.normal(size=(systems, segments))
    metric = human + rng.normal(size=human.shape)
    metric[2] += shift
    return build_scored_outputs(human, metric)


def rejection_rate(test, simulate, simulations, **options):
    p = [
        test(simulate(np.random.default_rng([seed, 1]), **options), np.random.default_rng([seed, 2]), 199)
        for seed in range(simulations)
    ]
    return np.mean(np.array(p) <= 0.05)


@pytest.mark.parametrize(
    ("test", "simulate"),
    [
        (equal_mapping_p_value, simulate_equal_mapping),
        (fair_metric_p_value, simulate_noisy_metric),
    ],
)
def test_both_tests_rarely_reject_a_true_hypothesis(test, simulate):
    assert rejection_rate(test, simulate, 150) <= 0.11


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "simulate"),
    [
        (equal_mapping_p_value, simulate_equal_mapping),
        (fair_metric_p_value, simulate_noisy_metric),
    ],
)
@pytest.mark.parametrize("size", [(5, 60), (3, 100)])
def test_both_tests_reject_a_true_hypothesis_in_five_percent(test, simulate, size):
    share = rejection_rate(test, simulate, 2000, systems=size[0], segments=size[1])
    print(f"\n{test.__name__}, {size[0]} systems, {size[1]} segments: rejects {share:.3f} at .05")
    assert 0.035 <= share <= 0.065


@pytest.mark.parametrize("test", [equal_mapping_p_value, fair_metric_p_value])
@pytest.mark.parametrize("simulate", [simulate_equal_mapping, simulate_noisy_metric])
def test_both_tests_detect_a_constant_added_to_one_system(test, simulate):
    power = rejection_rate(test, simulate, 40, segments=150, shift=0.8)
    print(f"\n{test.__name__}, {simulate.__name__}, one system +0.8: power {power:.2f}")
    assert power >= 0.9


def test_the_equal_test_rejects_a_noisy_but_fair_metric_and_the_fair_test_does_not():
    outputs = simulate_noisy_metric(np.random.default_rng(3), systems=6, segments=800)
    assert equal_mapping_p_value(outputs, np.random.default_rng(0), 199) <= 0.01
    assert fair_metric_p_value(outputs, np.random.default_rng(0), 199) > 0.05


def permute(table, item_clusters, uniforms, residual):
    sources = np.full(len(residual), -1, dtype=np.int32)
    shuffle_outputs_between_systems(table, item_clusters, uniforms, sources)
    return residual[sources]


def test_residuals_take_all_permutations_within_items():
    rng = np.random.default_rng(4)
    residual = rng.normal(size=6)
    table = np.array([[0, 1], [2, 3], [4, 5]])
    drawn = set()
    for _ in range(300):
        permuted = permute(table, np.arange(3), rng.random((3, 2)), residual)
        drawn.add(tuple(permuted.tolist()))
    possible = set()
    for swaps in product([False, True], repeat=3):
        rows = [row[::-1] if swap else row for row, swap in zip(residual.reshape(3, 2), swaps)]
        possible.add(tuple(np.concatenate(rows).tolist()))
    assert drawn == possible


def test_items_of_a_cluster_are_permuted_alike_even_with_missing_scores():
    table = np.array([[0, 1, 2], [3, 4, 5], [6, -1, 7]])
    residual = np.array([0.0, 1, 2, 10, 11, 12, 20, 22])
    for seed in range(20):
        uniform = np.random.default_rng(seed).random((1, 3))
        permuted = permute(table, np.zeros(3, dtype=np.int64), uniform, residual)
        np.testing.assert_array_equal(permuted[3:6] - permuted[:3], [10, 10, 10])
        order = [residual_of_system for residual_of_system in permuted[:3] if residual_of_system != 1]
        np.testing.assert_array_equal(permuted[6:] - 20, order)


def test_groups_of_whole_clusters_are_permuted_where_items_belong_to_one_group():
    """Two domains with two documents each: four documents can be divided in three different ways."""
    human = np.full((2, 8), np.nan)
    human[0, :4] = [0, 1, 5, 5]
    human[1, 4:] = [2, 2, 4, 7]
    outputs = build_scored_outputs(human, np.zeros((2, 8)), clusters=[0, 0, 1, 1, 2, 2, 3, 3])
    simulated = simulate_bias_under_equal_treatment([outputs], np.random.default_rng(0), 400)[0]
    # the residuals are the scores minus their mean, because the fit to a constant metric has one step
    document_means = np.array([0.5, 5, 2, 5.5])
    inflation = np.sqrt(8 / 6.5)
    possible = set()
    for first, second in [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]:
        difference = document_means[list(first)].mean() - document_means[list(second)].mean()
        possible.add(round(inflation * abs(difference), 9))
    assert {round(value, 9) for value in simulated} == possible


def test_fair_metrics_have_the_distribution_of_the_human_score_plus_noise():
    """The interpolated distribution is that of a simulation at the exact correlation, by scikit-learn."""
    outputs = simulate_noisy_metric(np.random.default_rng(5), systems=4, segments=50)
    correlation = compute_pearson_over_all_outputs(outputs)
    assert correlation == pytest.approx(np.corrcoef(outputs.human_scores, outputs.metric_scores)[0, 1])
    noise_sd = outputs.human_scores.std() * np.sqrt(1 / correlation**2 - 1)
    rng = np.random.default_rng(6)
    expected = []
    for _ in range(500):
        scores = outputs.human_scores + rng.normal(0, noise_sd, len(outputs.human_scores))
        fit = IsotonicRegression().fit_transform(scores, outputs.human_scores)
        predicted = np.array([fit[outputs.groups == group].mean() for group in range(4)])
        deviations = predicted - outputs.human_means_of_groups
        line = np.polynomial.Polynomial.fit(outputs.human_means_of_groups, deviations, 1)
        expected.append(np.ptp(deviations - line(outputs.human_means_of_groups)))
    simulated = simulate_bias_of_noisy_human_scores([outputs], np.random.default_rng(7), 2000)[0]
    assert ks_2samp(simulated, expected).pvalue > 0.05
    assert np.mean(simulated) == pytest.approx(np.mean(expected), rel=0.06)


@pytest.mark.parametrize("test", ["equal", "fair"])
def test_metrics_that_are_tested_together_have_the_p_values_that_they_have_alone(test):
    metrics = [simulate_noisy_metric(np.random.default_rng(8), segments=30, shift=0.3)]
    rng = np.random.default_rng(9)
    for noise in (0.3, 3.0):
        scores = metrics[0].human_scores + rng.normal(0, noise, len(metrics[0].human_scores))
        metrics.append(replace(metrics[0], metric_scores=scores))
    alone, together = {
        "equal": (equal_mapping_p_value, compute_p_values_of_equal_treatment),
        "fair": (fair_metric_p_value, compute_p_values_of_metric_fairness),
    }[test]
    expected = [alone(metric, np.random.default_rng(0), 99) for metric in metrics]
    assert together(metrics, np.random.default_rng(0), 99, workers=2) == expected


def test_metric_equal_to_the_human_score_passes_both_tests():
    human = np.random.default_rng(6).normal(size=(4, 30))
    outputs = build_scored_outputs(human, human)
    assert equal_mapping_p_value(outputs, np.random.default_rng(0), 99) == 1
    assert fair_metric_p_value(outputs, np.random.default_rng(0), 99) == 1


def test_metric_with_negative_correlation_is_compared_with_noise():
    human = np.random.default_rng(7).normal(size=(5, 80)) + np.arange(5)[:, None]
    backwards = build_scored_outputs(human, -human)
    assert compute_pearson_over_all_outputs(backwards) == pytest.approx(-1)
    assert fair_metric_p_value(backwards, np.random.default_rng(0), 99) == 1
    simulated = simulate_bias_of_noisy_human_scores([backwards], np.random.default_rng(0), 20)[0]
    assert simulated.max() < compute_range_over_groups(measure_how_much_groups_are_overrated(backwards))


def test_fairness_of_two_systems_cannot_be_tested():
    assert fair_metric_p_value(build_scored_outputs(np.eye(2), np.eye(2)), np.random.default_rng(0)) is None
