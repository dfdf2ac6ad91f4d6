"""Rank agreement of many score vectors at once; each value equals `stats.rank_correlation`'s.

A score that is NaN is left out of a comparison together with its partner. Fewer than two common items, or a
side that is all tied, gives NaN.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from metassay.errors import UnknownName
from metassay.stats.arrays import FloatArray

STATISTICS = {"tau_ap_b": 0, "weighted_tau": 1, "kendall": 2}


def row_agreements(left: FloatArray, right: FloatArray, statistic: str) -> FloatArray:
    """Agreement of row i of `left` with row i of `right`, [rows, items] each; one row is repeated."""
    left, right = np.broadcast_arrays(np.atleast_2d(left), np.atleast_2d(right))
    return _row_agreements(np.ascontiguousarray(left), np.ascontiguousarray(right), _code(statistic))


def agreement_matrix(rows: FloatArray, statistic: str) -> FloatArray:
    """Agreement of every two rows of [rows, items]; 1 on the diagonal wherever it is defined."""
    return _agreement_matrix(np.ascontiguousarray(rows, dtype=np.float64), _code(statistic))


def _code(statistic: str) -> int:
    if statistic not in STATISTICS:
        raise UnknownName("rank agreement", statistic, STATISTICS)
    return STATISTICS[statistic]


@njit(cache=True, nogil=True)
def _row_agreements(left: FloatArray, right: FloatArray, statistic: int) -> FloatArray:
    values = np.empty(len(left))
    for row in range(len(left)):
        values[row] = _agreement(left[row], right[row], statistic)
    return values


@njit(cache=True, nogil=True)
def _agreement_matrix(rows: FloatArray, statistic: int) -> FloatArray:
    matrix = np.empty((len(rows), len(rows)))
    for i in range(len(rows)):
        for j in range(i, len(rows)):
            matrix[i, j] = _agreement(rows[i], rows[j], statistic)
            matrix[j, i] = matrix[i, j]
    return matrix


@njit(cache=True, nogil=True)
def _agreement(x: FloatArray, y: FloatArray, statistic: int) -> float:
    common = ~(np.isnan(x) | np.isnan(y))
    if not common.all():
        x, y = x[common], y[common]
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return np.nan
    if statistic == 0:
        return _tau_ap_b(x, y)
    if statistic == 1:
        return (_weighted_tau(x, y) + _weighted_tau(y, x)) / 2
    return _pair_agreement(x, y, np.full(len(x), 0.5))


@njit(cache=True, nogil=True)
def _tau_ap_b(x: FloatArray, y: FloatArray) -> float:
    total_x, total_y, below_x, below_y = 0.0, 0.0, 0, 0
    for here in range(len(x)):
        above_x, above_y, above_both = 0, 0, 0
        for other in range(len(x)):
            in_x, in_y = x[other] > x[here], y[other] > y[here]
            above_x += in_x
            above_y += in_y
            above_both += in_x & in_y
        if above_x > 0:
            total_x += above_both / above_x
            below_x += 1
        if above_y > 0:
            total_y += above_both / above_y
            below_y += 1
    return total_x / below_x + total_y / below_y - 1


@njit(cache=True, nogil=True)
def _weighted_tau(x: FloatArray, y: FloatArray) -> float:
    """Hyperbolic weights by rank in x, ties broken by y, then by position from the end, as scipy does."""
    weights = np.empty(len(x))
    for here in range(len(x)):
        rank = 0
        for other in range(len(x)):
            if x[other] != x[here]:
                rank += x[other] > x[here]
            elif y[other] != y[here]:
                rank += y[other] > y[here]
            else:
                rank += other > here
        weights[here] = 1 / (rank + 1)
    return _pair_agreement(x, y, weights)


@njit(cache=True, nogil=True)
def _pair_agreement(x: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """Concordant less discordant weight over the geometric mean of the weights untied in x and in y."""
    agree, untied_x, untied_y = 0.0, 0.0, 0.0
    for i in range(1, len(x)):
        for j in range(i):
            weight = weights[i] + weights[j]
            sign_x, sign_y = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
            agree += weight * sign_x * sign_y
            untied_x += weight * abs(sign_x)
            untied_y += weight * abs(sign_y)
    return float(agree / np.sqrt(untied_x * untied_y))
