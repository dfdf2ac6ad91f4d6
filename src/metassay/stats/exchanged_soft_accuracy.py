"""Soft pairwise accuracy after exchanging scores between two metrics.

Each function takes one block of exchanges, standardised scores [metrics, systems, segments] and pairs of
metrics A, B [metric pairs, 2], and returns SPA(A') - SPA(B') for each pair: [draws, metric pairs], float32.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metassay.stats.arrays import BoolArray, Float32Array, FloatArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.flip_groups import FlipGroup, compare_sums_under_random_signs, compute_tie_tolerance
from metassay.stats.normal_tail import UPPER_TAIL, interpolate_normal_p_value
from metassay.stats.score_exchanges import ScoreExchanges

# A sum of squared differences below this share of the sums of squares is rounding in float32.
_FLOAT32_RESOLUTION = 1e-6
# The same share in float64.
_ROUNDING = 1e-12


class _ProductSums(NamedTuple):
    """Sums of products of two scores, for none, one or both of the scores exchanged between metrics.

    Sums are over segments, and the two scores are those of two systems. Two that stay and two exchanged ones
    are needed within a metric only, [metrics, systems, systems]; one of each between all metrics, [rows,
    rows].
    """

    both_stay: Float32Array
    one_exchanged: Float32Array
    both_exchanged: Float32Array


def compute_soft_accuracy_differences_after_exchange(
    human_p_values: FloatArray,
    metric_scores: FloatArray,
    metric_pairs: LongArray,
    score_exchanges: ScoreExchanges,
) -> Float32Array:
    """Compute how much two metrics differ in soft pairwise accuracy after an exchange of single scores.

    After the exchange, system i may have a score of one metric and system j one of the other, so products
    between all metrics are needed: per draw one symmetric product over the exchanged segments, or over all
    cells.
    """
    by_segment = np.ascontiguousarray(metric_scores.astype(np.float32).reshape(-1, metric_scores.shape[2]).T)
    products = by_segment.T @ by_segment
    exchanged_sums = score_exchanges.sum_exchanged_scores(metric_scores)
    unexchanged_sums = metric_scores.sum(axis=-1) - exchanged_sums
    accuracy_differences = np.empty((len(score_exchanges), len(metric_pairs)), dtype=np.float32)
    for draw in range(len(score_exchanges)):
        product_sums = _sum_products_of_scores_by_exchange(by_segment, products, score_exchanges, draw)
        _fill_normal_accuracy_differences(
            human_p_values,
            metric_pairs,
            unexchanged_sums[draw],
            exchanged_sums[draw],
            product_sums,
            UPPER_TAIL,
            accuracy_differences[draw],
        )
    return accuracy_differences


def compute_sign_flip_differences_after_exchange(
    human_p_values: FloatArray,
    metric_scores: FloatArray,
    metric_pairs: LongArray,
    score_exchanges: ScoreExchanges,
    sign_flips: FlipGroup,
) -> Float32Array:
    """Compute how much two metrics differ in soft pairwise accuracy after an exchange, with sign-flip
    p-values.

    The flipped sums of A' are those of A minus its exchanged cells plus those of B, so they are computed once
    per draw and metric; the rest is counting, for every pair of metrics.
    """
    by_segment = np.ascontiguousarray(np.moveaxis(metric_scores, 2, 0), dtype=np.float32)
    flipped_sums = sign_flips.sum_scores_under_random_signs(by_segment)
    tolerance = compute_tie_tolerance(metric_scores)
    accuracy_differences = np.empty((len(score_exchanges), len(metric_pairs)), dtype=np.float32)
    for draw in range(len(score_exchanges)):
        if score_exchanges.cells is not None:
            exchanged_flipped_sums = sign_flips.sum_scores_under_random_signs(
                by_segment * score_exchanges.cells[draw].T[:, None]
            )
        else:
            exchanged_flipped_sums = sign_flips.sum_scores_under_random_signs(
                by_segment, np.flatnonzero(score_exchanges.columns[draw])
            )
            if score_exchanges.rows[draw].any():
                # A exchanged row exchanges what is outside the chosen segments instead of what is inside.
                exchanged_flipped_sums = np.where(
                    score_exchanges.rows[draw][None, :, None],
                    flipped_sums - exchanged_flipped_sums,
                    exchanged_flipped_sums,
                )
        _fill_sign_flip_accuracy_differences(
            human_p_values,
            metric_pairs,
            flipped_sums,
            exchanged_flipped_sums,
            tolerance,
            accuracy_differences[draw],
        )
    return accuracy_differences


def compute_differences_after_system_exchange(
    difference_table: Float32Array, score_exchanges: ScoreExchanges
) -> Float32Array:
    """Compute how much two metrics differ in soft pairwise accuracy after they exchange all scores of some
    systems.

    `difference_table` [metric pairs, system pairs, 4] is from `tabulate_system_exchanges` or
    `tabulate_system_exchanges_by_sign_flips`. This is exact, because a pair of systems has only four states.
    """
    accuracy_differences = np.empty((len(score_exchanges), len(difference_table)), dtype=np.float32)
    _fill_differences_after_system_exchange(difference_table, score_exchanges.rows, accuracy_differences)
    return accuracy_differences


def tabulate_system_exchanges(
    human_p_values: FloatArray, metric_scores: FloatArray, metric_pairs: LongArray
) -> Float32Array:
    """Tabulate how much each pair of systems contributes to the difference of two metrics in soft pairwise
    accuracy.

    Returns |p_B' - p_human| - |p_A' - p_human| with normal p-values, [metric pairs, system pairs, 4]. The
    last axis is the state 2 k + l of a pair of systems: the scores of the first one are exchanged if k is 1,
    those of the second one if l is 1.
    """
    rows = metric_scores.reshape(-1, metric_scores.shape[2])
    difference_table = np.empty((len(metric_pairs), len(human_p_values), 4), dtype=np.float32)
    _fill_system_exchange_table(
        human_p_values, metric_pairs, metric_scores.sum(axis=2), rows @ rows.T, UPPER_TAIL, difference_table
    )
    return difference_table


def tabulate_system_exchanges_by_sign_flips(
    human_p_values: FloatArray, metric_scores: FloatArray, metric_pairs: LongArray, sign_flips: FlipGroup
) -> Float32Array:
    """Tabulate the same as `tabulate_system_exchanges`, with p-values from sign flips."""
    flipped_sums = sign_flips.sum_scores_under_random_signs(
        np.moveaxis(metric_scores, 2, 0).astype(np.float32)
    )
    difference_table = np.empty((len(metric_pairs), len(human_p_values), 4), dtype=np.float32)
    _fill_sign_flip_exchange_table(
        human_p_values, metric_pairs, flipped_sums, compute_tie_tolerance(metric_scores), difference_table
    )
    return difference_table


def _sum_products_of_scores_by_exchange(
    scores_by_segment: Float32Array, all_products: Float32Array, score_exchanges: ScoreExchanges, draw: int
) -> _ProductSums:
    """Sum the products of the scores of every two systems, separately for exchanged scores and for those that
    stay.
    """
    systems = score_exchanges.rows.shape[1]
    metrics = len(all_products) // systems
    if score_exchanges.cells is None:
        chosen = scores_by_segment[score_exchanges.columns[draw]]
        is_exchanged_row = np.tile(score_exchanges.rows[draw], metrics)
        return _ProductSums(
            *_split_product_sums_by_exchange(chosen.T @ chosen, all_products, is_exchanged_row, systems)
        )
    exchanged = scores_by_segment * np.tile(score_exchanges.cells[draw].T, metrics)
    unexchanged = scores_by_segment - exchanged
    unexchanged_by_metric = unexchanged.T.reshape(metrics, systems, -1)
    exchanged_by_metric = exchanged.T.reshape(metrics, systems, -1)
    return _ProductSums(
        both_stay=np.matmul(unexchanged_by_metric, unexchanged_by_metric.swapaxes(1, 2)),
        one_exchanged=unexchanged.T @ exchanged,
        both_exchanged=np.matmul(exchanged_by_metric, exchanged_by_metric.swapaxes(1, 2)),
    )


@kernel
def _split_product_sums_by_exchange(
    products_in_chosen_segments: Float32Array,
    all_products: Float32Array,
    is_exchanged_row: BoolArray,
    system_count: int,
) -> tuple[Float32Array, Float32Array, Float32Array]:
    """Split sums of products of two scores into those with none, one or both of the scores exchanged.

    In an exchanged row, the segments that are not chosen are exchanged.
    """
    inside = products_in_chosen_segments
    size = len(inside)
    both_stay = np.zeros((size // system_count, system_count, system_count), np.float32)
    both_exchanged = np.zeros((size // system_count, system_count, system_count), np.float32)
    one_exchanged = np.zeros((size, size), np.float32)
    for i in range(size):
        metric = i // system_count
        start = metric * system_count
        for j in range(size):
            if is_exchanged_row[i] != is_exchanged_row[j]:
                outside = all_products[i, j] - inside[i, j]
                one_exchanged[i, j] = inside[i, j] if is_exchanged_row[i] else outside
        for j in range(start, start + system_count):
            if is_exchanged_row[i] == is_exchanged_row[j]:
                outside = all_products[i, j] - inside[i, j]
                both_stay[metric, i - start, j - start] = inside[i, j] if is_exchanged_row[i] else outside
                both_exchanged[metric, i - start, j - start] = (
                    outside if is_exchanged_row[i] else inside[i, j]
                )
    return both_stay, one_exchanged, both_exchanged


@kernel
def _fill_score_products_after_exchange(
    product_sums: _ProductSums, metric: int, other_metric: int, products_after_exchange: FloatArray
) -> None:
    """Compute the products of the scores of every two systems after a metric took scores from another metric.

    The products are summed over segments.
    """
    systems = len(products_after_exchange)
    for i in range(systems):
        for j in range(i, systems):
            products_after_exchange[i, j] = (
                product_sums.both_stay[metric, i, j]
                + product_sums.one_exchanged[metric * systems + i, other_metric * systems + j]
                + product_sums.one_exchanged[metric * systems + j, other_metric * systems + i]
                + product_sums.both_exchanged[other_metric, i, j]
            )


@kernel
def _fill_normal_accuracy_differences(
    human_p_values: FloatArray,
    metric_pairs: LongArray,
    unexchanged_sums: FloatArray,
    exchanged_sums: FloatArray,
    product_sums: _ProductSums,
    upper_tail_table: FloatArray,
    accuracy_differences: Float32Array,
) -> None:
    """Compute how much every two metrics differ in soft pairwise accuracy after one exchange, with normal
    p-values.
    """
    systems = unexchanged_sums.shape[1]
    products = np.empty((systems, systems))
    for column in range(len(metric_pairs)):
        a = metric_pairs[column, 0]
        b = metric_pairs[column, 1]
        difference = 0.0
        for metric, other_metric, sign in ((a, b, -1.0), (b, a, 1.0)):  # A', then B'
            _fill_score_products_after_exchange(product_sums, metric, other_metric, products)
            pair = 0
            for i in range(systems):
                for j in range(i + 1, systems):
                    square_sum = products[i, i] + products[j, j]
                    squares = max(square_sum - 2.0 * products[i, j], _FLOAT32_RESOLUTION * square_sum)
                    total = unexchanged_sums[metric, i] + exchanged_sums[other_metric, i]
                    total -= unexchanged_sums[metric, j] + exchanged_sums[other_metric, j]
                    metric_p_value = interpolate_normal_p_value(total, squares, upper_tail_table)
                    difference += sign * abs(metric_p_value - human_p_values[pair])
                    pair += 1
        accuracy_differences[column] = difference / len(human_p_values)


@kernel
def _fill_sign_flip_accuracy_differences(
    human_p_values: FloatArray,
    metric_pairs: LongArray,
    flipped_sums: Float32Array,
    exchanged_flipped_sums: Float32Array,
    tie_tolerance: np.float32,
    accuracy_differences: Float32Array,
) -> None:
    """Compute how much every two metrics differ in soft pairwise accuracy after one exchange, with sign-flip
    p-values.
    """
    _, systems, flips = flipped_sums.shape
    sums = np.empty((2, systems, flips), np.float32)
    for column in range(len(metric_pairs)):
        a = metric_pairs[column, 0]
        b = metric_pairs[column, 1]
        for i in range(systems):
            for k in range(flips):
                change = exchanged_flipped_sums[b, i, k] - exchanged_flipped_sums[a, i, k]
                sums[0, i, k] = flipped_sums[a, i, k] + change
                sums[1, i, k] = flipped_sums[b, i, k] - change
        difference = 0.0
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            pair = 0
            for i in range(systems):
                for j in range(i + 1, systems):
                    metric_p_value = compare_sums_under_random_signs(
                        sums[side, i], sums[side, j], tie_tolerance
                    )
                    difference += sign * abs(metric_p_value - human_p_values[pair])
                    pair += 1
        accuracy_differences[column] = difference / len(human_p_values)


@kernel
def _fill_system_exchange_table(
    human_p_values: FloatArray,
    metric_pairs: LongArray,
    score_sums: FloatArray,
    product_sums: FloatArray,
    upper_tail_table: FloatArray,
    difference_table: Float32Array,
) -> None:
    """Write the table of `tabulate_system_exchanges`."""
    systems = score_sums.shape[1]
    errors = np.empty(4)
    for column in range(len(metric_pairs)):
        pair = 0
        for i in range(systems):
            for j in range(i + 1, systems):
                for state in range(4):
                    first = metric_pairs[column, state >> 1]
                    second = metric_pairs[column, state & 1]
                    row = first * systems + i
                    other_row = second * systems + j
                    square_sum = product_sums[row, row] + product_sums[other_row, other_row]
                    squares = max(square_sum - 2.0 * product_sums[row, other_row], _ROUNDING * square_sum)
                    metric_p_value = interpolate_normal_p_value(
                        score_sums[first, i] - score_sums[second, j], squares, upper_tail_table
                    )
                    errors[state] = abs(metric_p_value - human_p_values[pair])
                for state in range(4):  # where A' has a score of A, B' has one of B
                    difference_table[column, pair, state] = errors[3 - state] - errors[state]
                pair += 1


@kernel
def _fill_sign_flip_exchange_table(
    human_p_values: FloatArray,
    metric_pairs: LongArray,
    flipped_sums: Float32Array,
    tie_tolerance: np.float32,
    difference_table: Float32Array,
) -> None:
    """Write the table of `tabulate_system_exchanges_by_sign_flips`."""
    systems = flipped_sums.shape[1]
    errors = np.empty(4)
    for column in range(len(metric_pairs)):
        pair = 0
        for i in range(systems):
            for j in range(i + 1, systems):
                for state in range(4):
                    first = metric_pairs[column, state >> 1]
                    second = metric_pairs[column, state & 1]
                    metric_p_value = compare_sums_under_random_signs(
                        flipped_sums[first, i], flipped_sums[second, j], tie_tolerance
                    )
                    errors[state] = abs(metric_p_value - human_p_values[pair])
                for state in range(4):
                    difference_table[column, pair, state] = errors[3 - state] - errors[state]
                pair += 1


@kernel
def _fill_differences_after_system_exchange(
    difference_table: Float32Array, is_exchanged_system: BoolArray, accuracy_differences: Float32Array
) -> None:
    """Average what the pairs of systems contribute after each random exchange."""
    draws, systems = is_exchanged_system.shape
    pairs = difference_table.shape[1]
    states = np.empty(pairs, np.int64)
    for draw in range(draws):
        pair = 0
        for i in range(systems):
            for j in range(i + 1, systems):
                states[pair] = 2 * is_exchanged_system[draw, i] + is_exchanged_system[draw, j]
                pair += 1
        for column in range(len(difference_table)):
            difference = 0.0
            for pair in range(pairs):
                difference += difference_table[column, pair, states[pair]]
            accuracy_differences[draw, column] = difference / pairs
