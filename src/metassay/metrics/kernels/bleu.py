"""BLEU from n-gram counts, with sacrebleu's order of operations, so that equal scores stay equal.

A kernel rather than numpy because `np.log` rounds differently from `math.log` on some processors.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metassay.stats.compilation import kernel

SMOOTH_NONE, SMOOTH_FLOOR, SMOOTH_ADD_K, SMOOTH_EXP = range(4)

# What sacrebleu takes for the logarithm of a precision of 0.
_LOG_OF_ZERO = -9999999999.0


@kernel
def compute_bleu(
    statistics: NDArray[np.float64], smoothing: int, smooth_value: float, effective_order: bool
) -> NDArray[np.float64]:
    """Compute BLEU from rows of lengths of output and reference, n-gram matches and n-gram totals."""
    order = (statistics.shape[1] - 2) // 2
    scores = np.empty(statistics.shape[0], np.float64)
    precisions = np.empty(order, np.float64)
    for row in range(statistics.shape[0]):
        matches = statistics[row, 2 : 2 + order]
        totals = statistics[row, 2 + order :]
        used_orders = _smooth_precisions(
            matches, totals, smoothing, smooth_value, effective_order, precisions
        )
        if used_orders == 0:
            scores[row] = 0.0
            continue
        log_sum = 0.0
        for n in range(used_orders):
            log_sum += math.log(precisions[n]) if precisions[n] != 0.0 else _LOG_OF_ZERO
        penalty = _brevity_penalty(statistics[row, 0], statistics[row, 1])
        scores[row] = penalty * math.exp(log_sum / used_orders)
    return scores


@kernel
def _brevity_penalty(output_length: float, reference_length: float) -> float:
    if output_length >= reference_length:
        return 1.0
    if output_length == 0:
        return 0.0
    return math.exp(1 - reference_length / output_length)


@kernel
def _smooth_precisions(
    matches: NDArray[np.float64],
    totals: NDArray[np.float64],
    smoothing: int,
    smooth_value: float,
    effective_order: bool,
    precisions: NDArray[np.float64],
) -> int:
    """Write the smoothed n-gram precisions in per cent; return how many orders n are used."""
    order = len(precisions)
    has_match = False
    for n in range(order):
        precisions[n] = 0.0
        has_match |= matches[n] > 0
    if not has_match:
        return 0
    used_orders = order
    exponential_factor = 1.0
    for n in range(order):
        added = smooth_value if smoothing == SMOOTH_ADD_K and n > 0 else 0.0
        match = matches[n] + added
        total = totals[n] + added
        if total == 0:
            break
        if effective_order:
            used_orders = n + 1
        if match != 0:
            precisions[n] = 100.0 * match / total
        elif smoothing == SMOOTH_EXP:
            exponential_factor *= 2
            precisions[n] = 100.0 / (exponential_factor * total)
        elif smoothing == SMOOTH_FLOOR:
            precisions[n] = 100.0 * smooth_value / total
    return used_orders
