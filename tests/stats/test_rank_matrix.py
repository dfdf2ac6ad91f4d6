"""Fast agreement of many rankings against the scalar definitions and scipy."""

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.stats.rank_correlation import kendall_tau, tau_ap_b, weighted_tau
from metassay.stats.rank_matrix import agreement_matrix, row_agreements

SCALAR = {"tau_ap_b": tau_ap_b, "weighted_tau": weighted_tau, "kendall": kendall_tau}


@pytest.mark.parametrize("statistic", SCALAR)
@pytest.mark.parametrize("levels", [3, 1000])
def test_matrix_equals_the_scalar_statistic(statistic, levels):
    rng = np.random.default_rng(levels)
    rows = rng.integers(0, levels, (40, 7)).astype(float)
    matrix = agreement_matrix(rows, statistic)
    for i, left in enumerate(rows):
        for j, right in enumerate(rows):
            first, second = (left, right) if i <= j else (right, left)
            assert matrix[i, j] == pytest.approx(SCALAR[statistic](first, second), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("statistic", SCALAR)
def test_rows_are_compared_one_by_one(statistic):
    rng = np.random.default_rng(0)
    left, right = rng.random((20, 6)), rng.random((20, 6))
    expected = [SCALAR[statistic](a, b) for a, b in zip(left, right)]
    assert row_agreements(left, right, statistic) == pytest.approx(expected, abs=1e-12)
    against_one = [SCALAR[statistic](a, right[0]) for a in left]
    assert row_agreements(left, right[:1], statistic) == pytest.approx(against_one, abs=1e-12)


@pytest.mark.parametrize("statistic", SCALAR)
def test_items_missing_on_either_side_are_left_out(statistic):
    x = np.array([1.0, 2.0, np.nan, 4.0, 3.0])
    y = np.array([2.0, 1.0, 9.0, np.nan, 7.0])
    expected = SCALAR[statistic](x[[0, 1, 4]], y[[0, 1, 4]])
    assert row_agreements(x, y, statistic)[0] == pytest.approx(expected)


def test_too_few_common_items_or_all_tied_is_undefined():
    assert np.isnan(row_agreements(np.array([1.0, np.nan]), np.array([1.0, 2.0]), "kendall")[0])
    assert np.isnan(row_agreements(np.array([1.0, 1.0]), np.array([1.0, 2.0]), "tau_ap_b")[0])


def test_an_unknown_statistic_names_the_known():
    with pytest.raises(InputError, match="kendall, tau_ap_b, weighted_tau"):
        agreement_matrix(np.ones((2, 2)), "spearman")
