"""How many segments it takes to tell two systems, or two metrics, apart.

For a mean difference d with deviation s per segment, a one-sided test at level alpha finds it with the wanted
power on about ((z_alpha + z_power) s / d)^2 segments. For two metrics the deviation of the difference of
their meta-metric comes from the bootstrap, and shrinks with the square root of the number of segments.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from metassay.meta.people.intervals import bootstrap_values
from metassay.meta.people.meta_metrics import Judged, MetaMetric, meta_values
from metassay.stats.arrays import FloatArray
from metassay.stats.sign_flip import difference_sums


def segments_to_separate_systems(
    scores: FloatArray, *, alpha: float = 0.05, power: float = 0.8
) -> FloatArray:
    """Segments needed for every pair of systems, `[..., pairs]`; infinite where their means are equal."""
    segments = scores.shape[-1]
    sums, squares = difference_sums(scores)
    mean = sums / segments
    variance = np.maximum(squares / segments - mean**2, 0.0)
    return _needed(variance, mean, alpha, power)


def segments_to_separate_metrics(
    meta: MetaMetric,
    judged: Judged,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    draws: int = 1000,
    seed: int = 0,
) -> FloatArray | None:
    """Segments needed for every pair of metrics A < B; infinite where their values are equal."""
    drawn = bootstrap_values(meta, judged, draws=draws, seed=seed)
    if drawn is None:
        return None
    values = meta_values(meta, judged)
    first, second = np.triu_indices(len(values), 1)
    spread = (drawn[first] - drawn[second]).var(axis=1) * judged.human.shape[1]
    return _needed(spread, values[first] - values[second], alpha, power)


def _needed(variance: FloatArray, mean: FloatArray, alpha: float, power: float) -> FloatArray:
    factor = (ndtri(1 - alpha) + ndtri(power)) ** 2
    needed = np.divide(factor * variance, mean**2, out=np.full(mean.shape, np.inf), where=mean != 0)
    segments: FloatArray = np.maximum(np.ceil(needed), 1.0)
    return segments
