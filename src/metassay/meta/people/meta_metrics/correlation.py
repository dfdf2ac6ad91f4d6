"""The base class of the four correlations with human scores."""

from __future__ import annotations

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import PER_SYSTEM, SEGMENT, MetaMetric, WeightedValues
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.correlation_levels import LEVELS, CorrelationLevel, ItemLevel
from metassay.meta.people.meta_metrics.metric_differences import MetricDifferences
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.swaps import SwapStatistic


class CorrelationMetaMetric(MetaMetric):
    """A correlation of metric scores with human scores, at one of four levels (`correlation_levels`)."""

    levels = tuple(LEVELS)
    is_correlation = True

    @property
    def fewest_systems(self) -> int:
        """Smallest number of systems: 1 if the correlation is over items, else 2."""
        return 1 if self.level in {SEGMENT, PER_SYSTEM} else 2

    @property
    def _correlation_level(self) -> CorrelationLevel:
        """The object that computes the correlation at the chosen level."""
        return LEVELS[self.level](self.name)

    def evaluate_metrics(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute the correlation of each metric with human scores."""
        del settings
        return self._correlation_level.evaluate_metrics(scores)

    def evaluate_metrics_by_item(self, scores: ScoreArrays) -> FloatArray | None:
        """Compute the correlation of each metric with human scores within each item; only at item level."""
        return self._correlation_level.evaluate_metrics_by_item(scores)

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues | None:
        """Return a function that computes correlations from weights of the clusters; None if too slow."""
        return self._correlation_level.build_resampling_function(scores)

    def build_swapped_difference_function(
        self, scores: ScoreArrays, settings: ComparisonSettings
    ) -> SwapStatistic | None:
        """Return a function that compares metrics by correlations of swapped scores; None if too slow."""
        del settings
        return self._correlation_level.build_swapped_difference_function(scores)

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences | None:
        """Compute the differences between all pairs of metrics, observed and after random swaps."""
        level = self._correlation_level
        if isinstance(level, ItemLevel):
            return level.compare_metrics(scores, settings)
        return super().compare_metrics(scores, settings)

    def evaluate_on_system_subsets(self, scores: ScoreArrays, system_subsets: LongArray) -> FloatArray | None:
        """Compute correlations on subsets of the systems; only at system level."""
        return self._correlation_level.evaluate_on_system_subsets(scores, system_subsets)
