"""BLEU and chrF from their statistics, in the order of operations of sacrebleu, so that ties stay ties."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

SMOOTH_NONE, SMOOTH_FLOOR, SMOOTH_ADD_K, SMOOTH_EXP = range(4)

_LOG_OF_ZERO = -9999999999.0
"""sacrebleu's floor for the logarithm of a precision of 0."""
_EPSILON = 1e-16


@njit(cache=True, nogil=True)
def bleu_scores(
    statistics: NDArray[np.float64], smoothing: int, value: float, effective_order: bool
) -> NDArray[np.float64]:
    """BLEU of each row [output length, reference length, matches × order, totals × order]."""
    order = (statistics.shape[1] - 2) // 2
    scores = np.empty(statistics.shape[0], np.float64)
    precisions = np.empty(order, np.float64)
    for row in range(statistics.shape[0]):
        matches = statistics[row, 2 : 2 + order]
        totals = statistics[row, 2 + order :]
        used = _precisions(matches, totals, smoothing, value, effective_order, precisions)
        if used == 0:
            scores[row] = 0.0
            continue
        logs = 0.0
        for n in range(used):
            logs += math.log(precisions[n]) if precisions[n] != 0.0 else _LOG_OF_ZERO
        scores[row] = _brevity_penalty(statistics[row, 0], statistics[row, 1]) * math.exp(logs / used)
    return scores


@njit(cache=True, nogil=True)
def _brevity_penalty(output_length: float, reference_length: float) -> float:
    if output_length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / output_length) if output_length > 0 else 0.0


@njit(cache=True, nogil=True)
def _precisions(
    matches: NDArray[np.float64],
    totals: NDArray[np.float64],
    smoothing: int,
    value: float,
    effective_order: bool,
    precisions: NDArray[np.float64],
) -> int:
    """Fills in the smoothed precisions, in per cent; returns how many count, 0 when nothing matches."""
    order = len(precisions)
    precisions[:] = 0.0
    if not np.any(matches > 0):
        return 0
    used, halvings = order, 1.0
    for n in range(order):
        added = value if smoothing == SMOOTH_ADD_K and n > 0 else 0.0
        match, total = matches[n] + added, totals[n] + added
        if total == 0:
            break
        if effective_order:
            used = n + 1
        if match != 0:
            precisions[n] = 100.0 * match / total
        elif smoothing == SMOOTH_EXP:
            halvings *= 2
            precisions[n] = 100.0 / (halvings * total)
        elif smoothing == SMOOTH_FLOOR:
            precisions[n] = 100.0 * value / total
    return used


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
