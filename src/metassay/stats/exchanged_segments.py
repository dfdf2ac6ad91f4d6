"""Soft pairwise accuracy with normal p-values after exchanging whole segments between two metrics.

Metrics may lack scores of some segments. Two metrics are then compared on the segments that both have, and
all pairs share the exchanges and the products that take most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.stats.arrays import BoolArray, Float32Array, FloatArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.normal_tail import UPPER_TAIL, interpolate_normal_p_value
from metassay.stats.score_exchanges import ScoreExchanges, compute_inverse_standard_deviations
from metassay.stats.sign_flip import (
    compute_normal_p_values,
    compute_normal_p_values_from_sums,
    sum_score_differences_of_system_pairs,
)
from metassay.stats.soft_accuracy import soft_accuracy

# A sum of squared differences below this share of the sum over all segments is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SegmentExchangeTest:
    """Permutation test of two metrics that exchanges their scores of whole segments at random.

    It is prepared for many pairs of metrics. Call it with a block of exchanges. Sum and sum of squares of the
    differences of two systems are linear in the mask of exchanged segments, so a draw takes two products per
    metric and pair of systems. For a pair of metrics (A, B), the sums of A over the segments that B has are
    those over all segments minus those over the few that B lacks.
    """

    scores: FloatArray
    """[metrics, systems, segments]; 0 where a metric lacks the score of some system."""
    metric_pairs: LongArray
    """Metrics A and B of each pair, [metric pairs, 2]."""
    scales: FloatArray
    """1 / standard deviation of A and of B on the segments that both have, [metric pairs, 2]."""
    human_p_values: FloatArray
    """p-values of people, [groups, system pairs]; pairs of metrics with the same segments form a group."""
    group_of_pair: LongArray
    missing_segments: tuple[LongArray, ...]
    """Positions of missing segments, for each pattern of missing segments."""
    pattern_of_metric: LongArray

    def __call__(self, exchanges: ScoreExchanges) -> Float32Array:
        """Compute how much the two metrics of each pair differ in soft pairwise accuracy (SPA) after each
        exchange.

        It is SPA(A') - SPA(B'). Returns [draws, metric pairs].
        """
        mask = np.ascontiguousarray(exchanges.columns.T, dtype=np.float64)
        error_differences = np.zeros((len(self.metric_pairs), len(exchanges)))
        first, second = np.triu_indices(self.scores.shape[1], 1)
        for system_pair, (i, j) in enumerate(zip(first, second)):
            differences = self.scores[:, i] - self.scores[:, j]
            powers = np.concatenate([differences, differences * differences])
            totals, sums = self._sum_rows_without_missing_segments(powers, mask)
            _add_p_value_error_differences(
                self.human_p_values[:, system_pair],
                self.group_of_pair,
                self.metric_pairs,
                self.pattern_of_metric,
                self.scales,
                totals,
                sums,
                UPPER_TAIL,
                error_differences,
            )
        return np.ascontiguousarray(error_differences.T / len(first), dtype=np.float32)

    def compute_accuracies_before_exchange(self) -> FloatArray:
        """Compute the soft pairwise accuracy of both metrics of each pair before any exchange.

        A pair of metrics is compared on the segments that both scored. Returns [metric pairs, 2].
        """
        sums, squares = sum_score_differences_of_system_pairs(self.scores)
        accuracies = np.empty(self.metric_pairs.shape)
        for pattern, missing in enumerate(self.missing_segments):
            missing_sums, missing_squares = sum_score_differences_of_system_pairs(self.scores[:, :, missing])
            shared_squares = squares - missing_squares
            is_rounding = shared_squares <= _ROUNDING * squares
            p_metrics = compute_normal_p_values_from_sums(
                sums - missing_sums, np.where(is_rounding, 0.0, shared_squares)
            )
            for side in range(2):
                # the segments of A are restricted to those of B, and the other way round
                pairs = np.flatnonzero(self.pattern_of_metric[self.metric_pairs[:, 1 - side]] == pattern)
                p_pairs = p_metrics[self.metric_pairs[pairs, side]]
                accuracies[pairs, side] = soft_accuracy(
                    self.human_p_values[self.group_of_pair[pairs]], p_pairs
                )
        return accuracies

    def _sum_rows_without_missing_segments(
        self, rows: FloatArray, is_exchanged: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sum each row over all segments and over the exchanged segments, without the segments that are
        missing.

        There is one sum for each pattern of missing segments.

        `is_exchanged` is [segments, draws]. Returns [patterns, rows] and [patterns, rows, draws].
        """
        all_totals = rows.sum(axis=1)
        all_sums = rows @ is_exchanged
        totals = np.empty((len(self.missing_segments), *all_totals.shape))
        sums = np.empty((len(self.missing_segments), *all_sums.shape))
        for pattern, missing in enumerate(self.missing_segments):
            missing_rows = rows[:, missing]
            totals[pattern] = all_totals - missing_rows.sum(axis=1)
            sums[pattern] = all_sums - missing_rows @ is_exchanged[missing]
        return totals, sums


def prepare_segment_exchange_test(
    human_scores: FloatArray,
    metric_scores: FloatArray,
    metric_pairs: LongArray,
    *,
    are_standardized: bool = False,
) -> SegmentExchangeTest:
    """Prepare a permutation test that exchanges the scores of whole segments between two metrics.

    Metrics may lack the scores of some segments. Metrics are standardised, unless they are already and have
    been summed over clusters since.
    """
    is_complete = np.asarray(~np.isnan(metric_scores + human_scores).any(axis=1))
    patterns, pattern_of_metric = np.unique(is_complete, axis=0, return_inverse=True)
    pattern_of_metric = pattern_of_metric.ravel()
    pattern_pairs, group_of_pair = np.unique(
        np.sort(pattern_of_metric[metric_pairs], axis=1), axis=0, return_inverse=True
    )
    group_of_pair = group_of_pair.ravel()
    scales = np.ones(metric_pairs.shape)
    human_p_values = np.full((len(pattern_pairs), len(human_scores) * (len(human_scores) - 1) // 2), np.nan)
    for group, (pattern, other_pattern) in enumerate(pattern_pairs):
        segments = patterns[pattern] & patterns[other_pattern]
        if not segments.any():
            continue  # undefined, and so are all differences
        pairs = np.flatnonzero(group_of_pair == group)
        if not are_standardized:
            scales[pairs] = _compute_inverse_deviations(metric_scores, metric_pairs[pairs], segments)
        human_p_values[group] = compute_normal_p_values(human_scores[:, segments])
    return SegmentExchangeTest(
        scores=np.where(is_complete[:, None], metric_scores, 0.0),
        metric_pairs=metric_pairs,
        scales=scales,
        human_p_values=human_p_values,
        group_of_pair=group_of_pair,
        missing_segments=tuple(np.flatnonzero(~pattern) for pattern in patterns),
        pattern_of_metric=pattern_of_metric,
    )


def _compute_inverse_deviations(
    metric_scores: FloatArray, metric_pairs: LongArray, is_selected_segment: BoolArray
) -> FloatArray:
    """Compute 1 / standard deviation of both metrics of each pair on the selected segments.

    Returns [metric pairs, 2].
    """
    metrics_in_pairs, positions = np.unique(metric_pairs, return_inverse=True)
    scales: FloatArray = compute_inverse_standard_deviations(
        metric_scores[metrics_in_pairs][:, :, is_selected_segment]
    )
    return scales[positions.reshape(metric_pairs.shape)]


@kernel
def _add_p_value_error_differences(
    human_p_values: FloatArray,
    group_of_metric_pair: LongArray,
    metric_pairs: LongArray,
    missing_pattern_of_metric: LongArray,
    inverse_deviations: FloatArray,
    difference_sums: FloatArray,
    exchanged_difference_sums: FloatArray,
    upper_tail_table: FloatArray,
    error_differences: FloatArray,
) -> None:
    """Add up by how much metric A has better p-values than metric B after each exchange, for one pair of
    systems.

    A p-value is better if it is closer to that of human scores. Adds |p_B' - p_human| - |p_A' - p_human|,
    [metric pairs, draws]. `difference_sums` and `exchanged_difference_sums` have first the differences, then
    the squared differences of all metrics. The draws are the last axis, so that the inner loop reads
    neighbouring numbers.
    """
    metrics = difference_sums.shape[1] // 2
    for column in range(len(metric_pairs)):
        a = metric_pairs[column, 0]
        b = metric_pairs[column, 1]
        # the segments of A are restricted to those of B, and the other way round
        pattern_a = missing_pattern_of_metric[b]
        pattern_b = missing_pattern_of_metric[a]
        scale_a = inverse_deviations[column, 0]
        scale_b = inverse_deviations[column, 1]
        p = human_p_values[group_of_metric_pair[column]]
        total_a = difference_sums[pattern_a, a] * scale_a
        total_b = difference_sums[pattern_b, b] * scale_b
        squares_a = difference_sums[pattern_a, metrics + a] * scale_a**2
        squares_b = difference_sums[pattern_b, metrics + b] * scale_b**2
        sums_a = exchanged_difference_sums[pattern_a, a]
        sums_b = exchanged_difference_sums[pattern_b, b]
        square_sums_a = exchanged_difference_sums[pattern_a, metrics + a]
        square_sums_b = exchanged_difference_sums[pattern_b, metrics + b]
        for draw in range(error_differences.shape[1]):
            change = sums_b[draw] * scale_b - sums_a[draw] * scale_a
            square_change = square_sums_b[draw] * scale_b**2 - square_sums_a[draw] * scale_a**2
            p_a = interpolate_normal_p_value(total_a + change, squares_a + square_change, upper_tail_table)
            p_b = interpolate_normal_p_value(total_b - change, squares_b - square_change, upper_tail_table)
            error_differences[column, draw] += abs(p_b - p) - abs(p_a - p)
