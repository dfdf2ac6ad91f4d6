"""Soft pairwise accuracy after swaps between two metrics.

Each function takes one block of swaps, standardised scores [metrics, systems, segments] and pairs of metrics
A, B [metric pairs, 2], and returns SPA(A') - SPA(B') for each pair: [draws, metric pairs], float32.
"""

from __future__ import annotations

import numpy as np

from metassay.stats.arrays import BoolArray, Float32Array, FloatArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.flip_groups import FlipGroup, compare_sums_under_random_signs, compute_tie_tolerance
from metassay.stats.normal_tail import UPPER_TAIL, interpolate_normal_tail_probability
from metassay.stats.swaps import Swaps

# A sum of squared differences below this share of the sums of squares is rounding in float32.
_FLOAT32_RESOLUTION = 1e-6
# The same share in float64.
_ROUNDING = 1e-12


def compare_accuracies_after_score_swaps(
    human_p_values: FloatArray, scores: FloatArray, metric_pairs: LongArray, swaps: Swaps
) -> Float32Array:
    """Exchange single scores of every two metrics, and compute by how much their soft accuracies then differ.

    Here system i under one metric is compared with system j under the other, so products between all metrics
    are needed: per draw one symmetric product over the swapped segments, or over all cells.
    """
    by_segment = np.ascontiguousarray(scores.astype(np.float32).reshape(-1, scores.shape[2]).T)
    total = by_segment.T @ by_segment
    swapped_sums = swaps.sum_swapped_scores(scores)
    kept_sums = scores.sum(axis=-1) - swapped_sums
    accuracy_differences = _create_empty_array_of_differences(len(swaps), metric_pairs)
    for draw in range(len(swaps)):
        kept, mixed, exchanged = _multiply_swapped_and_kept_scores(by_segment, total, swaps, draw)
        _write_accuracy_differences_after_score_swaps(
            human_p_values,
            metric_pairs,
            kept_sums[draw],
            swapped_sums[draw],
            kept,
            mixed,
            exchanged,
            UPPER_TAIL,
            accuracy_differences[draw],
        )
    return accuracy_differences


def compare_permutation_accuracies_after_swaps(
    human_p_values: FloatArray, scores: FloatArray, metric_pairs: LongArray, swaps: Swaps, group: FlipGroup
) -> Float32Array:
    """Exchange scores of every two metrics, and compute by how much their soft accuracies then differ, with
    p-values from sign flips.

    The flipped sums of A' are those of A minus its swapped cells plus those of B, so they are computed once
    per draw and metric; the rest is counting, for every pair of metrics.
    """
    by_segment = np.ascontiguousarray(np.moveaxis(scores, 2, 0), dtype=np.float32)
    total = group.sum_scores_under_random_signs(by_segment)
    tolerance = compute_tie_tolerance(scores)
    accuracy_differences = _create_empty_array_of_differences(len(swaps), metric_pairs)
    for draw in range(len(swaps)):
        if swaps.cells is not None:
            swapped = group.sum_scores_under_random_signs(by_segment * swaps.cells[draw].T[:, None])
        else:
            swapped = group.sum_scores_under_random_signs(by_segment, np.flatnonzero(swaps.columns[draw]))
            if swaps.rows[draw].any():
                # A swapped row exchanges what is outside the chosen segments instead of what is inside.
                swapped = np.where(swaps.rows[draw][None, :, None], total - swapped, swapped)
        _write_accuracy_differences_with_sign_flips(
            human_p_values, metric_pairs, total, swapped, tolerance, accuracy_differences[draw]
        )
    return accuracy_differences


def compare_accuracies_after_system_swaps(swap_effects: Float32Array, swaps: Swaps) -> Float32Array:
    """Exchange all scores of some systems between every two metrics, and compute by how much their soft
    accuracies then differ.

    `swap_effects` [metric pairs, system pairs, 4] is from `tabulate_swap_effects_with_normal_p_values` or
    `tabulate_swap_effects_with_permutation_p_values`. This is exact, because a pair of systems has only four
    states.
    """
    accuracy_differences = np.empty((len(swaps), len(swap_effects)), dtype=np.float32)
    _write_accuracy_differences_after_system_swaps(swap_effects, swaps.rows, accuracy_differences)
    return accuracy_differences


def tabulate_swap_effects_with_normal_p_values(
    human_p_values: FloatArray, scores: FloatArray, metric_pairs: LongArray
) -> Float32Array:
    """Tabulate what each pair of systems adds to the difference in soft accuracy of two metrics, if both, one
    or none of them is exchanged.

    An effect is |p_B' - p_human| - |p_A' - p_human|, with normal p-values. Returns [metric pairs, system
    pairs, 4]. State 2 k + l: the first system is swapped if k is 1, the second one if l is 1.
    """
    rows = scores.reshape(-1, scores.shape[2])
    swap_effects = np.empty((len(metric_pairs), len(human_p_values), 4), dtype=np.float32)
    _write_swap_effects_with_normal_p_values(
        human_p_values, metric_pairs, scores.sum(axis=2), rows @ rows.T, UPPER_TAIL, swap_effects
    )
    return swap_effects


def tabulate_swap_effects_with_permutation_p_values(
    human_p_values: FloatArray, scores: FloatArray, metric_pairs: LongArray, group: FlipGroup
) -> Float32Array:
    """Tabulate what each pair of systems adds to the difference in soft accuracy of two metrics, with
    p-values from sign flips.

    An effect is |p_B' - p_human| - |p_A' - p_human|. Same table as that of
    `tabulate_swap_effects_with_normal_p_values`, with p-values from a group of sign flips.
    """
    flipped_sums = group.sum_scores_under_random_signs(np.moveaxis(scores, 2, 0).astype(np.float32))
    swap_effects = np.empty((len(metric_pairs), len(human_p_values), 4), dtype=np.float32)
    _write_swap_effects_with_sign_flips(
        human_p_values, metric_pairs, flipped_sums, compute_tie_tolerance(scores), swap_effects
    )
    return swap_effects


def _create_empty_array_of_differences(draws: int, metric_pairs: LongArray) -> Float32Array:
    return np.empty((draws, len(metric_pairs)), dtype=np.float32)


def _multiply_swapped_and_kept_scores(
    scores_by_segment: Float32Array, total: Float32Array, swaps: Swaps, draw: int
) -> tuple[Float32Array, Float32Array, Float32Array]:
    """Multiply the scores of every two systems and metrics, and sum the products separately for scores that
    stay and for exchanged ones.

    Kept x kept and swapped x swapped are needed within a metric only, [metrics, systems, systems]; kept x
    swapped between all metrics, [rows, rows]. Returned in the order: kept, mixed, swapped.
    """
    systems = swaps.rows.shape[1]
    metrics = len(total) // systems
    if swaps.cells is None:
        chosen = scores_by_segment[swaps.columns[draw]]
        return _split_products_of_swapped_and_kept_scores(
            chosen.T @ chosen, total, np.tile(swaps.rows[draw], metrics), systems
        )
    swapped = scores_by_segment * np.tile(swaps.cells[draw].T, metrics)
    kept = scores_by_segment - swapped
    kept_by_metric = kept.T.reshape(metrics, systems, -1)
    swapped_by_metric = swapped.T.reshape(metrics, systems, -1)
    kept_products = np.matmul(kept_by_metric, kept_by_metric.swapaxes(1, 2))
    swapped_products = np.matmul(swapped_by_metric, swapped_by_metric.swapaxes(1, 2))
    return kept_products, kept.T @ swapped, swapped_products


@kernel
def _split_products_of_swapped_and_kept_scores(
    inside: Float32Array, total: Float32Array, is_swapped: BoolArray, systems: int
) -> tuple[Float32Array, Float32Array, Float32Array]:
    """Split sums of products into those of scores that stay, of exchanged ones, and of one with the other. In
    an exchanged row, the segments that are not chosen are exchanged.
    """
    size = len(inside)
    kept = np.zeros((size // systems, systems, systems), np.float32)
    exchanged = np.zeros((size // systems, systems, systems), np.float32)
    mixed = np.zeros((size, size), np.float32)
    for i in range(size):
        metric = i // systems
        start = metric * systems
        for j in range(size):
            if is_swapped[i] != is_swapped[j]:
                mixed[i, j] = inside[i, j] if is_swapped[i] else total[i, j] - inside[i, j]
        for j in range(start, start + systems):
            if is_swapped[i] == is_swapped[j]:
                outside = total[i, j] - inside[i, j]
                kept[metric, i - start, j - start] = inside[i, j] if is_swapped[i] else outside
                exchanged[metric, i - start, j - start] = outside if is_swapped[i] else inside[i, j]
    return kept, mixed, exchanged


@kernel
def _write_score_products_after_swap(
    kept: Float32Array,
    mixed: Float32Array,
    exchanged: Float32Array,
    metric: int,
    other_metric: int,
    products: FloatArray,
) -> None:
    """Write the products of the scores of every two systems under a metric whose exchanged scores come from
    another metric.
    """
    systems = len(products)
    for i in range(systems):
        for j in range(i, systems):
            products[i, j] = (
                kept[metric, i, j]
                + mixed[metric * systems + i, other_metric * systems + j]
                + mixed[metric * systems + j, other_metric * systems + i]
                + exchanged[other_metric, i, j]
            )


@kernel
def _write_accuracy_differences_after_score_swaps(
    human_p_values: FloatArray,
    metric_pairs: LongArray,
    kept_sums: FloatArray,
    swapped_sums: FloatArray,
    kept: Float32Array,
    mixed: Float32Array,
    exchanged: Float32Array,
    upper_tail: FloatArray,
    accuracy_differences: Float32Array,
) -> None:
    systems = kept_sums.shape[1]
    products = np.empty((systems, systems))
    for column in range(len(metric_pairs)):
        a = metric_pairs[column, 0]
        b = metric_pairs[column, 1]
        difference = 0.0
        for metric, other_metric, sign in ((a, b, -1.0), (b, a, 1.0)):  # A', then B'
            _write_score_products_after_swap(kept, mixed, exchanged, metric, other_metric, products)
            pair = 0
            for i in range(systems):
                for j in range(i + 1, systems):
                    square_sum = products[i, i] + products[j, j]
                    squares = max(square_sum - 2.0 * products[i, j], _FLOAT32_RESOLUTION * square_sum)
                    total = kept_sums[metric, i] + swapped_sums[other_metric, i]
                    total -= kept_sums[metric, j] + swapped_sums[other_metric, j]
                    metric_p_value = interpolate_normal_tail_probability(total, squares, upper_tail)
                    difference += sign * abs(metric_p_value - human_p_values[pair])
                    pair += 1
        accuracy_differences[column] = difference / len(human_p_values)


@kernel
def _write_accuracy_differences_with_sign_flips(
    human_p_values: FloatArray,
    metric_pairs: LongArray,
    total: Float32Array,
    swapped: Float32Array,
    tolerance: np.float32,
    accuracy_differences: Float32Array,
) -> None:
    _, systems, flips = total.shape
    sums = np.empty((2, systems, flips), np.float32)
    for column in range(len(metric_pairs)):
        a = metric_pairs[column, 0]
        b = metric_pairs[column, 1]
        for i in range(systems):
            for k in range(flips):
                change = swapped[b, i, k] - swapped[a, i, k]
                sums[0, i, k] = total[a, i, k] + change
                sums[1, i, k] = total[b, i, k] - change
        difference = 0.0
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            pair = 0
            for i in range(systems):
                for j in range(i + 1, systems):
                    metric_p_value = compare_sums_under_random_signs(sums[side, i], sums[side, j], tolerance)
                    difference += sign * abs(metric_p_value - human_p_values[pair])
                    pair += 1
        accuracy_differences[column] = difference / len(human_p_values)


@kernel
def _write_swap_effects_with_normal_p_values(
    human_p_values: FloatArray,
    metric_pairs: LongArray,
    sums: FloatArray,
    products: FloatArray,
    upper_tail: FloatArray,
    swap_effects: Float32Array,
) -> None:
    systems = sums.shape[1]
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
                    square_sum = products[row, row] + products[other_row, other_row]
                    squares = max(square_sum - 2.0 * products[row, other_row], _ROUNDING * square_sum)
                    metric_p_value = interpolate_normal_tail_probability(
                        sums[first, i] - sums[second, j], squares, upper_tail
                    )
                    errors[state] = abs(metric_p_value - human_p_values[pair])
                for state in range(4):  # where A' has a score of A, B' has one of B
                    swap_effects[column, pair, state] = errors[3 - state] - errors[state]
                pair += 1


@kernel
def _write_swap_effects_with_sign_flips(
    human_p_values: FloatArray,
    metric_pairs: LongArray,
    flipped_sums: Float32Array,
    tolerance: np.float32,
    swap_effects: Float32Array,
) -> None:
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
                        flipped_sums[first, i], flipped_sums[second, j], tolerance
                    )
                    errors[state] = abs(metric_p_value - human_p_values[pair])
                for state in range(4):
                    swap_effects[column, pair, state] = errors[3 - state] - errors[state]
                pair += 1


@kernel
def _write_accuracy_differences_after_system_swaps(
    swap_effects: Float32Array, is_swapped: BoolArray, accuracy_differences: Float32Array
) -> None:
    draws, systems = is_swapped.shape
    pairs = swap_effects.shape[1]
    states = np.empty(pairs, np.int64)
    for draw in range(draws):
        pair = 0
        for i in range(systems):
            for j in range(i + 1, systems):
                states[pair] = 2 * is_swapped[draw, i] + is_swapped[draw, j]
                pair += 1
        for column in range(len(swap_effects)):
            difference = 0.0
            for pair in range(pairs):
                difference += swap_effects[column, pair, states[pair]]
            accuracy_differences[draw, column] = difference / pairs
