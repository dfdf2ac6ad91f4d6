"""Sign flips that form a group, so that the flipped sums of many scores take few additions.

k random sign vectors have 2^k products. Each segment gets a code c of k random bits, and product f changes
the sign of the segment if f and c have an odd number of bits in common, so the flipped sum of scores x is

    T_f = sum over codes c of (-1)^|f & c| · (sum of x over the segments with code c).

This is the Walsh-Hadamard transform of the sums by code: k 2^k additions for all flips together. Product 0
changes nothing. Any two other products are independent, so a p-value from the group has the variance of one
from as many independent flips. Permutation tests over a group are valid (Hemerik and Goeman, 2018).

Every product stands for two flips, itself and the one with all signs reversed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.stats.arrays import Float32Array, FloatArray, LongArray
from metassay.stats.compilation import kernel

# Sums are equal if they differ by less than this share of their possible size.
_FLOAT32_TIE = 1e-7
# Sums that are transformed at the same time.
_ROWS_PER_BLOCK = 64


@dataclass(frozen=True)
class FlipGroup:
    """Random assignments of signs to segments, under which scores can be summed quickly.

    The assignments form a group.
    """

    codes: LongArray
    """The code of each segment, [segments]."""
    size: int
    """Number of products, a power of 2; with the reversed ones there are twice as many flips."""

    def sum_scores_under_random_signs(
        self, scores_by_segment: Float32Array, segments: LongArray | None = None
    ) -> Float32Array:
        """Sum the scores of each metric and system over segments, once for each random assignment of signs.

        Returns [metrics, systems, flips]. `segments` are the positions of the segments over which scores are
        summed, by default all.
        """
        if segments is None:
            segments = np.arange(len(scores_by_segment))
        rows = np.ascontiguousarray(scores_by_segment).reshape(len(scores_by_segment), -1)
        sums = np.empty((rows.shape[1], self.size), dtype=np.float32)
        _fill_flipped_sums(rows, self.codes, segments, sums)
        return sums.reshape(*scores_by_segment.shape[1:], self.size)


def draw_random_signs_of_segments(rng: np.random.Generator, flips: int, segments: int) -> FlipGroup:
    """Draw at least `flips` random assignments of signs to segments.

    The score of each segment is multiplied by 1 or -1.
    """
    bits = max(1, int(np.ceil(np.log2(flips))) - 1)
    return FlipGroup(rng.integers(0, 2**bits, size=segments), 2**bits)


def compute_p_values_under_random_signs(scores: FloatArray, flip_group: FlipGroup) -> FloatArray:
    """Compute for each pair of systems the p-value that the first scores higher by chance.

    Random signs of the scores show which differences arise by chance.
    """
    sums = flip_group.sum_scores_under_random_signs(scores.T[:, None].astype(np.float32))[0]
    tolerance = compute_tie_tolerance(scores[None])
    first, second = np.triu_indices(len(scores), 1)
    return np.array(
        [compare_sums_under_random_signs(sums[i], sums[j], tolerance) for i, j in zip(first, second)]
    )


def compute_tie_tolerance(scores: FloatArray) -> np.float32:
    """Return the largest difference at which two sums of scores count as equal, given rounding errors."""
    return np.float32(_FLOAT32_TIE * np.abs(scores).max(axis=1).sum(axis=1).max())


@kernel
def compare_sums_under_random_signs(
    first_sums: Float32Array, second_sums: Float32Array, tolerance: np.float32
) -> float:
    """Compute the p-value that a system scores higher by chance, from sums under random signs.

    It is the share of flips whose difference is at least the unflipped one; an equal difference counts half.
    """
    observed = first_sums[0] - second_sums[0]
    size = abs(observed)
    if size <= tolerance:
        return 0.5
    half_wins = np.int32(0)
    above = size + tolerance
    equal = size - tolerance
    for k in range(len(first_sums)):
        # of a flip and the reversed one, at most one reaches a difference above 0
        difference = abs(first_sums[k] - second_sums[k])
        wins = np.int32(difference > above) + np.int32(difference >= equal)
        # Numba adds in 64 bits; the conversion to 32 bits makes the loop twice as fast
        half_wins = np.int32(half_wins + wins)
    tail = half_wins / (4.0 * len(first_sums))
    return tail if observed > 0 else 1.0 - tail


@kernel
def _fill_flipped_sums(
    scores_by_segment: Float32Array,
    flip_codes_of_segments: LongArray,
    segments_to_sum: LongArray,
    score_sums: Float32Array,
) -> None:
    """Sum each column of scores over segments, once for each random assignment of signs.

    `score_sums` is [rows, flips].
    """
    rows, size = score_sums.shape
    # sums by code of some rows, small enough for the cache of a processor
    block = np.empty((size, _ROWS_PER_BLOCK), np.float32)
    for start in range(0, rows, _ROWS_PER_BLOCK):
        width = min(_ROWS_PER_BLOCK, rows - start)
        block[:] = 0.0
        for segment in segments_to_sum:
            code = flip_codes_of_segments[segment]
            for r in range(width):
                block[code, r] += scores_by_segment[segment, start + r]
        half = 1
        while half < size:
            for first in range(0, size, 2 * half):
                for k in range(first, first + half):
                    for r in range(width):
                        even = block[k, r]
                        odd = block[k + half, r]
                        block[k, r] = even + odd
                        block[k + half, r] = even - odd
            half *= 2
        for r in range(width):
            for k in range(size):
                score_sums[start + r, k] = block[k, r]
