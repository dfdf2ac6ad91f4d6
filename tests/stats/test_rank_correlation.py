"""Rank agreement against published values, identities and slow transcriptions; of many rows against that of two."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from metassay.errors import InputError, TiedScores
from metassay.stats.rank_correlation import (
    correlate_all_rows,
    correlate_rows,
    kendall_tau,
    tau_ap,
    tau_ap_a,
    tau_ap_b,
    weighted_tau,
)

TRUE = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
ESTIMATED = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])
EVERY = [tau_ap, tau_ap_a, tau_ap_b, weighted_tau, kendall_tau]
RANKINGS = 10_000


def fifths(scores):
    return np.round(5 * scores) / 5


def test_the_values_of_urbano_and_marrero():
    assert tau_ap(TRUE, ESTIMATED) == pytest.approx(0.7491182, abs=5e-8)
    assert tau_ap_a(TRUE, fifths(ESTIMATED)) == pytest.approx(0.6074515, abs=5e-8)
    assert tau_ap_b(fifths(TRUE), fifths(ESTIMATED)) == pytest.approx(0.6269841, abs=5e-8)


def yilmaz(reference, estimate):
    """Walk down the estimated list; at each rank the chance that an item above it is rightly above it."""
    listed = sorted(range(len(estimate)), key=lambda item: -estimate[item])
    total = 0.0
    for rank in range(1, len(listed)):
        here = listed[rank]
        right = sum(1 for above in listed[:rank] if reference[above] > reference[here])
        total += right / rank
    return 2 * total / (len(listed) - 1) - 1


def averaged_over_orders(reference, estimate):
    """Definition of the `a` variant: every order of the estimate that its ties allow."""
    groups = [np.flatnonzero(estimate == score).tolist() for score in sorted(set(estimate), reverse=True)]
    orders = [[]]
    for group in groups:
        orders = [order + list(tail) for order in orders for tail in permutations(group)]
    values = []
    for order in orders:
        distinct = np.empty(len(order))
        distinct[order] = -np.arange(len(order))
        values.append(yilmaz(reference, distinct))
    return np.mean(values)


def one_direction(reference, estimate):
    """Definition of one direction of the `b` variant, item by item."""
    shares = []
    for here in range(len(estimate)):
        preceding = [item for item in range(len(estimate)) if estimate[item] > estimate[here]]
        if preceding:
            right = sum(1 for above in preceding if reference[above] > reference[here])
            shares.append(right / len(preceding))
    return 2 * sum(shares) / len(shares) - 1


def test_untied_rankings_equal_the_slow_transcription():
    rng = np.random.default_rng(1)
    for _ in range(RANKINGS):
        n = rng.integers(2, 12)
        reference, estimate = rng.permutation(n), rng.permutation(n)
        expected = yilmaz(reference, estimate)
        assert tau_ap(reference, estimate) == pytest.approx(expected, abs=1e-12)
        assert tau_ap_a(reference, estimate) == pytest.approx(expected, abs=1e-12)
        both = (expected + yilmaz(estimate, reference)) / 2
        assert tau_ap_b(reference, estimate) == pytest.approx(both, abs=1e-12)


def test_tied_rankings_equal_the_slow_transcription():
    rng = np.random.default_rng(2)
    defined = 0
    for _ in range(RANKINGS):
        n = rng.integers(2, 12)
        reference, estimate = rng.integers(0, 5, n), rng.integers(0, 5, n)
        if len(set(reference)) == 1 or len(set(estimate)) == 1:
            assert np.isnan(tau_ap_b(reference, estimate))
            continue
        defined += 1
        expected = (one_direction(reference, estimate) + one_direction(estimate, reference)) / 2
        assert tau_ap_b(reference, estimate) == pytest.approx(expected, abs=1e-12)
        assert tau_ap_b(estimate, reference) == pytest.approx(expected, abs=1e-12)
    assert defined > RANKINGS / 2


def test_ties_in_the_estimate_average_over_every_order_of_the_tied():
    rng = np.random.default_rng(3)
    for _ in range(300):
        n = rng.integers(2, 7)
        reference, estimate = rng.permutation(n), rng.integers(0, 3, n)
        if len(set(estimate)) > 1:
            expected = averaged_over_orders(reference, estimate)
            assert tau_ap_a(reference, estimate) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("agreement", EVERY)
def test_same_order_is_one_and_the_reverse_minus_one(agreement):
    scores = np.array([0.3, 0.1, 0.9, 0.5])
    assert agreement(scores, scores**3) == pytest.approx(1)
    assert agreement(scores, -scores) == pytest.approx(-1)


@pytest.mark.parametrize("agreement", [tau_ap_b, weighted_tau, kendall_tau])
def test_all_tied_is_undefined(agreement):
    assert np.isnan(agreement([1, 1, 1], [1, 2, 3]))
    assert np.isnan(agreement([1, 2, 3], [1, 1, 1]))


def test_an_estimate_all_tied_is_undefined_for_the_a_variant():
    assert np.isnan(tau_ap_a([1, 2, 3], [1, 1, 1]))


def test_a_swap_at_the_top_costs_more_than_one_at_the_bottom():
    truth = [5, 4, 3, 2, 1]
    assert tau_ap(truth, [4, 5, 3, 2, 1]) < tau_ap(truth, [5, 4, 3, 1, 2])
    assert weighted_tau(truth, [4, 5, 3, 2, 1]) < weighted_tau(truth, [5, 4, 3, 1, 2])
    assert kendall_tau(truth, [4, 5, 3, 2, 1]) == kendall_tau(truth, [5, 4, 3, 1, 2])


def test_ties_are_refused_where_they_are_not_defined():
    with pytest.raises(TiedScores, match="estimate has tied scores"):
        tau_ap([1, 2, 3], [1, 1, 2])
    with pytest.raises(TiedScores, match="reference has tied scores"):
        tau_ap_a([1, 1, 2], [1, 2, 3])


@pytest.mark.parametrize("agreement", EVERY)
@pytest.mark.parametrize(
    "bad", [([1, 2], [1, 2, 3]), ([1], [1]), ([1, np.nan], [1, 2]), ([1, 2], [1, np.inf])]
)
def test_bad_vectors_are_refused(agreement, bad):
    with pytest.raises(InputError):
        agreement(*bad)


SCALAR = {"tau_ap_b": tau_ap_b, "weighted_tau": weighted_tau, "kendall": kendall_tau}


@pytest.mark.parametrize("statistic", SCALAR)
@pytest.mark.parametrize("levels", [3, 1000])
def test_matrix_equals_the_scalar_statistic(statistic, levels):
    rng = np.random.default_rng(levels)
    rows = rng.integers(0, levels, (40, 7)).astype(float)
    matrix = correlate_all_rows(rows, statistic)
    for i, left in enumerate(rows):
        for j, right in enumerate(rows):
            first, second = (left, right) if i <= j else (right, left)
            assert matrix[i, j] == pytest.approx(SCALAR[statistic](first, second), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("statistic", SCALAR)
def test_rows_are_compared_one_by_one(statistic):
    rng = np.random.default_rng(0)
    left, right = rng.random((20, 6)), rng.random((20, 6))
    expected = [SCALAR[statistic](a, b) for a, b in zip(left, right)]
    assert correlate_rows(left, right, statistic) == pytest.approx(expected, abs=1e-12)
    against_one = [SCALAR[statistic](a, right[0]) for a in left]
    assert correlate_rows(left, right[:1], statistic) == pytest.approx(against_one, abs=1e-12)


def test_rows_of_plain_tau_ap_equal_the_scalar_one_and_the_average_over_orders_of_ties():
    """The left row is the reference. Ties in the estimate are put in every possible order."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        reference = rng.permutation(7).astype(float)
        estimate = rng.permutation(7).astype(float)
        tied = rng.integers(0, 4, 7).astype(float)
        if len(set(tied)) > 1:
            assert correlate_rows(reference, tied, "tau_ap")[0] == pytest.approx(
                averaged_over_orders(reference, tied)
            )
        assert correlate_rows(reference, estimate, "tau_ap")[0] == pytest.approx(tau_ap(reference, estimate))
    rows = np.array([TRUE, ESTIMATED])
    matrix = correlate_all_rows(rows, "tau_ap")
    assert matrix[0, 1] == matrix[1, 0] == pytest.approx(0.7491182, abs=5e-8)


@pytest.mark.parametrize("statistic", SCALAR)
def test_items_missing_on_either_side_are_left_out(statistic):
    x = np.array([1.0, 2.0, np.nan, 4.0, 3.0])
    y = np.array([2.0, 1.0, 9.0, np.nan, 7.0])
    expected = SCALAR[statistic](x[[0, 1, 4]], y[[0, 1, 4]])
    assert correlate_rows(x, y, statistic)[0] == pytest.approx(expected)


def test_too_few_common_items_or_all_tied_is_undefined():
    assert np.isnan(correlate_rows(np.array([1.0, np.nan]), np.array([1.0, 2.0]), "kendall")[0])
    assert np.isnan(correlate_rows(np.array([1.0, 1.0]), np.array([1.0, 2.0]), "tau_ap_b")[0])


def test_an_unknown_statistic_names_the_known():
    with pytest.raises(InputError, match="kendall, tau_ap, tau_ap_b, weighted_tau"):
        correlate_all_rows(np.ones((2, 2)), "spearman")
