"""BLEU from n-gram counts, with sacrebleu's order of operations, so that equal scores stay equal."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from metassay.metrics.base import Scores
from metassay.stats.arrays import BoolArray

# What sacrebleu takes for the logarithm of a precision of 0.
_LOG_OF_ZERO = -9999999999.0


def compute_bleu(count_rows: Scores, smoothing: str, smooth_value: float, *, effective_order: bool) -> Scores:
    """Compute BLEU for each row of counts. A row has the lengths of output and reference, then the matching
    n-grams, then all n-grams of the output.
    """
    order = (count_rows.shape[1] - 2) // 2
    added = np.zeros(order)
    if smoothing == "add-k":
        added[1:] = smooth_value
    matches = count_rows[:, 2 : 2 + order] + added
    totals = count_rows[:, 2 + order :] + added
    is_used = np.logical_and.accumulate(totals != 0, axis=1)
    precisions = _compute_precisions(matches, totals, is_used, smoothing, smooth_value)
    used_orders = np.full(len(count_rows), order)
    if effective_order:
        used_orders = np.where(is_used[:, 0], is_used.sum(axis=1), order)
    logarithms = np.full(precisions.shape, _LOG_OF_ZERO)
    logarithms[precisions != 0] = _apply_to_each_value(math.log, precisions[precisions != 0])
    log_sums = np.zeros(len(count_rows))
    for n in range(order):
        log_sums += np.where(n < used_orders, logarithms[:, n], 0.0)
    means = _apply_to_each_value(math.exp, log_sums / used_orders)
    has_match = (count_rows[:, 2 : 2 + order] > 0).any(axis=1)
    penalties = _compute_brevity_penalties(count_rows[:, 0], count_rows[:, 1])
    return np.where(has_match, penalties * means, 0.0)


def _compute_precisions(
    matches: Scores, totals: Scores, is_used: BoolArray, smoothing: str, smooth_value: float
) -> Scores:
    """Compute smoothed n-gram precisions in per cent. The precision is 0 for n-gram lengths that are not
    used.
    """
    precisions = np.zeros(matches.shape)
    np.divide(100.0 * matches, totals, out=precisions, where=is_used)
    is_without_match = is_used & (matches == 0)
    if smoothing == "exp":
        # 2 for the first order without a match, 4 for the second …
        factors = np.ldexp(1.0, np.cumsum(is_without_match, axis=1))
        np.divide(100.0, factors * totals, out=precisions, where=is_without_match)
    elif smoothing == "floor":
        np.divide(100.0 * smooth_value, totals, out=precisions, where=is_without_match)
    return precisions


def _compute_brevity_penalties(output_lengths: Scores, reference_lengths: Scores) -> Scores:
    """Compute the brevity penalty of each output: exp(1 − reference length / output length), or 1 if the
    output is long enough.
    """
    penalties = np.ones(len(output_lengths))
    penalties[output_lengths == 0] = 0.0
    is_short = (output_lengths < reference_lengths) & (output_lengths > 0)
    penalties[is_short] = _apply_to_each_value(
        math.exp, 1 - reference_lengths[is_short] / output_lengths[is_short]
    )
    penalties[output_lengths >= reference_lengths] = 1.0
    return penalties


def _apply_to_each_value(function: Callable[[float], float], values: Scores) -> Scores:
    """Apply a function of Python's `math` module to every number. NumPy would round differently on some
    processors.
    """
    return np.fromiter(map(function, values.tolist()), np.float64, len(values))
