"""How a metric holds up over contexts: stability, worst case, distributionally robust accuracy, costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import FloatArray

_STEPS = 200


def net_spread(accuracy: FloatArray, variance: FloatArray) -> FloatArray:
    """Standard deviation of true accuracies between contexts, [metrics] from [metrics, contexts].

    The variance between contexts less the mean sampling variance inside them, 0 at least: what would be left
    with unlimited data. NaN with fewer than two contexts.
    """
    known = ~np.isnan(accuracy)
    count = known.sum(axis=1)
    centre = np.divide(np.nansum(accuracy, axis=1), count, out=np.zeros(len(count)), where=count > 0)
    squares = np.where(known, (accuracy - centre[:, None]) ** 2, 0).sum(axis=1)
    between = squares / np.maximum(count - 1, 1)
    inside = np.where(known, np.nan_to_num(variance), 0).sum(axis=1) / np.maximum(count, 1)
    return np.where(count > 1, np.sqrt(np.maximum(between - inside, 0)), np.nan)


def robust_accuracy(accuracy: FloatArray, shares: FloatArray, radius: float = 0.1) -> FloatArray:
    """The lowest accuracy under any mix of contexts near the observed one, [metrics].

    min over q of Σ q_c a_c subject to KL(q‖p) ≤ radius, p the shares of the contexts (Duchi, Glynn and
    Namkoong, 2016, with the Kullback–Leibler ball). The minimiser is q ∝ p · exp(-t · a), t ≥ 0 as large as
    the ball allows. Contexts where a metric has no accuracy are left out for it.
    """
    return np.array([_robust(row, shares, radius) for row in accuracy])


def pareto(accuracy: FloatArray, cost: FloatArray) -> NDArray[np.bool_]:
    """Which metrics are not beaten: none is at least as accurate and as cheap, and better in one of both."""
    at_least = (accuracy[:, None] >= accuracy) & (cost[:, None] <= cost)
    better = (accuracy[:, None] > accuracy) | (cost[:, None] < cost)
    return ~(at_least & better).any(axis=0) & ~np.isnan(accuracy) & ~np.isnan(cost)


def _robust(accuracy: FloatArray, shares: FloatArray, radius: float) -> float:
    known = ~np.isnan(accuracy) & (shares > 0)
    if not known.any():
        return float("nan")
    a, p = accuracy[known], shares[known] / shares[known].sum()
    gap = a - a.min()
    if -np.log(p[gap == 0].sum()) <= radius:
        return float(a.min())  # the ball reaches the worst contexts alone
    low, high = 0.0, 1.0
    while _divergence(p, gap, high) < radius:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _divergence(p, gap, middle) < radius else (low, middle)
    tilted = p * np.exp(-low * gap)
    return float(a.min() + (tilted * gap).sum() / tilted.sum())


def _divergence(p: FloatArray, gap: FloatArray, tilt: float) -> float:
    weights = p * np.exp(-tilt * gap)
    total = weights.sum()
    return float(-tilt * (weights * gap).sum() / total - np.log(total))
