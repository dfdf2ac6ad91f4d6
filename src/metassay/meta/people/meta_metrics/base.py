"""What a meta-metric is: an object that measures how well metrics agree with people.

Each has four forms: its `values`, its values item by item (`by_item`), its values on resamples (`resampled`,
for intervals) and the differences between metrics whose scores were swapped (`swapped`, for tests). Whoever
ranks metrics asks the object; none asks for its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.errors import InputError, UnknownName
from metassay.stats.arrays import FloatArray
from metassay.stats.swaps import SWAP_KINDS, SwapStatistic, draw_swapped_differences

SYSTEM, SEGMENT, ITEM, PER_SYSTEM = "system", "segment", "item", "per_system"
TESTS = (*SWAP_KINDS, "bootstrap", "williams", "none")
TOLERANCE = 1e-6
"""Draws are kept in float32: a draw this close to the observed difference is equal to it."""

Resampled = Callable[[FloatArray], FloatArray]
"""From weights `[draws, units]` to values `[metrics, draws]`."""


@dataclass(frozen=True)
class Procedure:
    """How metrics are tested against each other: which draws, how many, and the p-values inside SPA."""

    test: str = "perm-inputs"
    method: str = "normal"
    draws: int = 1000
    permutations: int = 1000
    seed: int = 0
    workers: int | None = None
    stream: int = 0
    """Data sets that are averaged need draws of their own: each takes another stream."""

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise UnknownName("test", self.test, TESTS)
        if self.draws < 1:
            raise InputError(f"{self.draws} draws are too few.", remedy="Ask for at least 1; 1000 is usual.")


@dataclass(frozen=True)
class Differences:
    """Observed and drawn differences of a meta-metric, value(A) - value(B), for metrics A < B.

    `observed` is `[pairs]`, `drawn` `[pairs, draws]`. Draws are made under the null hypothesis, or, with
    `resampled`, around the observed difference. Pairs are in the order of `numpy.triu_indices`.
    """

    observed: FloatArray
    drawn: NDArray[np.float32]
    resampled: bool = False

    def p_values(self, first_is_better: NDArray[np.bool_] | None = None) -> tuple[FloatArray, FloatArray]:
        """One- and two-sided p-values that the better metric of each pair is better by chance.

        Better is the one with the higher value unless `first_is_better` says.
        """
        better = self.observed >= 0 if first_is_better is None else first_is_better
        sign = np.where(better, 1.0, -1.0)
        one = self._share_beyond(sign)
        if self.resampled:
            return one, np.minimum(1.0, 2.0 * np.minimum(one, self._share_beyond(-sign)))
        size = np.abs(self.observed)[:, None] - TOLERANCE
        extreme = (~(np.abs(self.drawn) < size)).sum(axis=1)
        return one, (extreme + 1) / (self.drawn.shape[1] + 1)

    def _share_beyond(self, sign: FloatArray) -> FloatArray:
        draws = self.drawn * sign[:, None].astype(np.float32)
        if self.resampled:
            beyond = ~(draws > TOLERANCE)
        else:
            beyond = ~(draws < (self.observed * sign)[:, None] - TOLERANCE)  # an undefined draw counts
        return np.asarray((beyond.sum(axis=1) + 1) / (draws.shape[1] + 1), dtype=np.float64)


@dataclass(frozen=True)
class MetaMetric(ABC):
    """One way to measure agreement with people, at one level.

    `levels` are those its family is defined at, the usual one first.
    """

    name: str
    level: str = SYSTEM
    levels: ClassVar[tuple[str, ...]] = (SYSTEM,)
    is_correlation: ClassVar[bool] = False
    """Whether it runs from -1 to 1; averages over data sets map it to 0 to 1."""

    def __str__(self) -> str:
        return self.name if self.level == self.levels[0] else f"{self.name}:{self.level}"

    @property
    def has_williams_test(self) -> bool:
        """Whether Williams' test compares two metrics by it."""
        return False

    @abstractmethod
    def values(self, judged: ScoreArrays, procedure: Procedure | None = None) -> FloatArray:
        """The value of each metric, `[metrics]`; NaN where it is undefined."""

    def closed_form_error(self, judged: ScoreArrays) -> float | None:  # noqa: ARG002
        """How far its closed form is off per pair of systems at worst; None where it has none."""
        return None

    def pair_preferences(self, judged: ScoreArrays, procedure: Procedure) -> FloatArray | None:
        """What it compares pairs of systems by: `[1 + metrics, pairs]`, people first; None where it does not.

        p-values that the first system of a pair scores higher than the second by chance alone.
        """
        del judged, procedure
        return None

    def by_item(self, judged: ScoreArrays) -> FloatArray | None:
        """The value of each metric on each segment, `[metrics, segments]`; None where items have no value."""
        del judged
        return None

    @abstractmethod
    def resampled(self, judged: ScoreArrays) -> Resampled | None:
        """The values under weights of the units; None where that takes too long."""

    @abstractmethod
    def swapped(self, judged: ScoreArrays, procedure: Procedure) -> SwapStatistic | None:
        """The differences between metrics after swaps; None where there is no such test."""

    def differences(self, judged: ScoreArrays, procedure: Procedure) -> Differences | None:
        """Observed differences of all pairs of metrics, and those after random swaps."""
        observed = pair_differences(self.values(judged, procedure))
        draw = self.swapped(judged, procedure)
        if draw is None:
            return None
        drawn = draw_swapped_differences(
            draw,
            procedure.test,
            draws=procedure.draws,
            systems=len(judged.human),
            segments=judged.cluster_count,
            pairs=len(observed),
            seed=procedure.seed,
            stream=procedure.stream,
            workers=procedure.workers,
        )
        return Differences(observed, drawn)

    def on_subsets(self, judged: ScoreArrays, chosen: NDArray[np.int64]) -> FloatArray | None:
        """Values `[metrics, trials]` on subsets of the systems, given as `[trials, kept]` indices.

        None where the value does not rest on the order of systems.
        """
        del judged, chosen
        return None

    def with_gaps(self, differences: FloatArray, weights: FloatArray) -> FloatArray:
        """Values `[draws]` from differences of pairs of systems, `[2, pairs, segments]`, 0 in gaps.

        The first are people's, the second the metric's; `weights` are `[draws, segments]`.
        """
        del differences, weights
        raise InputError(f"{self} needs complete segments.", remedy="Pairwise deletion is for spa and pa.")

    def pooled(self, values: FloatArray, pairs: FloatArray) -> FloatArray | None:
        """The value over all pairs of systems of all data sets, from `[data sets, metrics]` and the pairs."""
        del values, pairs
        return None

    def details(self, human: FloatArray, metric: FloatArray) -> dict[str, Any]:
        """What else belongs beside one metric's value."""
        del human, metric
        return {}


def pair_differences(values: FloatArray) -> FloatArray:
    """`values[a] - values[b]` for all a < b, over the first axis."""
    first, second = np.triu_indices(len(values), 1)
    difference: FloatArray = values[first] - values[second]
    return difference


def mean_where_defined(values: FloatArray) -> FloatArray:
    """Mean over the items, or systems, where the value is defined; NaN where it is nowhere."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=-1)
    total = np.where(defined, values, 0.0).sum(axis=-1)
    mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean


def resampled_items(judged: ScoreArrays, by_item: FloatArray) -> Resampled:
    """Means over the items of each resample, from the items' values."""
    defined = ~np.isnan(by_item)
    totals = judged.sum_over_clusters(np.where(defined, by_item, 0.0))
    counts = judged.sum_over_clusters(defined.astype(np.float64))

    def means(weights: FloatArray) -> FloatArray:
        total, count = totals @ weights.T, counts @ weights.T
        mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        return mean

    return means
