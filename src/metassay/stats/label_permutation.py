"""Permutation test whether groups differ in their share of right outcomes, when units come in blocks.

Labels are permuted between whole units, and only within a block: what the units of a block share, such as the
difficulty of an item, is then the same on both sides of every comparison. With a single block all units are
exchangeable.

Two statistics are computed, and the larger p-value counts. Welch's (1951) weights the mean of each group by
the variance of its own units; Brown and Forsythe's (1974) compares the differences with the variances of all
groups. Unlike the chi-square statistic they keep their size when groups differ in variance but not in mean
(Janssen, 1997; Pauly, Brunner and Konietschke, 2015): Welch's with one noisy group among many, Brown and
Forsythe's with small noisy groups beside large ones.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from metassay.stats.arrays import FloatArray, IntArray, LongArray, divide_or_zero
from metassay.stats.compilation import kernel
from metassay.stats.stream_kernels import draw_integer_below, hash_integer_in_compiled_code
from metassay.stats.streams import SPLITMIX_STEP

_EQUAL_FACTOR = 1 - 1e-9  # statistics that are equal differ by rounding
_MIN_VARIANCE_SHARE = 1e-9  # a smaller variance, as a share of the largest possible, is rounding
_MIN_DEGREES = 1e-3  # the F distribution needs positive degrees of freedom
_MIN_P = 1e-300  # smaller p-values have no logarithm
_PERMUTATIONS_PER_TASK = 37
_PRIOR_UNITS = 1.0  # units of the largest possible variance in each group: a few equal units prove nothing


class PermutationPValues(NamedTuple):
    """P-values of a permutation test, one per column of outcomes.

    `p` is for the column alone, `p_family` is corrected for testing all columns.
    """

    p: FloatArray
    p_family: FloatArray


def run_label_permutation_test(
    correct_counts: IntArray,
    total_counts: IntArray,
    labels: IntArray,
    block_starts: LongArray,
    *,
    rng: np.random.Generator,
    permutations: int = 999,
    workers: int = 1,
) -> PermutationPValues:
    """Test whether groups differ in their share of right outcomes, by permuting the group labels at random.

    `total_counts` is [units, columns], or [units, 1] if all columns share it. Units are sorted by block;
    block b is `block_starts[b]:block_starts[b + 1]`. With r = right - (share in the block) · total, group g
    has the mean m_g = Σ r / Σ total and its variance v_g from the spread of r over its n_g units:

        Welch               Σ_g (m_g - m)² / v_g,    m the mean of all m_g weighted by 1 / v_g
        Brown and Forsythe  Σ_g N_g m_g² / Σ_g (1 - N_g / N) N_g v_g,    N_g = Σ total

    The latter is replaced by the p-value of its F distribution, with degrees of freedom from the same
    permutation. A group of one unit has no variance and is left out; with fewer than two others p is NaN.

        p = (1 + number of permutations at least as extreme) / (1 + permutations)

    `p_family` compares with the largest statistic of all columns (Westfall and Young, 1993). The result does
    not depend on `workers`.
    """
    group_count = int(labels.max()) + 1
    # Permutation k is drawn from key and k alone, so that the number of threads does not matter.
    key = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
    block_starts = block_starts.astype(np.int64)
    labels = labels.astype(np.int32)
    residuals, largest_variance = _subtract_expected_correct_counts(
        correct_counts, total_counts, block_starts
    )

    def compute_test_statistics_of_permutations(
        permutation_numbers: range, *, is_permuted: bool
    ) -> FloatArray:
        sums = []
        for number in permutation_numbers:
            sums.append(
                _sum_residuals_by_permuted_group(
                    residuals, total_counts, labels, block_starts, group_count, key, number, is_permuted
                )
            )
        return _compute_welch_and_brown_forsythe_statistics(np.stack(sums), largest_variance)

    def compute_test_statistics_of_block(first_permutation_number: int) -> FloatArray:
        last = min(first_permutation_number + _PERMUTATIONS_PER_TASK, permutations)
        return compute_test_statistics_of_permutations(
            range(first_permutation_number, last), is_permuted=True
        )

    observed = compute_test_statistics_of_permutations(range(1), is_permuted=False)
    with ThreadPoolExecutor(workers) as pool:
        tasks = pool.map(compute_test_statistics_of_block, range(0, permutations, _PERMUTATIONS_PER_TASK))
        null = np.concatenate(list(tasks), axis=1)
    tested = ~np.isnan(observed[0, 0])
    # The largest statistic over all columns of a permutation adjusts for testing all columns.
    largest = np.nan_to_num(null[..., tested]).max(axis=2, initial=0, keepdims=True)
    p = _count_extreme_permutations(null, observed) / (1 + permutations)
    p_family = _count_extreme_permutations(largest, observed) / (1 + permutations)
    return PermutationPValues(np.where(tested, p, np.nan), np.where(tested, p_family, np.nan))


def _count_extreme_permutations(
    permuted_statistics: FloatArray, observed_statistics: FloatArray
) -> LongArray:
    """Count for each column the permutations with a statistic at least as extreme as the observed one.

    The observed labels count as one permutation. Returns [columns]. Both arrays are [2 statistics,
    permutations, columns]; the statistic with more extreme permutations decides.
    """
    extreme: LongArray = 1 + (permuted_statistics >= observed_statistics * _EQUAL_FACTOR).sum(axis=1).max(
        axis=0
    )
    return extreme


def _subtract_expected_correct_counts(
    correct_counts: IntArray, total_counts: IntArray, block_starts: LongArray
) -> tuple[FloatArray, FloatArray]:
    """Subtract the expected number of right outcomes from that of each unit.

    Also returns the largest possible variance. The expected number comes from the share of right outcomes in
    the block of the unit. A unit is an output or a cluster, and a block is what its units share, such as an
    item. The largest variance is the mean square of a residual if each unit were all right or all wrong,
    [columns].
    """
    block_of_unit = np.repeat(np.arange(len(block_starts) - 1), np.diff(block_starts))
    correct_per_block = _sum_rows_by_block(correct_counts, block_starts)
    share = divide_or_zero(correct_per_block, _sum_rows_by_block(total_counts, block_starts))[block_of_unit]
    residuals = correct_counts - share * total_counts
    largest_variance = (share * (1 - share) * total_counts.astype(np.float64) ** 2).sum(axis=0) / len(
        correct_counts
    )
    return residuals, largest_variance


def _sum_rows_by_block(values: IntArray, block_starts: LongArray) -> LongArray:
    """Sum the rows of an array that belong to the same block, so that the result has one row per block.

    Returns [blocks, columns].
    """
    zeros = np.zeros((1, values.shape[1]), dtype=np.int64)
    # Differences of a running sum: `reduceat` would return an element, not 0, for an empty block.
    running = np.concatenate([zeros, np.cumsum(values, axis=0, dtype=np.int64)])
    return np.diff(running[block_starts], axis=0)


def _compute_welch_and_brown_forsythe_statistics(
    group_sums: FloatArray, largest_possible_variance: FloatArray
) -> FloatArray:
    """Compute Welch's and Brown and Forsythe's statistic for each permutation.

    Both measure differences between groups. Returns NaN if fewer than two groups have more than one unit.
    """
    columns = len(largest_possible_variance)
    sums, squares, totals_and_units = np.split(group_sums, [columns, 2 * columns], axis=-1)
    total, units = (np.broadcast_to(half, sums.shape) for half in np.split(totals_and_units, 2, axis=-1))
    used = units > 1
    degrees = np.where(used, units - 1, 0)
    within = np.where(used, np.maximum(squares - sums**2 / np.maximum(units, 1), 0), 0)
    mean = divide_or_zero(sums, total)

    regularised_within = within + _PRIOR_UNITS * largest_possible_variance
    weight = np.where(
        used, divide_or_zero(total**2 * (degrees + _PRIOR_UNITS), units * regularised_within), 0
    )
    centre = divide_or_zero((weight * mean).sum(axis=1), weight.sum(axis=1))
    welch = (weight * (mean - centre[:, None]) ** 2).sum(axis=1)

    size = np.where(used, total, 0)
    share = divide_or_zero(size, size.sum(axis=1)[:, None])
    centre = (share * mean).sum(axis=1)
    variance = divide_or_zero(
        units * (within + _MIN_VARIANCE_SHARE * degrees * largest_possible_variance), degrees * size
    )
    between = (size * (mean - centre[:, None]) ** 2).sum(axis=1)
    brown_forsythe = _compute_brown_forsythe_log_p(between, variance, share, degrees)
    return np.where(used.sum(axis=1) > 1, np.stack([welch, brown_forsythe]), np.nan)


def _compute_brown_forsythe_log_p(
    between_squares: FloatArray, variances: FloatArray, shares: FloatArray, degrees: FloatArray
) -> FloatArray:
    """Compute the negative logarithm of the p-value of Brown and Forsythe's test.

    Degrees of freedom are those of Mehrotra (1997). `between_squares` is the sum of squares between contexts,
    [rows]; the other arguments are [rows, contexts]. A p-value can be compared between permutations although
    the ratio cannot: the fewer units the variance comes from, the less a large ratio means (prepivoting;
    Beran, 1988).
    """
    expected = ((1 - shares) * variances).sum(axis=1)
    squares = (
        (variances**2).sum(axis=1)
        + (shares * variances).sum(axis=1) ** 2
        - 2 * (shares * variances**2).sum(axis=1)
    )
    numerator_degrees = divide_or_zero(expected**2, squares)
    within_terms = divide_or_zero(((1 - shares) * variances) ** 2, degrees)
    denominator_degrees = divide_or_zero(expected**2, within_terms.sum(axis=1))
    p = fdtrc(
        np.maximum(numerator_degrees, _MIN_DEGREES),
        np.maximum(denominator_degrees, _MIN_DEGREES),
        divide_or_zero(between_squares, expected),
    )
    return np.asarray(-np.log(np.maximum(p, _MIN_P)))


@kernel
def _sum_residuals_by_permuted_group(
    residuals: FloatArray,
    total_counts: IntArray,
    group_of_unit: IntArray,
    block_starts: LongArray,
    group_count: int,
    random_key: np.uint64,
    permutation_number: int,
    is_permuted: bool,
) -> FloatArray:
    """Shuffle the group labels, and sum the residuals and other numbers over each group.

    The sums are of residuals, squared residuals, numbers of outcomes and numbers of units. If `is_permuted`,
    the labels are first permuted within blocks (Fisher–Yates).
    """
    permuted = group_of_unit.copy()
    if is_permuted:
        state = hash_integer_in_compiled_code(random_key + np.uint64(permutation_number) * SPLITMIX_STEP)
        for block in range(len(block_starts) - 1):
            first = block_starts[block]
            for last in range(block_starts[block + 1] - 1, first, -1):
                state, offset = draw_integer_below(state, last - first + 1)
                other = first + offset
                permuted[last], permuted[other] = permuted[other], permuted[last]
    columns = residuals.shape[1]
    total_columns = total_counts.shape[1]
    sums = np.zeros((group_count, 2 * (columns + total_columns)))
    for unit in range(len(permuted)):
        group_sums = sums[permuted[unit]]
        for column in range(columns):
            residual = residuals[unit, column]
            group_sums[column] += residual
            group_sums[columns + column] += residual * residual
        for column in range(total_columns):
            group_sums[2 * columns + column] += total_counts[unit, column]
            group_sums[2 * columns + total_columns + column] += total_counts[unit, column] > 0
    return sums
