"""Segment-level accuracy that takes ties seriously: acc_eq with tie calibration (Deutsch et al. 2023).

Within an item every two systems are a pair. People tie a pair when their scores are equal; a metric ties it
when its scores differ by at most epsilon. A pair counts as right when metric and people agree on better,
worse or tied; the accuracy of an item is its share of right pairs, acc_eq the mean over items. Epsilon is the
smallest value that maximises acc_eq of that metric: no metric loses for giving finer or coarser numbers.

A metric that knows nothing still reaches max(t, (1 - t) / 2) with t the share of human ties: by tying
everything, or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import (
    ITEM,
    Differences,
    MetaMetric,
    Procedure,
    Resampled,
    mean_where_defined,
    resampled_items,
)
from metassay.meta.people.meta_metrics.soft_pairwise_accuracy import complete_segments
from metassay.stats.arrays import FloatArray
from metassay.stats.random import make_generator
from metassay.stats.swapped_tie_calibration import (
    compare_calibrated_accuracies,
    count_right_pairs,
    swap_calibrated_accuracies,
)
from metassay.stats.swaps import draw_swapped_differences, standardize_metrics


@dataclass(frozen=True)
class CalibratedAccuracy(MetaMetric):
    """`acc_eq`. In tests the threshold for ties is calibrated in each draw as in the data."""

    name: str = "acc_eq"
    level: str = ITEM
    levels: ClassVar[tuple[str, ...]] = (ITEM,)

    def values(self, judged: ScoreArrays, procedure: Procedure | None = None) -> FloatArray:
        """acc_eq of each metric."""
        del procedure
        return mean_where_defined(self.by_item(judged))

    def by_item(self, judged: ScoreArrays) -> FloatArray:
        """The accuracy within each segment."""
        return np.stack([tie_calibrated_accuracy(judged.human, metric).by_item for metric in judged.metrics])

    def resampled(self, judged: ScoreArrays) -> Resampled:
        """Means over the items drawn; the threshold stays."""
        return resampled_items(judged, self.by_item(judged))

    def swapped(self, judged: ScoreArrays, procedure: Procedure) -> None:
        """Only whole segments can be swapped: see `differences`."""

    def differences(self, judged: ScoreArrays, procedure: Procedure) -> Differences:
        """Whole segments swapped, whatever the kind of swap."""
        systems, segments = judged.human.shape
        counts = count_right_pairs(judged.human, standardize_metrics(judged.metrics))
        if judged.clusters is not None:
            by_step = counts.swapaxes(1, 2).astype(np.float64)
            counts = judged.sum_over_clusters(by_step).swapaxes(1, 2).astype(np.float32)
        pairs = segments * systems * (systems - 1) / 2
        observed = compare_calibrated_accuracies(counts, pairs)
        drawn = draw_swapped_differences(
            partial(swap_calibrated_accuracies, counts, pairs),
            "perm-inputs",
            draws=procedure.draws,
            systems=systems,
            segments=counts.shape[1],
            pairs=len(observed),
            seed=procedure.seed,
            stream=procedure.stream,
            workers=procedure.workers,
        )
        return Differences(observed, drawn)

    def details(self, human: FloatArray, metric: FloatArray) -> dict[str, Any]:
        """The calibrated threshold, and what a metric that knows nothing reaches."""
        found = tie_calibrated_accuracy(human, metric)
        return {"epsilon": found.epsilon, "chance": found.chance}


@dataclass(frozen=True)
class TieAccuracy:
    """acc_eq of one metric: its value, the epsilon used, the accuracy of each item, and the chance level."""

    accuracy: float
    epsilon: float
    by_item: FloatArray
    chance: float


def tie_calibrated_accuracy(
    human: ArrayLike, metric: ArrayLike, *, epsilon: float | None = None, cross_fit: int | None = None
) -> TieAccuracy:
    """acc_eq of `[systems, segments]` scores; a segment with a gap in either is dropped.

    `epsilon` fixes the threshold instead of calibrating it. `cross_fit=seed` calibrates on one random half of
    the items and counts on the other, both ways: the accuracy to expect on new items.
    """
    pairs = _Pairs.of(*complete_segments(human, metric))
    if epsilon is None and cross_fit is not None:
        by_item, epsilon = _cross_fitted(pairs, make_generator(cross_fit))
    else:
        epsilon = calibrate(pairs) if epsilon is None else epsilon
        by_item = pairs.accuracy_by_item(epsilon)
    tied = float((pairs.human == 0).mean())
    return TieAccuracy(float(by_item.mean()), epsilon, by_item, max(tied, (1 - tied) / 2))


def calibrate(pairs: _Pairs) -> float:
    """The smallest epsilon that maximises the number of right pairs.

    Raising epsilon past a pair's difference ties that pair: right if people tie it, else wrong if it was
    right before. One sort and one running sum try every epsilon there is.
    """
    distance = np.abs(pairs.metric).ravel()
    right_before = (np.sign(pairs.metric) == pairs.human) & (pairs.human != 0)
    gain = (pairs.human == 0).astype(np.int64).ravel() - right_before.ravel()
    order = np.argsort(distance, kind="stable")
    ascending = distance[order]
    running = np.cumsum(gain[order])
    last_of_value = np.append(ascending[1:] != ascending[:-1], True)
    candidates = ascending[last_of_value]
    gains = running[last_of_value]
    best = int(np.argmax(gains))
    return float(candidates[best]) if gains[best] > 0 else 0.0


@dataclass(frozen=True)
class _Pairs:
    """All pairs of systems within each item, `[pairs, items]`: the human sign, the metric's difference."""

    human: NDArray[np.int8]
    metric: FloatArray

    @classmethod
    def of(cls, human: FloatArray, metric: FloatArray) -> _Pairs:
        first, second = np.triu_indices(len(human), 1)
        signs = np.sign(human[first] - human[second]).astype(np.int8)
        return cls(signs, metric[first] - metric[second])

    def accuracy_by_item(self, epsilon: float) -> FloatArray:
        decided = np.where(np.abs(self.metric) <= epsilon, 0, np.sign(self.metric))
        accuracy: FloatArray = (decided == self.human).mean(axis=0)
        return accuracy

    def items(self, chosen: NDArray[np.bool_]) -> _Pairs:
        return _Pairs(self.human[:, chosen], self.metric[:, chosen])


def _cross_fitted(pairs: _Pairs, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Accuracy of each item under the epsilon of the other half; the mean of the two epsilons."""
    count = pairs.metric.shape[1]
    half = np.zeros(count, dtype=np.bool_)
    half[rng.permutation(count)[: count // 2]] = True
    by_item = np.empty(count)
    epsilons = []
    for counted in (half, ~half):
        learnt = pairs.items(~counted) if (~counted).any() else pairs
        epsilons.append(calibrate(learnt))
        by_item[counted] = pairs.items(counted).accuracy_by_item(epsilons[-1])
    return by_item, float(np.mean(epsilons))
