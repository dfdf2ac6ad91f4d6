"""Confidence intervals from bootstrap resamples and for clustered proportions."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.levels import CONFIDENCE_LEVEL

_FEW_ERRORS = 30  # below this many effective successes or failures a percentile interval is too narrow
_MANY_DEGREES = 500  # from here on four terms of an expansion give Student's t quantiles to 13 digits
_FEW_CLUSTERS = 20  # below this many clusters resamples are too coarse for percentiles


@dataclass(frozen=True)
class IntervalEstimate:
    """An estimated value with its 95 % confidence interval. Values that are not defined are NaN."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ClusteredProportions:
    """Estimated proportions of observations in clusters, with their variances and sample sizes."""

    estimate: FloatArray
    variance: FloatArray
    clusters: LongArray
    observations: LongArray

    def effective_sample_size(self) -> FloatArray:
        """Compute how many independent observations would be as precise as the clustered ones.

        It is p (1 - p) / variance. It is at most the number of observations. If all observations agree, the
        variance says nothing, and each cluster counts as one observation.
        """
        binomial_variance = self.estimate * (1 - self.estimate)
        defined = (self.variance > 0) & (binomial_variance > 0)
        size = np.divide(binomial_variance, self.variance, where=defined, out=np.ones_like(self.estimate))
        return np.maximum(np.where(defined, np.minimum(size, self.observations), self.clusters), 1)


def proportion_interval(
    proportions: ClusteredProportions, resamples: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute 95 % confidence intervals for proportions from bootstrap resamples, one row per proportion.

    The percentile interval, widened for a small number of clusters. With few clusters, and near 0 and 1 where
    percentiles collapse, the Wilson interval. NaN for a single cluster, whose variance is unknown.
    """
    estimate = proportions.estimate
    # Expected number of the rarer outcome, right or wrong: percentiles collapse where it is small.
    fewer_outcomes = proportions.effective_sample_size() * np.minimum(estimate, 1 - estimate)
    use_wilson = (fewer_outcomes < _FEW_ERRORS) | (proportions.clusters < _FEW_CLUSTERS)
    low, high = widened_percentile_interval(estimate, resamples, proportions.clusters)
    wilson_low, wilson_high = clustered_wilson_interval(proportions)
    # With few resamples a percentile may lie on the wrong side of the estimate.
    low = np.minimum(np.where(use_wilson, wilson_low, low), estimate)
    high = np.maximum(np.where(use_wilson, wilson_high, high), estimate)
    undefined = np.isnan(estimate) | (proportions.clusters < 2)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def clustered_wilson_interval(proportions: ClusteredProportions) -> tuple[FloatArray, FloatArray]:
    """Compute Wilson's score intervals (1927) for proportions of observations in clusters.

        (p + t² / 2n ± t √(p (1 - p) / n + t² / 4n²)) / (1 + t² / n)

    n is the effective sample size. t is the quantile of Student's distribution for the number of clusters
    instead of the normal one.
    """
    p = proportions.estimate
    n = proportions.effective_sample_size()
    t = _student_t_quantile(proportions.clusters)
    centre = (p + t**2 / (2 * n)) / (1 + t**2 / n)
    half_width = t / (1 + t**2 / n) * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    return np.maximum(centre - half_width, 0), np.minimum(centre + half_width, 1)


def widened_percentile_interval(
    estimates: FloatArray, resamples: FloatArray, cluster_counts: LongArray
) -> tuple[FloatArray, FloatArray]:
    """Compute percentile intervals for proportions, widened if there are few clusters.

    Percentiles from few clusters are too narrow.
    """
    low, high = percentile_interval(resamples)
    factor = compute_interval_widening_factor(cluster_counts)
    low = estimates + (low - estimates) * factor
    high = estimates + (high - estimates) * factor
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def percentile_interval(resamples: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return for each row of resampled values the interval that contains the central 95 % of them.

    NaN values are left out; a row without any other value has NaN.
    Percentiles are interpolated linearly, as `np.nanpercentile` does.
    """
    ordered = np.sort(resamples, axis=-1)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(axis=-1) - 1, 0)
    positions = np.array([(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2]) * last[..., None]
    below = np.floor(positions).astype(np.int64)
    above = np.ceil(positions).astype(np.int64)
    lower = np.take_along_axis(ordered, below, axis=-1)
    upper = np.take_along_axis(ordered, above, axis=-1)
    ends = lower + (positions - below) * (upper - lower)
    return ends[..., 0], ends[..., 1]


def percentile_interval_or_nan(resamples: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return for each row of resampled values the interval that contains the central 95 % of them, or NaN if
    any value is NaN.
    """
    low: FloatArray
    high: FloatArray
    low, high = np.quantile(resamples, [(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2], axis=-1)
    return low, high


def compute_interval_widening_factor(cluster_counts: LongArray) -> FloatArray:
    """Compute how much wider an interval must be because there are few clusters.

    It is Student's t quantile divided by the normal quantile. A bootstrap interval over few clusters is too
    narrow by about this factor (Hesterberg, 2015).
    """
    return np.asarray(_student_t_quantile(cluster_counts) / NormalDist().inv_cdf((1 + CONFIDENCE_LEVEL) / 2))


def _student_t_quantile(cluster_counts: LongArray) -> FloatArray:
    """Return the 97.5 % quantile of Student's t distribution for each number of clusters."""
    # One cluster has no variance; its interval is replaced by NaN elsewhere.
    degrees = np.maximum(cluster_counts - 1, 1).astype(np.float64)
    if degrees.size and degrees.min() >= _MANY_DEGREES:
        # the expansion of Abramowitz and Stegun (26.7.5) saves the import of scipy, which takes 0.3 s
        z = NormalDist().inv_cdf((1 + CONFIDENCE_LEVEL) / 2)
        terms = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return np.asarray(z + sum(term / degrees**power for power, term in enumerate(terms, start=1)))
    from scipy.special import stdtrit

    return np.asarray(stdtrit(degrees, (1 + CONFIDENCE_LEVEL) / 2))
