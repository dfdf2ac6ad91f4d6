"""Whether accuracy follows the order of contexts that have one: numbers, and buckets of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr
from scipy.stats import rankdata

from metassay.meta.contexts.accuracy import Tally, ratio
from metassay.stats.arrays import FloatArray, plain
from metassay.stats.correlation import correlate

_BUCKET = re.compile(r"^[\[(]\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*,")
_IDENTIFIER = re.compile(
    r"(^|[_ .-])(id|item|seg|segment|doc|document|chapter|speaker|session|system|rater|topic|query|user)s?$",
    re.IGNORECASE,
)
ENOUGH = 5
"""Fewer contexts than this show no trend."""


def ordered(column: str, contexts: Sequence[str]) -> bool:
    """Whether contexts are amounts along which accuracy can rise or fall: never where they are names.

    >>> ordered("length:3", ["[1,5]", "[6,9]"]), ordered("doc_id", ["7", "9"])
    (True, False)
    """
    return not _IDENTIFIER.search(column) and all(position(context) is not None for context in contexts)


def position(context: str) -> float | None:
    """Where a context stands: a number, or the low end of a bucket; None for names.

    >>> position("[-2.5,-1]"), position("7"), position("news")
    (-2.5, 7.0, None)
    """
    bucket = _BUCKET.match(context)
    try:
        found = float(bucket.group(1) if bucket else context)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


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
    return plain(rho)
