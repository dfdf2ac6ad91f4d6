"""PA and SPA where systems were not rated on the same segments: each pair of systems on what both have.

By default a segment counts only if every system has its scores there. Where raters saw different segments of
different systems that leaves nothing; then each pair of systems can be compared on its own segments, people
and metric on the same ones. Pairs without a common segment are left out. p-values are the normal ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.errors import InputError
from metassay.meta.people.meta_metrics import MetaMetric
from metassay.meta.people.pairwise import agreement
from metassay.stats.arrays import FloatArray
from metassay.stats.random import PAIRWISE_DELETION, branch
from metassay.stats.sign_flip import TIE, upper_tail


@dataclass(frozen=True)
class Deletion:
    """The value of one metric, its 95 % interval, and on what it rests; NaN where no pair has a segment."""

    value: float
    low: float
    high: float
    segments: int
    pairs: int


def pairwise_deletion(
    meta: MetaMetric, human: FloatArray, metric: FloatArray, *, draws: int = 1000, seed: int = 0
) -> Deletion:
    """PA or SPA of `[systems, segments]` scores with gaps, NaN where there is no score."""
    if meta.name not in {"spa", "pa"}:
        raise InputError(f"{meta} needs complete segments.", remedy="Pairwise deletion is for spa and pa.")
    first, second = np.triu_indices(len(human), 1)
    people, ours = human[first] - human[second], metric[first] - metric[second]
    both = ~(np.isnan(people) | np.isnan(ours))
    used = both.any(axis=1)
    if not used.any():
        return Deletion(np.nan, np.nan, np.nan, 0, 0)
    differences = np.stack([np.where(both, d, 0.0)[used] for d in (people, ours)])
    segments = human.shape[1]
    rng = branch(seed, PAIRWISE_DELETION)
    weights = rng.multinomial(segments, np.full(segments, 1 / segments), size=draws).astype(np.float64)
    low, high = np.quantile(_values(meta, differences, weights), [0.025, 0.975])
    value = _values(meta, differences, np.ones((1, segments)))[0]
    return Deletion(float(value), float(low), float(high), int(both.any(axis=0).sum()), int(used.sum()))


def _values(meta: MetaMetric, differences: FloatArray, weights: FloatArray) -> FloatArray:
    """The meta-metric under weights `[draws, segments]`; differences `[2, pairs, segments]` are 0 in gaps."""
    sums = [weights @ d.T for d in differences]
    squares = [weights @ (d * d).T for d in differences]
    if meta.name == "spa":
        p_human, p_metric = (upper_tail(s, q) for s, q in zip(sums, squares))
        return agreement(p_human, p_metric)
    size = [TIE * np.sqrt(weights.sum(axis=1)[:, None] * q) for q in squares]
    signs = [np.where(np.abs(s) <= tolerance, 0.0, np.sign(s)) for s, tolerance in zip(sums, size)]
    same: FloatArray = (signs[0] == signs[1]).mean(axis=1)
    return same
