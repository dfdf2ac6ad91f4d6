"""Cluster bootstrap of ratios, for many columns at once.

Every resample gives every cluster a Poisson(1) weight, which a counter-based hash derives from (key, cluster,
resample): no weight is stored, two groups of units that share clusters are resampled jointly, and the result
does not depend on how the work is divided.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metassay.stats.arrays import FloatArray, IntArray
from metassay.stats.random import STEP, mixed

ByteArray = NDArray[np.uint8]

_NOTHING = 1e-9  # a sum of weights below this is what is left of rounding
_ROWS = 1024  # clusters whose weights are held at a time: 8 MB for 1,000 resamples


class ClusterBootstrap:
    """Resamples of ratios of sums over clusters: sum(w * numerator) / sum(w * denominator).

    All calls on one object share the weights, so that estimates of overlapping groups stay paired.
    """

    def __init__(self, rng: np.random.Generator, resamples: int) -> None:
        self.resamples = resamples
        self._key = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        self._table = _POISSON

    def weights(self, clusters: IntArray) -> FloatArray:
        """Weights [clusters, resamples]."""
        return self._fill(clusters, np.empty((len(clusters), self.resamples)))

    def sums(self, columns: FloatArray, clusters: IntArray) -> FloatArray:
        """Weighted sums [columns, resamples] of [columns, units]; `clusters` names each unit's cluster."""
        sums = np.zeros((len(columns), self.resamples))
        buffer = np.empty((min(_ROWS, len(clusters)), self.resamples))
        for start in range(0, len(clusters), _ROWS):
            part = slice(start, start + _ROWS)
            sums += columns[:, part] @ self._fill(clusters[part], buffer)
        return sums

    def ratios(self, numerator: FloatArray, denominator: FloatArray, clusters: IntArray) -> FloatArray:
        """[columns, resamples] from numerators [columns, units] and denominators [columns or 1, units].

        A resample in which nothing has weight is NaN.
        """
        sums = self.sums(np.concatenate([numerator, denominator]), clusters)
        return _ratio(sums[: len(numerator)], sums[len(numerator) :])

    def _fill(self, clusters: IntArray, buffer: FloatArray) -> FloatArray:
        weights = buffer[: len(clusters)]
        _fill_weights(self._key, np.ascontiguousarray(clusters, dtype=np.int32), self._table, weights)
        return weights


class ClusterHalves(ClusterBootstrap):
    """Random splits in two: every cluster goes to either half with even chance, anew in each split."""

    def __init__(self, rng: np.random.Generator, splits: int) -> None:
        super().__init__(rng, splits)
        self._table = _COIN

    def halves(
        self, numerator: FloatArray, denominator: FloatArray, clusters: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """The ratios [columns, splits] in one half and in the other."""
        both = np.concatenate([numerator, denominator])
        here = self.sums(both, clusters)
        there = both.sum(axis=1, keepdims=True) - here
        columns = len(numerator)
        return _ratio(here[:columns], here[columns:]), _ratio(there[:columns], there[columns:])


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    bottom = np.broadcast_to(bottom, top.shape)
    quotient = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=quotient, where=bottom > _NOTHING)
    return quotient


def _poisson_table() -> ByteArray:
    """Poisson(1) quantiles at 2^16 equal steps, so that 16 random bits make one draw."""
    steps = np.arange(2**16) / 2**16 + 2**-17
    cumulative = np.cumsum([math.exp(-1) / math.factorial(count) for count in range(12)])
    return np.searchsorted(cumulative, steps, side="right").astype(np.uint8)


_POISSON = _poisson_table()
_COIN = (np.arange(2**16) % 2).astype(np.uint8)


@njit(cache=True, nogil=True)
def _fill_weights(key: np.uint64, clusters: IntArray, table: ByteArray, weights: FloatArray) -> None:
    resamples = weights.shape[1]
    for row in range(len(clusters)):
        state = mixed(key + np.uint64(clusters[row]) * STEP)
        for first in range(0, resamples, 4):  # one hash serves four resamples
            state += STEP
            bits = mixed(state)
            for resample in range(first, min(first + 4, resamples)):
                weights[row, resample] = table[bits & np.uint64(0xFFFF)]
                bits >>= np.uint64(16)
