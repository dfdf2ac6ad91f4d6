"""Correlations over single scores after exchanging scores between two metrics.

A correlation needs only the sums of x, x² and x h over the cells, with h the human scores. Each is linear in
the exchanged cells, so a draw needs these sums for each metric and nothing for each pair of metrics.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metassay.stats.arrays import Float32Array, FloatArray, average_ranks, divide_or_nan, divide_or_zero
from metassay.stats.score_exchanges import ExchangeStatistic, ScoreExchanges

# A variance below this share of the sum of squares is rounding.
_ROUNDING_ERROR = 1e-12


def build_correlation_difference_function(
    human_scores: FloatArray,
    metric_scores: FloatArray,
    sum_within_clusters: Callable[[FloatArray], FloatArray],
    *,
    by_rank: bool,
    per_system: bool = False,
) -> ExchangeStatistic:
    """Build a function that exchanges scores between metrics and compares their correlations with human
    scores.

    The function returns the difference of the correlations of every two metrics. Correlations are with human
    scores. `human_scores` is [systems, segments], `metric_scores` [metrics, systems, segments].
    `sum_within_clusters` sums segments to the units that are exchanged, such as documents. With `by_rank`
    every metric is replaced by its ranks before anything is exchanged (Spearman). With `per_system`, r is the
    mean of the correlations within systems.
    """
    axes: int | tuple[int, int] = -1 if per_system else (-2, -1)
    if by_rank:
        human_scores = _convert_scores_to_standardized_ranks(human_scores[None], per_system=per_system)[0]
        metric_scores = _convert_scores_to_standardized_ranks(metric_scores, per_system=per_system)
    centred_human = human_scores - human_scores.mean(axis=axes, keepdims=True)
    moments = [
        sum_within_clusters(values)
        for values in (metric_scores, metric_scores * metric_scores, metric_scores * centred_human)
    ]
    human_squares = (centred_human * centred_human).sum(axis=axes)
    cells = human_scores.size // human_squares.size
    first, second = np.triu_indices(len(metric_scores), 1)

    def pool_systems_unless_per_system(sums_by_system: FloatArray) -> FloatArray:
        """Sum the last axis, the systems, unless each system has a correlation of its own."""
        return sums_by_system if per_system else sums_by_system.sum(axis=-1, keepdims=True)

    totals = [pool_systems_unless_per_system(moment.sum(axis=-1)) for moment in moments]

    def compute_correlation_differences_after_exchange(score_exchanges: ScoreExchanges) -> Float32Array:
        exchanged_sums = [
            pool_systems_unless_per_system(score_exchanges.sum_exchanged_scores(moment)) for moment in moments
        ]
        changes = [sums[:, second] - sums[:, first] for sums in exchanged_sums]
        first_moments = [total[first] + change for total, change in zip(totals, changes)]
        second_moments = [total[second] - change for total, change in zip(totals, changes)]
        first_correlation = _compute_mean_correlation_from_sums(first_moments, cells, human_squares)
        second_correlation = _compute_mean_correlation_from_sums(second_moments, cells, human_squares)
        differences: Float32Array = (first_correlation - second_correlation).astype(np.float32)
        return differences

    return compute_correlation_differences_after_exchange


def _compute_mean_correlation_from_sums(
    metric_score_sums: list[FloatArray], score_count: int, human_square_sums: FloatArray
) -> FloatArray:
    """Compute correlations from sums of scores, squares and products, and average them.

    Undefined correlations are left out; the mean is NaN if all are undefined.
    """
    x, xx, xh = metric_score_sums
    x_squares = xx - x * x / score_count
    defined = (x_squares > _ROUNDING_ERROR * xx) & (human_square_sums > 0)
    r = np.where(defined, xh / np.sqrt(np.where(defined, x_squares * human_square_sums, 1.0)), 0.0)
    return divide_or_nan(r.sum(axis=-1), defined.sum(axis=-1))


def _convert_scores_to_standardized_ranks(scores: FloatArray, *, per_system: bool) -> FloatArray:
    """Replace the scores of each metric by their ranks, scaled to mean 0 and standard deviation 1."""
    if per_system:
        ranks = average_ranks(scores)
        axes: int | tuple[int, int] = -1
    else:
        ranks = average_ranks(scores.reshape(len(scores), -1)).reshape(scores.shape)
        axes = (-2, -1)
    ranks = ranks - ranks.mean(axis=axes, keepdims=True)
    return divide_or_zero(ranks, ranks.std(axis=axes, keepdims=True))
