"""Agreement of judges with people and with themselves, against enumeration and identities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from metassay.errors import InputError
from metassay.meta.judges.agreement import (
    base_rate,
    credit_of,
    difference_over_items,
    in_both_orders,
    mean_over_items,
    pair_credits,
    position_bias,
    repeats_same,
)
from metassay.stats.bootstrap import ClusterBootstrap

NAN = float("nan")


def bootstrap(resamples=500):
    return ClusterBootstrap(np.random.default_rng(0), resamples)


def test_every_pair_of_answers_in_both_orders_by_enumeration():
    """What a pair is worth: the same output twice is a verdict, anything else a tie, a gap nothing."""
    cases = list(itertools.product((1.0, 0.5, 0.0, NAN), repeat=2))
    value = np.array([answer for case in cases for answer in case])
    unit = np.repeat(np.arange(len(cases)), 2).astype(np.int32)
    verdict, same = in_both_orders(value, unit, np.tile([False, True], len(cases)))
    for (one, two), joint, agree in zip(cases, verdict, same):
        if np.isnan(one) or np.isnan(two):
            assert np.isnan(joint)
            assert np.isnan(agree)
        else:
            assert joint == (one if one == two else 0.5)
            assert agree == (one == two)


def test_one_order_alone_is_the_verdict_and_says_nothing_of_position():
    value, unit = np.array([1.0, 0.0, NAN]), np.arange(3, dtype=np.int32)
    swapped = np.array([False, True, False])
    verdict, same = in_both_orders(value, unit, swapped)
    np.testing.assert_array_equal(verdict, value)
    assert np.isnan(same).all()
    assert np.isnan(position_bias(value, swapped, unit)).all()


def test_a_judge_that_always_names_the_first_place_is_all_bias_and_no_knowledge():
    """Output 1 stands first where not swapped: naming the first place is 1, then 0."""
    swapped = np.tile([False, True], 50)
    value, unit = np.where(swapped, 0.0, 1.0), np.repeat(np.arange(50), 2).astype(np.int32)
    verdict, same = in_both_orders(value, unit, swapped)
    assert (verdict == 0.5).all()
    assert (same == 0).all()
    assert position_bias(value, swapped, unit).mean() == 0.5
    gold = np.tile([1.0, 0.0], 25)
    assert credit_of(verdict, gold).mean() == 0.5
    assert credit_of(verdict, gold, ties="strict").mean() == 0


def test_the_base_rate_is_the_expected_agreement_in_cohens_kappa():
    rng = np.random.default_rng(1)
    gold = rng.integers(0, 2, 300).astype(float)
    said = np.where(rng.random(300) < 0.7, gold, 1.0)
    observed, kappa = (said == gold).mean(), cohen_kappa_score(said, gold)
    expected = base_rate(said, gold)
    assert (observed - expected) / (1 - expected) == pytest.approx(kappa)
    assert np.isnan(base_rate(np.array([NAN]), np.array([1.0])))


def test_the_base_rate_is_the_mean_over_all_reshuffles():
    verdict, gold = np.array([1.0, 0.5, 0.0, 1.0]), np.array([1.0, 0.0, 0.5, 1.0])
    shuffles = [credit_of(np.array(order), gold).mean() for order in itertools.permutations(verdict)]
    assert base_rate(verdict, gold) == pytest.approx(np.mean(shuffles))


def test_repeats_are_compared_pair_by_pair():
    value = np.array([1.0, 1.0, 0.0, 0.5, NAN, 1.0, 1.0, NAN])
    unit = np.array([0, 0, 0, 1, 1, 2, 2, 2], dtype=np.int32)
    same = repeats_same(value, unit)
    assert same[0] == pytest.approx(1 / 3)
    assert np.isnan(same[1])
    assert same[2] == 1


def test_scores_are_compared_within_items_as_a_loop_would():
    rng = np.random.default_rng(2)
    score, human = rng.integers(0, 4, (5, 30)).astype(float), rng.integers(0, 4, (5, 30)).astype(float)
    score[rng.random(score.shape) < 0.1] = NAN
    found, items = pair_credits(score, human)
    expected = []
    for item in range(30):
        for i, j in itertools.combinations(range(5), 2):
            a, b = score[i, item], score[j, item]
            if human[i, item] == human[j, item] or np.isnan(a) or np.isnan(b):
                continue
            right = (a > b) == (human[i, item] > human[j, item])
            expected.append((item, 0.5 if a == b else float(right)))
    assert sorted(zip(items.tolist(), found.tolist())) == sorted(expected)
    assert len(pair_credits(score[:1], human[:1])[0]) == 0


def test_intervals_of_means_hold_the_truth_as_often_as_they_say():
    """Items answered twice, both answers alike: 95 % intervals from items, not from answers."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(300):
        right = np.repeat(rng.random(60) < 0.8, 2).astype(float)
        found = mean_over_items(right, np.repeat(np.arange(60), 2).astype(np.int32), bootstrap(200))
        held += found.low <= 0.8 <= found.high
    assert 0.91 <= held / 300 <= 0.99


def test_differences_are_of_means_and_undefined_where_a_side_is_empty():
    values, item = np.array([1.0, 1.0, 0.0, 0.0]), np.arange(4, dtype=np.int32)
    here, there = np.where([1, 0, 1, 0], values, NAN), np.where([0, 1, 0, 1], values, NAN)
    assert difference_over_items(here, there, item, bootstrap()).value == 0
    assert np.isnan(difference_over_items(np.full(4, NAN), there, item, bootstrap()).value)
    one = difference_over_items(np.array([1.0, NAN]), np.array([NAN, 0.0]), item[:2], bootstrap())
    assert one.value == 1
    assert np.isnan(one.low)


def test_ties_are_half_or_wrong_and_nothing_else():
    with pytest.raises(InputError, match="half, strict"):
        credit_of(np.zeros(1), np.zeros(1), ties="third")


def test_a_difference_over_few_items_is_widened_on_both_sides():
    """Five items: the percentiles of the same resamples, 2.776 / 1.96 times as far from the estimate."""
    rng = np.random.default_rng(1)
    here, there = rng.random(5), rng.random(5)
    items = np.arange(5, dtype=np.int32)
    found = difference_over_items(here, there, items, bootstrap())
    weights = bootstrap().draw_weights(items)
    weights = weights[:, weights.any(axis=0)]
    low, high = np.percentile((here - there) @ weights / weights.sum(axis=0), [2.5, 97.5])
    stretch = 2.776445 / 1.959964
    assert found.value == pytest.approx(here.mean() - there.mean())
    assert found.low == pytest.approx(found.value + (low - found.value) * stretch, rel=1e-5)
    assert found.high == pytest.approx(found.value + (high - found.value) * stretch, rel=1e-5)
