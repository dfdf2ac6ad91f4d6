"""From which difference of system means on people agree with a metric.

Over all pairs of systems, whether people prefer the system that the metric prefers is regressed on the size
of the metric's difference by a function that never falls (isotonic regression). The threshold for 80 % is the
smallest difference at which this function reaches 80 %. Intervals resample systems, because pairs share them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.results.rank import AgreementThreshold
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import fit_isotonic
from metassay.stats.random import AGREEMENT_THRESHOLDS, make_branch_generator
from metassay.stats.sorted_scores import sort_scores

AGREEMENT_SHARES = (0.8, 0.9, 0.95)
SystemMeans = tuple[FloatArray, FloatArray]
"""Human and metric mean of each system of one data set."""


def estimate_agreement_thresholds(
    metric: str,
    datasets: Sequence[ScoreArrays],
    positions: Sequence[int],
    *,
    resamples: int = 200,
    seed: int = 0,
) -> list[AgreementThreshold]:
    """Estimate the thresholds of one metric over the system pairs of one or more data sets.

    `positions[d]` is the position of the metric in data set d. A resample in which a share is never reached
    counts as infinite.
    """
    means = [
        (scores.human.mean(axis=1), scores.metrics[position].mean(axis=1))
        for scores, position in zip(datasets, positions)
    ]
    rng = make_branch_generator(seed, AGREEMENT_THRESHOLDS)
    differences = _find_thresholds(means)
    resampled = np.full((resamples, len(AGREEMENT_SHARES)), np.inf)
    for resample in range(resamples):
        drawn_means = []
        for human_means, metric_means in means:
            drawn = rng.integers(len(human_means), size=len(human_means))
            drawn_means.append((human_means[drawn], metric_means[drawn]))
        resampled[resample] = _find_thresholds(drawn_means)
    low, high = np.quantile(resampled, [0.025, 0.975], axis=0, method="nearest")
    return [
        AgreementThreshold(
            metric=metric,
            agreement=share,
            difference=_finite_or_none(differences[k]),
            low=_finite_or_none(low[k]),
            high=_finite_or_none(high[k]),
        )
        for k, share in enumerate(AGREEMENT_SHARES)
    ]


def _find_thresholds(means: Sequence[SystemMeans]) -> FloatArray:
    """Find the smallest difference at which each share of agreement is reached; infinite if never."""
    sizes = []
    agreements = []
    for human_means, metric_means in means:
        first, second = np.triu_indices(len(human_means), 1)
        human_differences = human_means[first] - human_means[second]
        metric_differences = metric_means[first] - metric_means[second]
        is_untied = (metric_differences != 0) & (human_differences != 0)
        is_same_sign = np.sign(human_differences) == np.sign(metric_differences)
        sizes.append(np.abs(metric_differences[is_untied]))
        agreements.append(is_same_sign[is_untied])
    all_sizes = np.concatenate(sizes)
    if not len(all_sizes):
        return np.full(len(AGREEMENT_SHARES), np.inf)
    sorted_sizes = sort_scores(all_sizes)
    fitted = fit_isotonic(sorted_sizes, np.concatenate(agreements).astype(np.float64))
    thresholds = np.full(len(AGREEMENT_SHARES), np.inf)
    for k, share in enumerate(AGREEMENT_SHARES):
        reached = np.flatnonzero(fitted >= share - 1e-12)
        if len(reached):
            thresholds[k] = sorted_sizes.knots[reached[0]]
    return thresholds


def _finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
