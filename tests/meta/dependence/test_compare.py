"""The paired comparison of two metrics: what it must say exactly, and its error rate."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.meta.dependence.deviations import (
    SystemDependence,
    compare_dependence,
    paired_difference,
    system_dependence,
)
from metassay.meta.dependence.scored_outputs import cells_of
from metassay.stats.resampling import draw_counts


def world(rng, segments=100):
    human = rng.normal(size=(5, segments)) + np.linspace(-1, 1, 5)[:, None]
    return human, human + rng.normal(size=human.shape), human + rng.normal(size=human.shape)


def test_the_difference_is_that_of_two_separate_runs():
    human, a, b = world(np.random.default_rng(0))
    found = compare_dependence(cells_of(human, a), b.ravel(), draw_counts(100, 50, 3))
    expected = system_dependence(human, a, bootstraps=50, seed=3).sysdep
    expected -= system_dependence(human, b, bootstraps=50, seed=3).sysdep
    assert found.difference == expected
    assert found.low < found.difference < found.high


def test_a_metric_does_not_differ_from_a_monotone_copy_of_itself():
    human, a, _ = world(np.random.default_rng(1))
    found = compare_dependence(cells_of(human, a), np.exp(a).ravel(), draw_counts(100, 50, 0))
    assert found.difference == pytest.approx(0, abs=0.02)
    assert found.p == 1


def test_a_metric_that_knows_nothing_depends_more():
    human, a, _ = world(np.random.default_rng(2), segments=300)
    found = compare_dependence(cells_of(human, a), np.zeros(human.size), draw_counts(300, 99, 0))
    assert found.high < 0
    assert found.p == 0.01


def test_two_equally_noisy_metrics_differ_one_time_in_twenty():
    counts = draw_counts(100, 79, 0)
    p = []
    for seed in range(150):
        human, a, b = world(np.random.default_rng([seed, 9]))
        p.append(compare_dependence(cells_of(human, a), b.ravel(), counts).p)
    assert np.mean(np.array(p) <= 0.05) <= 0.09


def test_a_comparison_takes_a_bootstrap():
    human, a, b = world(np.random.default_rng(0))
    with pytest.raises(InputError, match="takes a bootstrap"):
        compare_dependence(cells_of(human, a), b.ravel(), draw_counts(100, 0, 0))


def test_the_interval_of_a_difference_holds_95_per_cent_of_its_errors():
    """Ranges of a's resamples are 2 + e for e from -1 to 1, b's are all 1, and so are the single fits less e."""
    errors = np.linspace(-1, 1, 201)
    ranges = np.stack([np.zeros(201), 2 + errors], axis=1)
    a = SystemDependence(2.1, None, None, np.array([0, 2.1]), np.array([0.0, 2.0]), replicates=ranges)
    b = SystemDependence(
        1.0, None, None, np.array([0, 1.0]), np.array([0.0, 1.0]), replicates=ranges * 0 + [0, 1]
    )
    found = paired_difference(a, b)
    assert (found.difference, found.low, found.high) == pytest.approx((1.1, 1.1 - 0.95, 1.1 + 0.95))
    assert found.p == pytest.approx(
        3 / 202
    )  # -1 and 1 stray as far as 0 is from the difference of single fits
