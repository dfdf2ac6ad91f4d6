"""What every metric said of every pair of a better and a worse output, and the contexts the pairs lie in.

Weights for outputs: how likely an output is in its context.

Local accuracy counts all outputs alike; yet "different outputs have different probabilities of occurring in a
specific context" (Deviyani and Diaz, 2024). Weights by density let typical outputs count more than odd ones.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.stats.arrays import FloatArray, IntArray
from metassay.stats.compilation import kernel
from metassay.stats.rank_correlation import STATISTICS

OutcomeArray = NDArray[np.int8]

RIGHT, TIE, WRONG, MISSING = 1, 0, -1, -2

_BLOCK = 1 << 20  # pairs at a time; their counts stay exact in float32
GLOBAL = "global"
"""The context of all outputs together."""


@dataclass(frozen=True)
class Judgements:
    """Outcomes of metrics on pairs: right, tie, wrong, or missing where a score is undefined.

    `outcome` is [metrics, pairs]. Of each pair, `output` is the better output, `item` the input it answers,
    `cluster` the independent unit that holds the item, `method` how the worse output was made; they are codes
    into sorted lists that the caller keeps, so that results do not depend on the order of the pairs.
    An output belongs to one item, an item to one cluster. `weights` are positive, one per output (repeated
    on its pairs); None weighs all alike.
    """

    metrics: tuple[str, ...]
    methods: tuple[str, ...]
    outcome: OutcomeArray
    item: IntArray
    output: IntArray
    cluster: IntArray
    method: IntArray
    weights: FloatArray | None = None
    pairs: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcome", np.ascontiguousarray(self.outcome, dtype=np.int8))
        for name in ("item", "output", "cluster", "method"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.int32))
        if self.weights is not None:
            object.__setattr__(self, "weights", np.ascontiguousarray(self.weights, dtype=np.float64))
        object.__setattr__(self, "pairs", self.item.shape[0])
        self._check_shapes()
        self._check_values()

    def _check_shapes(self) -> None:
        if len(set(self.metrics)) < len(self.metrics):
            raise InputError("a metric is named twice.")
        if self.outcome.shape != (len(self.metrics), self.pairs):
            expected = f"{len(self.metrics)} metrics × {self.pairs} pairs"
            raise InputError(f"outcomes have shape {self.outcome.shape}, not {expected}.")
        columns = [self.output, self.cluster, self.method]
        if any(column.shape != (self.pairs,) for column in columns):
            raise InputError("item, output, cluster and method need one code for each pair.")
        if self.weights is not None and self.weights.shape != (self.pairs,):
            raise InputError("weights need one number for each pair.")

    def _check_values(self) -> None:
        if self.pairs == 0:
            return
        if self.outcome.size and (self.outcome.min() < MISSING or self.outcome.max() > RIGHT):
            raise InputError("an outcome is none of right, tie, wrong and missing.")
        if min(self.item.min(), self.output.min(), self.cluster.min(), self.method.min()) < 0:
            raise InputError("codes of items, outputs, clusters and methods start at 0.")
        if self.method.max() >= len(self.methods):
            raise InputError("a pair has a method without a name.")
        if self.weights is not None and not (np.isfinite(self.weights) & (self.weights > 0)).all():
            raise InputError("weights must be positive and finite.")
        if not single_valued(self.output, self.item):
            raise InputError("an output belongs to two items.")
        if not single_valued(self.item, self.cluster):
            remedy = "A cluster is an item, or a group of whole items such as a document."
            raise InputError("an item belongs to two clusters.", remedy=remedy)

    def select(self, metrics: NDArray[np.int64]) -> Judgements:
        """The same pairs with the metrics at the given places."""
        names = tuple(self.metrics[m] for m in metrics)
        first = slice(len(metrics)) if (metrics == np.arange(len(metrics))).all() else metrics
        return replace(self, metrics=names, outcome=self.outcome[first])

    def take(self, chosen: NDArray[np.bool_] | IntArray | NDArray[np.int64]) -> Judgements:
        """The same metrics on the chosen pairs, in the order chosen."""
        if chosen.dtype == np.bool_ and chosen.all():
            return self
        return Judgements(
            metrics=self.metrics,
            methods=self.methods,
            outcome=self.outcome[:, chosen],
            item=self.item[chosen],
            output=self.output[chosen],
            cluster=self.cluster[chosen],
            method=self.method[chosen],
            weights=None if self.weights is None else self.weights[chosen],
        )


@dataclass(frozen=True)
class Contexts:
    """A way to divide the pairs: `codes` index `values`, one per pair; -1 for a pair in no context.

    A context is a set of outputs, so all pairs of an output lie in the same one.
    """

    name: str
    values: tuple[str, ...]
    codes: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", np.ascontiguousarray(self.codes, dtype=np.int32))
        if len(set(self.values)) < len(self.values):
            raise InputError(f"contexts of {self.name} are not distinct.")
        outside = self.codes.size and (self.codes.min() < -1 or self.codes.max() >= len(self.values))
        if self.codes.ndim != 1 or outside:
            raise InputError(f"a pair has a context of {self.name} without a name.")

    def occupied(self) -> Contexts:
        """The same without the values that no pair has."""
        seen = np.zeros(len(self.values) + 1, dtype=np.bool_)  # the last serves code -1
        seen[self.codes] = True
        used = np.flatnonzero(seen[:-1])
        if len(used) == len(self.values):
            return self
        if len(used) == 0:
            raise InputError(f"no pair lies in a context of {self.name}.")
        place = np.full(len(self.values) + 1, -1, dtype=np.int32)  # the last serves code -1
        place[used] = np.arange(len(used))
        return Contexts(self.name, tuple(self.values[value] for value in used), place[self.codes])

    def only(self, chosen: NDArray[np.bool_]) -> Contexts:
        """The same, pairs of contexts that were not chosen being in none."""
        if chosen.all():
            return self
        inside = np.append(chosen, False)[self.codes]  # the last serves code -1
        return Contexts(self.name, self.values, np.where(inside, self.codes, -1))


def judge(better: FloatArray, worse: FloatArray, tie_tolerance: FloatArray) -> OutcomeArray:
    """Outcomes from scores oriented to higher-is-better, [metrics, pairs] each.

    A difference of at most the metric's tolerance is a tie; a score that is NaN makes the pair missing.

    >>> judge(np.array([[1.0, 0.5, np.nan]]), np.array([[0.0, 0.5, 1.0]]), np.array([0.0])).tolist()
    [[1, 0, -2]]
    """
    better, worse = np.asarray(better, dtype=np.float64), np.asarray(worse, dtype=np.float64)
    tolerance = np.asarray(tie_tolerance, dtype=np.float64)
    if better.shape != worse.shape or better.ndim != 2 or tolerance.shape != better.shape[:1]:
        raise InputError("scores need the shape metrics × pairs on both sides, and one tolerance per metric.")
    if np.isinf(better).any() or np.isinf(worse).any():
        raise InputError("a score is infinite.")
    outcome = np.empty(better.shape, dtype=np.int8)
    for row in range(len(better)):  # one metric at a time keeps memory at one row of differences
        difference = better[row] - worse[row]
        outcome[row] = (difference > tolerance[row]).astype(np.int8) - (difference < -tolerance[row])
        outcome[row][np.isnan(difference)] = MISSING
    return outcome


def single_valued(keys: IntArray, values: IntArray) -> bool:
    """Whether each key goes with one value only."""
    return bool(_single_valued(keys, values, np.full(int(keys.max()) + 1, MISSING, dtype=np.int32)))


@kernel
def _single_valued(keys: IntArray, values: IntArray, seen: IntArray) -> bool:
    """The same; `seen` has room for every key, and no value yet."""
    for place in range(len(keys)):
        if seen[keys[place]] == MISSING:
            seen[keys[place]] = values[place]
        elif seen[keys[place]] != values[place]:
            return False
    return True


def check_pairs(
    judgements: Judgements, contexts: Sequence[Contexts], agreement: str, sentinels: Collection[str]
) -> None:
    """An error where these pairs cannot be assayed in these contexts, or by this agreement of ranks."""
    if agreement not in STATISTICS:
        raise UnknownName("rank agreement", agreement, STATISTICS)
    if judgements.pairs == 0:
        raise InputError("there are no pairs to judge.", remedy="No perturbation applied to any output.")
    if not set(judgements.metrics) - set(sentinels):
        raise InputError("there is no metric to assay.")
    for each in contexts:
        if each.codes.shape != (judgements.pairs,):
            raise InputError(f"contexts of {each.name} need one code for each pair.")
        if GLOBAL in each.values:
            remedy = "That name means all outputs together: rename the value."
            raise InputError(f"a context of {each.name} is called {GLOBAL!r}.", remedy=remedy)
        if not single_valued(judgements.output, each.codes):
            raise InputError(f"an output lies in two contexts of {each.name}.")


def phi_coefficients(judgements: Judgements) -> FloatArray:
    """Correlation of being right, [metrics, metrics], over the pairs that both metrics scored.

    1: two metrics err on exactly the same pairs; near 0: their errors are unrelated, and a vote of both gains
    most. NaN where a metric is always right or never.
    """
    count = len(judgements.metrics)
    both, first, joint = (np.zeros((count, count)) for _ in range(3))
    for start in range(0, judgements.pairs, _BLOCK):
        outcome = judgements.outcome[:, start : start + _BLOCK]
        scored, right = (outcome != MISSING).astype(np.float32), (outcome == RIGHT).astype(np.float32)
        both += scored @ scored.T
        first += right @ scored.T  # right in the row's metric, scored by the column's
        joint += right @ right.T
    covariance = both * joint - first * first.T
    spread = np.sqrt(first * (both - first)) * np.sqrt(first.T * (both - first.T))
    phi = np.full((count, count), np.nan)
    np.divide(covariance, spread, out=phi, where=spread > 0)
    return phi


def same_decisions(judged: Sequence[Judgements]) -> tuple[tuple[str, ...], ...]:
    """Groups of metrics that decided every pair alike, such as `wil` and `wip`: one opinion each."""
    groups: dict[bytes, list[str]] = {}
    for m, metric in enumerate(judged[0].metrics):
        key = blake2b(digest_size=16)
        for each in judged:
            key.update(np.ascontiguousarray(each.outcome[m]).tobytes())
        groups.setdefault(key.digest(), []).append(metric)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


_CENTRES = 2000  # kernels per context: more change the density little and cost time in proportion


def density_weights(features: FloatArray, codes: IntArray) -> FloatArray:
    """Weight of each output: the density of its context at its features, with mean 1 within the context.

    `features` is [outputs, features], scaled here to unit variance over all outputs; `codes` are the outputs'
    contexts, -1 for none (weight 1). The density is a Gaussian kernel estimate with Scott's bandwidth,
    n^(-1 / (d + 4)); a feature that does not vary is left out.
    """
    features = np.asarray(features, dtype=np.float64)
    if features.ndim != 2 or len(features) != len(codes):
        raise InputError("features need the shape outputs × features, and one context code for each output.")
    if not np.isfinite(features).all():
        raise InputError("a feature is missing or infinite.", remedy="Fill it in or leave the feature out.")
    spread = features.std(axis=0)
    scaled = (features[:, spread > 0] - features[:, spread > 0].mean(axis=0)) / spread[spread > 0]
    weights = np.ones(len(features))
    for context in np.unique(codes[codes >= 0]):
        members = np.flatnonzero(codes == context)
        density = _kernel_density(scaled[members])
        weights[members] = density / density.mean()
    return weights


def _kernel_density(points: FloatArray) -> FloatArray:
    """Gaussian kernel density at the points themselves, up to a constant factor."""
    count, dimensions = points.shape
    if dimensions == 0 or count < 2:
        return np.ones(count)
    width = count ** (-1 / (dimensions + 4)) * max(float(points.std(axis=0).mean()), 1e-3)
    chosen = np.linspace(0, count - 1, min(count, _CENTRES)).round().astype(np.int64)
    centres = points[np.lexsort(points.T[::-1])][chosen]  # evenly through the sorted points: no random choice
    density = np.empty(count)
    for start in range(0, count, _CENTRES):
        part = points[start : start + _CENTRES]
        squares = ((part[:, None, :] - centres) ** 2).sum(axis=2)
        density[start : start + _CENTRES] = np.exp(-squares / (2 * width**2)).mean(axis=1)
    return density
