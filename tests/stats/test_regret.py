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


def make_accuracies_with_one_best_metric(context_count):
    """Metric 0 is better than every other metric by at least .05 in every context."""
    accuracies = np.full((context_count, 5), 0.7)
    accuracies[:, 0] = 0.75
    return accuracies


def make_accuracies_with_changing_best_metric(context_count, change):
    """Metric 0 is best over all contexts; metric 1 is better by `change` in every second context."""
    accuracies = make_accuracies_with_one_best_metric(context_count)
    accuracies[::2, 1] = 0.75 + change
    accuracies[1::2, 1] = 0.75 - 2 * change
    return accuracies


def measure_coverage(accuracies, trials, seed):
    """Return the share of data sets whose interval contains the true regret of the metric in use.

    The metric in use is the one observed as best over all contexts, as in a report.
    """
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(trials):
        contexts = draw_contexts(rng, accuracies)
        overall = np.mean([context.accuracy for context in contexts], axis=0)
        metric = int(overall.argmax())
        estimate = estimate_metric_regret(contexts, metric)
        covered += estimate.low - 1e-9 <= true_regret(accuracies, metric) <= estimate.high + 1e-9
    return covered / trials


# 150 data sets leave a standard error of .018, 600 leave .009.
@pytest.mark.parametrize(
    ("trials", "least_coverage"), [(150, 0.93), pytest.param(600, 0.95, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("change", [None, 0.0, 0.05, 0.1])
@pytest.mark.parametrize("context_count", [2, 6])
def test_the_interval_contains_the_true_regret(change, context_count, trials, least_coverage):
    if change is None:
        accuracies = make_accuracies_with_one_best_metric(context_count)
    else:
        accuracies = make_accuracies_with_changing_best_metric(context_count, change)
    assert measure_coverage(accuracies, trials, seed=trials) >= least_coverage


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
