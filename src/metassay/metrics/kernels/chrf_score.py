"""The score of chrF from its statistics, in the order of operations of sacrebleu, so that ties stay ties."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_EPSILON = 1e-16


@njit(cache=True, nogil=True)
def chrf_scores(statistics: NDArray[np.float64], beta: float, smoothed: bool) -> NDArray[np.float64]:
    """F-score of each row of (n-grams of the output, of the reference, in common) × order, in per cent."""
    factor = beta * beta
    scores = np.empty(statistics.shape[0], np.float64)
    for row in range(statistics.shape[0]):
        if smoothed:
            scores[row] = _mean_of_f(statistics[row], factor)
        else:
            scores[row] = _f_of_means(statistics[row], factor)
    return scores


@njit(cache=True, nogil=True)
def _f_of_means(counts: NDArray[np.float64], factor: float) -> float:
    """F of the mean precision and the mean recall over the orders that both sides reach."""
    precision, recall, orders = 0.0, 0.0, 0
    for i in range(0, len(counts), 3):
        output, reference, common = counts[i], counts[i + 1], counts[i + 2]
        if output > 0 and reference > 0:
            precision += common / output
            recall += common / reference
            orders += 1
    if orders > 0:
        precision /= orders
        recall /= orders
    if precision + recall == 0:
        return 0.0
    score = (1 + factor) * precision * recall
    score /= (factor * precision) + recall
    return 100 * score


@njit(cache=True, nogil=True)
def _mean_of_f(counts: NDArray[np.float64], factor: float) -> float:
    """Mean over all orders of F, with a small number where a side has no n-gram."""
    total = 0.0
    for i in range(0, len(counts), 3):
        output, reference, common = counts[i], counts[i + 1], counts[i + 2]
        precision = common / output if output > 0 else _EPSILON
        recall = common / reference if reference > 0 else _EPSILON
        denominator = factor * precision + recall
        total += (1 + factor) * precision * recall / denominator if denominator > 0 else _EPSILON
    return 100 * total / (len(counts) // 3)
