"""Tie-calibrated accuracy after whole segments of two metrics were swapped, epsilon calibrated each time.

For a grid of epsilons, the number of right pairs of a metric is a sum over segments. It is therefore linear
in the swapped segments: one product per metric gives it for every draw and every epsilon of the grid, and the
best epsilon of a mixture is a maximum over the grid. Nothing is sorted again, and the test is exact: observed
and swapped metrics are treated alike. (With an epsilon fixed beforehand it is not: calibration makes two
metrics more alike than their items are, and a size of 5 % becomes 1 to 3 % where ties are many.)
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metassay.stats.arrays import FloatArray, SingleArray
from metassay.stats.swaps import Swaps

STEPS = 256
"""Epsilons tried: 0 and quantiles of the differences of all metrics."""


def right_pairs(human: FloatArray, scores: FloatArray) -> SingleArray:
    """Right pairs of systems per metric, segment and epsilon, `[metrics, segments, epsilons]`.

    `human` is `[systems, segments]`, `scores` `[metrics, systems, segments]` on one scale.
    """
    first, second = np.triu_indices(len(human), 1)
    people = np.sign(human[first] - human[second])
    grid = _grid(scores, first, second)
    segments = np.broadcast_to(np.arange(human.shape[1]), people.shape)
    counts = np.zeros((len(scores), human.shape[1], len(grid)), dtype=np.float32)
    for m, metric in enumerate(scores):
        difference = metric[first] - metric[second]
        right = (np.sign(difference) == people) & (people != 0)
        step = np.searchsorted(grid, np.abs(difference))  # tied from this epsilon on
        inside = step < len(grid)
        gain = (people == 0).astype(np.float32) - right
        np.add.at(counts[m], (segments[inside], step[inside]), gain[inside])
        np.cumsum(counts[m], axis=1, out=counts[m])
        counts[m] += right.sum(axis=0, dtype=np.float32)[:, None]
    return counts


def calibrated_differences(right: SingleArray, pairs: float) -> FloatArray:
    """Best share of right pairs of A less that of B, for all metrics A < B, out of `pairs` system pairs."""
    best = right.sum(axis=1, dtype=np.float64).max(axis=1)
    first, second = np.triu_indices(len(right), 1)
    difference: FloatArray = (best[first] - best[second]) / pairs
    return difference


def swapped_ties(right: SingleArray, pairs: float, swaps: Swaps) -> SingleArray:
    """The same after swaps of whole segments, `[draws, pairs of metrics]`."""
    mask = swaps.columns.astype(np.float32)
    swapped = np.stack([mask @ metric for metric in right], axis=1)
    metrics = len(right)
    out = np.empty((len(swaps), metrics * (metrics - 1) // 2), dtype=np.float32)
    _swapped_ties(right.sum(axis=1), swapped, np.float32(1.0 / pairs), out)
    return out


def _grid(scores: FloatArray, first: NDArray[np.int64], second: NDArray[np.int64]) -> FloatArray:
    """0 and equally frequent differences, from at most a few thousand of each metric."""
    sizes = [np.abs(metric[first] - metric[second]).ravel() for metric in scores]
    some = np.concatenate([np.sort(size)[:: max(1, len(size) // 4096)] for size in sizes])
    grid: FloatArray = np.unique(np.append(0.0, np.quantile(some, np.linspace(0, 1, STEPS))))
    return grid


@njit(cache=True, nogil=True)
def _swapped_ties(total: SingleArray, swapped: SingleArray, share: np.float32, out: SingleArray) -> None:
    draws, metrics, steps = swapped.shape
    for t in range(draws):
        column = 0
        for a in range(metrics):
            for b in range(a + 1, metrics):
                best_a = np.float32(0.0)
                best_b = np.float32(0.0)
                for g in range(steps):
                    moved = swapped[t, b, g] - swapped[t, a, g]
                    best_a = max(best_a, total[a, g] + moved)
                    best_b = max(best_b, total[b, g] - moved)
                out[t, column] = (best_a - best_b) * share
                column += 1
