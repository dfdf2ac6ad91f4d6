"""Tie-calibrated accuracy after exchanging scores between two metrics (Deutsch, Foster and Freitag, 2023).

Every draw is calibrated anew. For a grid of epsilons, the number of right pairs of a metric is a sum over
segments, hence linear in the exchanged segments: one product per metric gives it for every draw and every
epsilon, and the best epsilon of a mixture is a maximum over the grid. Observed and exchanged metrics are
treated alike, so the test is exact. With an epsilon fixed beforehand it would not be: calibration makes two
metrics more alike than their items are, and a size of 5 % becomes 1 to 3 % if there are many ties.
"""

from __future__ import annotations

import numpy as np

from metassay.stats.arrays import Float32Array, FloatArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.score_exchanges import ScoreExchanges

# Size of the grid: 0, and quantiles of the differences of all metrics.
EPSILONS = 256
# Differences of each metric from which the quantiles are taken.
_SAMPLED_DIFFERENCES = 4096


def count_right_pairs(human_scores: FloatArray, metric_scores: FloatArray) -> Float32Array:
    """Count the pairs of outputs that each metric orders as human scores do, for each segment and tie
    threshold.

    Returns [metrics, segments, tie thresholds]. A pair is right if metric and human score order it alike,
    where a metric ties two outputs whose scores differ by at most epsilon. `human_scores` is [systems,
    segments], `metric_scores` [metrics, systems, segments] on one scale.
    """
    first, second = np.triu_indices(len(human_scores), 1)
    human_signs = np.sign(human_scores[first] - human_scores[second])
    epsilons = _choose_candidate_tie_thresholds(metric_scores, first, second)
    segments = np.broadcast_to(np.arange(human_scores.shape[1]), human_signs.shape)
    counts = np.zeros((len(metric_scores), human_scores.shape[1], len(epsilons)), dtype=np.float32)
    for m, scores in enumerate(metric_scores):
        differences = scores[first] - scores[second]
        is_right = (np.sign(differences) == human_signs) & (human_signs != 0)
        # From this epsilon on the pair is tied: a human tie becomes right, a right order becomes wrong.
        first_tied = np.searchsorted(epsilons, np.abs(differences))
        changes = (human_signs == 0).astype(np.float32) - is_right
        in_grid = first_tied < len(epsilons)
        np.add.at(counts[m], (segments[in_grid], first_tied[in_grid]), changes[in_grid])
        np.cumsum(counts[m], axis=1, out=counts[m])
        counts[m] += is_right.sum(axis=0, dtype=np.float32)[:, None]
    return counts


def compute_tie_calibrated_differences(correct_pair_counts: Float32Array, pair_count: float) -> FloatArray:
    """Compute how much every two metrics differ in accuracy, each with its best tie threshold.

    `correct_pair_counts` comes from `count_right_pairs`; `pair_count` is the number of pairs of outputs.
    """
    best = correct_pair_counts.sum(axis=1, dtype=np.float64).max(axis=1)
    first, second = np.triu_indices(len(correct_pair_counts), 1)
    differences: FloatArray = (best[first] - best[second]) / pair_count
    return differences


def compute_tie_calibrated_differences_after_exchange(
    correct_pair_counts: Float32Array, pair_count: float, score_exchanges: ScoreExchanges
) -> Float32Array:
    """Compute how much every two metrics differ in accuracy after they exchange the scores of segments.

    Each metric uses the tie threshold that is best for it after the exchange.
    """
    mask = score_exchanges.columns.astype(np.float32)
    exchanged_pair_counts = np.stack([mask @ metric_counts for metric_counts in correct_pair_counts], axis=1)
    metrics = len(correct_pair_counts)
    differences = np.empty((len(score_exchanges), metrics * (metrics - 1) // 2), dtype=np.float32)
    _fill_tie_calibrated_differences(
        correct_pair_counts.sum(axis=1), exchanged_pair_counts, np.float32(1.0 / pair_count), differences
    )
    return differences


def _choose_candidate_tie_thresholds(scores: FloatArray, first: LongArray, second: LongArray) -> FloatArray:
    """Choose the tie thresholds to try: 0 and quantiles of all score differences.

    A metric ties two outputs whose scores differ by at most a threshold.
    """
    samples = []
    for metric_scores in scores:
        sizes = np.sort(np.abs(metric_scores[first] - metric_scores[second]).ravel())
        samples.append(sizes[:: max(1, len(sizes) // _SAMPLED_DIFFERENCES)])
    quantiles = np.quantile(np.concatenate(samples), np.linspace(0, 1, EPSILONS))
    epsilons: FloatArray = np.unique(np.append(0.0, quantiles))
    return epsilons


@kernel
def _fill_tie_calibrated_differences(
    correct_pair_counts: Float32Array,
    exchanged_pair_counts: Float32Array,
    share_of_one_pair: np.float32,
    accuracy_differences: Float32Array,
) -> None:
    """Write how much every two metrics differ in accuracy after each exchange, each with its best tie
    threshold.
    """
    draws, metrics, epsilons = exchanged_pair_counts.shape
    for draw in range(draws):
        column = 0
        for a in range(metrics):
            for b in range(a + 1, metrics):
                best_a = np.float32(0.0)
                best_b = np.float32(0.0)
                for epsilon in range(epsilons):
                    change = exchanged_pair_counts[draw, b, epsilon] - exchanged_pair_counts[draw, a, epsilon]
                    best_a = max(best_a, correct_pair_counts[a, epsilon] + change)
                    best_b = max(best_b, correct_pair_counts[b, epsilon] - change)
                accuracy_differences[draw, column] = (best_a - best_b) * share_of_one_pair
                column += 1
