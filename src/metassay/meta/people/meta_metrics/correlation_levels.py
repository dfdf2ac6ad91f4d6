"""Correlations with people: Pearson, Spearman, Kendall's tau b and c, each at four levels.

| level | correlated are |
|---|---|
| system | the mean scores of systems |
| segment | all cells of systems x segments at once |
| item | the systems' scores within one segment, averaged over segments |
| per_system | the segments of one system, averaged over systems |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import (
    ITEM,
    PER_SYSTEM,
    SEGMENT,
    SYSTEM,
    Differences,
    MetaMetric,
    Procedure,
    Resampled,
    mean_where_defined,
    pair_differences,
    resampled_items,
)
from metassay.stats.arrays import FloatArray
from metassay.stats.correlation import correlate, correlate_systems, swap_system_correlations
from metassay.stats.random import make_branch_generator
from metassay.stats.sign_flip import draw_sign_flip_sums
from metassay.stats.swapped_correlations import make_correlation_swapper
from metassay.stats.swaps import SwapStatistic, standardize_metrics

PEARSON, SPEARMAN = "pearson", "spearman"
CORRELATIONS = (PEARSON, SPEARMAN, "kendall", "kendall_c")
LEVELS = (SYSTEM, SEGMENT, ITEM, PER_SYSTEM)


@dataclass(frozen=True)
class OfSystemMeans(MetaMetric):
    """A statistic of systems' mean scores, as resampled and swapped."""

    def resampled(self, judged: ScoreArrays) -> Resampled:
        """Weighted sums stand for the means."""
        human, metrics = judged.sum_over_clusters(judged.human), judged.sum_over_clusters(judged.metrics)
        return lambda weights: correlate_systems(
            self.name, weights @ human.T, weights @ metrics.swapaxes(1, 2)
        )

    def swapped(self, judged: ScoreArrays, procedure: Procedure) -> SwapStatistic:
        """The statistic of means of swapped scores."""
        del procedure
        scores, human = (
            judged.sum_over_clusters(standardize_metrics(judged.metrics)),
            judged.human.mean(axis=-1),
        )
        return lambda swaps: swap_system_correlations(self.name, human, scores, swaps)


@dataclass(frozen=True)
class SystemCorrelation(OfSystemMeans):
    """Over systems."""

    levels: ClassVar[tuple[str, ...]] = LEVELS
    is_correlation: ClassVar[bool] = True

    @property
    def has_williams_test(self) -> bool:
        """Williams (1959) compares two of Pearson's r."""
        return self.name == PEARSON

    def values(self, judged: ScoreArrays, procedure: Procedure | None = None) -> FloatArray:
        """The correlation of system means."""
        del procedure
        return correlate_systems(self.name, judged.human.mean(axis=-1), judged.metrics.mean(axis=-1))

    def on_subsets(self, judged: ScoreArrays, chosen: NDArray[np.int64]) -> FloatArray:
        """The correlation over fewer systems."""
        human, metrics = judged.human.mean(axis=-1), judged.metrics.mean(axis=-1)
        return correlate_systems(self.name, human[chosen], metrics[:, chosen])


@dataclass(frozen=True)
class SegmentCorrelation(MetaMetric):
    """Over all cells.

    Resampled is Pearson's alone: the others would sort many cells anew each time. Tau after swaps likewise.
    """

    level: str = SEGMENT
    levels: ClassVar[tuple[str, ...]] = LEVELS
    is_correlation: ClassVar[bool] = True

    def values(self, judged: ScoreArrays, procedure: Procedure | None = None) -> FloatArray:
        """The correlation of all cells."""
        del procedure
        cells = judged.human.ravel()
        return np.array([correlate(self.name, cells, metric.ravel()) for metric in judged.metrics])

    def resampled(self, judged: ScoreArrays) -> Resampled | None:
        """Pearson's r from weighted sums."""
        if self.name != PEARSON:
            return None
        per_system = self.level == PER_SYSTEM
        standardised_metrics = standardize_metrics(judged.metrics)
        return lambda weights: _cell_correlations(
            judged, standardised_metrics, weights, per_system=per_system
        )

    def swapped(self, judged: ScoreArrays, procedure: Procedure) -> SwapStatistic | None:
        """Pearson's r and Spearman's rho of swapped cells."""
        del procedure
        if self.name not in {PEARSON, SPEARMAN}:
            return None
        return make_correlation_swapper(
            judged.human,
            standardize_metrics(judged.metrics),
            judged.sum_over_clusters,
            by_rank=self.name == SPEARMAN,
            per_system=self.level == PER_SYSTEM,
        )


@dataclass(frozen=True)
class PerSystemCorrelation(SegmentCorrelation):
    """Over the segments of each system, averaged."""

    level: str = PER_SYSTEM

    def values(self, judged: ScoreArrays, procedure: Procedure | None = None) -> FloatArray:
        """The mean of the systems' own correlations."""
        del procedure
        return mean_where_defined(correlate_systems(self.name, judged.human, judged.metrics, exact=True))


@dataclass(frozen=True)
class ItemCorrelation(MetaMetric):
    """Over the systems of each segment, averaged. To swap whole segments flips the items' differences."""

    level: str = ITEM
    levels: ClassVar[tuple[str, ...]] = LEVELS
    is_correlation: ClassVar[bool] = True

    def values(self, judged: ScoreArrays, procedure: Procedure | None = None) -> FloatArray:
        """The mean of the items' correlations."""
        del procedure
        return mean_where_defined(self.by_item(judged))

    def by_item(self, judged: ScoreArrays) -> FloatArray:
        """The correlation within each segment."""
        return correlate_systems(self.name, judged.human.T, judged.metrics.swapaxes(-1, -2), exact=True)

    def resampled(self, judged: ScoreArrays) -> Resampled:
        """Means over the items drawn."""
        return resampled_items(judged, self.by_item(judged))

    def swapped(self, judged: ScoreArrays, procedure: Procedure) -> None:
        """No function of swaps is needed: see `differences`."""

    def differences(self, judged: ScoreArrays, procedure: Procedure) -> Differences:
        """Sign flips of the items' differences, whatever the kind of swap."""
        by_item = self.by_item(judged)
        between = pair_differences(by_item)
        defined = ~np.isnan(between)
        count = np.maximum(defined.sum(axis=1), 1)
        per_unit = judged.sum_over_clusters(np.where(defined, between, 0.0))
        rng = make_branch_generator(procedure.seed, procedure.stream)
        null = draw_sign_flip_sums(per_unit, rng, procedure.draws)
        drawn: NDArray[np.float32] = (null / count[:, None]).astype(np.float32)
        return Differences(pair_differences(mean_where_defined(by_item)), drawn)


def _cell_correlations(
    judged: ScoreArrays, scores: FloatArray, weights: FloatArray, *, per_system: bool
) -> FloatArray:
    """Pearson's r over all cells, or the mean of the systems' own, of each resample, from weighted sums."""
    human = judged.human - judged.human.mean()

    def total(cells: FloatArray) -> FloatArray:
        grouped = cells if per_system else cells.sum(axis=-2, keepdims=True)
        return np.asarray(judged.sum_over_clusters(grouped) @ weights.T, dtype=np.float64)

    count, h, hh = total(np.ones_like(human)), total(human), total(human * human)
    x, xx, xh = total(scores), total(scores * scores), total(scores * human)
    spread = (xx - x * x / count) * (hh - h * h / count)
    defined = spread > 1e-12 * xx * hh
    r = np.where(defined, (xh - x * h / count) / np.sqrt(np.where(defined, spread, 1.0)), np.nan)
    return mean_where_defined(r.swapaxes(-1, -2))
