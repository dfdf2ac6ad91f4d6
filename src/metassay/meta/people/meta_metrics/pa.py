"""Pairwise accuracy: the share of pairs of systems that a metric orders as people do (Kocmi et al. 2021).

    PA = mean over pairs i < j of [sign(mean h_i - mean h_j) = sign(mean m_i - mean m_j)]

PA is Kendall's tau on another scale: tau = 2 PA - 1 where nothing ties. A metric that never differs has PA 0
where people see differences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metassay.errors import InputError
from metassay.meta.people.meta_metrics.base import Judged, Procedure
from metassay.meta.people.meta_metrics.correlations import OfSystemMeans
from metassay.stats.arrays import FloatArray
from metassay.stats.sign_flip import TIE, difference_signs


@dataclass(frozen=True)
class PairwiseAccuracy(OfSystemMeans):
    """`pa`."""

    name: str = "pa"

    def values(self, judged: Judged, procedure: Procedure | None = None) -> FloatArray:
        """PA of each metric."""
        del procedure
        return np.asarray(_same_order(judged).mean(axis=-1), dtype=np.float64)

    def on_subsets(self, judged: Judged, chosen: NDArray[np.int64]) -> FloatArray:
        """Dropping systems changes no sign: means over fewer pairs."""
        return mean_over_pairs(_same_order(judged).astype(np.float64), chosen, len(judged.human))

    def with_gaps(self, differences: FloatArray, weights: FloatArray) -> FloatArray:
        """Each pair of systems on the segments that both have."""
        sums = [weights @ d.T for d in differences]
        squares = [weights @ (d * d).T for d in differences]
        size = [TIE * np.sqrt(weights.sum(axis=1)[:, None] * q) for q in squares]
        signs = [np.where(np.abs(s) <= tolerance, 0.0, np.sign(s)) for s, tolerance in zip(sums, size)]
        same: FloatArray = (signs[0] == signs[1]).mean(axis=1)
        return same

    def pooled(self, values: FloatArray, pairs: FloatArray) -> FloatArray:
        """Over all system pairs of all data sets, as WMT21 to WMT23 did."""
        return np.array([float(pairs @ values[:, m] / pairs.sum()) for m in range(values.shape[1])])


def pairwise_accuracy(human: ArrayLike, metric: ArrayLike) -> float:
    """PA of one metric: the share of system pairs that it orders as people do (Kocmi et al. 2021)."""
    both = np.stack(complete_segments(human, metric))
    by_people, by_metric = difference_signs(both)
    return float((by_people == by_metric).mean())


def mean_over_pairs(agreed: FloatArray, chosen: NDArray[np.int64], systems: int) -> FloatArray:
    """Means `[metrics, trials]` of what pairs contribute, `[metrics, pairs]`, over the pairs chosen."""
    inside = np.zeros((len(chosen), systems), dtype=np.bool_)
    np.put_along_axis(inside, chosen, values=True, axis=1)
    first, second = np.triu_indices(systems, 1)
    pairs = (inside[:, first] & inside[:, second]).astype(np.float64)
    values: FloatArray = agreed @ pairs.T / pairs.sum(axis=1)
    return values


def complete_segments(human: ArrayLike, metric: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both as float64 `[systems, segments]`, without the segments where either lacks a score."""
    human = np.asarray(human, dtype=np.float64)
    metric = np.asarray(metric, dtype=np.float64)
    if human.shape != metric.shape:
        raise InputError(
            f"human scores have shape {human.shape}, metric scores {metric.shape}: they must agree."
        )
    if human.ndim != 2 or human.shape[0] < 2:
        raise InputError(
            f"scores of at least two systems are needed, [systems, segments]; got {human.shape}."
        )
    if np.isinf(human).any() or np.isinf(metric).any():
        raise InputError("a score is infinite.", remedy="Leave a score that does not exist as NaN.")
    complete = ~(np.isnan(human) | np.isnan(metric)).any(axis=0)
    if not complete.any():
        raise InputError("no segment has a human and a metric score of every system.")
    return human[:, complete], metric[:, complete]


def _same_order(judged: Judged) -> NDArray[np.bool_]:
    """Whether each metric orders each pair of systems as people do, `[metrics, pairs]`."""
    signs = difference_signs(np.concatenate([judged.human[None], judged.metrics]))
    return np.asarray(signs[1:] == signs[0])
