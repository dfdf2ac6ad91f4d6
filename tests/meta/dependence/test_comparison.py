"""Comparing the SysDep of two metrics: exact cases, and the rate of false positives."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.meta.dependence.comparison import (
    compare_measured_metric_biases,
    measure_and_compare_metric_biases,
)
from metassay.meta.dependence.deviations import SystemDependence, system_dependence
from metassay.meta.dependence.scored_outputs import build_scored_outputs
from metassay.stats.resampling import draw_cluster_counts


def simulate_scores(rng, segments=100):
    """Human scores, and two metrics that are human scores plus independent noise."""
    human = rng.normal(size=(5, segments)) + np.linspace(-1, 1, 5)[:, None]
    return human, human + rng.normal(size=human.shape), human + rng.normal(size=human.shape)


def test_difference_equals_that_of_two_separate_measurements():
    human, a, b = simulate_scores(np.random.default_rng(0))
    result = measure_and_compare_metric_biases(
        build_scored_outputs(human, a), b.ravel(), draw_cluster_counts(100, 50, 3)
    )
    expected = system_dependence(human, a, bootstraps=50, seed=3).sysdep
    expected -= system_dependence(human, b, bootstraps=50, seed=3).sysdep
    assert result.difference == expected
    assert result.low < result.difference < result.high


def test_metric_does_not_differ_from_its_monotone_transform():
    human, a, _ = simulate_scores(np.random.default_rng(1))
    result = measure_and_compare_metric_biases(
        build_scored_outputs(human, a), np.exp(a).ravel(), draw_cluster_counts(100, 50, 0)
    )
    assert result.difference == pytest.approx(0, abs=0.02)
    assert result.p == 1


def test_constant_metric_depends_more():
    human, a, _ = simulate_scores(np.random.default_rng(2), segments=300)
    result = measure_and_compare_metric_biases(
        build_scored_outputs(human, a), np.zeros(human.size), draw_cluster_counts(300, 99, 0)
    )
    assert result.high < 0
    assert result.p == 0.01


def test_two_equally_noisy_metrics_differ_in_about_five_percent():
    counts = draw_cluster_counts(100, 79, 0)
    p = []
    for seed in range(150):
        human, a, b = simulate_scores(np.random.default_rng([seed, 9]))
        p.append(measure_and_compare_metric_biases(build_scored_outputs(human, a), b.ravel(), counts).p)
    assert np.mean(np.array(p) <= 0.05) <= 0.09


def test_comparison_without_bootstrap_is_an_error():
    human, a, b = simulate_scores(np.random.default_rng(0))
    with pytest.raises(InputError, match="only be compared with a bootstrap"):
        measure_and_compare_metric_biases(
            build_scored_outputs(human, a), b.ravel(), draw_cluster_counts(100, 0, 0)
        )


def test_interval_of_a_difference_contains_95_percent_of_its_errors():
    """Resampled ranges of a are 2 + e for e from -1 to 1, those of b are all 1; so are the single fits, without e."""
    errors = np.linspace(-1, 1, 201)
    ranges = np.stack([np.zeros(201), 2 + errors], axis=1)
    constant_ranges = np.tile([0.0, 1.0], (201, 1))
    a = SystemDependence(
        2.1, None, None, np.array([0, 2.1]), np.array([0.0, 2.0]), resampled_deviations=ranges
    )
    b = SystemDependence(
        1.0, None, None, np.array([0, 1.0]), np.array([0.0, 1.0]), resampled_deviations=constant_ranges
    )
    result = compare_measured_metric_biases(a, b)
    assert (result.difference, result.low, result.high) == pytest.approx((1.1, 1.1 - 0.95, 1.1 + 0.95))
    # only the errors -1 and 1 are as large as the difference of the single fits
    assert result.p == pytest.approx(3 / 202)
