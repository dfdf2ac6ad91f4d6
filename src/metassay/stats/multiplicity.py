"""Adjusting p-values for having made several tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
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


def benjamini_yekutieli(p_values: ArrayLike) -> NDArray[np.float64]:
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
