"""Isotonic regression that sorts once and then fits many times: with other values, or on resamples.

The fit is the non-decreasing function of the scores that is closest to the values in weighted squares. It is
found by pooling adjacent violators, or faster, for many fits, from the greatest convex minorant. Equal scores
are one knot; between knots the function is linear, outside them constant: the same function as scikit-learn's
`IsotonicRegression(out_of_bounds="clip")`.

A resample is a vector of counts, one per cluster. Nothing is sorted again: a score that a resample does not
contain has no weight, and its fitted value lies on the line between its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.stats.arrays import FloatArray, IntArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.sorted_scores import SortedScores

# How often each resample contains each cluster: [resamples, clusters].
Counts = NDArray[np.uint32]
# Rows fitted at a time, which bounds memory.
_ROWS_PER_BLOCK = 1024
# Every how many points make the first approximation of a convex minorant.
_POINT_STRIDE = 16


class _FitBuffers(NamedTuple):
    """Arrays for intermediate results of isotonic fits.

    They are allocated once, because allocating takes longer than fitting. `present_knots`, `present_sums` and
    `present_weights` describe the knots that have weight; `block_end` is the number of these knots up to the
    end of a block. `cumulative_sums` and `cumulative_weights` have a 0 before the first knot, and the sum up
    to each knot after it.
    """

    knot_sums: FloatArray
    knot_weights: FloatArray
    present_knots: LongArray
    present_sums: FloatArray
    present_weights: FloatArray
    block_values: FloatArray
    block_weights: FloatArray
    block_end: LongArray
    cumulative_sums: FloatArray
    cumulative_weights: FloatArray
    candidates: LongArray
    vertices: LongArray


def fit_isotonic(
    sorted_scores: SortedScores, values: ArrayLike, weights: ArrayLike | None = None
) -> FloatArray:
    """Fit a non-decreasing function of the scores to values. Returns the function at each distinct score.

    The fit is NaN if all weights are 0.

    >>> from metassay.stats.sorted_scores import sort_scores
    >>> fit_isotonic(sort_scores([1, 2, 3, 4]), [1, 3, 2, 4])
    array([1. , 2.5, 2.5, 4. ])
    """
    values = np.asarray(values, dtype=np.float64)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    size = len(sorted_scores.knots)
    fitted_values = np.empty(size)
    order = sorted_scores.order
    _fill_isotonic_fit(
        sorted_scores,
        values[order],
        weights[order],
        fitted_values,
        _allocate_isotonic_fit_buffers(size),
    )
    return fitted_values


def predict_isotonic(
    sorted_scores: SortedScores, fitted_values: FloatArray, new_scores: ArrayLike
) -> FloatArray:
    """Evaluate a fitted isotonic function at new scores by linear interpolation."""
    predictions: FloatArray = np.interp(
        np.asarray(new_scores, dtype=np.float64), sorted_scores.knots, fitted_values
    )
    return predictions


def fit_non_decreasing_rows(rows: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find the nearest non-decreasing row for each row of an array, and the distance between the two.

    Distances are weighted squares. `weights` are positive, one per column or one per value. The fit at k is
    max over i <= k of min over j >= k of the weighted mean of the values i to j (Barlow et al., 1972); the
    distance is Σ weight · (value - fit)².

    >>> nearest, distance = fit_non_decreasing_rows(np.array([[1.0, 3.0, 2.0]]), np.ones(3))
    >>> nearest.tolist(), distance.tolist()
    ([[1.0, 2.5, 2.5]], [0.5])
    """
    rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    weights = np.broadcast_to(weights, rows.shape)
    size = rows.shape[1]
    first, last = np.triu_indices(size)
    fits = []
    for start in range(0, len(rows), _ROWS_PER_BLOCK):
        block = rows[start : start + _ROWS_PER_BLOCK]
        block_weights = weights[start : start + _ROWS_PER_BLOCK]
        means = np.full((len(block), size, size), np.inf)
        for i in range(size):
            sums = np.cumsum(block[:, i:] * block_weights[:, i:], axis=1)
            means[:, i, i:] = sums / np.cumsum(block_weights[:, i:], axis=1)
            means[:, i, i] = block[:, i]  # exactly, so that a monotone row is its own fit
        lowest_mean = np.minimum.accumulate(means[:, :, ::-1], axis=2)[:, :, ::-1]
        candidates = np.full_like(means, -np.inf)
        candidates[:, first, last] = lowest_mean[:, first, last]
        fits.append(candidates.max(axis=1))
    nearest = np.concatenate(fits)
    return nearest, ((rows - nearest) ** 2 * weights).sum(axis=1)


def fit_isotonic_to_each_value_row(
    sorted_scores: SortedScores,
    value_rows: FloatArray,
    weights: FloatArray,
    group_of_output: LongArray,
    group_count: int,
) -> FloatArray:
    """Fit a non-decreasing function of the scores to each row of values, and average the fits by group.

    Returns [rows, groups].
    """
    order = sorted_scores.order
    size = len(sorted_scores.knots)
    means = np.empty((len(value_rows), group_count))
    _fill_group_means_for_each_value_row(
        sorted_scores,
        np.ascontiguousarray(value_rows[:, order]),
        weights[order],
        group_of_output[order],
        np.empty(size),
        _allocate_isotonic_fit_buffers(size),
        means,
    )
    return means


def fit_isotonic_to_each_score_row(
    score_rows: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    group_of_output: LongArray,
    group_count: int,
) -> FloatArray:
    """Fit a non-decreasing function of each row of scores to the same values, and average the fits by group.

    Returns [rows, groups]. All weights are positive. Scores of a row that agree in their first digits, 40
    bits if there are 4,096 scores, are one score.
    """
    size = score_rows.shape[1]
    sums = np.empty((len(score_rows), group_count))
    # Sorting numbers is three times as fast as sorting positions by their scores. Each score therefore
    # carries its position in its last bits.
    position_bits = size.bit_length()
    keys = (score_rows + 0.0).view(np.int64)  # adding 0.0 turns -0.0 into 0.0
    keys >>= position_bits
    keys <<= position_bits
    keys |= np.arange(size)
    keys.view(np.float64).sort(axis=1)
    buffers = _allocate_isotonic_fit_buffers(size)
    _fill_group_sums_for_each_score_row(
        keys, position_bits, weights * values, weights, group_of_output, buffers, sums
    )
    return sums / np.bincount(group_of_output, weights, minlength=group_count)


def refit_isotonic_with_permuted_residuals(
    sorted_scores: SortedScores,
    fitted_values: FloatArray,
    residuals: FloatArray,
    permutations: IntArray,
    weights: FloatArray,
    group_of_output: LongArray,
    group_count: int,
) -> FloatArray:
    """Permute the residuals of an isotonic fit and fit again. Returns the mean error of the new fit by group.

    Returns [rows, groups]. The values of a row are `fitted_values + residuals[permutations[row]]`. Its
    deviation in a group is the mean of the fit to these values minus the mean of the values. All weights are
    positive.
    """
    order = sorted_scores.order
    knot_ends = np.append(np.flatnonzero(np.diff(sorted_scores.knot_of_score)), len(order) - 1) + 1
    sums = np.empty((len(permutations), group_count))
    _fill_deviations_for_permuted_residuals(
        order,
        knot_ends,
        fitted_values[order],
        residuals,
        permutations,
        weights[order],
        group_of_output[order],
        _allocate_isotonic_fit_buffers(len(order)),
        sums,
    )
    return sums / np.bincount(group_of_output, weights, minlength=group_count)


def fit_isotonic_to_resamples(
    sorted_scores: SortedScores,
    values: FloatArray,
    weights: FloatArray,
    group_of_output: LongArray,
    group_count: int,
    clusters: LongArray,
    resample_counts: Counts,
) -> tuple[FloatArray, FloatArray]:
    """Fit a non-decreasing function of the scores to each bootstrap resample, and average the fits by group.

    `resample_counts[b, c]` is how often resample b contains cluster c. The first array averages over the
    original outputs of a group, the second over the resampled ones. A group that a resample does not contain
    is NaN in the second array; a resample without any weight is NaN in both.
    """
    order = sorted_scores.order
    size = len(sorted_scores.knots)
    original_means = np.empty((len(resample_counts), group_count))
    resampled_means = np.empty((len(resample_counts), group_count))
    _fill_group_means_for_each_resample(
        sorted_scores,
        values[order],
        weights[order],
        group_of_output[order],
        clusters[order],
        resample_counts,
        np.empty(size),
        _allocate_isotonic_fit_buffers(size),
        original_means,
        resampled_means,
    )
    return original_means, resampled_means


def _allocate_isotonic_fit_buffers(score_count: int) -> _FitBuffers:
    """Allocate the arrays for intermediate results of isotonic fits of this many scores."""
    floats = np.empty((8, score_count + 1))
    integers = np.empty((4, score_count + 1), dtype=np.int64)
    return _FitBuffers(
        knot_sums=floats[0],
        knot_weights=floats[1],
        present_knots=integers[0],
        present_sums=floats[2],
        present_weights=floats[3],
        block_values=floats[4],
        block_weights=floats[5],
        block_end=integers[1],
        cumulative_sums=floats[6],
        cumulative_weights=floats[7],
        candidates=integers[2],
        vertices=integers[3],
    )


@kernel
def _fill_isotonic_fit(
    sorted_scores: SortedScores,
    values: FloatArray,
    weights: FloatArray,
    fitted_values: FloatArray,
    buffers: _FitBuffers,
) -> None:
    """Fit a non-decreasing function of the scores to values, and write it to `fitted_values`.

    There is one fitted value for each distinct score; NaN if all weights are 0.
    """
    knot_count = _sum_values_at_distinct_scores(sorted_scores, values, weights, buffers)
    blocks = _pool_adjacent_violators(knot_count, buffers)
    _interpolate_isotonic_fit(blocks, sorted_scores.knots, fitted_values, buffers)


@kernel
def _interpolate_isotonic_fit(
    block_count: int, knots: FloatArray, fitted_values: FloatArray, buffers: _FitBuffers
) -> None:
    """Write the fit at each distinct score, given the blocks of scores on which it is constant.

    The fit is constant on a block, linear between blocks, and constant outside them.
    """
    if block_count == 0:
        fitted_values[:] = np.nan
        return
    block_values = buffers.block_values
    present_knots = buffers.present_knots
    fitted_values[: present_knots[0]] = block_values[0]
    first = present_knots[0]
    for block in range(block_count - 1):
        last = present_knots[buffers.block_end[block] - 1]
        fitted_values[first : last + 1] = block_values[block]
        first = present_knots[buffers.block_end[block]]
        start = knots[last]
        end = knots[first]
        slope = (block_values[block + 1] - block_values[block]) / (end - start)
        for knot in range(last + 1, first):
            fitted_values[knot] = block_values[block] + slope * (knots[knot] - start)
    fitted_values[first:] = block_values[block_count - 1]


@kernel
def _sum_values_at_distinct_scores(
    sorted_scores: SortedScores, values: FloatArray, weights: FloatArray, buffers: _FitBuffers
) -> int:
    """Sum values and weights at each distinct score. Returns the number of distinct scores with weight."""
    knot_of_score = sorted_scores.knot_of_score
    knot_count = len(sorted_scores.knots)
    for knot in range(knot_count):
        buffers.knot_sums[knot] = 0.0
        buffers.knot_weights[knot] = 0.0
    for p in range(len(knot_of_score)):
        buffers.knot_sums[knot_of_score[p]] += weights[p] * values[p]
        buffers.knot_weights[knot_of_score[p]] += weights[p]
    count = 0
    for knot in range(knot_count):  # without branches, which would mispredict
        buffers.present_sums[count] = buffers.knot_sums[knot]
        buffers.present_weights[count] = buffers.knot_weights[knot]
        buffers.present_knots[count] = knot
        count += buffers.knot_weights[knot] > 0.0
    return count


@kernel
def _pool_adjacent_violators(score_count: int, buffers: _FitBuffers) -> int:
    """Merge neighbouring scores into blocks until the block means increase. Returns the number of blocks.

    Most time goes into mispredicted branches, so a block absorbs all following knots that do not rise before
    it looks back.
    """
    sums = buffers.present_sums
    weights = buffers.present_weights
    values = buffers.block_values
    block_weights = buffers.block_weights
    blocks = 0
    k = 0
    while k < score_count:
        block_sum = sums[k]
        block_weight = weights[k]
        k += 1
        while True:
            while k < score_count and sums[k] * block_weight <= block_sum * weights[k]:
                block_sum += sums[k]
                block_weight += weights[k]
                k += 1
            if blocks == 0 or values[blocks - 1] * block_weight < block_sum * block_weights[blocks - 1]:
                break
            blocks -= 1
            block_sum += values[blocks]
            block_weight += block_weights[blocks]
        values[blocks] = block_sum
        block_weights[blocks] = block_weight
        buffers.block_end[blocks] = k
        blocks += 1
    for block in range(blocks):
        values[block] /= block_weights[block]
    return blocks


@kernel
def _fill_group_means(
    sorted_scores: SortedScores,
    fitted_values: FloatArray,
    weights: FloatArray,
    group_of_output: LongArray,
    group_means: FloatArray,
) -> None:
    """Write the weighted mean of a fit over each group of outputs.

    A group without weight gets NaN.
    """
    knots = sorted_scores.knots
    knot_of_score = sorted_scores.knot_of_score
    offset = sorted_scores.offset
    totals = np.zeros(len(group_means))
    group_means[:] = 0.0
    for p in range(len(knot_of_score)):
        group_means[group_of_output[p]] += weights[p] * fitted_values[knot_of_score[p]]
        totals[group_of_output[p]] += weights[p]
    for p in range(len(knot_of_score)):
        knot = knot_of_score[p]
        if offset[p] != 0.0 and knot + 1 < len(knots):
            slope = (fitted_values[knot + 1] - fitted_values[knot]) / (knots[knot + 1] - knots[knot])
            group_means[group_of_output[p]] += weights[p] * offset[p] * slope
    for group in range(len(group_means)):
        group_means[group] = group_means[group] / totals[group] if totals[group] > 0.0 else np.nan


@kernel
def _fill_group_means_for_each_value_row(
    sorted_scores: SortedScores,
    value_rows: FloatArray,
    weights: FloatArray,
    group_of_output: LongArray,
    fitted_values: FloatArray,
    buffers: _FitBuffers,
    group_means: FloatArray,
) -> None:
    """Fit each row of values, and write the mean of the fit over each group of outputs."""
    for row in range(len(value_rows)):
        _fill_isotonic_fit(sorted_scores, value_rows[row], weights, fitted_values, buffers)
        _fill_group_means(sorted_scores, fitted_values, weights, group_of_output, group_means[row])


@kernel
def _fill_group_sums_for_each_score_row(
    sorted_score_rows: LongArray,
    position_bits: int,
    weighted_values: FloatArray,
    weights: FloatArray,
    group_of_output: LongArray,
    buffers: _FitBuffers,
    group_sums: FloatArray,
) -> None:
    """Fit each row of scores to the values, and write the sum of the fit over each group of outputs.

    Rows are sorted, and the last bits of a score are the position of its output.
    """
    size = len(weights)
    position_mask = (1 << position_bits) - 1
    knot_ends = np.empty(size, np.int64)
    sorted_weights = np.empty(size)
    sorted_groups = np.empty(size, np.int64)
    buffers.cumulative_sums[0] = 0.0
    buffers.cumulative_weights[0] = 0.0
    for row in range(len(sorted_score_rows)):
        keys = sorted_score_rows[row]
        total_sum = 0.0
        total_weight = 0.0
        count = 0
        for p in range(size):
            position = keys[p] & position_mask
            total_sum += weighted_values[position]
            total_weight += weights[position]
            sorted_weights[p] = weights[position]
            sorted_groups[p] = group_of_output[position]
            is_last_of_knot = p + 1 == size or keys[p] >> position_bits != keys[p + 1] >> position_bits
            buffers.cumulative_sums[count + 1] = total_sum
            buffers.cumulative_weights[count + 1] = total_weight
            knot_ends[count] = p + 1
            count += is_last_of_knot
        blocks = _find_constant_blocks(count, buffers)
        row_sums = group_sums[row]
        row_sums[:] = 0.0
        start = 0
        for block in range(blocks):
            end = knot_ends[buffers.block_end[block] - 1]
            value = buffers.block_values[block]
            for p in range(start, end):
                row_sums[sorted_groups[p]] += sorted_weights[p] * value
            start = end


@kernel
def _fill_deviations_for_permuted_residuals(
    output_order: LongArray,
    distinct_score_ends: LongArray,
    fitted_values: FloatArray,
    residuals: FloatArray,
    permutations: IntArray,
    weights: FloatArray,
    group_of_output: LongArray,
    buffers: _FitBuffers,
    deviation_sums: FloatArray,
) -> None:
    """Fit again with each permutation of the residuals, and write the sum of the errors by group."""
    weighted_values = np.empty(len(output_order))
    output_sums = np.empty(len(output_order))
    total_weights = np.cumsum(weights)
    buffers.cumulative_sums[0] = 0.0
    buffers.cumulative_weights[0] = 0.0
    for knot in range(len(distinct_score_ends)):
        buffers.cumulative_weights[knot + 1] = total_weights[distinct_score_ends[knot] - 1]
    for row in range(len(permutations)):
        permutation = permutations[row]
        total_sum = 0.0
        for p in range(len(output_order)):
            weighted_values[p] = weights[p] * (fitted_values[p] + residuals[permutation[output_order[p]]])
            total_sum += weighted_values[p]
            output_sums[p] = total_sum
        for knot in range(len(distinct_score_ends)):
            buffers.cumulative_sums[knot + 1] = output_sums[distinct_score_ends[knot] - 1]
        blocks = _find_constant_blocks(len(distinct_score_ends), buffers)
        row_sums = deviation_sums[row]
        row_sums[:] = 0.0
        start = 0
        for block in range(blocks):
            end = distinct_score_ends[buffers.block_end[block] - 1]
            value = buffers.block_values[block]
            for p in range(start, end):
                row_sums[group_of_output[p]] += weights[p] * value - weighted_values[p]
            start = end


@kernel
def _find_constant_blocks(score_count: int, buffers: _FitBuffers) -> int:
    """Find the blocks of scores on which an isotonic fit is constant. Returns the number of blocks.

    Cumulative sums at the distinct scores must be in the buffers. The fit is the slope of the greatest convex
    minorant of the points (cumulative weight, cumulative sum) (Barlow et al., 1972). Few points touch the
    minorant. The minorant of every 16th point lies on or above that of all points, so every point above it
    can be left out. This loop has no unpredictable branches; pooling adjacent violators has several per knot
    and takes four times as long.
    """
    x = buffers.cumulative_weights
    y = buffers.cumulative_sums
    candidates = buffers.candidates
    vertices = buffers.vertices
    candidate_count = 0
    for point in range(0, score_count, _POINT_STRIDE):
        candidates[candidate_count] = point
        candidate_count += 1
    candidates[candidate_count] = score_count
    vertex_count = _find_convex_minorant_vertices(candidate_count + 1, buffers)
    candidate_count = 0
    for vertex in range(vertex_count - 1):
        start = vertices[vertex]
        end = vertices[vertex + 1]
        slope = _compute_mean_from_cumulative_sums(start, end, buffers)
        candidates[candidate_count] = start
        candidate_count += 1
        for point in range(start + 1, end):
            candidates[candidate_count] = point
            candidate_count += y[point] - y[start] < slope * (x[point] - x[start])
    candidates[candidate_count] = score_count
    vertex_count = _find_convex_minorant_vertices(candidate_count + 1, buffers)
    for block in range(vertex_count - 1):
        start = vertices[block]
        end = vertices[block + 1]
        buffers.block_values[block] = _compute_mean_from_cumulative_sums(start, end, buffers)
        buffers.block_end[block] = end
    return vertex_count - 1


@kernel
def _compute_mean_from_cumulative_sums(start: int, end: int, buffers: _FitBuffers) -> float:
    """Compute the mean of the values between two positions from cumulative sums."""
    weight = buffers.cumulative_weights[end] - buffers.cumulative_weights[start]
    if weight == 0.0:
        return 0.0
    return float((buffers.cumulative_sums[end] - buffers.cumulative_sums[start]) / weight)


@kernel
def _find_convex_minorant_vertices(candidate_count: int, buffers: _FitBuffers) -> int:
    """Find the vertices of the largest convex function below the candidate points. Returns their number."""
    x = buffers.cumulative_weights
    y = buffers.cumulative_sums
    vertices = buffers.vertices
    vertex_count = 0
    for candidate in range(candidate_count):
        point = buffers.candidates[candidate]
        while vertex_count >= 2:
            start = vertices[vertex_count - 2]
            middle = vertices[vertex_count - 1]
            rise_before = (y[middle] - y[start]) * (x[point] - x[middle])
            rise_after = (y[point] - y[middle]) * (x[middle] - x[start])
            if rise_before < rise_after:
                break
            vertex_count -= 1
        vertices[vertex_count] = point
        vertex_count += 1
    return vertex_count


@kernel
def _fill_group_means_for_each_resample(
    sorted_scores: SortedScores,
    values: FloatArray,
    weights: FloatArray,
    group_of_output: LongArray,
    clusters: LongArray,
    resample_counts: Counts,
    fitted_values: FloatArray,
    buffers: _FitBuffers,
    original_means: FloatArray,
    resampled_means: FloatArray,
) -> None:
    """Fit each bootstrap resample, and write the mean of the fit over each group of outputs.

    Means are over the original outputs and over the resampled ones.
    """
    resampled_weights = np.empty(len(weights))
    for b in range(len(resample_counts)):
        for p in range(len(weights)):
            resampled_weights[p] = weights[p] * resample_counts[b, clusters[p]]
        knot_count = _sum_values_at_distinct_scores(sorted_scores, values, resampled_weights, buffers)
        buffers.cumulative_sums[0] = 0.0
        buffers.cumulative_weights[0] = 0.0
        for knot in range(knot_count):
            buffers.cumulative_sums[knot + 1] = buffers.cumulative_sums[knot] + buffers.present_sums[knot]
            buffers.cumulative_weights[knot + 1] = (
                buffers.cumulative_weights[knot] + buffers.present_weights[knot]
            )
        blocks = _find_constant_blocks(knot_count, buffers)
        _interpolate_isotonic_fit(blocks, sorted_scores.knots, fitted_values, buffers)
        _fill_group_means(sorted_scores, fitted_values, weights, group_of_output, original_means[b])
        _fill_group_means(
            sorted_scores, fitted_values, resampled_weights, group_of_output, resampled_means[b]
        )
