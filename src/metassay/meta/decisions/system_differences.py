"""What a difference between two systems means: how often people agree with it.

Over all pairs of systems, d is the size of the difference of their mean metric scores, and y the certainty
with which people prefer the system that the metric prefers: 1 - p of the one-sided paired test of human
scores, as in soft pairwise accuracy. The probability of agreement is (Kocmi et al., 2024, made local)

    P(d) = 1 / (1 + exp(-beta d)),

with beta by maximum likelihood. Intervals resample items and systems. P is .5 at d = 0, and the difference at
which it reaches a share q is log(q / (1 - q)) / beta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from metassay.data.score_arrays import ScoreArrays
from metassay.results.rank import AgreementPoint, AgreementThreshold
from metassay.stats.arrays import FloatArray
from metassay.stats.resampling import draw_bootstrap_counts
from metassay.stats.sign_flip import weighted_p_values

AGREEMENT_SHARES = (0.8, 0.9, 0.95)
RESAMPLES = 500
POINTS = 21
_TAILS = (0.025, 0.975)
_LARGEST_EXPONENT = 50.0
"""Bound of beta d: where every pair agrees with certainty, the likelihood grows with beta without end."""
_BISECTIONS = 50


@dataclass(frozen=True)
class SystemResamples:
    """Human certainty of all pairs of systems, in the data (first) and under resamples of items and systems.

    All metrics share it, because it depends on human scores only.
    """

    item_weights: FloatArray
    """`[1 + resamples, clusters]`"""
    pair_weights: FloatArray
    """`[1 + resamples, pairs]`: how often a resample contains both systems."""
    first_is_better: FloatArray
    """`[1 + resamples, pairs]`: certainty of people that the first system of a pair is better."""


@dataclass(frozen=True)
class SystemAgreement:
    """How often people agree with differences between systems by one metric."""

    accuracy: float
    smallest_difference: float
    largest_difference: float
    points: list[AgreementPoint]
    thresholds: list[AgreementThreshold]


def resample_system_pairs(
    scores: ScoreArrays, rng: np.random.Generator, resamples: int = RESAMPLES
) -> SystemResamples:
    """Draw resamples of items and systems, and compute the certainty of people about each pair."""
    systems = len(scores.human)
    first, second = np.triu_indices(systems, 1)
    clusters = scores.cluster_count
    drawn_items = draw_bootstrap_counts(clusters, clusters, resamples, rng)
    drawn_systems = draw_bootstrap_counts(systems, systems, resamples, rng)
    item_weights = np.concatenate([np.ones((1, clusters)), drawn_items])
    system_weights = np.concatenate([np.ones((1, systems)), drawn_systems])
    human = scores.sum_over_clusters(scores.human)
    p_values = weighted_p_values(human[None], item_weights)[0]
    return SystemResamples(item_weights, system_weights[:, first] * system_weights[:, second], 1 - p_values)


def estimate_system_agreement(
    scores: ScoreArrays, metric: int, resamples: SystemResamples
) -> SystemAgreement | None:
    """Estimate how often people agree with differences between systems by one metric.

    None where the metric gives all systems the same mean.
    """
    first, second = np.triu_indices(len(scores.human), 1)
    metric_scores = scores.metrics[metric]
    sums = scores.sum_over_clusters(metric_scores[first] - metric_scores[second])
    sizes = scores.sum_over_clusters(np.ones((1, scores.human.shape[1])))[0]
    weights = resamples.item_weights
    mean_differences = (weights @ sums.T) / (weights @ sizes)[:, None]
    differences = np.abs(mean_differences)
    agreement = np.where(mean_differences > 0, resamples.first_is_better, 1 - resamples.first_is_better)
    largest = float(differences[0].max())
    if largest == 0:
        return None
    slopes = fit_slopes(differences, agreement, resamples.pair_weights)
    return SystemAgreement(
        accuracy=_measure_accuracy(mean_differences[0], agreement[0]),
        smallest_difference=min(_estimate_noise(sums, sizes), largest),
        largest_difference=largest,
        points=_list_points(slopes, largest),
        thresholds=[_find_threshold(slopes, share, largest) for share in AGREEMENT_SHARES],
    )


def fit_slopes(differences: FloatArray, agreement: FloatArray, weights: FloatArray) -> FloatArray:
    """Fit beta of P(d) = 1 / (1 + exp(-beta d)) by maximum likelihood, for each row `[draws, pairs]`.

    The derivative of the likelihood, Σ w d (y - P(d)), falls with beta, so that bisection finds its root.
    """
    scale = np.maximum(differences.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    scaled = differences / scale
    low = np.full(len(differences), -_LARGEST_EXPONENT)
    high = np.full(len(differences), _LARGEST_EXPONENT)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        derivative = (weights * scaled * (agreement - expit(middle[:, None] * scaled))).sum(axis=1)
        low = np.where(derivative > 0, middle, low)
        high = np.where(derivative > 0, high, middle)
    return np.asarray((low + high) / 2 / scale[:, 0])


def _measure_accuracy(mean_differences: FloatArray, agreement: FloatArray) -> float:
    """Return the share of pairs that metric and people order alike; a tie of the metric counts half."""
    is_right = np.where(mean_differences == 0, 0.5, agreement > 0.5)
    return float(is_right.mean())


def _estimate_noise(sums: FloatArray, sizes: FloatArray) -> float:
    """Return the median over pairs of 1.96 standard errors of the metric's mean difference."""
    items = sizes.sum()
    deviations = sums - sizes * (sums.sum(axis=1) / items)[:, None]
    standard_errors = np.sqrt((deviations**2).sum(axis=1)) / items
    return float(1.96 * np.median(standard_errors))


def _list_points(slopes: FloatArray, largest: float) -> list[AgreementPoint]:
    differences = np.linspace(0.0, largest, POINTS)
    probabilities = expit(slopes[:, None] * differences)
    low, high = np.quantile(probabilities[1:], _TAILS, axis=0)
    return [
        AgreementPoint(
            difference=float(differences[k]),
            probability=float(probabilities[0, k]),
            low=float(low[k]),
            high=float(high[k]),
        )
        for k in range(POINTS)
    ]


def _find_threshold(slopes: FloatArray, share: float, largest: float) -> AgreementThreshold:
    """Return the difference at which the curve reaches a share, if the data has so large a difference."""
    with np.errstate(divide="ignore"):
        differences = np.where(slopes > 0, logit(share) / np.maximum(slopes, 0), np.inf)
    low, high = np.quantile(differences[1:], _TAILS, method="nearest")
    is_reached = differences[0] <= largest
    return AgreementThreshold(
        agreement=share,
        difference=float(differences[0]) if is_reached else None,
        low=float(low) if is_reached else None,
        high=float(high) if is_reached and high <= largest else None,
    )
