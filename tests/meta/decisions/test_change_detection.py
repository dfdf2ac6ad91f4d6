"""Change detection: few false alarms at any number of looks, and changes are found."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.meta.decisions.change_detection import (
    RunSeries,
    compute_confidence_sequence,
    detect_change,
    estimate_detection_delay,
)


def simulate_runs(accuracies, clusters: int, generator) -> RunSeries:
    """Runs of new items: each cluster is right with the accuracy of its run."""
    values = generator.binomial(clusters, accuracies) / clusters
    variances = values * (1 - values) / (clusters - 1) + 0.25 / clusters**2
    return RunSeries(values, variances, np.full(len(values), float(clusters)))


def count_alarms(accuracy: float, clusters: int, streams: int, looks: int) -> int:
    generator = np.random.default_rng(clusters)
    alarms = 0
    for _ in range(streams):
        series = simulate_runs(np.full(looks, accuracy), clusters, generator)
        alarms += detect_change(series) is not None
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
        means, margins = compute_confidence_sequence(series)
        always_covered.append((np.abs(means - 0.8) <= margins).all())
    assert np.mean(always_covered) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 200)
    assert margins[-1] < 0.02  # and it is not trivially wide: the standard error is .004


@pytest.mark.parametrize("drop", [0.05, -0.05])
def test_a_change_is_found_and_located(drop) -> None:
    generator = np.random.default_rng(2)
    accuracies = np.r_[np.full(30, 0.85), np.full(40, 0.85 - drop)]
    starts = []
    for _ in range(20):
        change = detect_change(simulate_runs(accuracies, 300, generator))
        assert change.alarm >= 30
        assert np.sign(change.before.value - change.after.value) == np.sign(drop)
        starts.append(change.start)
    assert abs(np.median(starts) - 30) <= 3


def test_expected_delay_is_near_the_delay_of_simulated_streams() -> None:
    generator = np.random.default_rng(3)
    delays = []
    for _ in range(60):
        series = simulate_runs(np.r_[np.full(50, 0.85), np.full(60, 0.8)], 300, generator)
        delays.append(detect_change(series).alarm - 50 + 1)
    past = RunSeries(series.values[:50], series.variances[:50], series.weights[:50])
    delay, delay_of_test = estimate_detection_delay(past, 0.05)
    assert delay == pytest.approx(np.median(delays), abs=4)
    assert delay_of_test < delay


def test_the_result_at_a_look_does_not_need_later_looks_to_be_constant() -> None:
    steady = RunSeries(np.full(5, 0.8), np.full(5, 1e-4), np.full(5, 100.0))
    assert detect_change(steady) is None
    assert estimate_detection_delay(RunSeries(np.array([0.8]), np.array([0.04]), np.array([30.0])), 0.05) == (
        None,
        None,
    )
