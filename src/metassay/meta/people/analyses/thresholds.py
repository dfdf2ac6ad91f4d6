"""What a difference in a metric is worth: how large it must be before people agree.

Over all pairs of systems, whether people prefer the system that the metric prefers is regressed on the size
of the metric's difference, as a function that never falls (isotonic regression). The threshold for 80 % is
the smallest difference at which that function reaches 80 %. Intervals resample systems, which pairs share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.meta.people.meta_metrics import Judged
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import fit_isotonic
from metassay.stats.random import AGREEMENT_THRESHOLDS, branch
from metassay.stats.score_order import sort_scores

AGREEMENTS = (0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Threshold:
    """The difference of system means at which people agree in a share of system pairs; NaN if never."""

    agreement: float
    difference: float
    low: float
    high: float


def agreement_thresholds(
    data: list[Judged], metric: list[int], *, resamples: int = 200, seed: int = 0
) -> list[Threshold]:
    """Thresholds of one metric over the system pairs of one or more data sets.

    `metric[d]` is its index in data set d. A resample in which the share is never reached counts as infinite,
    so an upper end of infinity (NaN here) means that the data cannot exclude it.
    """
    means = [(j.human.mean(axis=1), j.metrics[m].mean(axis=1)) for j, m in zip(data, metric)]
    rng = branch(seed, AGREEMENT_THRESHOLDS)
    found = _thresholds(means)
    drawn = np.full((resamples, len(AGREEMENTS)), np.inf)
    for resample in range(resamples):
        chosen = [rng.integers(len(h), size=len(h)) for h, _ in means]
        drawn[resample] = _thresholds([(h[k], m[k]) for (h, m), k in zip(means, chosen)])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0, method="nearest")
    return [
        Threshold(share, *(float(v) if np.isfinite(v) else np.nan for v in (found[k], low[k], high[k])))
        for k, share in enumerate(AGREEMENTS)
    ]


def _thresholds(means: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    size, agrees = [], []
    for human, metric in means:
        first, second = np.triu_indices(len(human), 1)
        h, m = human[first] - human[second], metric[first] - metric[second]
        apart = (m != 0) & (h != 0)
        size.append(np.abs(m[apart]))
        agrees.append((np.sign(h) == np.sign(m))[apart])
    x, y = np.concatenate(size), np.concatenate(agrees).astype(np.float64)
    if not len(x):
        return np.full(len(AGREEMENTS), np.inf)
    scores = sort_scores(x)
    fitted = fit_isotonic(scores, y)
    reached = [np.flatnonzero(fitted >= share - 1e-12) for share in AGREEMENTS]
    return np.array([scores.knots[where[0]] if len(where) else np.inf for where in reached])
