"""The label permutation test against enumeration of every arrangement, and its freedom from block effects."""

from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from scipy.stats import f

from metassay.stats.label_permutation import (
    _compute_welch_and_brown_forsythe_statistics,
    _subtract_expected_correct_counts,
    _sum_residuals_by_permuted_group,
    run_label_permutation_test,
)


def p_values(right, total, labels, starts, **options):
    arrays = [np.asarray(each, dtype=np.int32) for each in (right, total, labels)]
    return run_label_permutation_test(*arrays, np.asarray(starts), rng=np.random.default_rng(0), **options)


def both_statistics(right, total, labels, starts):
    """Welch's statistic, and one less Brown and Forsythe's p-value, of residuals from the block's share, group by group."""
    blocks = [slice(a, b) for a, b in pairwise(starts)]
    share = np.concatenate([np.full(b.stop - b.start, right[b].sum() / total[b].sum()) for b in blocks])
    residual, most = right - share * total, (share * (1 - share) * total**2).mean()
    groups = [np.flatnonzero(labels == g) for g in np.unique(labels) if (labels == g).sum() > 1]
    sizes = np.array([total[g].sum() for g in groups], dtype=float)
    means = np.array([residual[g].sum() for g in groups]) / sizes
    squares = np.array([((residual[g] - residual[g].mean()) ** 2).sum() for g in groups])
    units = np.array([len(g) for g in groups])
    weights = sizes**2 / (units * (squares + most) / units)  # one unit's worth of the largest spread is added
    welch = (weights * (means - np.average(means, weights=weights)) ** 2).sum()
    shares = sizes / sizes.sum()
    between = (sizes * (means - shares @ means) ** 2).sum()
    spreads = units * squares / (units - 1) / sizes
    expected = ((1 - shares) * spreads).sum()
    above = expected**2 / ((spreads**2).sum() + (shares @ spreads) ** 2 - 2 * (shares @ spreads**2))
    below = expected**2 / (((1 - shares) * spreads) ** 2 / (units - 1)).sum()  # Mehrotra (1997)
    return welch, 1 - f.sf(between / expected, above, below)


def exact(right, total, labels, starts):
    """Share of all arrangements within blocks that are at least as uneven as the observed one, by both."""
    blocks = [range(a, b) for a, b in pairwise(starts)]
    observed = np.array(both_statistics(right, total, labels, starts))
    arrangements = product(*(permutations(labels[list(block)]) for block in blocks))
    found = [both_statistics(right, total, np.concatenate(each), starts) for each in arrangements]
    return (np.array(found) >= observed * (1 - 1e-9)).mean(axis=0).max()


@pytest.mark.parametrize("starts", [[0, 3, 6, 9], [0, 6], [0, 2, 4, 6, 8]])
def test_p_value_is_that_of_enumeration(starts):
    rng = np.random.default_rng(len(starts))
    units = starts[-1]
    total = rng.integers(2, 6, units)
    right = rng.integers(0, total + 1)
    labels = np.concatenate([np.arange(b - a) % 3 for a, b in pairwise(starts)])
    expected = exact(right, total, labels, starts)
    found = p_values(right[:, None], total[:, None], labels, starts, permutations=20_000)
    assert found.p[0] == pytest.approx(expected, abs=0.012)


def test_differences_between_blocks_do_not_count():
    labels, starts = np.tile([0, 1], 10), np.arange(0, 21, 2)
    right = np.repeat(np.arange(10) % 2 * 4, 2)  # items all right or all wrong, systems alike
    assert p_values(right[:, None], np.full((20, 1), 4), labels, starts).p[0] == 1


def test_a_clear_difference_is_found():
    labels, starts = np.tile([0, 1], 20), np.arange(0, 41, 2)
    right = np.where(labels == 1, 4, 1)
    assert p_values(right[:, None], np.full((40, 1), 4), labels, starts, permutations=999).p[0] == 0.001


def test_all_right_is_no_evidence():
    labels, starts = np.tile([0, 1], 5), np.arange(0, 11, 2)
    assert p_values(np.full((10, 1), 4), np.full((10, 1), 4), labels, starts).p[0] == 1


def test_columns_with_totals_of_their_own_and_any_number_of_workers():
    rng = np.random.default_rng(4)
    total = rng.integers(1, 5, (30, 3))
    right = rng.integers(0, total + 1)
    labels, starts = np.tile([0, 1, 2], 10), np.arange(0, 31, 3)
    together = p_values(right, total, labels, starts, permutations=500, workers=3)
    for column in range(3):
        alone = p_values(right[:, [column]], total[:, [column]], labels, starts, permutations=500)
        assert alone.p[0] == together.p[column]
        assert together.p_family[column] >= together.p[column]


def test_the_family_of_one_column_is_the_column():
    rng = np.random.default_rng(5)
    total = np.full((30, 1), 4)
    found = p_values(rng.integers(0, 5, (30, 1)), total, np.arange(30) % 3, [0, 30])
    assert found.p_family == pytest.approx(found.p)


def test_groups_of_one_unit_cannot_be_tested():
    rng = np.random.default_rng(6)
    right, total = rng.integers(0, 5, (6, 1)), np.full((6, 1), 4)
    alone = p_values(right, total, np.arange(6), [0, 6])
    assert np.isnan(alone.p[0])
    assert np.isnan(alone.p_family[0])
    assert np.isnan(p_values(right, total, np.array([0, 0, 0, 0, 0, 1]), [0, 6]).p[0])


def test_the_family_compares_with_the_largest_statistic_of_all_columns():
    """Two columns, every arrangement of four and four units: an even column makes the uneven one less rare."""
    rng = np.random.default_rng(7)
    total = np.full(8, 4)
    columns = [rng.integers(0, 5, 8), np.array([4, 3, 4, 2, 1, 2, 0, 2])]
    labels = np.repeat([0, 1], 4)
    arrangements = [np.isin(np.arange(8), chosen).astype(int) for chosen in combinations(range(8), 4)]
    table = np.array(
        [[both_statistics(own, total, each, [0, 8]) for own in columns] for each in arrangements]
    )
    observed = np.array([both_statistics(own, total, labels, [0, 8]) for own in columns])
    largest = table.max(axis=1, keepdims=True)
    expected = (largest >= observed * (1 - 1e-9)).mean(axis=0).max(axis=1)
    alone = (table >= observed * (1 - 1e-9)).mean(axis=0).max(axis=1)
    right = np.stack(columns, axis=1)
    found = p_values(right, total[:, None].repeat(2, axis=1), labels, [0, 8], permutations=20_000)
    assert found.p_family == pytest.approx(expected, abs=0.012)
    assert found.p == pytest.approx(alone, abs=0.012)
    assert (expected > alone + 0.03).any()


def test_both_statistics_are_those_written_out():
    rng = np.random.default_rng(8)
    starts, labels = np.array([0, 4, 9, 12]), np.arange(12) % 3
    total = rng.integers(2, 6, 12)
    right = rng.integers(0, total + 1)
    column = right[:, None], total[:, None]
    residual, most = _subtract_expected_correct_counts(*column, starts)
    sums = _sum_residuals_by_permuted_group(
        residual, column[1], labels.astype(np.int32), starts, 3, np.uint64(0), 0, False
    )
    welch, surprise = _compute_welch_and_brown_forsythe_statistics(sums[None], most)[:, 0, 0]
    assert (welch, 1 - np.exp(-surprise)) == pytest.approx(
        both_statistics(right, total, labels, starts), rel=1e-5
    )
