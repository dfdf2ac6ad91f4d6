"""Confidence intervals from bootstrap resamples and for clustered proportions."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from metassay.stats.arrays import FloatArray, LongArray

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
    """Estimated proportions, and what an interval for them needs: their variance between clusters and the
    sizes of the samples.
    """

    estimate: FloatArray
    variance: FloatArray
    clusters: LongArray
    observations: LongArray

    def effective_sample_size(self) -> FloatArray:
        """The number of independent observations that would give a proportion the same variance as the
        clustered ones.

        It is p (1 - p) / variance. It is at most the number of observations. If all observations agree, the
        variance says nothing, and each cluster counts as one observation.
        """
        binomial_variance = self.estimate * (1 - self.estimate)
        defined = (self.variance > 0) & (binomial_variance > 0)
        size = np.divide(binomial_variance, self.variance, where=defined, out=np.ones_like(self.estimate))
        return np.maximum(np.where(defined, np.minimum(size, self.observations), self.clusters), 1)


def proportion_interval(
    proportions: ClusteredProportions, resamples: FloatArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Compute confidence intervals for proportions from their values on bootstrap resamples, one row per
    proportion.

    The percentile interval, widened for a small number of clusters. With few clusters, and near 0 and 1 where
    percentiles collapse, the Wilson interval. NaN for a single cluster, whose variance is unknown.
    """
    estimate = proportions.estimate
    # Expected number of the rarer outcome, right or wrong: percentiles collapse where it is small.
    fewer_outcomes = proportions.effective_sample_size() * np.minimum(estimate, 1 - estimate)
    use_wilson = (fewer_outcomes < _FEW_ERRORS) | (proportions.clusters < _FEW_CLUSTERS)
    low, high = widened_percentile_interval(estimate, resamples, proportions.clusters, level)
    wilson_low, wilson_high = wilson_interval(proportions, level)
    # With few resamples a percentile may lie on the wrong side of the estimate.
    low = np.minimum(np.where(use_wilson, wilson_low, low), estimate)
    high = np.maximum(np.where(use_wilson, wilson_high, high), estimate)
    undefined = np.isnan(estimate) | (proportions.clusters < 2)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def wilson_interval(proportions: ClusteredProportions, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Compute Wilson's score interval (1927) for proportions, with the number of independent observations
    that clustered data are worth.

        (p + t² / 2n ± t √(p (1 - p) / n + t² / 4n²)) / (1 + t² / n)

    t is the quantile of Student's distribution for the number of clusters instead of the normal one.
    """
    p = proportions.estimate
    n = proportions.effective_sample_size()
    t = _student_t_quantile(proportions.clusters, level)
    centre = (p + t**2 / (2 * n)) / (1 + t**2 / n)
    half_width = t / (1 + t**2 / n) * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    return np.maximum(centre - half_width, 0), np.minimum(centre + half_width, 1)


def widened_percentile_interval(
    estimates: FloatArray, resamples: FloatArray, cluster_counts: LongArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Compute percentile intervals for proportions from bootstrap resamples, widened because few clusters
    make them too narrow.
    """
    low, high = percentile_interval(resamples, level)
    factor = compute_interval_widening_factor(cluster_counts, level)
    low = estimates + (low - estimates) * factor
    high = estimates + (high - estimates) * factor
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def percentile_interval(resamples: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return the ends of an interval that contains the central `level` of the resampled values of each row.

    NaN values are left out; a row without any other value has NaN.
    Percentiles are interpolated linearly, as `np.nanpercentile` does.
    """
    ordered = np.sort(resamples, axis=-1)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(axis=-1) - 1, 0)
    positions = np.array([(1 - level) / 2, (1 + level) / 2]) * last[..., None]
    below = np.floor(positions).astype(np.int64)
    above = np.ceil(positions).astype(np.int64)
    lower = np.take_along_axis(ordered, below, axis=-1)
    upper = np.take_along_axis(ordered, above, axis=-1)
    ends = lower + (positions - below) * (upper - lower)
    return ends[..., 0], ends[..., 1]


def compute_interval_widening_factor(cluster_counts: LongArray, confidence_level: float = 0.95) -> FloatArray:
    """Return how much wider an interval from few clusters must be: the ratio of the quantile of Student's t
    to the normal quantile.

    A bootstrap interval over few clusters is too narrow by about this factor (Hesterberg, 2015).
    """
    return np.asarray(
        _student_t_quantile(cluster_counts, confidence_level)
        / NormalDist().inv_cdf((1 + confidence_level) / 2)
    )


def _student_t_quantile(cluster_counts: LongArray, level: float) -> FloatArray:
    # One cluster has no variance; its interval is replaced by NaN elsewhere.
    """Return the quantile of Student's t distribution that bounds the central `level`, for each number of
    clusters.
    """
    degrees = np.maximum(cluster_counts - 1, 1).astype(np.float64)
    if degrees.size and degrees.min() >= _MANY_DEGREES:
        # the expansion of Abramowitz and Stegun (26.7.5) saves the import of scipy, which takes 0.3 s
        z = NormalDist().inv_cdf((1 + level) / 2)
        terms = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return np.asarray(z + sum(term / degrees**power for power, term in enumerate(terms, start=1)))
    from scipy.special import stdtrit

    return np.asarray(stdtrit(degrees, (1 + level) / 2))
