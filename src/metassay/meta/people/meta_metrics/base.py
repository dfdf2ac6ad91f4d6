"""`MetaMetric`: the base class of all measures of agreement with human scores.

A package adds a meta-metric with one class and an entry point:

    [project.entry-points."metassay.meta_metrics"]
    same_best = "my_package.same_best:SameBest"
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.errors import InputError, UnknownName
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.metric_differences import (
    MetricDifferences,
    compute_differences_of_all_row_pairs,
)
from metassay.stats.arrays import Float32Array, FloatArray, LongArray, divide_or_nan
from metassay.stats.score_exchanges import (
    ExchangeStatistic,
    compute_differences_after_exchanges,
)

SYSTEM, SEGMENT, ITEM, PER_SYSTEM = "system", "segment", "item", "per_system"

# Computes values `[metrics, draws]` from weights of the clusters `[draws, clusters]`.
WeightedValues = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class MetaMetricEstimates:
    """How well each metric agrees with human scores according to one meta-metric, with 95 % intervals.
    Undefined numbers are NaN.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class MetricDetails:
    """Additional numbers about a metric that only some meta-metrics compute. All other numbers are NaN."""

    epsilon: float = np.nan
    """acc_eq: the largest difference that counts as a tie."""
    chance: float = np.nan
    """acc_eq: the value of a metric without information."""
    for_mean: float = np.nan
    """labels_saved: the share of labels saved for the mean of a system, with its 95 % interval."""
    for_mean_low: float = np.nan
    for_mean_high: float = np.nan


@dataclass(frozen=True)
class MetaMetric(ABC):
    """Base class of meta-metrics, which measure how well metrics agree with human scores.

    A subclass needs a `name`, a `summary` and `evaluate_metrics`. It then has intervals, by recomputing the
    value on resampled items. For tests between metrics it overrides `build_exchanged_difference_function` or
    `compare_metrics`; faster intervals come with `build_resampling_function`. All methods receive complete
    scores, higher is better.

    >>> class SameBest(MetaMetric):
    ...     name = "same_best"
    ...     summary = "whether metric and people agree on the best system"
    ...
    ...     def evaluate_metrics(self, scores, settings=None):
    ...         best_system = scores.human.mean(axis=-1).argmax()
    ...         return (scores.metrics.mean(axis=-1).argmax(axis=-1) == best_system).astype(float)
    >>> human = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> SameBest().evaluate_metrics(ScoreArrays(human, np.stack([human, -human])))
    array([1., 0.])
    """

    name: ClassVar[str]
    """The name on the command line and in JSON."""
    summary: ClassVar[str]
    """One line that says what it measures."""
    label: ClassVar[str] = ""
    """The name in reports; `name` if empty."""
    levels: ClassVar[tuple[str, ...]] = (SYSTEM,)
    """The levels at which it is defined, the default first: written `NAME:LEVEL`."""
    is_correlation: ClassVar[bool] = False
    """Whether it runs from -1 to 1; averages over data sets map it to the range from 0 to 1."""

    level: str = ""

    def __post_init__(self) -> None:
        if not self.level:
            object.__setattr__(self, "level", self.levels[0])
        if self.level not in self.levels:
            if len(self.levels) > 1:
                raise UnknownName(f"level of {self.name}", self.level, self.levels)
            raise InputError(
                f"{self.name} is defined at {self.levels[0]} level only.", remedy=f"Write it as {self.name}."
            )

    def __str__(self) -> str:
        return self.name if self.level == self.levels[0] else f"{self.name}:{self.level}"

    @property
    def fewest_systems(self) -> int:
        """Smallest number of systems for which the meta-metric is defined."""
        return 2

    @property
    def has_williams_test(self) -> bool:
        """Whether Williams' test can compare two metrics according to this meta-metric."""
        return False

    @abstractmethod
    def evaluate_metrics(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute how well each metric agrees with human scores. An undefined value is NaN."""

    def evaluate_metrics_by_item(self, scores: ScoreArrays) -> FloatArray | None:  # noqa: ARG002 (for subclasses)
        """Compute how well each metric agrees with human scores on each item. Returns None if the
        meta-metric is not defined for single items.
        """
        return None

    def estimate_values(self, scores: ScoreArrays) -> MetaMetricEstimates | None:  # noqa: ARG002 (for subclasses)
        """Estimate the value of each metric with an interval, where the interval is not from a bootstrap.
        Returns None if bootstrap intervals are to be used.
        """
        return None

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues | None:
        """Build a function that evaluates all metrics on bootstrap resamples, which are given as weights
        of clusters of items. Returns None if that would be too slow.

        The default repeats every item as often as its cluster was drawn, and recomputes.
        """

        def evaluate_with_cluster_weights(cluster_weights: FloatArray) -> FloatArray:
            """Repeat items as often as their cluster was drawn, and evaluate all metrics."""
            item_weights = cluster_weights[:, scores.cluster_index].astype(np.int64)
            resamples = [scores.repeat_items(counts) for counts in item_weights]
            return np.stack([self.evaluate_metrics(resample) for resample in resamples], axis=1)

        return evaluate_with_cluster_weights

    def build_exchanged_difference_function(
        self, scores: ScoreArrays, settings: ComparisonSettings
    ) -> ExchangeStatistic | None:
        """Build a function that exchanges scores between metrics and computes the differences between the
        metrics, for a permutation test.

        None where the meta-metric has no permutation test.
        """
        del scores, settings
        return None

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences | None:
        """Compute the difference between every two metrics, as observed and after random exchanges of their
        scores.
        """
        compare_exchanged_metrics = self.build_exchanged_difference_function(scores, settings)
        if compare_exchanged_metrics is None:
            return None
        observed = compute_differences_of_all_row_pairs(self.evaluate_metrics(scores, settings))
        drawn = compute_differences_after_random_exchanges(
            compare_exchanged_metrics, len(observed), scores, settings
        )
        return MetricDifferences(observed, drawn)

    def compare_metric_pairs(
        self, scores: ScoreArrays, settings: ComparisonSettings, metric_pairs: LongArray
    ) -> MetricDifferences | None:
        """Compute the difference between the metrics of each given pair, as observed and after random
        exchanges of their scores.

        The default compares all metrics. A meta-metric for which that is slow overrides it.
        """
        differences = self.compare_metrics(scores, settings)
        if differences is None:
            return None
        return differences.select_pairs(metric_pairs, len(scores.metrics))

    def compare_incomplete_metrics(
        self, scores: ScoreArrays, settings: ComparisonSettings, metric_pairs: LongArray
    ) -> MetricDifferences | None:
        """Compute the difference between the metrics of each given pair, where metrics may have missing
        scores (NaN).

        Each pair is compared on the items that both metrics have. None where the meta-metric needs complete
        scores: then pairs of metrics that have the same items are compared together.
        """
        del scores, settings, metric_pairs
        return None

    def compute_pair_p_values(self, scores: ScoreArrays, settings: ComparisonSettings) -> FloatArray | None:
        """Compute p-values for the difference between every two systems, first according to human scores
        and then to each metric.

        Each is the p-value that the first system of a pair scores higher by chance. None for a meta-metric
        that does not compare p-values.
        """
        del scores, settings
        return None

    def estimate_closed_form_errors(self, scores: ScoreArrays) -> FloatArray | None:  # noqa: ARG002 (for subclasses)
        """Estimate for each metric how inaccurate p-values from the normal distribution are. Returns None
        for a meta-metric without p-values.
        """
        return None

    def evaluate_on_system_subsets(self, scores: ScoreArrays, system_subsets: LongArray) -> FloatArray | None:
        """Compute how well each metric agrees with human scores on each of several subsets of the
        systems.

        None for a meta-metric whose value does not come from an order of the systems.
        """
        del scores, system_subsets
        return None

    def evaluate_with_missing_scores(
        self, score_differences: FloatArray, item_weights: FloatArray
    ) -> FloatArray:
        """Compute how well one metric agrees with human scores, given score differences between systems.
        Missing differences are 0.

        `score_differences` is `[2, pairs, items]`, of people and of the metric; `item_weights` is `[draws,
        items]`.
        """
        del score_differences, item_weights
        raise InputError(
            f"{self} needs items with scores for all systems.",
            remedy="Pairwise deletion works only with spa and pa.",
        )

    def pool_values_over_datasets(
        self, dataset_values: FloatArray, pair_counts: FloatArray
    ) -> FloatArray | None:
        """Pool the values of each metric on several data sets to one value over all pairs of systems.

        `pair_counts` has the number of system pairs of each data set. None for a meta-metric that is not a
        mean over system pairs.
        """
        del dataset_values, pair_counts
        return None

    def compute_metric_details(self, scores: ScoreArrays) -> MetricDetails:  # noqa: ARG002 (for subclasses)
        """Compute additional numbers about one metric, which only some meta-metrics have."""
        return MetricDetails()


def compute_differences_after_random_exchanges(
    compute_exchanged_differences: ExchangeStatistic,
    metric_pair_count: int,
    scores: ScoreArrays,
    settings: ComparisonSettings,
) -> Float32Array:
    """Compute the differences between metrics after random exchanges of their scores, for a permutation
    test.
    """
    return compute_differences_after_exchanges(
        compute_exchanged_differences,
        settings.test,
        draws=settings.draws,
        systems=len(scores.human),
        segments=scores.cluster_count,
        pairs=metric_pair_count,
        seed=settings.seed,
        stream=settings.stream,
        workers=settings.workers,
    )


def build_function_averaging_resampled_items(scores: ScoreArrays, item_values: FloatArray) -> WeightedValues:
    """Build a function that averages one value per item over bootstrap resamples, which are given as weights
    of clusters of items.
    """
    is_defined = ~np.isnan(item_values)
    cluster_totals = scores.sum_over_clusters(np.where(is_defined, item_values, 0.0))
    cluster_counts = scores.sum_over_clusters(is_defined.astype(np.float64))

    def evaluate_with_cluster_weights(cluster_weights: FloatArray) -> FloatArray:
        total = cluster_totals @ cluster_weights.T
        return divide_or_nan(total, cluster_counts @ cluster_weights.T)

    return evaluate_with_cluster_weights
