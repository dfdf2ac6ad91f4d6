"""Sign-flip p-values against exact enumeration and a transcription of the definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from metassay.stats.sign_flip import (
    compute_normal_p_values,
    compute_p_values_like_mt_metrics_eval,
    compute_sign_flip_p_values,
    estimate_normal_p_value_errors,
    find_better_system_of_each_pair,
    sum_under_random_signs,
)


def exact_p(x: np.ndarray, y: np.ndarray) -> float:
    """Every assignment of signs; one that equals the observed difference counts half."""
    d = x - y
    sums = [float(np.dot(signs, d)) for signs in itertools.product((1, -1), repeat=len(d))]
    return float(np.mean([(s > d.sum() + 1e-9) + 0.5 * (abs(s - d.sum()) <= 1e-9) for s in sums]))


@pytest.fixture
def scores() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(4, 9)) + np.array([[0.0], [0.3], [0.6], [-0.2]])


def test_random_flips_approach_the_exact_distribution(scores: np.ndarray) -> None:
    exact = [exact_p(scores[i], scores[j]) for i, j in itertools.combinations(range(4), 2)]
    drawn = compute_sign_flip_p_values(scores, np.random.default_rng(0), 40_000)
    np.testing.assert_allclose(drawn, exact, atol=4 * 0.5 / np.sqrt(40_000))


def test_ties_count_half_so_both_directions_add_to_one() -> None:
    whole = np.random.default_rng(1).integers(0, 3, size=(5, 12)).astype(float)
    there = compute_sign_flip_p_values(whole, np.random.default_rng(0), 500)
    back = compute_sign_flip_p_values(whole[::-1], np.random.default_rng(0), 500)
    first, second = np.triu_indices(5, 1)
    position = {(i, j): k for k, (i, j) in enumerate(zip(first, second))}
    reverse = [position[4 - j, 4 - i] for i, j in zip(first, second)]
    np.testing.assert_array_equal(there + back[reverse], 1.0)


def test_the_normal_limit_is_close_for_many_segments() -> None:
    many = np.random.default_rng(2).normal(size=(3, 400)) + np.array([[0.0], [0.05], [0.1]])
    np.testing.assert_allclose(
        compute_normal_p_values(many),
        compute_sign_flip_p_values(many, np.random.default_rng(0), 50_000),
        atol=0.01,
    )


def test_the_normal_limit_is_the_normal_tail() -> None:
    """d = (3, 4): 7 / 5 = 1.4; the tail of the standard normal beyond 1.4 is .0807567."""
    assert compute_normal_p_values(np.array([[3.0, 4.0], [0.0, 0.0]]))[0] == pytest.approx(
        0.0807567, abs=1e-7
    )


def test_equal_systems_are_undecided() -> None:
    same = np.tile(np.random.default_rng(3).normal(size=7), (2, 1))
    assert compute_normal_p_values(same)[0] == 0.5
    assert compute_sign_flip_p_values(same, np.random.default_rng(0), 100)[0] == 0.5
    assert compute_p_values_like_mt_metrics_eval(same, 100)[0] == 1.0  # its >= counts every tie
    assert find_better_system_of_each_pair(same)[0] == 0


def test_rounding_does_not_break_a_tie_of_means() -> None:
    """.1 + .2 and .3 + 0 differ in the last bit of a double and are equal all the same."""
    assert find_better_system_of_each_pair(np.array([[0.1, 0.2], [0.3, 0.0]]))[0] == 0
    assert find_better_system_of_each_pair(np.array([[0.1, 0.2], [0.3, 0.001]]))[0] == -1


def test_a_shift_common_to_all_systems_changes_nothing(scores: np.ndarray) -> None:
    shifted = scores + 1e4 * np.arange(9)
    np.testing.assert_allclose(compute_normal_p_values(scores), compute_normal_p_values(shifted), atol=1e-9)
    np.testing.assert_array_equal(
        compute_sign_flip_p_values(scores, np.random.default_rng(0), 999),
        compute_sign_flip_p_values(shifted, np.random.default_rng(0), 999),
    )


def test_flips_do_not_depend_on_the_size_of_blocks(
    scores: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compute_sign_flip_p_values(scores, np.random.default_rng(0), 1000)
    monkeypatch.setattr("metassay.stats.sign_flip.FLIPS_PER_BLOCK", 7)
    np.testing.assert_array_equal(compute_sign_flip_p_values(scores, np.random.default_rng(0), 1000), whole)


def test_the_null_distribution_matches_scipys_exact_enumeration() -> None:
    differences = np.random.default_rng(4).normal(0.4, 1.0, size=(3, 10))
    null = sum_under_random_signs(differences, np.random.default_rng(0), 20_000)
    for row, drawn in zip(differences, null):
        exact = stats.permutation_test(
            (row,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="greater"
        )
        assert (drawn >= row.sum() - 1e-12).mean() == pytest.approx(exact.pvalue, abs=0.015)


def test_the_error_of_the_closed_form_is_about_what_enumeration_shows():
    """Twelve segments, one of them with most of the difference: every sign pattern, against the series."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(2, 12)) * np.array([2.0, *[1.0] * 11])
    d = scores[0] - scores[1]
    sums = np.array(list(itertools.product([-1, 1], repeat=12))) @ d
    exact = ((sums > d.sum() + 1e-9).mean() + (sums > d.sum() - 1e-9).mean()) / 2
    normal = compute_normal_p_values(scores)[0]
    assert estimate_normal_p_value_errors(scores)[0] == pytest.approx(normal - exact, rel=0.5)
    assert estimate_normal_p_value_errors(scores[:, :1] * np.zeros((2, 1)))[0] == 0
