"""Agreement of judges with human labels and with themselves: enumeration and exact identities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from metassay.errors import InputError
from metassay.meta.judges.agreement import (
    combine_verdicts_of_both_orders,
    compare_order_of_outputs_with_humans,
    compare_verdicts_with_gold_labels,
    compute_accuracy_expected_by_chance,
    compute_repeat_agreement,
    find_preferences_for_output_shown_first,
)
from metassay.meta.judges.estimates import estimate_difference_of_means, estimate_mean_over_items
from metassay.stats.bootstrap import ClusterBootstrap

NAN = float("nan")


def make_bootstrap(resamples=500):
    return ClusterBootstrap(np.random.default_rng(0), resamples)


def test_combined_verdicts_of_both_orders_by_enumeration():
    """The same verdict twice counts, different verdicts are a tie, and a missing one makes it undefined."""
    cases = list(itertools.product((1.0, 0.5, 0.0, NAN), repeat=2))
    verdicts = np.array(cases).ravel()
    questions = np.repeat(np.arange(len(cases)), 2).astype(np.int32)
    combined = combine_verdicts_of_both_orders(verdicts, questions, np.tile([False, True], len(cases)))
    for (first, second), verdict, is_consistent in zip(cases, combined.verdicts, combined.is_consistent):
        if np.isnan(first) or np.isnan(second):
            assert np.isnan(verdict)
            assert np.isnan(is_consistent)
        else:
            assert verdict == (first if first == second else 0.5)
            assert is_consistent == (first == second)


def test_single_order_is_the_verdict_and_has_no_position_bias():
    verdicts = np.array([1.0, 0.0, NAN])
    questions = np.arange(3, dtype=np.int32)
    swapped = np.array([False, True, False])
    combined = combine_verdicts_of_both_orders(verdicts, questions, swapped)
    np.testing.assert_array_equal(combined.verdicts, verdicts)
    assert np.isnan(combined.is_consistent).all()
    assert np.isnan(find_preferences_for_output_shown_first(verdicts, swapped, questions)).all()


def test_judge_that_always_prefers_the_first_position_is_never_consistent():
    """Output 1 is shown first where not swapped: preferring the first position is 1, then 0."""
    swapped = np.tile([False, True], 50)
    verdicts = np.where(swapped, 0.0, 1.0)
    questions = np.repeat(np.arange(50), 2).astype(np.int32)
    combined = combine_verdicts_of_both_orders(verdicts, questions, swapped)
    assert (combined.verdicts == 0.5).all()
    assert (combined.is_consistent == 0).all()
    assert find_preferences_for_output_shown_first(verdicts, swapped, questions).mean() == 1
    gold = np.tile([1.0, 0.0], 25)
    assert compare_verdicts_with_gold_labels(combined.verdicts, gold).mean() == 0.5
    assert compare_verdicts_with_gold_labels(combined.verdicts, gold, ties="strict").mean() == 0


def test_base_rate_is_the_expected_agreement_of_cohens_kappa():
    rng = np.random.default_rng(1)
    gold = rng.integers(0, 2, 300).astype(float)
    verdicts = np.where(rng.random(300) < 0.7, gold, 1.0)
    observed = (verdicts == gold).mean()
    expected = compute_accuracy_expected_by_chance(verdicts, gold)
    kappa = cohen_kappa_score(verdicts, gold)
    assert (observed - expected) / (1 - expected) == pytest.approx(kappa)
    assert np.isnan(compute_accuracy_expected_by_chance(np.array([NAN]), np.array([1.0])))


def test_base_rate_is_the_mean_credit_over_all_permutations():
    verdicts = np.array([1.0, 0.5, 0.0, 1.0])
    gold = np.array([1.0, 0.0, 0.5, 1.0])
    credits_of_permutations = [
        compare_verdicts_with_gold_labels(np.array(order), gold).mean()
        for order in itertools.permutations(verdicts)
    ]
    assert compute_accuracy_expected_by_chance(verdicts, gold) == pytest.approx(
        np.mean(credits_of_permutations)
    )


def test_repeated_answers_are_compared_pair_by_pair():
    answers = np.array([1.0, 1.0, 0.0, 0.5, NAN, 1.0, 1.0, NAN])
    questions = np.array([0, 0, 0, 1, 1, 2, 2, 2], dtype=np.int32)
    shares = compute_repeat_agreement(answers, questions)
    assert shares[0] == pytest.approx(1 / 3)
    assert np.isnan(shares[1])
    assert shares[2] == 1


def test_credits_of_scores_equal_those_of_a_loop_over_pairs():
    rng = np.random.default_rng(2)
    score = rng.integers(0, 4, (5, 30)).astype(float)
    human = rng.integers(0, 4, (5, 30)).astype(float)
    score[rng.random(score.shape) < 0.1] = NAN
    pair_accuracies, items = compare_order_of_outputs_with_humans(score, human)
    expected = []
    for item in range(30):
        for i, j in itertools.combinations(range(5), 2):
            a, b = score[i, item], score[j, item]
            if human[i, item] == human[j, item] or np.isnan(a) or np.isnan(b):
                continue
            right = (a > b) == (human[i, item] > human[j, item])
            expected.append((item, 0.5 if a == b else float(right)))
    assert sorted(zip(items.tolist(), pair_accuracies.tolist())) == sorted(expected)
    assert len(compare_order_of_outputs_with_humans(score[:1], human[:1])[0]) == 0


def test_intervals_of_means_cover_the_truth_in_95_percent():
    """Every item has two equal answers: intervals must resample items, not answers."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(300):
        right = np.repeat(rng.random(60) < 0.8, 2).astype(float)
        estimate = estimate_mean_over_items(
            right, np.repeat(np.arange(60), 2).astype(np.int32), make_bootstrap(200)
        )
        covered += estimate.low <= 0.8 <= estimate.high
    assert 0.91 <= covered / 300 <= 0.99


def test_difference_is_undefined_where_a_side_is_empty():
    items = np.arange(4, dtype=np.int32)
    first = np.array([1.0, NAN, 0.0, NAN])
    second = np.array([NAN, 1.0, NAN, 0.0])
    assert estimate_difference_of_means(first, second, items, make_bootstrap()).value == 0
    assert np.isnan(estimate_difference_of_means(np.full(4, NAN), second, items, make_bootstrap()).value)
    single = estimate_difference_of_means(
        np.array([1.0, NAN]), np.array([NAN, 0.0]), items[:2], make_bootstrap()
    )
    assert single.value == 1
    assert np.isnan(single.low)


def test_unknown_treatment_of_ties_is_an_error():
    with pytest.raises(InputError, match="half, judgebench, strict"):
        compare_verdicts_with_gold_labels(np.zeros(1), np.zeros(1), ties="third")


def test_interval_of_a_difference_over_few_items_is_widened():
    """Five items: percentiles of the same resamples, 2.776 / 1.96 times as far from the estimate."""
    rng = np.random.default_rng(1)
    first = rng.random(5)
    second = rng.random(5)
    items = np.arange(5, dtype=np.int32)
    estimate = estimate_difference_of_means(first, second, items, make_bootstrap())
    weights = make_bootstrap().draw_cluster_weights(items)
    weights = weights[:, weights.any(axis=0)]
    low, high = np.percentile((first - second) @ weights / weights.sum(axis=0), [2.5, 97.5])
    widening = 2.776445 / 1.959964
    assert estimate.value == pytest.approx(first.mean() - second.mean())
    assert estimate.low == pytest.approx(estimate.value + (low - estimate.value) * widening, rel=1e-5)
    assert estimate.high == pytest.approx(estimate.value + (high - estimate.value) * widening, rel=1e-5)
