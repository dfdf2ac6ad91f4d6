"""Whether accuracy follows the order of contexts that have one: numbers, and buckets of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr
from scipy.stats import rankdata

from metassay.meta.contexts.accuracy import Tally, ratio
from metassay.meta.contexts.order import ordered, position
from metassay.stats.correlation import correlate

FloatArray = NDArray[np.float64]

ENOUGH = 5
"""Fewer contexts than this show no trend."""


def trends(column: str, contexts: Sequence[str], accuracy: FloatArray) -> list[float | None] | None:
    """Spearman's correlation of each metric's accuracy `[metrics, contexts]` with the order of the contexts.

    None for a metric that is defined in too few contexts or never varies; None altogether where the contexts
    have no order or are few.
    """
    if len(contexts) < ENOUGH or not ordered(column, contexts):
        return None
    places = _places(contexts)
    return [_trend(places, row) for row in accuracy]


def trend_p_values(column: str, sums: Tally, large: NDArray[np.bool_]) -> FloatArray:
    """Two-sided p-values [metrics] that accuracy does not follow the order of the contexts that are `large`.

    The contrast L = Σ_c w_c a_c, w the centred ranks of the contexts, over its standard error from the spread
    between clusters: cluster k adds Σ_c w_c (credit_kc - a_c size_kc) / size_c to L, whether contexts are
    crossed with clusters or hold them. Student's t with clusters - 1 degrees of freedom. NaN without an
    order.
    """
    taken = np.flatnonzero(large)
    undefined = np.full(len(sums.credit), np.nan)
    if len(taken) < ENOUGH or not ordered(column, sums.values):
        return undefined
    weights = rankdata(_places([sums.values[c] for c in taken]))
    weights -= weights.mean()
    size = np.broadcast_to(sums.size, sums.credit.shape)
    clusters = int(sums.cluster.max()) + 1
    contrast, added = np.zeros(len(size)), np.zeros((len(size), clusters))
    for weight, context in zip(weights, taken):
        part = sums.part(int(context))
        here, whole = size[:, part], size[:, part].sum(axis=1, keepdims=True)
        accuracy = ratio(sums.credit[:, part].sum(axis=1, keepdims=True), whole)
        units = max(part.stop - part.start, 2)
        residual = ratio(sums.credit[:, part] - accuracy * here, whole) * math.sqrt(units / (units - 1))
        contrast += weight * accuracy[:, 0]
        added[:, sums.cluster[part]] += weight * residual
    seen = len(np.unique(sums.cluster))
    error = np.sqrt((added**2).sum(axis=1))
    t = ratio(np.abs(contrast), error)
    return np.asarray(2 * stdtr(max(seen - 1, 1), -t)) if seen > 1 else undefined


def _places(contexts: Sequence[str]) -> FloatArray:
    return np.array([position(context) for context in contexts], dtype=np.float64)


def _trend(places: FloatArray, accuracy: FloatArray) -> float | None:
    defined = ~np.isnan(accuracy)
    if defined.sum() < ENOUGH:
        return None
    rho = correlate("spearman", places[defined], accuracy[defined])
    return None if math.isnan(rho) else rho
