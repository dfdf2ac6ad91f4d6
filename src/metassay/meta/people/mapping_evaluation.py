"""Evaluate mappings of metric scores to the human scale on held-out folds (`depend --correct`).

Every fold is evaluated by itself, and values are means over folds: SPA and PA of the order of systems,
Kendall's tau within items, the share of pairs of outputs that only the mapping ties, and how unequally
systems are favoured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.intervals import percentile_interval
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.results.base import to_optional
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.random import CORRECTION_DRAWS, make_branch_generator

RAW, POOLED, UNSEEN, OWN = "raw", "f_G", "f_G unseen", "f_k"
"""Scores as they are; mapped by f_G; by an f_G fitted without the two systems; by the f_k of each system."""
_TIE_TOLERANCE = 1e-12


class MappedScores(Protocol):
    """Scores of one metric, mapped to the human scale."""

    @property
    def pooled_scores(self) -> FloatArray:
        """Scores mapped by f_G, `[systems, items]`."""
        ...

    @property
    def system_scores(self) -> FloatArray:
        """Scores mapped by the f_k of each system, `[systems, items]`."""
        ...

    @property
    def unseen_differences(self) -> FloatArray:
        """Differences of two systems under an f_G fitted without both, `[pairs, items]`."""
        ...

    @property
    def folds(self) -> LongArray:
        """The fold of each item."""
        ...


@dataclass(frozen=True)
class MappingEvaluation:
    """How well mapped scores agree with human scores; gains, with 95 % intervals, are relative to `raw`."""

    mapping: str
    segments: int
    spa: float | None
    spa_gain: float | None
    spa_low: float | None
    spa_high: float | None
    pa: float | None
    pa_gain: float | None
    pa_low: float | None
    pa_high: float | None
    kendall_item: float | None
    tied: float | None
    """Of the pairs of outputs with different metric scores, the share whose mapped scores are equal."""
    sysdep: float | None
    """Range over systems of the mean difference between mapped and human scores, averaged over folds."""


@dataclass(frozen=True)
class _Gain:
    """A meta-metric of a mapping, and its gain over the raw scores with its 95 % interval."""

    value: float | None
    gain: float | None = None
    low: float | None = None
    high: float | None = None


class MappingEvaluator:
    """Evaluates mappings of any metric against the same human scores `[systems, items]` and resamples."""

    def __init__(self, human: FloatArray, clusters: LongArray, *, draws: int, seed: int) -> None:
        count = int(clusters.max()) + 1
        rng = make_branch_generator(seed, CORRECTION_DRAWS)
        cluster_weights = rng.multinomial(count, np.full(count, 1 / count), size=draws)
        self._human = human
        # the first row is the data itself
        self._weights = np.concatenate([np.ones((1, len(clusters))), cluster_weights[:, clusters]])

    def evaluate(self, metric: FloatArray, mapped: MappedScores) -> list[MappingEvaluation]:
        """Evaluate each mapping of one metric, on the items that are complete.

        Empty if fewer than two systems are rated, or no item is complete.
        """
        rated = np.flatnonzero(~(np.isnan(self._human) | np.isnan(metric)).all(axis=1))
        all_scores = (
            self._human[rated] + metric[rated] + mapped.pooled_scores[rated] + mapped.system_scores[rated]
        )
        is_complete = ~np.isnan(all_scores).any(axis=0)
        if len(rated) < 2 or not is_complete.any():
            return []
        items = np.flatnonzero(is_complete)
        cells = np.ix_(rated, items)
        human = self._human[cells]
        scores = {RAW: metric[cells], POOLED: mapped.pooled_scores[cells], OWN: mapped.system_scores[cells]}
        folds = mapped.folds[items]
        weights = self._weights[:, items]

        first, second = np.triu_indices(len(rated), 1)
        human_differences = human[first] - human[second]
        differences = {name: array[first] - array[second] for name, array in scores.items()}
        differences[UNSEEN] = mapped.unseen_differences[
            np.ix_(_find_pair_positions(len(self._human), rated), items)
        ]
        stacked = {}
        for name in (RAW, POOLED, UNSEEN, OWN):
            is_tie = np.abs(differences[name]) < _TIE_TOLERANCE
            stacked[name] = np.stack([human_differences, np.where(is_tie, 0.0, differences[name])])
        spa = {name: _average_over_folds("spa", pairs, folds, weights) for name, pairs in stacked.items()}
        pa = {name: _average_over_folds("pa", pairs, folds, weights) for name, pairs in stacked.items()}
        kendall = _compute_item_kendall(human, scores)

        evaluations = []
        for name in stacked:
            spa_gain = _estimate_gain(spa, name)
            pa_gain = _estimate_gain(pa, name)
            evaluations.append(
                MappingEvaluation(
                    mapping=name,
                    segments=len(items),
                    spa=spa_gain.value,
                    spa_gain=spa_gain.gain,
                    spa_low=spa_gain.low,
                    spa_high=spa_gain.high,
                    pa=pa_gain.value,
                    pa_gain=pa_gain.gain,
                    pa_low=pa_gain.low,
                    pa_high=pa_gain.high,
                    kendall_item=kendall.get(name),
                    tied=None if name == UNSEEN else _share_of_new_ties(differences[RAW], differences[name]),
                    sysdep=_deviation_range(human, scores[name], folds) if name in {POOLED, OWN} else None,
                )
            )
        return evaluations


def _average_over_folds(
    meta_metric: str, differences: FloatArray, folds: LongArray, weights: FloatArray
) -> FloatArray:
    """Compute SPA or PA on each fold and return the mean over folds, `[1 + draws]`."""
    measure = parse_meta_metric(meta_metric)
    by_fold = [measure.compute_with_gaps(differences, weights * (folds == fold)) for fold in np.unique(folds)]
    mean: FloatArray = np.mean(by_fold, axis=0)
    return mean


def _find_pair_positions(systems: int, rated: LongArray) -> LongArray:
    """Find the positions of the pairs of rated systems among all pairs of systems."""
    positions = np.full((systems, systems), -1)
    positions[np.triu_indices(systems, 1)] = np.arange(systems * (systems - 1) // 2)
    first, second = np.triu_indices(len(rated), 1)
    pair_positions: LongArray = positions[rated[first], rated[second]]
    return pair_positions


def _estimate_gain(values: Mapping[str, FloatArray], mapping: str) -> _Gain:
    """Estimate the gain of a mapping; `values` are `[1 + draws]`, that of the data itself first."""
    value = to_optional(float(values[mapping][0]))
    if mapping == RAW:
        return _Gain(value)
    gains = values[mapping] - values[RAW]
    low, high = percentile_interval(gains[1:])
    return _Gain(value, to_optional(float(gains[0])), to_optional(float(low)), to_optional(float(high)))


def _compute_item_kendall(human: FloatArray, scores: Mapping[str, FloatArray]) -> dict[str, float | None]:
    """Compute Kendall's tau within items, for each mapping."""
    values = parse_meta_metric("kendall:item").compute(ScoreArrays(human, np.stack(list(scores.values()))))
    return {name: to_optional(float(value)) for name, value in zip(scores, values)}


def _share_of_new_ties(raw: FloatArray, mapped: FloatArray) -> float | None:
    is_different = raw != 0
    if not is_different.any():
        return None
    return float((np.abs(mapped[is_different]) < _TIE_TOLERANCE).mean())


def _deviation_range(human: FloatArray, mapped: FloatArray, folds: LongArray) -> float:
    """Average over folds the range of the systems' mean deviations from human scores."""
    ranges = []
    for fold in np.unique(folds):
        deviations = (mapped - human)[:, folds == fold].mean(axis=1)
        ranges.append(deviations.max() - deviations.min())
    return float(np.mean(ranges))
