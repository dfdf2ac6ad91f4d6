"""Whether accuracy follows the order of contexts that have one: numbers, and buckets of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import plain
from metassay.stats.correlation import correlate

_BUCKET = re.compile(r"^[\[(]\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s*,")
ENOUGH = 5
"""Fewer contexts than this show no trend."""


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


def trends(contexts: Sequence[str], accuracy: NDArray[np.float64]) -> list[float | None] | None:
    """Spearman's correlation of each metric's accuracy `[metrics, contexts]` with the order of the contexts.

    None for a metric that is defined in too few contexts or never varies; None altogether where the contexts
    have no order or are few.
    """
    positions = [position(context) for context in contexts]
    if len(contexts) < ENOUGH or None in positions:
        return None
    places = np.array(positions, dtype=np.float64)
    return [_trend(places, row) for row in accuracy]


def _trend(places: NDArray[np.float64], accuracy: NDArray[np.float64]) -> float | None:
    defined = ~np.isnan(accuracy)
    if defined.sum() < ENOUGH:
        return None
    rho = correlate("spearman", places[defined], accuracy[defined])
    return plain(rho)
