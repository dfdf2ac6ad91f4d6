"""Stability, robust accuracy and the Pareto set, against optimisers and definitions."""

import numpy as np
import pytest
from scipy.optimize import minimize

from metassay.meta.contexts.choice import are_metrics_on_pareto_front
from metassay.meta.contexts.robustness import (
    compute_distributionally_robust_accuracy,
    estimate_true_accuracy_variation,
)


def by_optimiser(accuracy, shares, radius):
    inside = {"type": "ineq", "fun": lambda q: radius - np.sum(q * np.log(q / shares))}
    whole = {"type": "eq", "fun": lambda q: q.sum() - 1}
    bounds = [(1e-9, 1)] * len(accuracy)
    return minimize(lambda q: q @ accuracy, shares, bounds=bounds, constraints=[inside, whole], tol=1e-12).fun


def test_robust_accuracy_is_the_constrained_minimum():
    rng = np.random.default_rng(0)
    for _ in range(20):
        accuracy, shares = rng.random(5), rng.dirichlet(np.full(5, 3.0))
        found = compute_distributionally_robust_accuracy(accuracy[None], shares, 0.1)[0]
        assert found == pytest.approx(by_optimiser(accuracy, shares, 0.1), abs=1e-5)


def test_robust_accuracy_between_the_worst_context_and_the_mean():
    accuracy, shares = np.array([[0.9, 0.9, 0.3]]), np.ones(3)
    assert compute_distributionally_robust_accuracy(accuracy, shares, 1e-12)[0] == pytest.approx(
        0.7, abs=1e-4
    )
    assert compute_distributionally_robust_accuracy(accuracy, shares, 2.0)[0] == 0.3
    assert 0.3 < compute_distributionally_robust_accuracy(accuracy, shares, 0.1)[0] < 0.7
    assert compute_distributionally_robust_accuracy(np.full((1, 3), 0.7), shares)[0] == pytest.approx(0.7)


def test_contexts_without_an_accuracy_are_left_out():
    found = compute_distributionally_robust_accuracy(
        np.array([[0.8, np.nan, 0.6]]), np.array([1.0, 5.0, 1.0])
    )
    assert found == pytest.approx(
        compute_distributionally_robust_accuracy(np.array([[0.8, 0.6]]), np.array([1.0, 1.0]))
    )
    assert np.isnan(compute_distributionally_robust_accuracy(np.full((1, 2), np.nan), np.ones(2))[0])


def test_spread_net_of_sampling_error_recovers_the_truth():
    rng = np.random.default_rng(1)
    truth = rng.normal(0.7, 0.05, (1, 4000))
    noise = rng.normal(0, 0.1, (1, 4000))
    assert estimate_true_accuracy_variation(truth + noise, np.full((1, 4000), 0.01))[0] == pytest.approx(
        0.05, abs=0.01
    )
    assert estimate_true_accuracy_variation(0.7 + noise, np.full((1, 4000), 0.02))[0] == 0


def test_spread_needs_two_contexts():
    assert np.isnan(estimate_true_accuracy_variation(np.array([[0.7]]), np.zeros((1, 1)))[0])


def test_pareto_by_definition():
    accuracy = np.array([0.9, 0.8, 0.8, 0.7, 0.85])
    cost = np.array([40.0, 1.0, 1.0, 2.0, 5.0])
    assert are_metrics_on_pareto_front(accuracy, cost).tolist() == [True, True, True, False, True]
    assert are_metrics_on_pareto_front(np.array([0.9, np.nan]), np.array([1.0, 0.1])).tolist() == [
        True,
        False,
    ]
