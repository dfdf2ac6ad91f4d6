"""Tests whether groups differ in their share of right outcomes: chi-square, and within strata."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from metassay.stats.arrays import FloatArray, divide_or_zero

_ROUNDING_ERROR = 1e-9  # eigenvalues of a matrix scaled to 1 that are smaller would be 0 without rounding


@dataclass(frozen=True)
class ContingencyTest:
    """Result of a test whether groups differ in their share of right outcomes.

    `cramers_v` is NaN where it is not defined.
    """

    statistic: float
    dof: int
    p: float
    cramers_v: float = float("nan")


def chi_square_test(right_counts: FloatArray, total_counts: FloatArray) -> ContingencyTest:
    """Test with Pearson's chi-square test (1900) whether all groups have the same share of right outcomes.

    `right_counts` of `total_counts` outcomes per group; empty groups are left out. If all outcomes are right,
    or none, the statistic is 0, p 1 and V undefined. For a table with two columns Cramér's V is √(chi² / n).

    >>> test = chi_square_test(np.array([10.0, 20.0]), np.array([40.0, 40.0]))
    >>> round(test.statistic, 4), test.dof, round(test.p, 4), round(test.cramers_v, 4)
    (5.3333, 1, 0.0209, 0.2582)
    """
    dof = int((total_counts > 0).sum()) - 1
    if dof < 1:
        return ContingencyTest(float("nan"), max(dof, 0), float("nan"))
    statistic = float(chi_square_statistic(right_counts, total_counts))
    share = right_counts.sum() / total_counts.sum()
    cramers_v = float(np.sqrt(statistic / total_counts.sum())) if 0 < share < 1 else float("nan")
    return ContingencyTest(statistic, dof, float(chdtrc(dof, statistic)), cramers_v)


def chi_square_statistic(right_counts: FloatArray, total_counts: FloatArray) -> FloatArray:
    """Compute Pearson's chi-square statistic for groups that differ in their share of right outcomes.

    The last axis is the group. Σ (right - expected)² / (expected · (1 - share)); 0 if all outcomes are alike.
    """
    everything = total_counts.sum(axis=-1, keepdims=True)
    share = right_counts.sum(axis=-1, keepdims=True) / np.where(everything > 0, everything, 1)
    variance = total_counts * share * (1 - share)
    squares = (right_counts - total_counts * share) ** 2
    return np.asarray(divide_or_zero(squares, variance).sum(axis=-1))


def cochran_mantel_haenszel_test(right_counts: FloatArray, total_counts: FloatArray) -> ContingencyTest:
    """Test whether groups differ in their share of right outcomes within strata.

    Only outcomes of the same stratum are compared. The generalised statistic g' V⁻ g (Landis, Heyman and
    Koch, 1978): g is the sum over strata of observed minus expected right outcomes, V its hypergeometric
    covariance, and the degrees of freedom are the rank of V: groups - 1, unless no stratum links some groups.
    If every stratum has one group only, nothing can be compared: dof 0, p NaN. V is diagonal minus one rank
    per stratum, so the cost is linear in groups.
    """
    stratum_sizes = total_counts.sum(axis=1)
    shares = divide_or_zero(right_counts.sum(axis=1), stratum_sizes)
    correction = divide_or_zero(stratum_sizes, stratum_sizes - 1)
    stratum_variances = shares * (1 - shares) * correction
    difference = (right_counts - total_counts * shares[:, None]).sum(axis=0)
    diagonal = (stratum_variances[:, None] * total_counts).sum(axis=0)
    active = diagonal > 0
    if active.sum() < 2:
        return ContingencyTest(0.0, max(int((total_counts.sum(axis=0) > 0).sum()) - 1, 0), 1.0)
    difference = difference[active]
    diagonal = diagonal[active]
    # V = diag(diagonal) - factors' factors, inverted by the Woodbury identity
    scale = np.sqrt(divide_or_zero(stratum_variances, stratum_sizes))
    factors = scale[:, None] * total_counts[:, active]
    inner = np.eye(len(stratum_sizes)) - (factors / diagonal) @ factors.T
    eigenvalues, eigenvectors = np.linalg.eigh(inner)
    nonzero = eigenvalues > _ROUNDING_ERROR
    projection = eigenvectors[:, nonzero].T @ (factors @ (difference / diagonal))
    statistic = float((difference**2 / diagonal).sum() + (projection**2 / eigenvalues[nonzero]).sum())
    dof = int(active.sum() - (~nonzero).sum())
    p = float(chdtrc(dof, statistic)) if dof > 0 else float("nan")
    return ContingencyTest(statistic, dof, p)
