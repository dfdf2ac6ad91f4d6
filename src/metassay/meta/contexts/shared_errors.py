"""Which metrics are right on the same pairs: families of metrics, and ensembles worth trying."""

from __future__ import annotations

import numpy as np

from metassay.meta.contexts.judgements import MISSING, RIGHT, Judgements
from metassay.stats.arrays import FloatArray

_BLOCK = 1 << 20  # pairs at a time; their counts stay exact in float32


def phi_coefficients(judgements: Judgements) -> FloatArray:
    """Correlation of being right, [metrics, metrics], over the pairs that both metrics scored.

    1: two metrics err on exactly the same pairs; near 0: their errors are unrelated, and a vote of both gains
    most. NaN where a metric is always right or never.
    """
    count = len(judgements.metrics)
    both, first, joint = (np.zeros((count, count)) for _ in range(3))
    for start in range(0, judgements.pairs, _BLOCK):
        outcome = judgements.outcome[:, start : start + _BLOCK]
        scored, right = (outcome != MISSING).astype(np.float32), (outcome == RIGHT).astype(np.float32)
        both += scored @ scored.T
        first += right @ scored.T  # right in the row's metric, scored by the column's
        joint += right @ right.T
    covariance = both * joint - first * first.T
    spread = np.sqrt(first * (both - first)) * np.sqrt(first.T * (both - first.T))
    phi = np.full((count, count), np.nan)
    np.divide(covariance, spread, out=phi, where=spread > 0)
    return phi
