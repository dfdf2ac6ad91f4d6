"""Sample sizes: equal to the formula, and they reach the power and the width that they promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from wmt23_labels import hide_labels

from metassay.meta.decisions.control_variates import THESE_ITEMS, LabelledSample, estimate_mean_human_scores
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import choose_metric_saving_most_labels
from metassay.meta.decisions.sample_size import (
    count_items_needed_for_difference,
    count_items_needed_for_interval_width,
)
from metassay.stats.labels_saved import compute_system_differences


def simulate(seed: int, *, items: int, difference: float, skewed: bool) -> LabelledScores:
    """Two systems with exactly this difference of means, and a metric that correlates with human scores."""
    generator = np.random.default_rng(seed)
    if skewed:
        has_error = generator.random((2, items)) < 0.4
        human = -np.where(has_error, generator.exponential(5.0, (2, items)), 0.0)
    else:
        human = 3 * generator.normal(size=(2, items))
    metric = 0.5 * human + 1.5 * generator.normal(size=human.shape)
    human[0] += difference - (human[0].mean() - human[1].mean())
    return LabelledScores(("a", "b"), tuple(map(str, range(items))), human, {"m": metric}, np.arange(items))


def measure_power(*, items: int, skewed: bool, repetitions: int, difference: float = 0.7) -> float:
    """Plan with 60 random labels, label as many items as needed, and return how often the test rejects."""
    generator = np.random.default_rng(items)
    rejections = []
    for seed in range(repetitions):
        scores = simulate(seed, items=items, difference=difference, skewed=skewed)
        order = generator.permutation(items)
        pilot = replace(scores, human=hide_labels(scores.human, order[:60]))
        needed = count_items_needed_for_difference(pilot, difference, 0.8, seed).count
        sample = replace(scores, human=hide_labels(scores.human, order[: max(needed, 60)]))
        metric = None
        if choose_metric_saving_most_labels(sample).use_for_differences:
            metric = compute_system_differences(sample.metrics["m"])
        differences = LabelledSample(compute_system_differences(sample.human), metric, sample.unit_of_item)
        estimates = estimate_mean_human_scores(
            differences,
            target=THESE_ITEMS,
            generator=np.random.default_rng(seed),
            resamples=200,
        )
        low, _ = estimates.compute_simultaneous_intervals()
        rejections.append(low[0] > 0)
    return float(np.mean(rejections))


def test_sample_size_reaches_the_promised_power() -> None:
    power = measure_power(items=1500, skewed=True, repetitions=80)
    # .03 for the promise and two standard errors of the simulation.
    assert power == pytest.approx(0.8, abs=0.03 + 2 * np.sqrt(0.8 * 0.2 / 80))


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("items", [800, 3000])
def test_sample_size_reaches_the_promised_power_within_three_points(items, skewed) -> None:
    power = measure_power(items=items, skewed=skewed, repetitions=1000)
    assert power == pytest.approx(0.8, abs=0.03 + 2 * np.sqrt(0.8 * 0.2 / 1000))


def test_with_every_item_labelled_the_number_is_that_of_a_paired_z_test() -> None:
    scores = simulate(0, items=2000, difference=0.5, skewed=False)
    spread = np.std(scores.human[0] - scores.human[1], ddof=1)
    expected = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 * spread**2 / 0.5**2
    needed = count_items_needed_for_difference(scores, 0.5, 0.8, seed=0)
    assert needed.count == pytest.approx(expected, rel=0.02)
    assert needed.hardest == ("a", "b")


def test_intervals_are_as_narrow_as_planned() -> None:
    widths = []
    for seed in range(20):
        scores = simulate(seed, items=1500, difference=0.0, skewed=False)
        order = np.random.default_rng(seed).permutation(1500)
        pilot = replace(scores, human=hide_labels(scores.human, order[:60]))
        needed = count_items_needed_for_interval_width(pilot, 0.8, seed).count
        sample = LabelledSample(
            hide_labels(scores.human, order[:needed]), scores.metrics["m"], scores.unit_of_item
        )
        estimates = estimate_mean_human_scores(
            sample, target=THESE_ITEMS, generator=np.random.default_rng(seed), resamples=200
        )
        low, high = estimates.compute_confidence_intervals_of_means()
        widths.append((high - low).max())
    assert 0.6 <= np.mean(widths) <= 0.84
