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
    build_item_resampling_function,
)
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.metric_differences import MetricDifferences, subtract_all_pairs
from metassay.meta.people.meta_metrics.system_means import (
    build_mean_resampling_function,
    build_mean_swap_function,
)
from metassay.stats.arrays import FloatArray, LongArray, mean_ignoring_nan
from metassay.stats.correlation import correlate, correlate_system_scores
from metassay.stats.random import create_branch_generator
from metassay.stats.sign_flip import sum_under_random_signs
from metassay.stats.swapped_correlations import build_swapped_correlation_function
from metassay.stats.swaps import SwapStatistic, standardize_metrics

PEARSON = "pearson"
SPEARMAN = "spearman"


@dataclass(frozen=True)
class CorrelationLevel(ABC):
    """Base class of the levels at which a correlation with human scores is computed.

    The methods are those of `MetaMetric`.
    """

    correlation: str
    """`pearson`, `spearman`, `kendall` or `kendall_c`."""

    @abstractmethod
    def evaluate_metrics(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation of each metric with human scores, `[metrics]`."""

    @abstractmethod
    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues | None:
        """Return a function that computes correlations under weights of the clusters; None if too slow."""

    def evaluate_metrics_by_item(self, scores: ScoreArrays) -> FloatArray | None:  # noqa: ARG002 (for subclasses)
        """Compute the correlation within each item, `[metrics, items]`; None except at item level."""
        return None

    def build_swapped_difference_function(self, scores: ScoreArrays) -> SwapStatistic | None:  # noqa: ARG002 (for subclasses)
        """Return a function that compares metrics by correlations of swapped scores; None if too slow."""
        return None

    def evaluate_on_system_subsets(self, scores: ScoreArrays, system_subsets: LongArray) -> FloatArray | None:
        """Compute correlations `[metrics, subsets]` on subsets of systems; None except at system level."""
        del scores, system_subsets
        return None


class SystemLevel(CorrelationLevel):
    """Correlation of the mean scores of systems."""

    def evaluate_metrics(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation of the mean scores of systems."""
        return correlate_system_scores(
            self.correlation, scores.human.mean(axis=-1), scores.metrics.mean(axis=-1)
        )

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues:
        """Return a function that computes the correlation of weighted system means."""
        return build_mean_resampling_function(self.correlation, scores)

    def build_swapped_difference_function(self, scores: ScoreArrays) -> SwapStatistic:
        """Return a function that compares metrics by the correlation of means of swapped scores."""
        return build_mean_swap_function(self.correlation, scores)

    def evaluate_on_system_subsets(self, scores: ScoreArrays, system_subsets: LongArray) -> FloatArray:
        """Compute the correlation of system means over each subset of the systems."""
        human_means = scores.human.mean(axis=-1)
        metric_means = scores.metrics.mean(axis=-1)
        return correlate_system_scores(
            self.correlation, human_means[system_subsets], metric_means[:, system_subsets]
        )


class SegmentLevel(CorrelationLevel):
    """Correlation of the scores of all outputs.

    Only Pearson's can be resampled, and only Pearson's and Spearman's compared after swaps: the others would
    have to sort all outputs for each draw.
    """

    is_per_system = False

    def evaluate_metrics(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation over all outputs of all systems."""
        human = scores.human.ravel()
        return np.array([correlate(self.correlation, human, metric.ravel()) for metric in scores.metrics])

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues | None:
        """Return a function that computes Pearson's r from weighted sums."""
        if self.correlation != PEARSON:
            return None
        centred_human = scores.human - scores.human.mean()
        standardised_metrics = standardize_metrics(scores.metrics)

        def sum_over_weighted_clusters(values: FloatArray, cluster_weights: FloatArray) -> FloatArray:
            grouped = values if self.is_per_system else values.sum(axis=-2, keepdims=True)
            return np.asarray(scores.sum_over_clusters(grouped) @ cluster_weights.T, dtype=np.float64)

        def evaluate_resamples(cluster_weights: FloatArray) -> FloatArray:
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

        return evaluate_resamples

    def build_swapped_difference_function(self, scores: ScoreArrays) -> SwapStatistic | None:
        """Return a function that compares metrics by Pearson's r or Spearman's rho of swapped scores."""
        if self.correlation not in {PEARSON, SPEARMAN}:
            return None
        return build_swapped_correlation_function(
            scores.human,
            standardize_metrics(scores.metrics),
            scores.sum_over_clusters,
            by_rank=self.correlation == SPEARMAN,
            per_system=self.is_per_system,
        )


class PerSystemLevel(SegmentLevel):
    """Correlation over the items of each system, averaged over systems."""

    is_per_system = True

    def evaluate_metrics(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation over items for each system, and average over systems."""
        by_system = correlate_system_scores(self.correlation, scores.human, scores.metrics, exact=True)
        return mean_ignoring_nan(by_system, axis=-1)


class ItemLevel(CorrelationLevel):
    """Correlation over the systems on each item, averaged over items."""

    def evaluate_metrics(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation over systems for each item, and average over items."""
        return mean_ignoring_nan(self.evaluate_metrics_by_item(scores), axis=-1)

    def evaluate_metrics_by_item(self, scores: ScoreArrays) -> FloatArray:
        """Compute the correlation over systems on each item."""
        metrics = scores.metrics.swapaxes(-1, -2)
        return correlate_system_scores(self.correlation, scores.human.T, metrics, exact=True)

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues:
        """Return a function that averages the correlations of resampled items."""
        return build_item_resampling_function(scores, self.evaluate_metrics_by_item(scores))

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences:
        """Compute differences between metrics, observed and with random signs on each item.

        Swapping two metrics on an item reverses the sign of their difference there, so nothing has to be
        recomputed. Whole items are swapped whatever the test.
        """
        by_item = self.evaluate_metrics_by_item(scores)
        item_differences = subtract_all_pairs(by_item)
        is_defined = ~np.isnan(item_differences)
        defined_items = np.maximum(is_defined.sum(axis=1), 1)
        cluster_sums = scores.sum_over_clusters(np.where(is_defined, item_differences, 0.0))
        rng = create_branch_generator(settings.seed, settings.stream)
        null_sums = sum_under_random_signs(cluster_sums, rng, settings.draws)
        drawn: NDArray[np.float32] = (null_sums / defined_items[:, None]).astype(np.float32)
        return MetricDifferences(subtract_all_pairs(mean_ignoring_nan(by_item, axis=-1)), drawn)


LEVELS: dict[str, type[CorrelationLevel]] = {
    SYSTEM: SystemLevel,
    SEGMENT: SegmentLevel,
    ITEM: ItemLevel,
    PER_SYSTEM: PerSystemLevel,
}
