"""Cluster bootstrap of ratios, for many columns at once, and intervals for proportions from it.

Every resample gives every cluster a Poisson(1) weight, which a counter-based hash derives from (key, cluster,
resample): no weight is stored, two groups of units that share clusters are resampled jointly, and the result
does not depend on how the work is divided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from metassay.stats.arrays import FloatArray, IntArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.random import SPLITMIX_STEP, mix_in_kernel

ByteArray = NDArray[np.uint8]

_NOTHING = 1e-9  # a sum of weights below this is what is left of rounding
_ROWS = 1024  # clusters whose weights are held at a time: 8 MB for 1,000 resamples
_FEW_ERRORS = 30  # below this many effective successes or failures a percentile interval is too narrow
_FEW_CLUSTERS = 20  # below this many clusters their resamples are too coarse for percentiles


class ClusterBootstrap:
    """Resamples of ratios of sums over clusters: sum(w * numerator) / sum(w * denominator).

    All calls on one object share the weights, so that estimates of overlapping groups stay paired.
    """

    def __init__(self, rng: np.random.Generator, resamples: int) -> None:
        self.resamples = resamples
        self._key = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        self._table = _POISSON
        self._known = np.empty((0, resamples))
        """Weights of the first clusters: of few, every context asks for the same again."""

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
        most = int(clusters.max(initial=-1)) + 1
        if most > _ROWS or clusters.min(initial=0) < 0:
            _fill_weights(self._key, np.ascontiguousarray(clusters, dtype=np.int32), self._table, weights)
            return weights
        known = self._known  # another thread may put fewer in its place
        if most > len(known):
            known = np.empty((most, self.resamples))
            _fill_weights(self._key, np.arange(most, dtype=np.int32), self._table, known)
            self._known = known
        return np.take(known, clusters, axis=0, out=weights, mode="clip")


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


@kernel
def _fill_weights(key: np.uint64, clusters: IntArray, table: ByteArray, weights: FloatArray) -> None:
    resamples = weights.shape[1]
    for row in range(len(clusters)):
        state = mix_in_kernel(key + np.uint64(clusters[row]) * SPLITMIX_STEP)
        for first in range(0, resamples, 4):  # one hash serves four resamples
            state += SPLITMIX_STEP
            bits = mix_in_kernel(state)
            for resample in range(first, min(first + 4, resamples)):
                weights[row, resample] = table[bits & np.uint64(0xFFFF)]
                bits >>= np.uint64(16)


@dataclass(frozen=True)
class ClusteredProportions:
    """Estimates with their variance between clusters, and how many clusters and observations they rest on."""

    estimate: FloatArray
    variance: FloatArray
    clusters: LongArray
    observations: LongArray

    def effective_size(self) -> FloatArray:
        """Independent observations that would be as precise: p (1 - p) / variance, all of them at most.

        Where all observations agree the spread says nothing, and every cluster counts as one observation.
        """
        binomial = self.estimate * (1 - self.estimate)
        known = (self.variance > 0) & (binomial > 0)
        size = np.divide(binomial, self.variance, where=known, out=np.ones_like(self.estimate))
        return np.maximum(np.where(known, np.minimum(size, self.observations), self.clusters), 1)


def proportion_interval(
    found: ClusteredProportions, resamples: FloatArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Low and high ends for proportions [n] with bootstrap resamples [n, resamples] over clusters.

    The percentile interval, widened about the estimate for small numbers of clusters; near 0 and 1, where it
    collapses, and for few clusters, the Wilson interval. NaN for a single cluster: its spread is unknown.
    """
    rarer = found.effective_size() * np.minimum(found.estimate, 1 - found.estimate)
    by_score = (rarer < _FEW_ERRORS) | (found.clusters < _FEW_CLUSTERS)
    low, high = widened_percentile_interval(found.estimate, resamples, found.clusters, level)
    wilson_low, wilson_high = wilson_interval(found, level)
    low = np.minimum(np.where(by_score, wilson_low, low), found.estimate)
    high = np.maximum(np.where(by_score, wilson_high, high), found.estimate)
    undefined = np.isnan(found.estimate) | (found.clusters < 2)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def wilson_interval(found: ClusteredProportions, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval with the effective sample size, and Student's t for the number of clusters."""
    estimate, size, t = found.estimate, found.effective_size(), _student(found.clusters, level)
    centre = (estimate + t**2 / (2 * size)) / (1 + t**2 / size)
    half = t / (1 + t**2 / size) * np.sqrt(estimate * (1 - estimate) / size + t**2 / (4 * size**2))
    return np.maximum(centre - half, 0), np.minimum(centre + half, 1)


def widened_percentile_interval(
    estimate: FloatArray, resamples: FloatArray, clusters: LongArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Percentiles of the resamples, stretched about the estimate by Student's t over the normal quantile.

    A bootstrap over few clusters is too narrow by about that factor (Hesterberg, 2015).
    """
    low, high = percentile_interval(resamples, level)
    stretch = small_sample_factor(clusters, level)
    low, high = estimate + (low - estimate) * stretch, estimate + (high - estimate) * stretch
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def percentile_interval(resamples: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """The ends of the central `level` of each row, NaN left out; NaN for a row without values."""
    ordered = np.sort(resamples, axis=-1)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(axis=-1) - 1, 0)
    places = np.array([(1 - level) / 2, (1 + level) / 2]) * last[..., None]
    below = np.floor(places).astype(np.int64)
    lower = np.take_along_axis(ordered, below, axis=-1)
    upper = np.take_along_axis(ordered, np.ceil(places).astype(np.int64), axis=-1)
    ends = lower + (places - below) * (upper - lower)
    return ends[..., 0], ends[..., 1]


def small_sample_factor(clusters: LongArray, level: float = 0.95) -> FloatArray:
    """By how much an interval must be wider because n clusters, not unlimited ones, give its spread."""
    return np.asarray(_student(clusters, level) / ndtri((1 + level) / 2))


def _student(clusters: LongArray, level: float) -> FloatArray:
    return np.asarray(stdtrit(np.maximum(clusters - 1, 1).astype(np.float64), (1 + level) / 2))
