"""The base class of the four correlations with human scores."""

from __future__ import annotations

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import PER_SYSTEM, SEGMENT, MetaMetric, WeightedValues
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.correlation_levels import LEVELS, CorrelationLevel, ItemLevel
from metassay.meta.people.meta_metrics.metric_differences import MetricDifferences
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.score_exchanges import ExchangeStatistic


class CorrelationMetaMetric(MetaMetric):
    """Meta-metric that correlates metric scores with human scores, over systems, outputs or items."""

    levels = tuple(LEVELS)
    is_correlation = True

    @property
    def fewest_systems(self) -> int:
        """Smallest number of systems for which the correlation is defined: 2, or 1 if it is computed over
        items.
        """
        return 1 if self.level in {SEGMENT, PER_SYSTEM} else 2

    @property
    def _correlation_level(self) -> CorrelationLevel:
        """Object that computes the correlation at the chosen level: over systems, outputs or items."""
        return LEVELS[self.level](self.name)

    def evaluate_metrics(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute the correlation of each metric with human scores."""
        del settings
        return self._correlation_level.evaluate_metrics(scores)

    def evaluate_metrics_by_item(self, scores: ScoreArrays) -> FloatArray | None:
        """Compute the correlation of each metric with human scores on each item. Returns None if the
        level is not the item.
        """
        return self._correlation_level.evaluate_metrics_by_item(scores)

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues | None:
        """Build a function that computes the correlations on bootstrap resamples. Returns None if that
        would be too slow.
        """
        return self._correlation_level.build_resampling_function(scores)

    def build_exchanged_difference_function(
        self, scores: ScoreArrays, settings: ComparisonSettings
    ) -> ExchangeStatistic | None:
        """Build a function that exchanges scores between metrics and compares their correlations. Returns
        None if that would be too slow.
        """
        del settings
        return self._correlation_level.build_exchanged_difference_function(scores)

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences | None:
        """Compute the difference in correlation between every two metrics, as observed and after random
        exchanges of their scores.
        """
        level = self._correlation_level
        if isinstance(level, ItemLevel):
            return level.compare_metrics(scores, settings)
        return super().compare_metrics(scores, settings)

    def evaluate_on_system_subsets(self, scores: ScoreArrays, system_subsets: LongArray) -> FloatArray | None:
        """Compute the correlations on each of several subsets of the systems. Returns None unless mean
        scores of systems are correlated.
        """
        return self._correlation_level.evaluate_on_system_subsets(scores, system_subsets)
