"""`MetricDifferences`: how much a meta-metric differs between metrics, and by how much it does by chance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import FloatArray, LongArray

# Draws are stored as float32, so a draw this close to the observed difference counts as equal to it.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class MetricDifferences:
    """For every two metrics: the difference between their values of a meta-metric, as observed and in random
    draws. p-values are computed from these.

    A difference is value(A) - value(B), for metrics A < B. Pairs are in the order of `numpy.triu_indices`.
    """

    observed: FloatArray
    """`[pairs]`"""
    drawn: NDArray[np.float32]
    """`[pairs, draws]`: under the null hypothesis, or of resampled items."""
    is_resampled: bool = False
    """Whether the draws are bootstrap resamples, which scatter around the observed difference, not 0."""

    def select_pairs(self, metric_pairs: LongArray, metric_count: int) -> MetricDifferences:
        """Return a copy with the differences of the given pairs of metrics only."""
        positions = find_pair_positions(metric_pairs[:, 0], metric_pairs[:, 1], metric_count)
        return replace(self, observed=self.observed[positions], drawn=self.drawn[positions])

    def compute_p_values(
        self, first_is_better: NDArray[np.bool_] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Compute one-sided and two-sided p-values for the difference between the two metrics of each pair.

        The better metric is the one with the higher value, unless `first_is_better` says which.
        """
        if first_is_better is None:
            first_is_better = self.observed >= 0
        sign = np.where(first_is_better, 1.0, -1.0)
        one_sided = self._compute_one_sided_p_values(sign)
        if self.is_resampled:
            opposite = self._compute_one_sided_p_values(-sign)
            return one_sided, np.minimum(1.0, 2.0 * np.minimum(one_sided, opposite))
        size = np.abs(self.observed)[:, None] - _TOLERANCE
        extreme = (~(np.abs(self.drawn) < size)).sum(axis=1)
        return one_sided, (extreme + 1) / (self.drawn.shape[1] + 1)

    def _compute_one_sided_p_values(self, pair_signs: FloatArray) -> FloatArray:
        """Compute for each pair the share of random draws that are at least as extreme as the observed
        difference.

        The observed difference counts as a draw.
        """
        draws = self.drawn * pair_signs[:, None].astype(np.float32)
        # negated comparisons, so that an undefined draw counts as extreme
        if self.is_resampled:
            is_extreme = ~(draws > _TOLERANCE)
        else:
            is_extreme = ~(draws < (self.observed * pair_signs)[:, None] - _TOLERANCE)
        return np.asarray((is_extreme.sum(axis=1) + 1) / (draws.shape[1] + 1), dtype=np.float64)


def compute_differences_of_all_row_pairs(rows: FloatArray) -> FloatArray:
    """Compute the difference of every two rows of an array: `rows[a] - rows[b]` for all a < b."""
    first, second = np.triu_indices(len(rows), 1)
    differences: FloatArray = rows[first] - rows[second]
    return differences


def find_pair_positions(
    first_positions: LongArray, second_positions: LongArray, element_count: int
) -> LongArray:
    """Return the positions of the given pairs in the list of all pairs (0, 1), (0, 2), ….

    The list has the order of `numpy.triu_indices`.
    """
    return (
        first_positions * element_count
        - first_positions * (first_positions + 1) // 2
        + second_positions
        - first_positions
        - 1
    )
