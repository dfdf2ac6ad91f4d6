"""The alternative annotator test: equal to a slow transcription of the paper, with nominal error rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from metassay.meta.judges.alternative_annotator_test import alternative_annotator_test

NAN = float("nan")


def run_slow_test(judge, people, epsilon, categories):
    """The test as the paper describes it, one item and one annotator at a time."""
    p_values, advantages = {}, {}
    for j, own in enumerate(people):
        ours_won, theirs_won = [], []
        for i, rating in enumerate(judge):
            others = [other[i] for k, other in enumerate(people) if k != j and not math.isnan(other[i])]
            if math.isnan(rating) or math.isnan(own[i]) or not others:
                continue
            if categories:
                ours = sum(rating == o for o in others) / len(others)
                theirs = sum(own[i] == o for o in others) / len(others)
            else:
                ours = -math.sqrt(sum((rating - o) ** 2 for o in others) / len(others))
                theirs = -math.sqrt(sum((own[i] - o) ** 2 for o in others) / len(others))
            ours_won.append(1 if ours >= theirs else 0)
            theirs_won.append(1 if theirs >= ours else 0)
        if len(ours_won) < 30:
            continue
        gaps = [h - f for h, f in zip(theirs_won, ours_won)]
        p_values[j] = stats.ttest_1samp(gaps, epsilon, alternative="less").pvalue
        advantages[j] = sum(ours_won) / len(ours_won)
    adjusted = stats.false_discovery_control(list(p_values.values()), method="by")
    return (
        sum(p <= 0.05 for p in adjusted) / len(adjusted),
        sum(advantages.values()) / len(advantages),
        dict(zip(p_values, adjusted)),
    )


@pytest.mark.parametrize("categories", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_result_equals_a_slow_transcription_on_simulated_annotators(seed, categories):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 120).astype(float) if categories else rng.normal(size=120)
    people = np.stack([add_noise(truth, rng, 0.3, categories) for _ in range(5)])
    people[rng.random(people.shape) < 0.3] = NAN
    people[4, 20:] = NAN  # too few items to be tested
    judge = add_noise(truth, rng, 0.15 + 0.1 * seed, categories)
    judge[:3] = NAN
    found = alternative_annotator_test(judge, people, epsilon=0.15, categories=categories)
    rate, advantage, adjusted = run_slow_test(judge, people, 0.15, categories)
    assert found.winning_rate == pytest.approx(rate)
    assert found.advantage == pytest.approx(advantage)
    assert np.isnan(found.p_fdr[4])
    assert found.p_fdr[:4] == pytest.approx([adjusted[j] for j in range(4)], rel=1e-9)
    assert found.passes == (rate >= 0.5)


def add_noise(truth, rng, noise, categories):
    if not categories:
        return truth + rng.normal(size=len(truth)) * noise
    return np.where(rng.random(len(truth)) < noise, rng.integers(0, 3, len(truth)), truth).astype(float)


EDGE = 0.8815
"""The noise of a judge among annotators of noise .6 at which mean(W_h − W_f) is .2 (by bisection)."""


def simulate_ratings(rng, items):
    truth = rng.normal(size=items)
    return truth + EDGE * rng.normal(size=items), truth + 0.6 * rng.normal(size=(4, items))


def test_false_positive_rate_is_nominal_at_the_edge_of_the_hypothesis():
    """On the edge of the null hypothesis each single test must reject in about .05 of draws."""
    judge, people = simulate_ratings(np.random.default_rng(1), 200_000)
    found = alternative_annotator_test(judge, people, epsilon=0.2)
    assert 1 - 2 * found.advantages.mean() == pytest.approx(0.2, abs=0.005)  # scores never tie
    rng, draws, rejected = np.random.default_rng(0), 2000, 0
    for _ in range(draws):
        rejected += alternative_annotator_test(*simulate_ratings(rng, 300), epsilon=0.2).p[0] <= 0.05
    low, high = stats.binom.ppf([0.0005, 0.9995], draws, 0.05)
    assert low <= rejected <= high


def test_false_positive_rate_is_nominal_for_categories():
    """Two annotators who are always right, and a judge wrong with probability ε.

    Then W_h − W_f is 1 with probability ε and else 0: its mean is ε. So skewed a difference needs many items:
    at 100 the t-test rejects in .08 of draws, at 1,000 in .05.
    """
    rng, epsilon, draws, items, rejected = np.random.default_rng(0), 0.2, 2000, 1000, 0
    people = np.ones((2, items))
    for _ in range(draws):
        judge = np.where(rng.random(items) < epsilon, 0.0, 1.0)
        rejected += alternative_annotator_test(judge, people, epsilon=epsilon, categories=True).p[0] <= 0.05
    low, high = stats.binom.ppf([0.0005, 0.9995], draws, 0.05)
    assert low <= rejected <= high


def test_false_discoveries_over_many_annotators_are_below_the_level():
    rng, passed = np.random.default_rng(1), 0
    for _ in range(300):
        people = np.ones((6, 200))
        judge = np.where(rng.random(200) < 0.2, 0.0, 1.0)
        passed += alternative_annotator_test(judge, people, epsilon=0.2, categories=True).winning_rate > 0
    assert passed / 300 <= 0.08


def test_perfect_judge_replaces_noisy_annotators_and_a_random_judge_none():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 300).astype(float)
    people = np.stack([np.where(rng.random(300) < 0.2, 1 - truth, truth) for _ in range(4)])
    assert alternative_annotator_test(truth, people, categories=True).winning_rate == 1
    noise = rng.integers(0, 2, 300).astype(float)
    assert alternative_annotator_test(noise, people, categories=True).winning_rate == 0


def test_p_value_of_equal_differences_is_0_or_1_and_undefined_for_few_items():
    people = np.ones((2, 40))
    assert alternative_annotator_test(np.ones(40), people, categories=True).p.tolist() == [0, 0]
    assert alternative_annotator_test(np.zeros(40), people, categories=True).p.tolist() == [1, 1]
    few = alternative_annotator_test(np.ones(10), np.ones((2, 10)), categories=True)
    assert np.isnan(few.winning_rate)
    assert few.items.tolist() == [10, 10]


@pytest.mark.parametrize(("items", "is_tested"), [(29, False), (30, True)])
def test_annotators_need_thirty_shared_items(items, is_tested):
    rng = np.random.default_rng(0)
    people = rng.integers(1, 6, (3, items)).astype(float)
    found = alternative_annotator_test(people.mean(axis=0), people)
    assert (~np.isnan(found.p)).all() == is_tested
