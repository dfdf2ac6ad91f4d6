"""Soft pairwise accuracy (SPA): whether a metric orders systems as people do, and is as certain about it.

Thompson et al. (2024). Over all pairs of systems i < j, with p_ij the one-sided p-value that i scores higher
than j by chance (`metassay.stats.sign_flip`), h for people and m for the metric:

    SPA = mean of 1 - |p^h_ij - p^m_ij|

A metric that is constant has p = .5 for every pair, hence SPA = mean of 1 - |p^h - .5|: the fewer items, the
higher. So compare values of SPA on equal numbers of items only, and with that of a constant metric in view.
With one item every normal p-value is .16, .5 or .84.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from metassay.data.score_arrays import ScoreArrays
from metassay.errors import InputError, UnknownName
from metassay.meta.people.meta_metrics.array_inputs import drop_incomplete_items
from metassay.meta.people.meta_metrics.base import (
    MetaMetric,
    WeightedValues,
    compute_differences_after_random_exchanges,
)
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.metric_differences import MetricDifferences
from metassay.meta.people.meta_metrics.pairwise_accuracy import average_over_pairs_within_subsets
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.exchanged_segments import prepare_segment_exchange_test
from metassay.stats.exchanged_soft_accuracy import (
    compute_differences_after_system_exchange,
    compute_sign_flip_differences_after_exchange,
    compute_soft_accuracy_differences_after_exchange,
    tabulate_system_exchanges,
    tabulate_system_exchanges_by_sign_flips,
)
from metassay.stats.flip_groups import compute_p_values_under_random_signs, draw_random_signs_of_segments
from metassay.stats.score_exchanges import (
    ExchangeStatistic,
    ScoreExchanges,
    list_metric_pairs,
    standardize_metrics,
)
from metassay.stats.sign_flip import (
    compute_corpus_p_values,
    compute_normal_p_values,
    compute_normal_p_values_from_sums,
    compute_p_values_like_mt_metrics_eval,
    compute_sign_flip_p_values,
    compute_weighted_p_values_of_system_pairs,
)
from metassay.stats.soft_accuracy import average_normal_p_value_errors, soft_accuracy

METHODS = ("normal", "permutation", "mtme")


def soft_pairwise_accuracy(
    human: ArrayLike, metric: ArrayLike, *, method: str = "normal", permutations: int = 1000, seed: int = 0
) -> float:
    """Compute how well p-values for pairs of systems agree between a metric and people, from scores
    `[systems, items]` where higher is better.

    Items with NaN in either are dropped for both. `method` is `normal` (the limit of many permutations,
    deterministic), `permutation` (seeded; people and metric share the permutations) or `mtme` (what
    mt-metrics-eval computes for systems in this order).

    >>> round(soft_pairwise_accuracy([[1, 2, 3, 4], [0, 1, 2, 2]], [[2, 3, 3, 5], [1, 1, 2, 3]]), 4)
    0.9995
    """
    human, metric = drop_incomplete_items(human, metric)
    both = np.stack([human, metric])
    p_human, p_metric = compute_pair_p_values(both, method=method, permutations=permutations, seed=seed)
    return float(soft_accuracy(p_human, p_metric))


def corpus_soft_pairwise_accuracy(
    human_scores: FloatArray,
    statistics: FloatArray,
    compute_score: Callable[[FloatArray], FloatArray],
    *,
    permutations: int = 1000,
    seed: int = 0,
) -> float:
    """Compute the soft pairwise accuracy of a corpus-level metric (such as BLEU), from sufficient
    statistics of each output.

    `human_scores` is `[systems, items]` without gaps, `statistics` `[systems, items, s]`. `compute_score`
    computes corpus scores, higher is better, from summed statistics. People and metric share the
    permutations.
    """
    if human_scores.shape != statistics.shape[:2]:
        raise InputError(f"statistics {statistics.shape} do not fit human scores {human_scores.shape}.")
    p_human = compute_pair_p_values(human_scores, method="permutation", permutations=permutations, seed=seed)
    p_metric = compute_corpus_p_values(statistics, compute_score, np.random.default_rng(seed), permutations)
    return float(soft_accuracy(p_human, p_metric))


def compute_pair_p_values(
    scores: FloatArray, *, method: str = "normal", permutations: int = 1000, seed: int = 0
) -> FloatArray:
    """Test for every two systems whether the first has higher scores, on the same items. Returns the
    p-values.
    """
    if method == "normal":
        return compute_normal_p_values(scores)
    if permutations < 1:
        raise InputError(f"{permutations} permutations are too few.", remedy="Use at least 1; 1000 is usual.")
    if method == "permutation":
        return compute_sign_flip_p_values(scores, np.random.default_rng(seed), permutations)
    if method == "mtme":
        return compute_p_values_like_mt_metrics_eval(scores, permutations)
    raise UnknownName("method", method, METHODS)


class SoftPairwiseAccuracy(MetaMetric):
    """Meta-metric `spa`, soft pairwise accuracy: how well p-values for differences between systems agree
    between a metric and people.

    Resamples use normal p-values whatever the method, because they differ from those of permutations by less
    than Monte Carlo error. Prefer exchanges of whole items (`perm-inputs`) in tests: other exchanges compare
    system i under one metric with system j under the other, and the difficulty of items no longer cancels.
    """

    name = "spa"
    label = "SPA"
    summary = "agreement on which of two systems is better and how certainly (p-values)"

    def evaluate_metrics(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute the soft pairwise accuracy of each metric."""
        p = self.compute_pair_p_values(scores, settings or ComparisonSettings())
        return soft_accuracy(p[0], p[1:])

    def compute_pair_p_values(self, scores: ScoreArrays, settings: ComparisonSettings) -> FloatArray:
        """Compute p-values for the difference between every two systems, first according to human scores
        and then to each metric.
        """
        return compute_pair_p_values(
            _sum_scores_by_cluster(scores),
            method=settings.method,
            permutations=settings.permutations,
            seed=settings.seed,
        )

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues:
        """Build a function that computes soft pairwise accuracy on bootstrap resamples, given as weights
        of clusters of items.
        """
        human = scores.sum_over_clusters(scores.human)
        metrics = scores.sum_over_clusters(scores.metrics)
        human_and_metrics = np.concatenate([human[None], metrics])

        def evaluate_with_cluster_weights(cluster_weights: FloatArray) -> FloatArray:
            p = compute_weighted_p_values_of_system_pairs(human_and_metrics, cluster_weights)
            return soft_accuracy(p[0], p[1:])

        return evaluate_with_cluster_weights

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences:
        """Compute the difference in soft pairwise accuracy between every two metrics, as observed and
        after random exchanges of their scores.
        """
        return self.compare_metric_pairs(scores, settings, list_metric_pairs(len(scores.metrics)))

    def compare_metric_pairs(
        self, scores: ScoreArrays, settings: ComparisonSettings, metric_pairs: LongArray
    ) -> MetricDifferences:
        """Compute the difference in soft pairwise accuracy for the given pairs of metrics, as observed
        and after random exchanges of their scores.
        """
        compare_exchanged_metrics = _build_function_comparing_exchanged_metrics(
            scores, settings, metric_pairs
        )
        drawn = compute_differences_after_random_exchanges(
            compare_exchanged_metrics, len(metric_pairs), scores, settings
        )
        if settings.method == "normal":
            values = self.evaluate_metrics(scores, settings)
            return MetricDifferences(values[metric_pairs[:, 0]] - values[metric_pairs[:, 1]], drawn)
        # a draw equals the observed difference only if both are from the same sign flips
        no_exchanges = ScoreExchanges.create_without_exchanges(len(scores.human), scores.cluster_count)
        observed = compare_exchanged_metrics(no_exchanges)[0].astype(np.float64)
        return MetricDifferences(observed, drawn)

    def compare_incomplete_metrics(
        self, scores: ScoreArrays, settings: ComparisonSettings, metric_pairs: LongArray
    ) -> MetricDifferences | None:
        """Compute the difference in soft pairwise accuracy for the given pairs of metrics. Two metrics
        are compared on the items that both scored.

        None for tests and p-values that need complete items.
        """
        can_share_items = settings.method == "normal" and settings.test == "perm-inputs"
        if not can_share_items or scores.clusters is not None:
            return None
        segment_exchanges = prepare_segment_exchange_test(scores.human, scores.metrics, metric_pairs)
        drawn = compute_differences_after_random_exchanges(
            segment_exchanges, len(metric_pairs), scores, settings
        )
        values = segment_exchanges.compute_accuracies_before_exchange()
        return MetricDifferences(values[:, 0] - values[:, 1], drawn)

    def estimate_closed_form_errors(self, scores: ScoreArrays) -> FloatArray:
        """Estimate for each metric how inaccurate p-values from the normal distribution are (Edgeworth
        correction), averaged over pairs of systems.
        """
        human_and_metrics = _sum_scores_by_cluster(scores)
        return average_normal_p_value_errors(human_and_metrics[0], human_and_metrics[1:])

    def evaluate_on_system_subsets(self, scores: ScoreArrays, system_subsets: LongArray) -> FloatArray:
        """Compute the soft pairwise accuracy of each metric on each of several subsets of the systems.

        The p-values of two systems do not depend on other systems.
        """
        p = compute_pair_p_values(_sum_scores_by_cluster(scores))
        return average_over_pairs_within_subsets(
            1.0 - np.abs(p[1:] - p[0]), system_subsets, len(scores.human)
        )

    def evaluate_with_missing_scores(
        self, score_differences: FloatArray, item_weights: FloatArray
    ) -> FloatArray:
        """Compute soft pairwise accuracy from incomplete scores. Two systems are compared on the items
        that both have.
        """
        p_human, p_metric = (
            compute_normal_p_values_from_sums(
                item_weights @ pair_differences.T, item_weights @ (pair_differences * pair_differences).T
            )
            for pair_differences in score_differences
        )
        return soft_accuracy(p_human, p_metric)


def _sum_scores_by_cluster(scores: ScoreArrays) -> FloatArray:
    """Sum human and metric scores over clusters of items. Returns one array with the human scores first."""
    return scores.sum_over_clusters(np.concatenate([scores.human[None], scores.metrics]))


def _build_function_comparing_exchanged_metrics(
    scores: ScoreArrays, settings: ComparisonSettings, metric_pairs: LongArray
) -> ExchangeStatistic:
    """Build a function that exchanges scores between metrics and computes the difference in soft pairwise
    accuracy for each pair of metrics.

    p-values are normal, or from one group of sign flips that all draws share.
    """
    metrics = scores.sum_over_clusters(standardize_metrics(scores.metrics))
    human = scores.sum_over_clusters(scores.human)
    exchanges_systems = settings.test == "perm-systems"
    if settings.method == "normal":
        if settings.test == "perm-inputs":
            return prepare_segment_exchange_test(human, metrics, metric_pairs, are_standardized=True)
        p_human = compute_pair_p_values(human)
        if exchanges_systems:
            return partial(
                compute_differences_after_system_exchange,
                tabulate_system_exchanges(p_human, metrics, metric_pairs),
            )
        return partial(compute_soft_accuracy_differences_after_exchange, p_human, metrics, metric_pairs)
    if settings.permutations < 1:
        raise InputError(
            f"{settings.permutations} permutations are too few.", remedy="Use at least 1; 1000 is usual."
        )
    rng = np.random.default_rng(settings.seed)
    group = draw_random_signs_of_segments(rng, settings.permutations, human.shape[1])
    p_human = compute_p_values_under_random_signs(human, group)
    if exchanges_systems:
        return partial(
            compute_differences_after_system_exchange,
            tabulate_system_exchanges_by_sign_flips(p_human, metrics, metric_pairs, group),
        )
    return partial(
        compute_sign_flip_differences_after_exchange,
        p_human,
        metrics,
        metric_pairs,
        sign_flips=group,
    )
