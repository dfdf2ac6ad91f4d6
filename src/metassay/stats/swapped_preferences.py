"""Soft pairwise accuracy after swaps: how far two metrics would differ if they were exchangeable.

Each function takes one block of swaps and standardised scores `[metrics, systems, segments]`, and returns
`SPA(A') - SPA(B')` for every pair of metrics A < B, `[draws, pairs of metrics]`, float32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from metassay.stats.arrays import Float32Array, FloatArray
from metassay.stats.compilation import kernel
from metassay.stats.swaps import Swaps

STEPS_PER_UNIT = 512
LIMIT = 8.0
UPPER_TAIL = ndtr(-np.linspace(-LIMIT, LIMIT, int(2 * LIMIT * STEPS_PER_UNIT) + 1))
"""1 - Phi on a grid: linear interpolation is off by at most 1.2e-7, a thousandth of the Monte-Carlo error."""

RESOLUTION = 1e-6
"""A sum of squared differences below this share of the sums of squares is rounding in float32."""


def swap_segments(p_human: FloatArray, scores: FloatArray, swaps: Swaps) -> Float32Array:
    """Normal p-values, whole segments swapped.

    Sum and sum of squares of the differences of two systems are both linear in the mask, so a draw costs two
    products per metric and no permutation at all.
    """
    mask = swaps.columns.astype(np.float64)
    sums = np.empty((len(swaps), len(scores), len(p_human)))
    squares = np.empty_like(sums)
    total_sums = np.empty(sums.shape[1:])
    total_squares = np.empty_like(total_sums)
    first, second = np.triu_indices(scores.shape[1], 1)
    for m, metric in enumerate(scores):
        differences = metric[first] - metric[second]
        sums[:, m] = mask @ differences.T
        total_sums[m] = differences.sum(axis=1)
        differences *= differences
        squares[:, m] = mask @ differences.T
        total_squares[m] = differences.sum(axis=1)
    out = np.empty((len(swaps), _pairs(len(scores))), dtype=np.float32)
    _segment_swaps(p_human, total_sums, total_squares, sums, squares, UPPER_TAIL, out)
    return out


def swap_cells(p_human: FloatArray, scores: FloatArray, swaps: Swaps) -> Float32Array:
    """Normal p-values, any swaps.

    Here system i under one metric meets system j under the other, so all products between metrics are needed:
    per draw one symmetric product over the swapped segments, or over all cells.
    """
    metrics = len(scores)
    by_segment = np.ascontiguousarray(scores.astype(np.float32).reshape(-1, scores.shape[2]).T)
    total = by_segment.T @ by_segment
    swapped_sums = swaps.swapped_sums(scores)
    kept_sums = scores.sum(axis=-1) - swapped_sums
    out = np.empty((len(swaps), _pairs(metrics)), dtype=np.float32)
    for draw in range(len(swaps)):
        products = _products_of_kept_and_swapped(by_segment, total, swaps, draw)
        _any_swaps(p_human, kept_sums[draw], swapped_sums[draw], *products, UPPER_TAIL, out[draw])
    return out


def swap_permuted_segments(
    p_human: FloatArray, scores: FloatArray, swaps: Swaps, flips: Float32Array
) -> Float32Array:
    """Permutation p-values, any swaps; `flips` is `[segments, permutations]`, 1 where the sign changes.

    The flipped sums of A' are those of A less its swapped cells plus those of B, so a draw costs one product
    per metric; what remains is counting, for every pair of metrics.
    """
    metrics, systems, segments = scores.shape
    by_segment = np.ascontiguousarray(scores.astype(np.float32).reshape(-1, segments).T)
    shape = (metrics, systems, flips.shape[1])
    total = (by_segment.T @ flips).reshape(shape)
    tolerance = np.float32(1e-7 * np.abs(scores).max(axis=1).sum(axis=1).max())
    out = np.empty((len(swaps), _pairs(metrics)), dtype=np.float32)
    for draw in range(len(swaps)):
        swapped = _flipped_sums(by_segment, flips, swaps, draw).reshape(shape)
        if swaps.cells is None:
            swapped = np.where(swaps.rows[draw][None, :, None], total - swapped, swapped)
        _flipped_swaps(p_human, total, swapped, tolerance, out[draw])
    return out


def _flipped_sums(by_segment: Float32Array, flips: Float32Array, swaps: Swaps, draw: int) -> Float32Array:
    """Flipped sums over the swapped cells; for swaps of segments only those segments are multiplied."""
    if swaps.cells is not None:
        repeats = by_segment.shape[1] // swaps.cells.shape[1]
        inside: Float32Array = (by_segment * np.tile(swaps.cells[draw].T, repeats)).T @ flips
        return inside
    chosen = swaps.columns[draw]
    sums: Float32Array = by_segment[chosen].T @ flips[chosen]
    return sums


def _products_of_kept_and_swapped(
    by_segment: Float32Array, total: Float32Array, swaps: Swaps, draw: int
) -> tuple[Float32Array, Float32Array, Float32Array]:
    """Products of rows (metric, system), split by what is kept and what is swapped.

    Kept x kept and swapped x swapped are needed within a metric alone, `[metrics, systems, systems]`; kept x
    swapped between all of them, `[rows, rows]`.
    """
    systems = swaps.rows.shape[1]
    repeats = len(total) // systems
    if swaps.cells is None:
        chosen = by_segment[swaps.columns[draw]]
        return _split_by_rows(chosen.T @ chosen, total, np.tile(swaps.rows[draw], repeats), systems)
    swapped = by_segment * np.tile(swaps.cells[draw].T, repeats)
    kept = by_segment - swapped
    within = [part.T.reshape(repeats, systems, -1) for part in (kept, swapped)]
    own, other = (np.matmul(part, part.swapaxes(1, 2)) for part in within)
    return own, kept.T @ swapped, other


@kernel
def _split_by_rows(
    inside: Float32Array, total: Float32Array, swapped: NDArray[np.bool_], systems: int
) -> tuple[Float32Array, Float32Array, Float32Array]:
    """An unswapped row keeps what lies outside the chosen segments, a swapped row what lies inside."""
    size = len(inside)
    kept = np.zeros((size // systems, systems, systems), np.float32)
    exchanged = np.zeros((size // systems, systems, systems), np.float32)
    mixed = np.zeros((size, size), np.float32)
    for i in range(size):
        metric, start = i // systems, i // systems * systems
        for j in range(size):
            if swapped[i] != swapped[j]:
                mixed[i, j] = inside[i, j] if swapped[i] else total[i, j] - inside[i, j]
        for j in range(start, start + systems):
            if swapped[i] == swapped[j]:
                outside = total[i, j] - inside[i, j]
                kept[metric, i - start, j - start] = inside[i, j] if swapped[i] else outside
                exchanged[metric, i - start, j - start] = outside if swapped[i] else inside[i, j]
    return kept, mixed, exchanged


def _pairs(n: int) -> int:
    return n * (n - 1) // 2


@kernel
def _tail(total: float, squares: float, table: FloatArray) -> float:
    """1 - Phi(total / sqrt(squares)) by interpolation; .5 where there is no difference."""
    if squares <= 0.0:
        return 0.5
    z = min(max(total / np.sqrt(squares), -LIMIT + 1e-9), LIMIT - 1e-9)
    position = (z + LIMIT) * STEPS_PER_UNIT
    step = int(position)
    return float(table[step] + (position - step) * (table[step + 1] - table[step]))


@kernel
def _segment_swaps(
    p_human: FloatArray,
    total_sums: FloatArray,
    total_squares: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
    table: FloatArray,
    out: Float32Array,
) -> None:
    draws, metrics, pairs = sums.shape
    for t in range(draws):
        column = 0
        for a in range(metrics):
            for b in range(a + 1, metrics):
                difference = 0.0
                for p in range(pairs):
                    moved = sums[t, b, p] - sums[t, a, p]
                    moved_squares = squares[t, b, p] - squares[t, a, p]
                    p_a = _tail(total_sums[a, p] + moved, total_squares[a, p] + moved_squares, table)
                    p_b = _tail(total_sums[b, p] - moved, total_squares[b, p] - moved_squares, table)
                    difference += abs(p_b - p_human[p]) - abs(p_a - p_human[p])
                out[t, column] = difference / pairs
                column += 1


@kernel
def _mixture_products(
    kept: Float32Array, mixed: Float32Array, exchanged: Float32Array, own: int, other: int, out: FloatArray
) -> None:
    """Products of all systems of the metric that keeps `own` and takes `other` where swapped."""
    systems = len(out)
    for i in range(systems):
        for j in range(i, systems):
            out[i, j] = (
                kept[own, i, j]
                + mixed[own * systems + i, other * systems + j]
                + mixed[own * systems + j, other * systems + i]
                + exchanged[other, i, j]
            )


@kernel
def _any_swaps(
    p_human: FloatArray,
    kept_sums: FloatArray,
    swapped_sums: FloatArray,
    kept: Float32Array,
    mixed: Float32Array,
    exchanged: Float32Array,
    table: FloatArray,
    out: Float32Array,
) -> None:
    metrics, systems = kept_sums.shape
    product = np.empty((systems, systems), np.float64)
    column = 0
    for first in range(metrics):
        for second in range(first + 1, metrics):
            difference = 0.0
            for own, other, sign in ((first, second, -1.0), (second, first, 1.0)):  # A', then B'
                _mixture_products(kept, mixed, exchanged, own, other, product)
                pair = 0
                for i in range(systems):
                    for j in range(i + 1, systems):
                        both = product[i, i] + product[j, j]
                        squares = max(both - 2.0 * product[i, j], RESOLUTION * both)
                        total = kept_sums[own, i] + swapped_sums[other, i]
                        total -= kept_sums[own, j] + swapped_sums[other, j]
                        difference += sign * abs(_tail(total, squares, table) - p_human[pair])
                        pair += 1
            out[column] = difference / len(p_human)
            column += 1


@kernel
def _flipped_swaps(
    p_human: FloatArray,
    total: Float32Array,
    swapped: Float32Array,
    tolerance: np.float32,
    out: Float32Array,
) -> None:
    metrics, systems, flips = total.shape
    pairs = systems * (systems - 1) // 2
    sums = np.empty((2, systems, flips), np.float32)
    column = 0
    for a in range(metrics):
        for b in range(a + 1, metrics):
            for i in range(systems):
                for k in range(flips):
                    moved = swapped[b, i, k] - swapped[a, i, k]
                    sums[0, i, k] = total[a, i, k] + moved
                    sums[1, i, k] = total[b, i, k] - moved
            difference = 0.0
            for side in range(2):
                sign = -1.0 if side == 0 else 1.0
                pair = 0
                for i in range(systems):
                    for j in range(i + 1, systems):
                        halves = _halves_below(sums[side, i], sums[side, j], tolerance)
                        difference += sign * abs(halves / (2.0 * flips) - p_human[pair])
                        pair += 1
            out[column] = difference / pairs
            column += 1


@kernel
def _halves_below(left: Float32Array, right: Float32Array, tolerance: np.float32) -> int:
    """Twice how often left is below right, a tie within the tolerance counting once."""
    count = np.int32(0)
    for k in range(len(left)):
        difference = right[k] - left[k]
        count += np.int32(difference > tolerance) + np.int32(difference >= -tolerance)
    return int(count)
