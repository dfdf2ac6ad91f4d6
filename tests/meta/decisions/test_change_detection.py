"""Change detection: few false alarms at any number of looks, and changes are found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from metassay.meta.decisions.change_detection import (
    ValuesOverRuns,
    compute_running_means_over_runs,
    detect_change_over_runs,
    estimate_detection_delay,
)


def simulate_runs(accuracies, clusters: int, generator) -> ValuesOverRuns:
    """Runs of new items: each cluster is right with the accuracy of its run."""
    values = generator.binomial(clusters, accuracies) / clusters
    variances = values * (1 - values) / (clusters - 1) + 0.25 / clusters**2
    return ValuesOverRuns(values, variances, np.full(len(values), float(clusters)))


def count_alarms(accuracy: float, clusters: int, streams: int, looks: int) -> int:
    generator = np.random.default_rng(clusters)
    alarms = 0
    for _ in range(streams):
        series = simulate_runs(np.full(looks, accuracy), clusters, generator)
        alarms += detect_change_over_runs(series) is not None
    return alarms


@pytest.mark.parametrize(("accuracy", "clusters"), [(0.9, 50), (0.7, 200)])
def test_stable_streams_raise_few_alarms(accuracy, clusters) -> None:
    assert count_alarms(accuracy, clusters, streams=150, looks=100) <= 0.05 * 150


@pytest.mark.slow
@pytest.mark.parametrize(("accuracy", "clusters"), [(0.95, 30), (0.9, 50), (0.6, 100)])
def test_at_most_5_percent_of_1000_stable_streams_alarm_in_365_looks(accuracy, clusters) -> None:
    assert count_alarms(accuracy, clusters, streams=1000, looks=365) <= 50


def test_confidence_sequence_covers_at_all_looks_at_once() -> None:
    generator = np.random.default_rng(1)
    always_covered = []
    for _ in range(200):
        series = simulate_runs(np.full(100, 0.8), 100, generator)
        means, margins = compute_running_means_over_runs(series)
        always_covered.append((np.abs(means - 0.8) <= margins).all())
    assert np.mean(always_covered) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 200)
    assert margins[-1] < 0.02  # and it is not trivially wide: the standard error is .004


@pytest.mark.parametrize("drop", [0.05, -0.05])
def test_a_change_is_found_and_located(drop) -> None:
    generator = np.random.default_rng(2)
    accuracies = np.r_[np.full(30, 0.85), np.full(40, 0.85 - drop)]
    changes = [detect_change_over_runs(simulate_runs(accuracies, 300, generator)) for _ in range(40)]
    after_drop = [change for change in changes if change.alarm >= 30]
    assert len(after_drop) >= 35  # at most 5 % may come too early
    for change in after_drop:
        assert np.sign(change.before.value - change.after.value) == np.sign(drop)
    assert abs(np.median([change.start for change in after_drop]) - 30) <= 1


def test_evidence_is_the_likelihood_ratio_of_a_change() -> None:
    """For two runs: x_2 - x_1 has variance v_1 + v_2, and also τ² if the mean changed in between."""
    change = 0.05
    first, second = 0.8, 0.7
    variances = np.array([1e-4, 3e-4])
    stable = norm.pdf(second - first, scale=np.sqrt(variances.sum()))
    changed = norm.pdf(second - first, scale=np.sqrt(variances.sum() + change**2))
    weight = 10 / (10 * 11)
    # The evidence reaches 1 / α exactly where α is its reciprocal.
    evidence = weight * changed / stable + 1 - weight
    series = ValuesOverRuns(np.array([first, second]), variances, np.array([300.0, 100.0]))
    assert detect_change_over_runs(series, 1 / (evidence * (1 + 1e-9))) is None
    assert detect_change_over_runs(series, 1 / (evidence * (1 - 1e-9))) is not None


def test_expected_delay_is_near_the_delay_of_simulated_streams() -> None:
    generator = np.random.default_rng(3)
    delays = []
    for _ in range(60):
        series = simulate_runs(np.r_[np.full(50, 0.85), np.full(60, 0.8)], 300, generator)
        delays.append(detect_change_over_runs(series).alarm - 50 + 1)
    past = ValuesOverRuns(series.values[:50], series.variances[:50], series.weights[:50])
    delay, delay_of_test = estimate_detection_delay(past, 0.05)
    assert delay == pytest.approx(np.median(delays), abs=4)
    assert delay_of_test < delay


def test_the_result_at_a_look_does_not_need_later_looks_to_be_constant() -> None:
    steady = ValuesOverRuns(np.full(5, 0.8), np.full(5, 1e-4), np.full(5, 100.0))
    assert detect_change_over_runs(steady) is None
    assert estimate_detection_delay(
        ValuesOverRuns(np.array([0.8]), np.array([0.04]), np.array([30.0])), 0.05
    ) == (
        None,
        None,
    )
