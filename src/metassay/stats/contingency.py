"""Do groups differ in their share of right ones? Chi-square, Cramér's V, strata, and permutations.

The permutation test is for units that come in blocks: labels are exchanged between whole units, and only
inside a block: what the units of a block share (an item's difficulty, a document's) is then the same on both
sides of every comparison. With one block that holds everything, whole units are exchanged freely.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.special import chdtrc

from metassay.stats.arrays import FloatArray, IntArray, LongArray
from metassay.stats.random import STEP, mixed, next_below

_ROUNDING = 1e-9  # eigenvalues of a matrix scaled to 1 that are this small are zero


@dataclass(frozen=True)
class TableTest:
    """A statistic, its degrees of freedom and p-value; `cramers_v` where it has a meaning, else NaN."""

    statistic: float
    dof: int
    p: float
    cramers_v: float = float("nan")


def chi_square(right: FloatArray, total: FloatArray) -> TableTest:
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


def cochran_mantel_haenszel(right: FloatArray, total: FloatArray) -> TableTest:
    """Whether the share of right ones differs between groups, within strata: [strata, groups] each.

    The generalised statistic g' V⁻ g (Landis, Heyman and Koch, 1978), g the sum over strata of observed less
    expected right ones, V its hypergeometric covariance, dof the rank of V (groups - 1, unless no stratum
    links some groups). V is diagonal less one rank per stratum, so the cost is linear in groups.
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
    return TableTest(statistic, dof, float(chdtrc(dof, statistic)) if dof > 0 else 1.0)


_AT_LEAST = 1 - 1e-9  # equal statistics differ by rounding
_CHUNK = 37  # permutations per task


def permutation_p_values(
    right: IntArray,
    total: IntArray,
    labels: IntArray,
    block_starts: LongArray,
    *,
    rng: np.random.Generator,
    permutations: int = 999,
    workers: int = 1,
) -> FloatArray:
    """One p-value per column of `right` [units, columns]: the share of arrangements as uneven as ours.

    `total` is [units, columns], or [units, 1] where all columns share it. Units are sorted by block;
    block b is `block_starts[b]:block_starts[b + 1]`. The statistic is chi-square on groups × (right, wrong);
    p = (1 + as extreme) / (1 + permutations). The result does not depend on `workers`.
    """
    groups = int(labels.max()) + 1
    key = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
    counts = np.ascontiguousarray(np.concatenate([right, total], axis=1), dtype=np.int32)
    arguments = (counts, labels.astype(np.int32), block_starts.astype(np.int64), groups)
    observed = _statistics(_group_sums(*arguments, key, 0, 0)[None], right.shape[1])

    def extreme(first: int) -> LongArray:
        count = min(_CHUNK, permutations - first)
        tables = np.stack([_group_sums(*arguments, key, first + step, 1) for step in range(count)])
        return np.asarray((_statistics(tables, right.shape[1]) >= observed * _AT_LEAST).sum(axis=0))

    with ThreadPoolExecutor(workers) as pool:
        exceeding = sum(pool.map(extreme, range(0, permutations, _CHUNK)), np.zeros(right.shape[1], np.int64))
    return np.asarray((1 + exceeding) / (1 + permutations))


def _statistics(tables: LongArray, columns: int) -> FloatArray:
    """Chi-square [tables, columns] of sums [tables, groups, columns + totals]."""
    sums = np.moveaxis(tables.astype(np.float64), 1, -1)
    return chi_square_statistic(
        sums[:, :columns], np.broadcast_to(sums[:, columns:], sums[:, :columns].shape)
    )


@njit(cache=True, nogil=True)
def _group_sums(
    counts: IntArray,
    labels: IntArray,
    block_starts: LongArray,
    groups: int,
    key: np.uint64,
    permutation: int,
    shuffled: int,
) -> LongArray:
    """Column sums per group under one arrangement of the labels; as given when not shuffled."""
    arranged = labels.copy()
    state = mixed(key + np.uint64(permutation) * STEP)
    if shuffled:
        for block in range(len(block_starts) - 1):
            first = block_starts[block]
            for last in range(block_starts[block + 1] - 1, first, -1):  # Fisher–Yates
                state, step = next_below(state, last - first + 1)
                other = first + step
                arranged[last], arranged[other] = arranged[other], arranged[last]
    sums = np.zeros((groups, counts.shape[1]), dtype=np.int64)
    for unit in range(len(arranged)):
        group = arranged[unit]
        for column in range(counts.shape[1]):
            sums[group, column] += counts[unit, column]
    return sums
