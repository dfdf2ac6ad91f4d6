"""Regret: by hand, and how often its interval contains the truth."""

import numpy as np
import pytest

from metassay.stats.regret import ContextAccuracies, estimate_metric_regret


def draw_contexts(rng, accuracies, clusters=80, resamples=300):
    """Draw outcomes of metrics on the clusters of every context; `accuracies` are [contexts, metrics]."""
    contexts = []
    for truth in accuracies:
        difficulty = rng.normal(0, 0.15, (clusters, 1))
        credit = rng.binomial(4, np.clip(truth + difficulty, 0, 1)) / 4
        weights = rng.poisson(1, (resamples, clusters))
        resampled = (weights @ credit) / np.maximum(weights.sum(axis=1, keepdims=True), 1)
        contexts.append(ContextAccuracies(credit.mean(axis=0), resampled.T, clusters, clusters))
    return contexts


def true_regret(accuracies, metric):
    return float(np.maximum(accuracies - accuracies[:, [metric]], 0).max(axis=1).mean())


def test_known_accuracies_have_their_exact_regret():
    accuracies = np.array([[0.8, 0.7, 0.6], [0.6, 0.7, 0.65]])
    contexts = [
        ContextAccuracies(row, np.tile(row[:, None], 50), 1000, items)
        for row, items in zip(accuracies, (30, 10))
    ]
    estimate = estimate_metric_regret(contexts, 0)
    assert estimate.value == pytest.approx(0.1 / 4)
    assert estimate.high == pytest.approx(0.1 / 4)
    assert estimate_metric_regret(contexts, 1).value == pytest.approx(0.1 * 3 / 4)


def test_a_metric_without_accuracy_has_no_regret():
    row = np.array([np.nan, 0.7])
    context = ContextAccuracies(row, np.tile(row[:, None], 10), 50, 50)
    assert estimate_metric_regret([context], 0) is None


@pytest.mark.parametrize("change", [0.0, 0.05, 0.1])
@pytest.mark.parametrize("context_count", [2, 6])
def test_the_interval_contains_the_true_regret(change, context_count):
    """The metric in use is the best on all data; in every second context another is better by `change`."""
    rng = np.random.default_rng(3)
    accuracies = np.full((context_count, 5), 0.7)
    accuracies[:, 0] = 0.75
    accuracies[::2, 1] = 0.75 + change
    accuracies[1::2, 1] = 0.75 - 2 * change
    covered = 0
    trials = 150
    for _ in range(trials):
        contexts = draw_contexts(rng, accuracies)
        overall = np.mean([context.accuracy for context in contexts], axis=0)
        metric = int(overall.argmax())
        estimate = estimate_metric_regret(contexts, metric)
        covered += estimate.low - 1e-9 <= true_regret(accuracies, metric) <= estimate.high + 1e-9
    assert covered / trials >= 0.93


def test_the_corrected_value_is_less_biased_than_the_observed_one():
    rng = np.random.default_rng(4)
    accuracies = np.full((4, 6), 0.7)
    corrected = []
    observed = []
    for _ in range(100):
        contexts = draw_contexts(rng, accuracies)
        corrected.append(estimate_metric_regret(contexts, 0).value)
        tables = np.array([context.accuracy for context in contexts])
        observed.append(true_regret(tables, 0))
    assert np.mean(corrected) < 0.6 * np.mean(observed)
