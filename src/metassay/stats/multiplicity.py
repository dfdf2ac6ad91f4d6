"""Several tests or candidates at once: adjusted p-values, and a subset that holds the best."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.stats.arrays import FloatArray
from metassay.stats.bootstrap import small_sample_factor
from metassay.stats.compilation import kernel

_FLOOR = 0.5  # observations' worth of difference that the spread of two means is never below


def adjust_holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjustment (1979): the family-wise error rate under any dependence.

    The i-th smallest of n is multiplied by n - i + 1; the result never falls along that order and is at
    most 1. NaN marks a test that was not made: it stays NaN and is not counted.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    made = np.flatnonzero(~np.isnan(p))
    order = made[np.argsort(p[made], kind="stable")]
    scaled = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1)
    return adjusted


def adjust_benjamini_yekutieli(p_values: ArrayLike) -> NDArray[np.float64]:
    """Benjamini and Yekutieli's step-up adjustment (2001): the false discovery rate under any dependence.

    The i-th smallest of n is multiplied by (1 + 1/2 + … + 1/n) n / i; the result never falls along that order
    and is at most 1. NaN marks a test that was not made: it stays NaN and is not counted.

    >>> benjamini_yekutieli([0.01, 0.04]).tolist()
    [0.03, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    made = np.flatnonzero(~np.isnan(p))
    order = made[np.argsort(p[made], kind="stable")]
    places = np.arange(1, len(order) + 1)
    scaled = p[order] * (1 / places).sum() * len(order) / places
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return adjusted


def select_possible_best(
    estimate: FloatArray, resamples: FloatArray, clusters: int, level: float = 0.95
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Whether each of n estimates [n] may be the largest, and the p-value of the test that it is.

    For candidate m, the largest standardised lead over it, T = max over j of (a_j - a_m) / s_jm, is compared
    with the distribution that the same maximum has around the truth in the paired resamples [n, resamples].
    Were m the best, no true lead would be positive, so m is dropped wrongly in at most 1 - level of cases,
    whichever estimate happens to lead: the maximum pays for picking the best of many (Gupta, 1965; Hsu,
    1981). Spreads are stretched for small numbers of clusters. An estimate that is NaN is out; with a single
    cluster nothing can be told apart and all others stay in.
    """
    p = np.zeros(len(estimate))
    known = ~np.isnan(estimate)
    if clusters < 2:
        p[known] = 1.0
        return known, p
    draws = resamples[known]
    draws = np.ascontiguousarray(draws[:, ~np.isnan(draws).any(axis=0)] - estimate[known, None])
    stretch = float(small_sample_factor(np.array(clusters), level))
    draws *= stretch
    p[known] = _leads_exceeded(estimate[known], draws, _spreads(draws, _FLOOR / clusters))
    return known & (p > 1 - level), p


def _spreads(draws: FloatArray, floor: float) -> FloatArray:
    """Standard deviation of the difference of every two rows.

    Below `floor`, half an observation, it is that of means that happen never to differ.
    """
    centred = draws - draws.mean(axis=1, keepdims=True)
    products = centred @ centred.T / max(draws.shape[1], 1)
    own = np.diag(products)
    return np.asarray(np.maximum(np.sqrt(np.maximum(own[:, None] + own - 2 * products, 0)), floor))


@kernel
def _leads_exceeded(estimate: FloatArray, draws: FloatArray, spreads: FloatArray) -> FloatArray:
    """For each candidate, the share of draws whose largest lead over it is at least the observed one."""
    count, resamples = draws.shape
    shares, worst = np.empty(count, np.float64), np.empty(resamples, np.float64)
    for m in range(count):
        observed, shares[m] = 0.0, 1.0
        for draw in range(resamples):
            worst[draw] = 0.0
        for j in range(count):
            observed = max(observed, (estimate[j] - estimate[m]) / spreads[j, m])
            scale = 1 / spreads[j, m]
            for draw in range(resamples):
                worst[draw] = max(worst[draw], (draws[j, draw] - draws[m, draw]) * scale)
        if observed > 0:
            reached = 0
            for draw in range(resamples):
                reached += worst[draw] >= observed
            shares[m] = (1 + reached) / (1 + resamples)
    return shares
