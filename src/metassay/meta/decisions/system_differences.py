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
from metassay.stats.compilation import kernel
from metassay.stats.resampling import draw_bootstrap_counts
from metassay.stats.sign_flip import compute_weighted_p_values_of_system_pairs

AGREEMENT_SHARES = (0.8, 0.9, 0.95)
RESAMPLES = 500
POINTS = 21
TAILS = (0.025, 0.975)
# Bound of beta d: where every pair agrees with certainty, the likelihood grows with beta without end.
_LARGEST_EXPONENT = 50.0
# Newton steps stop at this change of the slope; halving the bracket alone needs about 50 of them.
_MOST_STEPS = 100
_SLOPE_PRECISION = 1e-12


@dataclass(frozen=True)
class ResampledSystemPairs:
    """How certainly people prefer the first of every two systems, also on bootstrap resamples.

    All metrics share it, because it depends on human scores only.
    """

    item_weights: FloatArray
    """`[1 + resamples, clusters]`"""
    pair_weights: FloatArray
    """`[1 + resamples, pairs]`: how often a resample contains both systems."""
    first_is_better: FloatArray
    """`[1 + resamples, pairs]`: certainty of people that the first system of a pair is better."""


@dataclass(frozen=True)
class HumanAgreement:
    """A curve that tells how often people agree with a metric, depending on how far apart two metric scores
    are.
    """

    pairs: int
    accuracy: float
    smallest_difference: float
    largest_difference: float
    points: list[AgreementPoint]
    thresholds: list[AgreementThreshold]


def compute_human_preferences_on_resamples(
    scores: ScoreArrays, rng: np.random.Generator, resample_count: int = RESAMPLES
) -> ResampledSystemPairs:
    """Compute how certainly people prefer the first of every two systems, also on bootstrap resamples.

    Items and systems are resampled.
    """
    systems = len(scores.human)
    first, second = np.triu_indices(systems, 1)
    clusters = scores.cluster_count
    drawn_items = draw_bootstrap_counts(clusters, clusters, resample_count, rng)
    drawn_systems = draw_bootstrap_counts(systems, systems, resample_count, rng)
    item_weights = np.concatenate([np.ones((1, clusters)), drawn_items])
    system_weights = np.concatenate([np.ones((1, systems)), drawn_systems])
    human = scores.sum_over_clusters(scores.human)
    p_values = compute_weighted_p_values_of_system_pairs(human[None], item_weights)[0]
    return ResampledSystemPairs(
        item_weights, system_weights[:, first] * system_weights[:, second], 1 - p_values
    )


def estimate_agreement_on_system_pairs(
    scores: ScoreArrays, metric_index: int, human_preferences: ResampledSystemPairs
) -> HumanAgreement | None:
    """Estimate how often people and a metric prefer the same system, depending on the score difference.

    Returns None if the metric gives all systems the same mean.
    """
    first, second = np.triu_indices(len(scores.human), 1)
    metric_scores = scores.metrics[metric_index]
    sums = scores.sum_over_clusters(metric_scores[first] - metric_scores[second])
    sizes = scores.sum_over_clusters(np.ones((1, scores.human.shape[1])))[0]
    weights = human_preferences.item_weights
    mean_differences = (weights @ sums.T) / (weights @ sizes)[:, None]
    differences = np.abs(mean_differences)
    agreement = np.where(
        mean_differences > 0,
        human_preferences.first_is_better,
        1 - human_preferences.first_is_better,
    )
    largest = float(differences[0].max())
    if largest == 0:
        return None
    slopes = fit_logistic_slopes(differences, agreement, human_preferences.pair_weights)
    grid = np.linspace(0.0, largest, POINTS)
    return HumanAgreement(
        pairs=len(first),
        accuracy=_measure_pairwise_accuracy(mean_differences[0], agreement[0]),
        smallest_difference=min(_estimate_noise_of_system_differences(sums, sizes), largest),
        largest_difference=largest,
        points=build_agreement_points(grid, expit(slopes[:, None] * grid)),
        thresholds=[_find_agreement_threshold(slopes, share, largest) for share in AGREEMENT_SHARES],
    )


def fit_logistic_slopes(
    differences: FloatArray, agreements: FloatArray, pair_weights: FloatArray
) -> FloatArray:
    """Fit logistic curves that predict from a score difference how often people agree.

    Returns one slope for each row of data. Slope times difference is at most `_LARGEST_EXPONENT`.
    """
    scale = np.maximum(differences.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(
        _fit_logistic_slopes_to_scaled_differences(differences / scale, agreements, pair_weights)
        / scale[:, 0]
    )


@kernel
def _fit_logistic_slopes_to_scaled_differences(
    differences: FloatArray, agreements: FloatArray, pair_weights: FloatArray
) -> FloatArray:
    """Fit the slope of a logistic curve to each row of data by Newton's method.

    Score differences must be scaled to at most 1. The derivative of the likelihood, Σ w d (y - P(d)), falls
    with the slope, so that its sign says on which side of the slope the maximum lies. A step that leaves the
    bracket is replaced by its middle.
    """
    slopes = np.zeros(len(differences))
    for row in range(len(differences)):
        low = -_LARGEST_EXPONENT
        high = _LARGEST_EXPONENT
        slope = 0.0
        for _ in range(_MOST_STEPS):
            derivative = 0.0
            curvature = 0.0
            for pair in range(differences.shape[1]):
                difference = differences[row, pair]
                weighted = pair_weights[row, pair] * difference
                probability = 1 / (1 + np.exp(-slope * difference))
                derivative += weighted * (agreements[row, pair] - probability)
                curvature += weighted * difference * probability * (1 - probability)
            if derivative > 0:
                low = slope
            else:
                high = slope
            next_slope = (low + high) / 2
            if curvature > 0 and low <= slope + derivative / curvature <= high:
                next_slope = slope + derivative / curvature
            is_exact = abs(next_slope - slope) <= _SLOPE_PRECISION
            slope = next_slope
            if is_exact:
                break
        slopes[row] = slope
    return slopes


def _measure_pairwise_accuracy(metric_differences: FloatArray, human_agreement: FloatArray) -> float:
    """Compute the share of system pairs that a metric orders as people do. A tie counts half."""
    is_right = np.where(metric_differences == 0, 0.5, human_agreement > 0.5)
    return float(is_right.mean())


def _estimate_noise_of_system_differences(cluster_sums: FloatArray, cluster_sizes: FloatArray) -> float:
    """Estimate how large a score difference between two systems may be by chance.

    It is 1.96 standard errors, as the median over pairs of systems.
    """
    items = cluster_sizes.sum()
    deviations = cluster_sums - cluster_sizes * (cluster_sums.sum(axis=1) / items)[:, None]
    standard_errors = np.sqrt((deviations**2).sum(axis=1)) / items
    return float(1.96 * np.median(standard_errors))


def build_agreement_points(
    score_differences: FloatArray, agreement_probabilities: FloatArray
) -> list[AgreementPoint]:
    """Build the points of a curve that shows how often people agree with a metric.

    The 95 % intervals come from resampled curves.
    """
    low, high = np.quantile(agreement_probabilities[1:], TAILS, axis=0)
    columns = (score_differences, agreement_probabilities[0], low, high)
    return [
        AgreementPoint(difference=difference, probability=probability, low=point_low, high=point_high)
        for difference, probability, point_low, point_high in zip(*(column.tolist() for column in columns))
    ]


def _find_agreement_threshold(
    logistic_slopes: FloatArray, required_agreement: float, largest_difference: float
) -> AgreementThreshold:
    """Find the score difference of two systems at which people agree as often as required.

    `difference` of the result is None if it would have to be larger than the largest difference.
    """
    with np.errstate(divide="ignore"):
        differences = np.where(
            logistic_slopes > 0, logit(required_agreement) / np.maximum(logistic_slopes, 0), np.inf
        )
    low, high = np.quantile(differences[1:], TAILS, method="nearest")
    is_reached = differences[0] <= largest_difference
    return AgreementThreshold(
        agreement=required_agreement,
        difference=float(differences[0]) if is_reached else None,
        low=float(low) if is_reached else None,
        high=float(high) if is_reached and high <= largest_difference else None,
    )
