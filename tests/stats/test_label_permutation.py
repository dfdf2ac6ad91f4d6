"""The label permutation test against enumeration of every arrangement, and its freedom from block effects."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from metassay.stats.label_permutation import permutation_p_values


def p_values(right, total, labels, starts, **options):
    arrays = [np.asarray(each, dtype=np.int32) for each in (right, total, labels)]
    return permutation_p_values(*arrays, np.asarray(starts), rng=np.random.default_rng(0), **options)


def chi_square(right, total, labels):
    sums = np.array(
        [[right[labels == g].sum(), (total - right)[labels == g].sum()] for g in np.unique(labels)]
    )
    return chi2_contingency(sums.T, correction=False).statistic


def exact(right, total, labels, starts):
    """Share of all arrangements within blocks that are at least as uneven as the observed one."""
    blocks = [range(a, b) for a, b in pairwise(starts)]
    observed = chi_square(right, total, labels)
    arrangements = product(*(permutations(labels[list(block)]) for block in blocks))
    statistics = [chi_square(right, total, np.concatenate(arrangement)) for arrangement in arrangements]
    return np.mean(np.array(statistics) >= observed - 1e-9)


@pytest.mark.parametrize("starts", [[0, 3, 6, 9], [0, 6], [0, 2, 4, 6, 8]])
def test_p_value_is_that_of_enumeration(starts):
    rng = np.random.default_rng(len(starts))
    units = starts[-1]
    total = rng.integers(2, 6, units)
    right = rng.integers(0, total + 1)
    labels = np.concatenate([np.arange(b - a) % 3 for a, b in pairwise(starts)])
    expected = exact(right, total, labels, starts)
    found = p_values(right[:, None], total[:, None], labels, starts, permutations=20_000)
    assert found[0] == pytest.approx(expected, abs=0.012)


def test_differences_between_blocks_do_not_count():
    labels, starts = np.tile([0, 1], 10), np.arange(0, 21, 2)
    right = np.repeat(np.arange(10) % 2 * 4, 2)  # items all right or all wrong, systems alike
    assert p_values(right[:, None], np.full((20, 1), 4), labels, starts)[0] == 1


def test_a_clear_difference_is_found():
    labels, starts = np.tile([0, 1], 20), np.arange(0, 41, 2)
    right = np.where(labels == 1, 4, 1)
    assert p_values(right[:, None], np.full((40, 1), 4), labels, starts, permutations=999)[0] == 0.001


def test_all_right_is_no_evidence():
    labels, starts = np.tile([0, 1], 5), np.arange(0, 11, 2)
    assert p_values(np.full((10, 1), 4), np.full((10, 1), 4), labels, starts)[0] == 1


def test_columns_with_totals_of_their_own_and_any_number_of_workers():
    rng = np.random.default_rng(4)
    total = rng.integers(1, 5, (30, 3))
    right = rng.integers(0, total + 1)
    labels, starts = np.tile([0, 1, 2], 10), np.arange(0, 31, 3)
    together = p_values(right, total, labels, starts, permutations=500, workers=3)
    for column in range(3):
        alone = p_values(right[:, [column]], total[:, [column]], labels, starts, permutations=500)
        assert alone[0] == together[column]
