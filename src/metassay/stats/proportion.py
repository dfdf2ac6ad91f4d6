"""Intervals for proportions estimated from clustered observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from metassay.stats.arrays import FloatArray, LongArray

_FEW_ERRORS = 30  # below this many effective successes or failures a percentile interval is too narrow
_FEW_CLUSTERS = 20  # below this many clusters their resamples are too coarse for percentiles


@dataclass(frozen=True)
class Proportions:
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


def cluster_interval(
    found: Proportions, resamples: FloatArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Low and high ends for proportions [n] with bootstrap resamples [n, resamples] over clusters.

    The percentile interval, widened about the estimate for small numbers of clusters; near 0 and 1, where it
    collapses, and for few clusters, the Wilson interval. NaN for a single cluster: its spread is unknown.
    """
    rarer = found.effective_size() * np.minimum(found.estimate, 1 - found.estimate)
    by_score = (rarer < _FEW_ERRORS) | (found.clusters < _FEW_CLUSTERS)
    low, high = widened_percentiles(found.estimate, resamples, found.clusters, level)
    wilson_low, wilson_high = wilson(found, level)
    low = np.minimum(np.where(by_score, wilson_low, low), found.estimate)
    high = np.maximum(np.where(by_score, wilson_high, high), found.estimate)
    undefined = np.isnan(found.estimate) | (found.clusters < 2)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def wilson(found: Proportions, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval with the effective sample size, and Student's t for the number of clusters."""
    estimate, size, t = found.estimate, found.effective_size(), _student(found.clusters, level)
    centre = (estimate + t**2 / (2 * size)) / (1 + t**2 / size)
    half = t / (1 + t**2 / size) * np.sqrt(estimate * (1 - estimate) / size + t**2 / (4 * size**2))
    return np.maximum(centre - half, 0), np.minimum(centre + half, 1)


def widened_percentiles(
    estimate: FloatArray, resamples: FloatArray, clusters: LongArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Percentiles of the resamples, stretched about the estimate by Student's t over the normal quantile.

    A bootstrap over few clusters is too narrow by about that factor (Hesterberg, 2015).
    """
    low, high = percentiles(resamples, level)
    stretch = few_clusters_stretch(clusters, level)
    low, high = estimate + (low - estimate) * stretch, estimate + (high - estimate) * stretch
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def percentiles(resamples: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """The ends of the central `level` of each row, NaN left out; NaN for a row without values."""
    ordered = np.sort(resamples, axis=-1)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(axis=-1) - 1, 0)
    places = np.array([(1 - level) / 2, (1 + level) / 2]) * last[..., None]
    below = np.floor(places).astype(np.int64)
    lower = np.take_along_axis(ordered, below, axis=-1)
    upper = np.take_along_axis(ordered, np.ceil(places).astype(np.int64), axis=-1)
    ends = lower + (places - below) * (upper - lower)
    return ends[..., 0], ends[..., 1]


def few_clusters_stretch(clusters: LongArray, level: float = 0.95) -> FloatArray:
    """By how much an interval must be wider because n clusters, not unlimited ones, give its spread."""
    return np.asarray(_student(clusters, level) / ndtri((1 + level) / 2))


def _student(clusters: LongArray, level: float) -> FloatArray:
    return np.asarray(stdtrit(np.maximum(clusters - 1, 1).astype(np.float64), (1 + level) / 2))
