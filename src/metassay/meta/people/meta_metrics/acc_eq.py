"""`acc_eq`: pairwise accuracy within items that gives credit for ties (Deutsch et al., 2023).

Within an item every two systems are a pair. People tie a pair if their scores are equal; a metric ties it if
its scores differ by at most epsilon. A pair counts as right if metric and people agree on better, worse or
tied. The accuracy of an item is its share of right pairs, and acc_eq is the mean over items. Epsilon is the
smallest value that maximises acc_eq of the metric, so that no metric gains from finer or coarser numbers.

A metric without information still reaches max(t, (1 - t) / 2), with t the share of pairs that people tie: by
tying every pair, or none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.array_inputs import drop_incomplete_items
from metassay.meta.people.meta_metrics.base import (
    ITEM,
    MetaMetric,
    MetricDetails,
    WeightedValues,
    build_function_averaging_resampled_items,
)
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.metric_differences import MetricDifferences
from metassay.stats.arrays import FloatArray, mean_ignoring_nan
from metassay.stats.exchanged_tie_calibration import (
    compute_tie_calibrated_differences,
    compute_tie_calibrated_differences_after_exchange,
    count_right_pairs,
)
from metassay.stats.score_exchanges import (
    compute_differences_after_exchanges,
    standardize_metrics,
)


class AccuracyWithTies(MetaMetric):
    """Meta-metric `acc_eq`, pairwise accuracy with ties: the share of output pairs that a metric orders
    or ties as people do. Small score differences count as ties.

    Tests calibrate the threshold in every draw, as in the data.
    """

    name = "acc_eq"
    label = "acc_eq"
    summary = "share of output pairs of an item that the metric orders or ties as people do"
    levels = (ITEM,)

    def evaluate_metrics(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute the share of output pairs that each metric orders or ties as people do."""
        del settings
        return mean_ignoring_nan(self.evaluate_metrics_by_item(scores), axis=-1)

    def evaluate_metrics_by_item(self, scores: ScoreArrays) -> FloatArray:
        """Compute for each metric and item the share of output pairs that the metric orders or ties as
        people do.
        """
        results = [tie_calibrated_accuracy(scores.human, metric) for metric in scores.metrics]
        return np.stack([result.item_accuracies for result in results])

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues:
        """Build a function that averages item accuracies over bootstrap resamples of the items. The tie
        threshold stays the same.
        """
        return build_function_averaging_resampled_items(scores, self.evaluate_metrics_by_item(scores))

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences:
        """Compute the difference in accuracy between every two metrics, as observed and after exchanging
        their scores on random items.

        Whole items are exchanged, whatever the test.
        """
        systems, items = scores.human.shape
        pair_count = items * systems * (systems - 1) / 2
        counts = count_right_pairs(scores.human, standardize_metrics(scores.metrics))
        if scores.clusters is not None:
            item_counts = counts.swapaxes(1, 2).astype(np.float64)
            counts = scores.sum_over_clusters(item_counts).swapaxes(1, 2).astype(np.float32)
        observed = compute_tie_calibrated_differences(counts, pair_count)
        drawn = compute_differences_after_exchanges(
            partial(compute_tie_calibrated_differences_after_exchange, counts, pair_count),
            "perm-inputs",
            draws=settings.draws,
            systems=systems,
            segments=counts.shape[1],
            pairs=len(observed),
            seed=settings.seed,
            stream=settings.stream,
            workers=settings.workers,
        )
        return MetricDifferences(observed, drawn)

    def compute_metric_details(self, scores: ScoreArrays) -> MetricDetails:
        """Return the largest score difference that counts as a tie, and the accuracy of a metric that gives
        no information.
        """
        result = tie_calibrated_accuracy(scores.human, scores.metrics[0])
        return MetricDetails(epsilon=result.epsilon, chance=result.chance)


@dataclass(frozen=True)
class TieCalibratedAccuracy:
    """Share of output pairs that one metric orders or ties as people do, where score differences up to a
    threshold count as ties.
    """

    accuracy: float
    epsilon: float
    """The largest difference that counts as a tie."""
    item_accuracies: FloatArray
    chance: float
    """The accuracy of a metric without information."""


def tie_calibrated_accuracy(
    human: ArrayLike, metric: ArrayLike, *, epsilon: float | None = None, cross_fit_seed: int | None = None
) -> TieCalibratedAccuracy:
    """Compute the share of output pairs that a metric orders or ties as people do. Score differences up
    to a threshold, which is fitted to the data, count as ties.

    Args:
        human: Human scores, higher is better.
        metric: Scores of one metric, higher is better.
        epsilon: Use this threshold instead of calibrating one.
        cross_fit_seed: Calibrate on one random half of the items and count on the other, both ways. This
            gives the accuracy to expect on new items.
    """
    pairs = _SystemPairs.subtract_scores_of_system_pairs(*drop_incomplete_items(human, metric))
    if epsilon is None and cross_fit_seed is not None:
        item_accuracies, epsilon = _compute_cross_fitted_accuracies(
            pairs, np.random.default_rng(cross_fit_seed)
        )
    else:
        epsilon = _calibrate_tie_threshold(pairs) if epsilon is None else epsilon
        item_accuracies = pairs.compute_item_accuracies(epsilon)
    tied_share = float((pairs.human_signs == 0).mean())
    chance = max(tied_share, (1 - tied_share) / 2)
    return TieCalibratedAccuracy(float(item_accuracies.mean()), epsilon, item_accuracies, chance)


@dataclass(frozen=True)
class _SystemPairs:
    """Score differences of every two systems on each item: the preferences of people, and the sizes of
    the metric's differences.
    """

    human_signs: NDArray[np.int8]
    metric_differences: FloatArray

    @classmethod
    def subtract_scores_of_system_pairs(
        cls, human_scores: FloatArray, metric_scores: FloatArray
    ) -> _SystemPairs:
        """Subtract the scores of every two systems on each item, for human scores and metric scores."""
        first, second = np.triu_indices(len(human_scores), 1)
        human_signs = np.sign(human_scores[first] - human_scores[second]).astype(np.int8)
        return cls(human_signs, metric_scores[first] - metric_scores[second])

    def compute_item_accuracies(self, tie_threshold: float) -> FloatArray:
        """Compute the share of pairs on each item that the metric orders or ties as people do, with the given
        threshold for ties.
        """
        is_tied = np.abs(self.metric_differences) <= tie_threshold
        metric_signs = np.where(is_tied, 0, np.sign(self.metric_differences))
        accuracies: FloatArray = (metric_signs == self.human_signs).mean(axis=0)
        return accuracies

    def select_items(self, is_selected: NDArray[np.bool_]) -> _SystemPairs:
        """Return a copy with the selected items only."""
        return _SystemPairs(self.human_signs[:, is_selected], self.metric_differences[:, is_selected])


def _calibrate_tie_threshold(system_pairs: _SystemPairs) -> float:
    """Find the smallest tie threshold with which a metric orders or ties the most pairs of outputs as
    people do.

    Raising epsilon past the difference of a pair ties that pair: it becomes right if people tie it, and wrong
    if it was right before. One sort and one cumulative sum therefore try every possible epsilon.
    """
    distances = np.abs(system_pairs.metric_differences).ravel()
    is_human_tie = system_pairs.human_signs == 0
    is_right_untied = (np.sign(system_pairs.metric_differences) == system_pairs.human_signs) & ~is_human_tie
    gains = is_human_tie.astype(np.int64).ravel() - is_right_untied.ravel()
    order = np.argsort(distances, kind="stable")
    sorted_distances = distances[order]
    cumulative_gains = np.cumsum(gains[order])
    is_last_of_value = np.append(sorted_distances[1:] != sorted_distances[:-1], True)
    candidates = sorted_distances[is_last_of_value]
    candidate_gains = cumulative_gains[is_last_of_value]
    best = int(np.argmax(candidate_gains))
    return float(candidates[best]) if candidate_gains[best] > 0 else 0.0


def _compute_cross_fitted_accuracies(
    system_pairs: _SystemPairs, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """Compute the accuracy on each item with a tie threshold fitted to the other half of the items. Also
    returns the mean threshold.
    """
    items = system_pairs.metric_differences.shape[1]
    is_first_half = np.zeros(items, dtype=np.bool_)
    is_first_half[rng.permutation(items)[: items // 2]] = True
    item_accuracies = np.empty(items)
    epsilons = []
    for is_tested in (is_first_half, ~is_first_half):
        is_training = ~is_tested
        training_pairs = system_pairs.select_items(is_training) if is_training.any() else system_pairs
        epsilons.append(_calibrate_tie_threshold(training_pairs))
        item_accuracies[is_tested] = system_pairs.select_items(is_tested).compute_item_accuracies(
            epsilons[-1]
        )
    return item_accuracies, float(np.mean(epsilons))
