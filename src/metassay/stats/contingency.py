"""Do groups differ in their share of right ones? Chi-square, Cramér's V, and tests over strata."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from metassay.stats.arrays import FloatArray

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
