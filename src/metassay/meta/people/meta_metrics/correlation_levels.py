"""How a correlation with human scores is computed at each of four levels.

| level        | what is correlated                                                    |
|--------------|-----------------------------------------------------------------------|
| `system`     | the mean scores of systems                                            |
| `segment`    | the scores of all outputs at once                                     |
| `item`       | the scores of all systems on one item, averaged over items            |
| `per_system` | the scores of one system on all items, averaged over systems          |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import (
    ITEM,
    PER_SYSTEM,
    SEGMENT,
    SYSTEM,
    WeightedValues,
    build_function_averaging_resampled_items,
)
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.metric_differences import (
    MetricDifferences,
    compute_differences_of_all_row_pairs,
)
from metassay.meta.people.meta_metrics.system_means import (
    build_function_comparing_exchanged_system_means,
    build_function_resampling_system_means,
)
from metassay.stats.arrays import FloatArray, LongArray, mean_ignoring_nan
from metassay.stats.correlation import correlate, correlate_system_scores
from metassay.stats.exchanged_correlations import build_correlation_difference_function
from metassay.stats.random import spawn_random_generator
from metassay.stats.score_exchanges import ExchangeStatistic, standardize_metrics
from metassay.stats.sign_flip import sum_under_random_signs

PEARSON = "pearson"
SPEARMAN = "spearman"


@dataclass(frozen=True)
class CorrelationLevel(ABC):
    """Base class for the ways to correlate metric and human scores, such as over systems or over outputs.

    The methods are those of `MetaMetric`.
    """

    correlation: str
    """`pearson`, `spearman`, `kendall` or `kendall_c`."""

    @abstractmethod
    def evaluate_metrics(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation of each metric with human scores."""

    @abstractmethod
    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues | None:
        """Build a function that computes the correlations on bootstrap resamples. Returns None if that
        would be too slow.
        """

    def evaluate_metrics_by_item(self, scores: ScoreArrays) -> FloatArray | None:  # noqa: ARG002 (for subclasses)
        """Compute the correlation of each metric with human scores on each item. Returns None if the
        level is not the item.
        """
        return None

    def build_exchanged_difference_function(self, scores: ScoreArrays) -> ExchangeStatistic | None:  # noqa: ARG002 (for subclasses)
        """Build a function that exchanges scores between metrics and compares their correlations. Returns
        None if that would be too slow.
        """
        return None

    def evaluate_on_system_subsets(self, scores: ScoreArrays, system_subsets: LongArray) -> FloatArray | None:
        """Compute the correlations on each of several subsets of the systems. Returns None unless mean
        scores of systems are correlated.
        """
        del scores, system_subsets
        return None


class SystemLevel(CorrelationLevel):
    """Correlation between the mean metric scores and the mean human scores of the systems."""

    def evaluate_metrics(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation between the mean metric scores and mean human scores of the systems."""
        return correlate_system_scores(
            self.correlation, scores.human.mean(axis=-1), scores.metrics.mean(axis=-1)
        )

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues:
        """Build a function that correlates the mean scores of systems on bootstrap resamples."""
        return build_function_resampling_system_means(self.correlation, scores)

    def build_exchanged_difference_function(self, scores: ScoreArrays) -> ExchangeStatistic:
        """Build a function that exchanges scores between metrics and compares their correlations over
        systems.
        """
        return build_function_comparing_exchanged_system_means(self.correlation, scores)

    def evaluate_on_system_subsets(self, scores: ScoreArrays, system_subsets: LongArray) -> FloatArray:
        """Correlate the mean scores of systems on each of several subsets of the systems."""
        human_means = scores.human.mean(axis=-1)
        metric_means = scores.metrics.mean(axis=-1)
        return correlate_system_scores(
            self.correlation, human_means[system_subsets], metric_means[:, system_subsets]
        )


class SegmentLevel(CorrelationLevel):
    """Correlation between the metric scores and the human scores of all outputs of all systems.

    Only Pearson's can be resampled, and only Pearson's and Spearman's compared after exchanges: the others
    would have to sort all outputs for each draw.
    """

    is_per_system = False

    def evaluate_metrics(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation between metric and human scores over all outputs."""
        human = scores.human.ravel()
        return np.array([correlate(self.correlation, human, metric.ravel()) for metric in scores.metrics])

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues | None:
        """Build a function that computes Pearson's correlation on bootstrap resamples. Returns None for
        other correlations, which are slower.
        """
        if self.correlation != PEARSON:
            return None
        centred_human = scores.human - scores.human.mean()
        standardised_metrics = standardize_metrics(scores.metrics)

        def sum_over_weighted_clusters(values: FloatArray, cluster_weights: FloatArray) -> FloatArray:
            """Sum values over clusters of items with the given weights, for all systems together or for each
            system.
            """
            grouped = values if self.is_per_system else values.sum(axis=-2, keepdims=True)
            return np.asarray(scores.sum_over_clusters(grouped) @ cluster_weights.T, dtype=np.float64)

        def evaluate_with_cluster_weights(cluster_weights: FloatArray) -> FloatArray:
            count = sum_over_weighted_clusters(np.ones_like(centred_human), cluster_weights)
            h = sum_over_weighted_clusters(centred_human, cluster_weights)
            hh = sum_over_weighted_clusters(centred_human * centred_human, cluster_weights)
            x = sum_over_weighted_clusters(standardised_metrics, cluster_weights)
            xx = sum_over_weighted_clusters(standardised_metrics * standardised_metrics, cluster_weights)
            xh = sum_over_weighted_clusters(standardised_metrics * centred_human, cluster_weights)
            variances = (xx - x * x / count) * (hh - h * h / count)
            is_defined = variances > 1e-12 * xx * hh
            covariances = xh - x * h / count
            r = np.where(is_defined, covariances / np.sqrt(np.where(is_defined, variances, 1.0)), np.nan)
            return mean_ignoring_nan(r.swapaxes(-1, -2), axis=-1)

        return evaluate_with_cluster_weights

    def build_exchanged_difference_function(self, scores: ScoreArrays) -> ExchangeStatistic | None:
        """Build a function that exchanges scores between metrics and compares their correlations. Returns
        None for Kendall's tau, which is slower.
        """
        if self.correlation not in {PEARSON, SPEARMAN}:
            return None
        return build_correlation_difference_function(
            scores.human,
            standardize_metrics(scores.metrics),
            scores.sum_over_clusters,
            by_rank=self.correlation == SPEARMAN,
            per_system=self.is_per_system,
        )


class PerSystemLevel(SegmentLevel):
    """Correlation between the metric scores and the human scores of the outputs of each system, averaged over
    systems.
    """

    is_per_system = True

    def evaluate_metrics(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation over the items of each system, averaged over systems."""
        by_system = correlate_system_scores(self.correlation, scores.human, scores.metrics, exact=True)
        return mean_ignoring_nan(by_system, axis=-1)


class ItemLevel(CorrelationLevel):
    """Correlation between the metric scores and the human scores of the systems on each item, averaged over
    items.
    """

    def evaluate_metrics(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation over the systems on each item, averaged over items."""
        return mean_ignoring_nan(self.evaluate_metrics_by_item(scores), axis=-1)

    def evaluate_metrics_by_item(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation over the systems on each item."""
        metrics = scores.metrics.swapaxes(-1, -2)
        return correlate_system_scores(self.correlation, scores.human.T, metrics, exact=True)

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues:
        """Build a function that averages the correlations of items over bootstrap resamples."""
        return build_function_averaging_resampled_items(scores, self.evaluate_metrics_by_item(scores))

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences:
        """Compute the difference in correlation between every two metrics, as observed and with random
        signs of the differences on items.

        Exchanging two metrics on an item reverses the sign of their difference there, so nothing has to be
        recomputed. Whole items are exchanged whatever the test.
        """
        by_item = self.evaluate_metrics_by_item(scores)
        item_differences = compute_differences_of_all_row_pairs(by_item)
        is_defined = ~np.isnan(item_differences)
        defined_items = np.maximum(is_defined.sum(axis=1), 1)
        cluster_sums = scores.sum_over_clusters(np.where(is_defined, item_differences, 0.0))
        rng = spawn_random_generator(settings.seed, settings.stream)
        null_sums = sum_under_random_signs(cluster_sums, rng, settings.draws)
        drawn: NDArray[np.float32] = (null_sums / defined_items[:, None]).astype(np.float32)
        return MetricDifferences(
            compute_differences_of_all_row_pairs(mean_ignoring_nan(by_item, axis=-1)), drawn
        )


LEVELS: dict[str, type[CorrelationLevel]] = {
    SYSTEM: SystemLevel,
    SEGMENT: SegmentLevel,
    ITEM: ItemLevel,
    PER_SYSTEM: PerSystemLevel,
}
