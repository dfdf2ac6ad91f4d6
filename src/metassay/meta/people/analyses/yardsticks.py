"""What to hold a metric's values against: people among themselves, and differences that people notice.

*Ceiling*: one rater's scores taken as a metric for the others. A metric that agrees with people as well as
one more rater would is at the ceiling: no data of this kind can show that it is better than that.

*Thresholds*: over all pairs of systems, whether people prefer the system that the metric prefers is regressed
on the size of the metric's difference, as a function that never falls (isotonic regression). The threshold
for 80 % is the smallest difference at which that function reaches 80 %. Intervals resample systems, which
pairs share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metassay.meta.people.intervals import bootstrap_values, percentile_interval
from metassay.meta.people.meta_metrics import Judged, MetaMetric
from metassay.stats.arrays import FloatArray, plain
from metassay.stats.isotonic import fit_isotonic
from metassay.stats.random import AGREEMENT_THRESHOLDS, branch
from metassay.stats.score_order import sort_scores

AGREEMENTS = (0.8, 0.9, 0.95)


def human_ceiling(
    meta: MetaMetric, raters: Mapping[str, FloatArray], *, draws: int = 1000, seed: int = 0
) -> list[dict[str, Any]]:
    """Each rater against the mean of the others, on the segments where both rated every system.

    `raters` maps a rater to scores `[systems, segments]`, NaN where there is none. A rater who shares no
    segment with the others has no value.
    """
    rows = []
    for name, scores in raters.items():
        others = np.stack([other for rater, other in raters.items() if rater != name])
        counts = (~np.isnan(others)).sum(axis=0)
        mean = np.where(counts > 0, np.nansum(others, axis=0) / np.maximum(counts, 1), np.nan)
        both = ~(np.isnan(scores) | np.isnan(mean)).any(axis=0)
        row: dict[str, Any] = {
            "rater": name,
            "segments": int(both.sum()),
            "value": None,
            "low": None,
            "high": None,
        }
        if both.any():
            judged = Judged(mean[:, both], scores[None][:, :, both])
            row["value"] = plain(meta.values(judged)[0])
            drawn = bootstrap_values(meta, judged, draws=draws, seed=seed)
            if drawn is not None:
                low, high = percentile_interval(drawn)
                row |= {"low": plain(low[0]), "high": plain(high[0])}
        rows.append(row)
    return rows


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
