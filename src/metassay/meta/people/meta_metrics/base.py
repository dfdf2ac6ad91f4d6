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
from metassay.meta.people.meta_metrics.metric_differences import MetricDifferences, subtract_pairs
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.swaps import SwapStatistic, draw_swapped_differences

SYSTEM, SEGMENT, ITEM, PER_SYSTEM = "system", "segment", "item", "per_system"

WeightedValues = Callable[[FloatArray], FloatArray]
"""Computes values `[metrics, draws]` from weights of the clusters `[draws, clusters]`."""


@dataclass(frozen=True)
class ValueEstimates:
    """The value of a meta-metric for each metric, and its 95 % interval; NaN where undefined."""

    values: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class MetricDetails:
    """What some meta-metrics report about a metric next to its value; NaN where they do not."""

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
    """A measure of how well metrics agree with human scores.

    A subclass needs a `name`, a `summary` and `compute`. It then has intervals, by recomputing the value on
    resampled items. For tests between metrics it overrides `prepare_swaps` or `compare_metrics`; faster
    intervals come with `prepare_resampling`. All methods receive complete scores, higher is better.

    >>> class SameBest(MetaMetric):
    ...     name = "same_best"
    ...     summary = "whether metric and people agree on the best system"
    ...
    ...     def compute(self, scores, settings=None):
    ...         best_system = scores.human.mean(axis=-1).argmax()
    ...         return (scores.metrics.mean(axis=-1).argmax(axis=-1) == best_system).astype(float)
    >>> human = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> SameBest().compute(ScoreArrays(human, np.stack([human, -human])))
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
        """The number of systems from which on it is defined."""
        return 2

    @property
    def has_williams_test(self) -> bool:
        """Whether Williams' test can compare two metrics by it."""
        return False

    @abstractmethod
    def compute(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute the value of each metric, `[metrics]`; NaN where it is undefined."""

    def compute_by_item(self, scores: ScoreArrays) -> FloatArray | None:  # noqa: ARG002 (for subclasses)
        """Compute the value of each metric on each item, `[metrics, items]`; None where items have none."""
        return None

    def estimate_values(self, scores: ScoreArrays) -> ValueEstimates | None:  # noqa: ARG002 (for subclasses)
        """Estimate values with intervals of its own kind; None where the bootstrap serves."""
        return None

    def prepare_resampling(self, scores: ScoreArrays) -> WeightedValues | None:
        """Return a function that computes values under weights of the clusters; None where it is too slow.

        The default repeats every item as often as its cluster was drawn, and recomputes.
        """

        def compute_weighted(weights: FloatArray) -> FloatArray:
            item_weights = weights[:, scores.cluster_index].astype(np.int64)
            resamples = [scores.repeat_items(counts) for counts in item_weights]
            return np.stack([self.compute(resample) for resample in resamples], axis=1)

        return compute_weighted

    def prepare_swaps(self, scores: ScoreArrays, settings: ComparisonSettings) -> SwapStatistic | None:
        """Return a function that computes differences between metrics whose scores were swapped.

        None where there is no such test.
        """
        del scores, settings
        return None

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences | None:
        """Compute the differences between all pairs of metrics, observed and after random swaps."""
        compute_swapped = self.prepare_swaps(scores, settings)
        if compute_swapped is None:
            return None
        observed = subtract_pairs(self.compute(scores, settings))
        drawn = draw_swapped_differences(
            compute_swapped,
            settings.test,
            draws=settings.draws,
            systems=len(scores.human),
            segments=scores.cluster_count,
            pairs=len(observed),
            seed=settings.seed,
            stream=settings.stream,
            workers=settings.workers,
        )
        return MetricDifferences(observed, drawn)

    def compute_pair_p_values(self, scores: ScoreArrays, settings: ComparisonSettings) -> FloatArray | None:
        """Compute the p-values of all pairs of systems, `[1 + metrics, pairs]`, those of people first.

        Each is the p-value that the first system of a pair scores higher by chance. None for a meta-metric
        that does not compare p-values.
        """
        del scores, settings
        return None

    def estimate_closed_form_errors(self, scores: ScoreArrays) -> FloatArray | None:  # noqa: ARG002 (for subclasses)
        """Estimate the error of the closed form per pair of systems, `[metrics]`; None if there is none."""
        return None

    def compute_on_system_subsets(self, scores: ScoreArrays, subsets: LongArray) -> FloatArray | None:
        """Compute values `[metrics, subsets]` on subsets of the systems, `[subsets, systems]` indices.

        None where the value does not depend on the order of the systems.
        """
        del scores, subsets
        return None

    def compute_with_gaps(self, differences: FloatArray, weights: FloatArray) -> FloatArray:
        """Compute values `[draws]` of one metric from score differences of system pairs, 0 in gaps.

        `differences` is `[2, pairs, items]`, of people and of the metric; `weights` is `[draws, items]`.
        """
        del differences, weights
        raise InputError(f"{self} needs complete segments.", remedy="Pairwise deletion is for spa and pa.")

    def pool_datasets(self, values: FloatArray, pair_counts: FloatArray) -> FloatArray | None:
        """Compute the value over the system pairs of all data sets, from `[data sets, metrics]` values."""
        del values, pair_counts
        return None

    def compute_details(self, scores: ScoreArrays) -> MetricDetails:  # noqa: ARG002 (for subclasses)
        """Compute what is reported about a metric next to its value. `scores` has this metric only."""
        return MetricDetails()


def average_defined(values: FloatArray) -> FloatArray:
    """Average over the last axis (items or systems) where values are defined; NaN where none is."""
    is_defined = ~np.isnan(values)
    count = is_defined.sum(axis=-1)
    total = np.where(is_defined, values, 0.0).sum(axis=-1)
    mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean


def resample_item_values(scores: ScoreArrays, item_values: FloatArray) -> WeightedValues:
    """Return a function that averages values of items `[metrics, items]` under weights of the clusters."""
    is_defined = ~np.isnan(item_values)
    cluster_totals = scores.sum_over_clusters(np.where(is_defined, item_values, 0.0))
    cluster_counts = scores.sum_over_clusters(is_defined.astype(np.float64))

    def compute_weighted(weights: FloatArray) -> FloatArray:
        total = cluster_totals @ weights.T
        count = cluster_counts @ weights.T
        mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        return mean

    return compute_weighted
