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
from metassay.meta.people.meta_metrics.metric_differences import MetricDifferences, subtract_all_pairs
from metassay.stats.arrays import Float32Array, FloatArray, LongArray, divide_or_nan
from metassay.stats.swaps import SwapStatistic, simulate_differences_after_swaps

SYSTEM, SEGMENT, ITEM, PER_SYSTEM = "system", "segment", "item", "per_system"

# Computes values `[metrics, draws]` from weights of the clusters `[draws, clusters]`.
WeightedValues = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class MetaMetricEstimates:
    """The value of a meta-metric for each metric, with its 95 % interval; NaN where undefined."""

    values: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class MetricDetails:
    """Additional numbers that some meta-metrics report about a metric; NaN where they do not."""

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
    """Base class of meta-metrics: measures of how well metrics agree with human scores.

    A subclass needs a `name`, a `summary` and `evaluate_metrics`. It then has intervals, by recomputing the
    value on resampled items. For tests between metrics it overrides `build_swapped_difference_function` or
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
        """Whether Williams' test can compare two metrics by this meta-metric."""
        return False

    @abstractmethod
    def evaluate_metrics(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute the value of the meta-metric for each metric, `[metrics]`; NaN where it is undefined."""

    def evaluate_metrics_by_item(self, scores: ScoreArrays) -> FloatArray | None:  # noqa: ARG002 (for subclasses)
        """Compute the value of each metric on each item, `[metrics, items]`; None if not defined by item."""
        return None

    def estimate_values(self, scores: ScoreArrays) -> MetaMetricEstimates | None:  # noqa: ARG002 (for subclasses)
        """Estimate values with intervals of a special method; None where the bootstrap is used."""
        return None

    def build_resampling_function(self, scores: ScoreArrays) -> WeightedValues | None:
        """Return a function that computes the meta-metric on resamples (cluster weights); None if too slow.

        The default repeats every item as often as its cluster was drawn, and recomputes.
        """

        def evaluate_resamples(cluster_weights: FloatArray) -> FloatArray:
            item_weights = cluster_weights[:, scores.cluster_index].astype(np.int64)
            resamples = [scores.repeat_items(counts) for counts in item_weights]
            return np.stack([self.evaluate_metrics(resample) for resample in resamples], axis=1)

        return evaluate_resamples

    def build_swapped_difference_function(
        self, scores: ScoreArrays, settings: ComparisonSettings
    ) -> SwapStatistic | None:
        """Return a function that computes differences between metrics whose scores were swapped.

        None where the meta-metric has no permutation test.
        """
        del scores, settings
        return None

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences | None:
        """Compute the differences between all pairs of metrics, observed and after random swaps."""
        compare_swapped_metrics = self.build_swapped_difference_function(scores, settings)
        if compare_swapped_metrics is None:
            return None
        observed = subtract_all_pairs(self.evaluate_metrics(scores, settings))
        drawn = draw_differences_after_swaps(compare_swapped_metrics, len(observed), scores, settings)
        return MetricDifferences(observed, drawn)

    def compare_metric_pairs(
        self, scores: ScoreArrays, settings: ComparisonSettings, metric_pairs: LongArray
    ) -> MetricDifferences | None:
        """Compute the differences between some pairs of metrics A < B, the rows of `metric_pairs`.

        The default compares all metrics. A meta-metric for which that is slow overrides it.
        """
        differences = self.compare_metrics(scores, settings)
        if differences is None:
            return None
        return differences.select_pairs(metric_pairs, len(scores.metrics))

    def compare_incomplete_metrics(
        self, scores: ScoreArrays, settings: ComparisonSettings, metric_pairs: LongArray
    ) -> MetricDifferences | None:
        """Compute the differences between pairs of metrics with missing scores (NaN).

        Each pair is compared on the items that both metrics have. None where the meta-metric needs complete
        scores: then pairs of metrics that have the same items are compared together.
        """
        del scores, settings, metric_pairs
        return None

    def compute_pair_p_values(self, scores: ScoreArrays, settings: ComparisonSettings) -> FloatArray | None:
        """Compute p-values of system pairs `[1 + metrics, pairs]`, those of human scores in the first row.

        Each is the p-value that the first system of a pair scores higher by chance. None for a meta-metric
        that does not compare p-values.
        """
        del scores, settings
        return None

    def estimate_closed_form_errors(self, scores: ScoreArrays) -> FloatArray | None:  # noqa: ARG002 (for subclasses)
        """Estimate the error of normal p-values per pair of systems, `[metrics]`; None without p-values."""
        return None

    def evaluate_on_system_subsets(self, scores: ScoreArrays, system_subsets: LongArray) -> FloatArray | None:
        """Compute values `[metrics, subsets]` on subsets of the systems, indices `[subsets, systems]`.

        None for a meta-metric whose value does not come from an order of the systems.
        """
        del scores, system_subsets
        return None

    def evaluate_with_missing_scores(
        self, score_differences: FloatArray, item_weights: FloatArray
    ) -> FloatArray:
        """Compute values `[draws]` of one metric from score differences of system pairs, 0 where missing.

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
        """Compute the value over the system pairs of all data sets, from `[data sets, metrics]` values.

        `pair_counts` has the number of system pairs of each data set. None for a meta-metric that is not a
        mean over system pairs.
        """
        del dataset_values, pair_counts
        return None

    def compute_metric_details(self, scores: ScoreArrays) -> MetricDetails:  # noqa: ARG002 (for subclasses)
        """Compute additional numbers about a metric, the only one in `scores`."""
        return MetricDetails()


def draw_differences_after_swaps(
    compare_swapped_metrics: SwapStatistic, pairs: int, scores: ScoreArrays, settings: ComparisonSettings
) -> Float32Array:
    """Swap scores of metrics at random, and compute differences of pairs of metrics, `[pairs, draws]`."""
    return simulate_differences_after_swaps(
        compare_swapped_metrics,
        settings.test,
        draws=settings.draws,
        systems=len(scores.human),
        segments=scores.cluster_count,
        pairs=pairs,
        seed=settings.seed,
        stream=settings.stream,
        workers=settings.workers,
    )


def build_item_resampling_function(scores: ScoreArrays, item_values: FloatArray) -> WeightedValues:
    """Return a function that averages item values `[metrics, items]` under weights of the clusters."""
    is_defined = ~np.isnan(item_values)
    cluster_totals = scores.sum_over_clusters(np.where(is_defined, item_values, 0.0))
    cluster_counts = scores.sum_over_clusters(is_defined.astype(np.float64))

    def evaluate_resamples(cluster_weights: FloatArray) -> FloatArray:
        total = cluster_totals @ cluster_weights.T
        return divide_or_nan(total, cluster_counts @ cluster_weights.T)

    return evaluate_resamples
