"""Permutation test that groups do not differ in their share of right ones, when units come in blocks.

Labels are exchanged between whole units, and only inside a block: what the units of a block share (an item's
difficulty, a document's) is then the same on both sides of every comparison. With one block that holds
everything, whole units are exchanged freely.

Two statistics are compared, and the larger p-value counts. Welch's (1951) weighs every group's mean by the
spread of its own units; Brown and Forsythe's (1974) weighs all groups' spreads together. Unlike the
chi-square of counts they keep their size where groups differ in spread but not in mean, since they are then
distributed among permutations as among samples (Janssen, 1997; Pauly, Brunner and Konietschke, 2015): Welch's
with one noisy group among many, Brown and Forsythe's with small noisy groups beside large ones.

Do groups differ in their share of right ones? Chi-square, Cramér's V, and tests over strata.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc

from metassay.stats.arrays import FloatArray, IntArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.random import SPLITMIX_STEP, draw_below, mix_in_kernel

_AT_LEAST = 1 - 1e-9  # equal statistics differ by rounding
_TINY = 1e-9  # a spread that is rounding, as a share of the largest
_LEAST, _SMALLEST = 1e-3, 1e-300  # where F has no degrees of freedom, and p-values no logarithm
_CHUNK = 37  # permutations per task
_BORROWED = 1.0  # units' worth of the largest spread in every group's: a few equal units prove no certainty


class PermutationPValues(NamedTuple):
    """Per column the p-value, and the one adjusted for all columns; NaN where nothing can be told."""

    p: FloatArray
    p_family: FloatArray


def permute_labels_test(
    right: IntArray,
    total: IntArray,
    labels: IntArray,
    block_starts: LongArray,
    *,
    rng: np.random.Generator,
    permutations: int = 999,
    workers: int = 1,
) -> PermutationPValues:
    """One p-value per column of `right` [units, columns]: the share of arrangements as uneven as ours.

    `total` is [units, columns], or [units, 1] where all columns share it. Units are sorted by block;
    block b is `block_starts[b]:block_starts[b + 1]`. With r = right - (share in the block) · total, group g
    has the mean m_g = Σ r / Σ total and its variance v_g from the spread of r over its n_g units:

        Welch               Σ_g (m_g - m)² / v_g,    m the mean of all m_g weighted by 1 / v_g
        Brown and Forsythe  Σ_g N_g m_g² / Σ_g (1 - N_g / N) N_g v_g,    N_g = Σ total

    the latter as the p-value that the F distribution gives it, with degrees of freedom of the same
    arrangement. A group of one unit has no spread and is passed over; with fewer than two others p is NaN.
    p = (1 + as extreme) / (1 + permutations); `p_family` compares with the largest statistic of all columns
    (Westfall and Young, 1993). The result does not depend on `workers`.
    """
    groups = int(labels.max()) + 1
    key = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
    residual, most = _residuals(right, total, block_starts.astype(np.int64))
    arguments = (residual, total, labels.astype(np.int32), block_starts.astype(np.int64), groups)
    observed = _statistics(_group_sums(*arguments, key, 0, 0)[None], most)

    def permuted(first: int) -> FloatArray:
        chunk = range(first, min(first + _CHUNK, permutations))
        return _statistics(np.stack([_group_sums(*arguments, key, each, 1) for each in chunk]), most)

    with ThreadPoolExecutor(workers) as pool:
        null = np.concatenate(list(pool.map(permuted, range(0, permutations, _CHUNK))), axis=1)
    tested = ~np.isnan(observed[0, 0])
    largest = np.nan_to_num(null[..., tested]).max(axis=2, initial=0, keepdims=True)
    reached = [(each >= observed * _AT_LEAST).sum(axis=1).max(axis=0) for each in (null, largest)]
    p, family = (np.where(tested, (1 + extreme) / (1 + permutations), np.nan) for extreme in reached)
    return PermutationPValues(p, family)


@kernel
def _residuals(right: IntArray, total: IntArray, block_starts: LongArray) -> tuple[FloatArray, FloatArray]:
    """What units have above the share of their block, and the most it can spread.

    The most is the mean square of a residual where every unit is all right or all wrong.
    """
    residual, most = np.empty(right.shape, np.float64), np.zeros(right.shape[1], np.float64)
    for block in range(len(block_starts) - 1):
        first, end = block_starts[block], block_starts[block + 1]
        for column in range(right.shape[1]):
            own = column if total.shape[1] > 1 else 0
            all_right, all_total = 0, 0
            for unit in range(first, end):
                all_right += right[unit, column]
                all_total += total[unit, own]
            share = all_right / all_total if all_total > 0 else 0.0
            for unit in range(first, end):
                residual[unit, column] = right[unit, column] - share * total[unit, own]
                size = float(total[unit, own])
                most[column] += share * (1 - share) * (size * size)
    for column in range(len(most)):
        most[column] /= len(right)
    return residual, most


def _statistics(tables: FloatArray, most: FloatArray) -> FloatArray:
    """Both statistics [2, tables, columns] from sums [tables, groups, …]; NaN with fewer than two groups."""
    sums, squares, rest = np.split(tables, [len(most), 2 * len(most)], axis=-1)
    total, units = (np.broadcast_to(each, sums.shape) for each in np.split(rest, 2, axis=-1))
    used = units > 1
    degrees = np.where(used, units - 1, 0)
    inside = np.where(used, np.maximum(squares - sums**2 / np.maximum(units, 1), 0), 0)
    weight = np.where(
        used, _quotient(total**2 * (degrees + _BORROWED), units * (inside + _BORROWED * most)), 0
    )
    mean = _quotient(sums, total)
    centre = _quotient((weight * mean).sum(axis=1), weight.sum(axis=1))
    welch = (weight * (mean - centre[:, None]) ** 2).sum(axis=1)
    size = np.where(used, total, 0)
    share = _quotient(size, size.sum(axis=1)[:, None])
    centre = (share * mean).sum(axis=1)
    spread = _quotient(units * (inside + _TINY * degrees * most), degrees * size)
    between = (size * (mean - centre[:, None]) ** 2).sum(axis=1)
    together = _surprise(between, spread, share, degrees)
    return np.where(used.sum(axis=1) > 1, np.stack([welch, together]), np.nan)


def _surprise(between: FloatArray, spread: FloatArray, share: FloatArray, degrees: FloatArray) -> FloatArray:
    """How surprising the differences are, -log of Brown and Forsythe's p-value.

    Degrees of freedom are Mehrotra's (1997): the fewer units the spread rests on, the fewer they are, and the
    less a large ratio says (prepivoting; Beran, 1988).
    """
    expected = ((1 - share) * spread).sum(axis=1)
    squares = (
        (spread**2).sum(axis=1) + (share * spread).sum(axis=1) ** 2 - 2 * (share * spread**2).sum(axis=1)
    )
    above = _quotient(expected**2, squares)
    below = _quotient(expected**2, _quotient(((1 - share) * spread) ** 2, degrees).sum(axis=1))
    ratio = _quotient(between, expected)
    p = fdtrc(np.maximum(above, _LEAST), np.maximum(below, _LEAST), ratio)
    return np.asarray(-np.log(np.maximum(p, _SMALLEST)))


def _quotient(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """0 where the bottom is: units that are all alike differ in nothing."""
    shape = np.broadcast_shapes(top.shape, bottom.shape)
    return np.divide(top, bottom, where=bottom > 0, out=np.zeros(shape))


@kernel
def _group_sums(
    residual: FloatArray,
    total: IntArray,
    labels: IntArray,
    block_starts: LongArray,
    groups: int,
    key: np.uint64,
    permutation: int,
    shuffled: int,
) -> FloatArray:
    """Sums per group under one arrangement of the labels; as given when not shuffled.

    Of residuals, of their squares, of totals, and the number of units that have any.
    """
    arranged = labels.copy()
    state = mix_in_kernel(key + np.uint64(permutation) * SPLITMIX_STEP)
    if shuffled:
        for block in range(len(block_starts) - 1):
            first = block_starts[block]
            for last in range(block_starts[block + 1] - 1, first, -1):  # Fisher–Yates
                state, step = draw_below(state, last - first + 1)
                other = first + step
                arranged[last], arranged[other] = arranged[other], arranged[last]
    columns, totals = residual.shape[1], total.shape[1]
    sums = np.zeros((groups, 2 * (columns + totals)), np.float64)
    for unit in range(len(arranged)):
        own = sums[arranged[unit]]
        for column in range(columns):
            own[column] += residual[unit, column]
            own[columns + column] += residual[unit, column] * residual[unit, column]
        for column in range(totals):
            own[2 * columns + column] += total[unit, column]
            own[2 * columns + totals + column] += total[unit, column] > 0
    return sums


_ROUNDING = 1e-9  # eigenvalues of a matrix scaled to 1 that are this small are zero


@dataclass(frozen=True)
class TableTest:
    """A statistic, its degrees of freedom and p-value; `cramers_v` where it has a meaning, else NaN."""

    statistic: float
    dof: int
    p: float
    cramers_v: float = float("nan")


def chi_square_test(right: FloatArray, total: FloatArray) -> TableTest:
    """Pearson's test that the share of right ones is the same in all groups.

    `right` of `total` per group; empty groups are left out. All right or all wrong: statistic 0, p 1, V NaN.
    With two columns Cramér's V is √(chi² / n).

    >>> test = chi_square(np.array([10.0, 20.0]), np.array([40.0, 40.0]))
    >>> round(test.statistic, 4), test.dof, round(test.p, 4), round(test.cramers_v, 4)
    (5.3333, 1, 0.0209, 0.2582)
    """
    dof = int((total > 0).sum()) - 1
    if dof < 1:
        return TableTest(float("nan"), max(dof, 0), float("nan"))
    statistic = float(chi_square_statistic(right, total))
    share = right.sum() / total.sum()
    v = float(np.sqrt(statistic / total.sum())) if 0 < share < 1 else float("nan")
    return TableTest(statistic, dof, float(chdtrc(dof, statistic)), v)


def chi_square_statistic(right: FloatArray, total: FloatArray) -> FloatArray:
    """Sum over groups (last axis) of (right - expected)² / (expected · (1 - share)); 0 where all agree."""
    everything = total.sum(axis=-1, keepdims=True)
    share = right.sum(axis=-1, keepdims=True) / np.where(everything > 0, everything, 1)
    scale = total * share * (1 - share)
    squares = (right - total * share) ** 2
    return np.asarray(np.divide(squares, scale, out=np.zeros_like(squares), where=scale > 0).sum(axis=-1))


def cochran_mantel_haenszel_test(right: FloatArray, total: FloatArray) -> TableTest:
    """Whether the share of right ones differs between groups, within strata: [strata, groups] each.

    The generalised statistic g' V⁻ g (Landis, Heyman and Koch, 1978), g the sum over strata of observed less
    expected right ones, V its hypergeometric covariance, dof the rank of V (groups - 1, unless no stratum
    links some groups). V is diagonal less one rank per stratum, so the cost is linear in groups. Where every
    stratum holds one group alone, nothing can be told within strata: dof 0, p NaN.
    """
    strata = total.sum(axis=1)
    shares = np.divide(right.sum(axis=1), strata, out=np.zeros_like(strata), where=strata > 0)
    spread = (
        shares * (1 - shares) * np.divide(strata, strata - 1, out=np.zeros_like(strata), where=strata > 1)
    )
    gap = (right - total * shares[:, None]).sum(axis=0)
    diagonal = (spread[:, None] * total).sum(axis=0)
    active = diagonal > 0
    if active.sum() < 2:
        return TableTest(0.0, max(int((total.sum(axis=0) > 0).sum()) - 1, 0), 1.0)
    gap, diagonal = gap[active], diagonal[active]
    scale = np.sqrt(np.divide(spread, strata, out=np.zeros_like(strata), where=strata > 0))
    lowering = scale[:, None] * total[:, active]  # V = diag(diagonal) - lowering' lowering
    inner = np.eye(len(strata)) - (lowering / diagonal) @ lowering.T
    values, vectors = np.linalg.eigh(inner)
    kept = values > _ROUNDING
    projected = vectors[:, kept].T @ (lowering @ (gap / diagonal))
    statistic = float((gap**2 / diagonal).sum() + (projected**2 / values[kept]).sum())
    dof = int(active.sum() - (~kept).sum())
    return TableTest(statistic, dof, float(chdtrc(dof, statistic)) if dof > 0 else float("nan"))
