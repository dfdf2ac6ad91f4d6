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
        """The number of systems from which on it is defined: 1 where items are correlated, not systems."""
        return 1 if self.level in {SEGMENT, PER_SYSTEM} else 2

    @property
    def _at_level(self) -> CorrelationLevel:
        return LEVELS[self.level](self.name)

    def compute(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute the correlation of each metric with human scores."""
        del settings
        return self._at_level.compute(scores)

    def compute_by_item(self, scores: ScoreArrays) -> FloatArray | None:
        """Compute the correlation within each item, at item level."""
        return self._at_level.compute_by_item(scores)

    def prepare_resampling(self, scores: ScoreArrays) -> WeightedValues | None:
        """Return a function that computes correlations under weights of the clusters; None if too slow."""
        return self._at_level.prepare_resampling(scores)

    def prepare_swaps(self, scores: ScoreArrays, settings: ComparisonSettings) -> SwapStatistic | None:
        """Return a function that compares metrics by correlations of swapped scores; None if too slow."""
        del settings
        return self._at_level.prepare_swaps(scores)

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences | None:
        """Compute the differences between all pairs of metrics, observed and after random swaps."""
        at_level = self._at_level
        if isinstance(at_level, ItemLevel):
            return at_level.compare_metrics(scores, settings)
        return super().compare_metrics(scores, settings)

    def compute_on_system_subsets(self, scores: ScoreArrays, subsets: LongArray) -> FloatArray | None:
        """Compute correlations on subsets of the systems, at system level."""
        return self._at_level.compute_on_system_subsets(scores, subsets)
