"""Table tests against scipy, published results and an explicit covariance matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from metassay.stats.contingency import chi_square_test, cochran_mantel_haenszel_test

# Berkeley by department: [men, women] admitted and refused (Bickel, Hammel and O'Connell, 1975)
ADMITTED = np.array([[512, 89], [353, 17], [120, 202], [138, 131], [53, 94], [22, 24]], dtype=float)
REFUSED = np.array([[313, 19], [207, 8], [205, 391], [279, 244], [138, 299], [351, 317]], dtype=float)


def test_chi_square_equals_scipy():
    rng = np.random.default_rng(0)
    for _ in range(200):
        total = rng.integers(1, 60, rng.integers(2, 12)).astype(float)
        right = np.floor(total * rng.random(len(total)))
        if not 0 < right.sum() < total.sum():
            continue
        expected = chi2_contingency(np.stack([right, total - right]), correction=False)
        test = chi_square_test(right, total)
        assert test.statistic == pytest.approx(expected.statistic, abs=1e-9)
        assert test.p == pytest.approx(expected.pvalue, rel=1e-9)
        assert test.dof == expected.dof
        assert test.cramers_v == pytest.approx(np.sqrt(expected.statistic / total.sum()))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_table_all_right_or_all_wrong_shows_no_difference(share):
    test = chi_square_test(share * np.array([5.0, 7.0, 9.0]), np.array([5.0, 7.0, 9.0]))
    assert (test.statistic, test.dof, test.p) == (0.0, 2, 1.0)
    assert np.isnan(test.cramers_v)


def test_groups_without_pairs_do_not_count():
    full = chi_square_test(np.array([3.0, 5.0]), np.array([9.0, 8.0]))
    assert chi_square_test(np.array([3.0, 0.0, 5.0]), np.array([9.0, 0.0, 8.0])) == full


def test_one_group_cannot_be_compared():
    test = chi_square_test(np.array([3.0]), np.array([9.0]))
    assert np.isnan(test.statistic)
    assert np.isnan(test.p)


def test_berkeley_admissions_as_published():
    test = cochran_mantel_haenszel_test(ADMITTED, ADMITTED + REFUSED)
    assert test.statistic == pytest.approx(1.5246, abs=5e-5)
    assert test.p == pytest.approx(0.2169, abs=5e-5)
    assert test.dof == 1


def by_covariance_matrix(right, total):
    """Landis, Heyman and Koch with the whole covariance matrix and its pseudo-inverse."""
    groups = right.shape[1]
    gap, covariance = np.zeros(groups), np.zeros((groups, groups))
    for r, n in zip(right, total):
        size, hits = n.sum(), r.sum()
        if size < 2:
            continue
        gap += r - n * hits / size
        covariance += hits * (size - hits) / (size**2 * (size - 1)) * (size * np.diag(n) - np.outer(n, n))
    rank = np.linalg.matrix_rank(covariance)
    return gap @ np.linalg.pinv(covariance) @ gap, rank


def test_stratified_test_equals_the_full_covariance():
    rng = np.random.default_rng(1)
    for _ in range(300):
        shape = rng.integers(1, 6), rng.integers(2, 8)
        total = rng.integers(0, 20, shape).astype(float)
        right = np.floor(total * rng.random(shape))
        statistic, rank = by_covariance_matrix(right, total)
        test = cochran_mantel_haenszel_test(right, total)
        if rank:
            assert test.statistic == pytest.approx(statistic, rel=1e-6, abs=1e-8)
            assert test.dof == rank
            assert test.p == pytest.approx(chi2.sf(statistic, rank), rel=1e-5, abs=1e-12)


def test_strata_that_link_no_groups_test_within_each_link():
    right = np.array([[3.0, 6.0, 0.0, 0.0], [0.0, 0.0, 5.0, 2.0]])
    total = np.array([[9.0, 8.0, 0.0, 0.0], [0.0, 0.0, 7.0, 9.0]])
    assert cochran_mantel_haenszel_test(right, total).dof == 2


def test_one_stratum_is_the_chi_square_but_for_the_finite_correction():
    right, total = np.array([4.0, 9.0, 7.0]), np.array([10.0, 12.0, 15.0])
    size = total.sum()
    expected = chi_square_test(right, total).statistic * (size - 1) / size
    assert cochran_mantel_haenszel_test(right[None], total[None]).statistic == pytest.approx(expected)


def test_no_variation_in_any_stratum():
    test = cochran_mantel_haenszel_test(np.array([[4.0, 5.0]]), np.array([[4.0, 5.0]]))
    assert (test.statistic, test.dof, test.p) == (0.0, 1, 1.0)


def test_groups_that_share_no_stratum_cannot_be_compared():
    test = cochran_mantel_haenszel_test(np.diag([4.0, 9.0, 2.0]), np.diag([10.0, 10.0, 10.0]))
    assert test.dof == 0
    assert np.isnan(test.p)
