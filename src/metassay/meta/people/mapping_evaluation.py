"""Evaluate mappings of metric scores to the human scale on held-out folds (`depend --correct`).

Every fold is evaluated by itself, and values are means over folds: SPA and PA of the order of systems,
Kendall's tau within items, the share of pairs of outputs that only the mapping ties, and how unequally
systems are favoured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.results.base import none_if_nan
from metassay.results.depend import Correction
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.intervals import percentile_interval_or_nan
from metassay.stats.random import CORRECTION_DRAWS, spawn_random_generator

# Scores as they are; mapped by f_G; by an f_G fitted without the two systems; by the f_k of each system.
RAW, POOLED, UNSEEN, OWN = "raw", "f_G", "f_G unseen", "f_k"
# Isotonic functions are flat in parts: outputs on the same part differ by rounding only.
_TIE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class _AgreementGain:
    """How well converted metric scores agree with human scores, and how much better than the original scores,
    with a 95 % interval.
    """

    value: float | None
    gain: float | None = None
    low: float | None = None
    high: float | None = None


class MappingEvaluator:
    """Measures how well metric scores agree with human scores after metric scores are converted to the scale
    of human scores.
    """

    def __init__(self, human: FloatArray, clusters: LongArray, *, draws: int, seed: int) -> None:
        count = int(clusters.max()) + 1
        rng = spawn_random_generator(seed, CORRECTION_DRAWS)
        cluster_weights = rng.multinomial(count, np.full(count, 1 / count), size=draws)
        self._human = human
        # the first row is the data itself
        self._weights = np.concatenate([np.ones((1, len(clusters))), cluster_weights[:, clusters]])

    def evaluate_score_conversions(
        self,
        metric_scores: FloatArray,
        *,
        pooled_scores: FloatArray,
        system_scores: FloatArray,
        unseen_differences: FloatArray,
        folds: LongArray,
        dataset: str,
        metric: str,
        is_baseline: bool,
    ) -> list[Correction]:
        """Compute how well the scores of one metric agree with human scores, before and after each kind of
        conversion to the scale of human scores.

        `pooled_scores` are mapped by one function for all systems, `system_scores` by one for each system,
        both `[systems, items]`. `unseen_differences` `[pairs, items]` are differences of two systems, mapped
        by a function fitted to the other systems. `folds` is the cross-validation fold of each item. Empty if
        fewer than two systems are rated, or no item is complete.
        """
        rated = np.flatnonzero(~(np.isnan(self._human) | np.isnan(metric_scores)).all(axis=1))
        all_scores = self._human[rated] + metric_scores[rated] + pooled_scores[rated] + system_scores[rated]
        is_complete = ~np.isnan(all_scores).any(axis=0)
        if len(rated) < 2 or not is_complete.any():
            return []
        items = np.flatnonzero(is_complete)
        cells = np.ix_(rated, items)
        human = self._human[cells]
        scores = {
            RAW: metric_scores[cells],
            POOLED: pooled_scores[cells],
            OWN: system_scores[cells],
        }
        folds = folds[items]
        weights = self._weights[:, items]

        first, second = np.triu_indices(len(rated), 1)
        human_differences = human[first] - human[second]
        differences = {name: array[first] - array[second] for name, array in scores.items()}
        rated_pairs = _find_positions_of_rated_system_pairs(len(self._human), rated)
        differences[UNSEEN] = unseen_differences[np.ix_(rated_pairs, items)]
        stacked = {}
        for name in (RAW, POOLED, UNSEEN, OWN):
            is_tie = np.abs(differences[name]) < _TIE_TOLERANCE
            stacked[name] = np.stack([human_differences, np.where(is_tie, 0.0, differences[name])])
        spa = {
            name: _average_meta_metric_over_folds("spa", pairs, folds, weights)
            for name, pairs in stacked.items()
        }
        pa = {
            name: _average_meta_metric_over_folds("pa", pairs, folds, weights)
            for name, pairs in stacked.items()
        }
        kendall = _compute_kendall_tau_within_items(human, scores)

        evaluations = []
        for name in stacked:
            spa_gain = _estimate_gain_of_score_conversion(spa, name)
            pa_gain = _estimate_gain_of_score_conversion(pa, name)
            evaluations.append(
                Correction(
                    dataset=dataset,
                    metric=metric,
                    baseline=is_baseline,
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
                    tied=None
                    if name == UNSEEN
                    else _compute_share_of_pairs_tied_by_conversion(differences[RAW], differences[name]),
                    sysdep=_average_range_of_system_errors(human, scores[name], folds)
                    if name in {POOLED, OWN}
                    else None,
                )
            )
        return evaluations


def _average_meta_metric_over_folds(
    meta_metric: str, score_differences: FloatArray, folds: LongArray, item_weights: FloatArray
) -> FloatArray:
    """Compute a meta-metric on each cross-validation fold, and average over folds. Returns the value for
    the data, followed by those for resamples.
    """
    measure = parse_meta_metric(meta_metric)
    by_fold = []
    for fold in np.unique(folds):
        by_fold.append(
            measure.evaluate_with_missing_scores(score_differences, item_weights * (folds == fold))
        )
    mean: FloatArray = np.mean(by_fold, axis=0)
    return mean


def _find_positions_of_rated_system_pairs(system_count: int, rated_systems: LongArray) -> LongArray:
    """Return the positions of the pairs of rated systems in the list of all pairs of systems."""
    positions = np.full((system_count, system_count), -1)
    positions[np.triu_indices(system_count, 1)] = np.arange(system_count * (system_count - 1) // 2)
    first, second = np.triu_indices(len(rated_systems), 1)
    pair_positions: LongArray = positions[rated_systems[first], rated_systems[second]]
    return pair_positions


def _estimate_gain_of_score_conversion(
    values_by_mapping: Mapping[str, FloatArray], mapping: str
) -> _AgreementGain:
    """Estimate how much better converted metric scores agree with human scores than the original ones, with
    an interval from resamples.
    """
    value = none_if_nan(float(values_by_mapping[mapping][0]))
    if mapping == RAW:
        return _AgreementGain(value)
    gains = values_by_mapping[mapping] - values_by_mapping[RAW]
    low, high = percentile_interval_or_nan(gains[1:])
    return _AgreementGain(
        value, none_if_nan(float(gains[0])), none_if_nan(float(low)), none_if_nan(float(high))
    )


def _compute_kendall_tau_within_items(
    human_scores: FloatArray, scores_by_mapping: Mapping[str, FloatArray]
) -> dict[str, float | None]:
    """Compute Kendall's tau between human and metric scores over the systems of each item, averaged over
    items. Returns one value for each kind of conversion of the metric scores.
    """
    values = parse_meta_metric("kendall:item").evaluate_metrics(
        ScoreArrays(human_scores, np.stack(list(scores_by_mapping.values())))
    )
    return {name: none_if_nan(float(value)) for name, value in zip(scores_by_mapping, values)}


def _compute_share_of_pairs_tied_by_conversion(
    raw_differences: FloatArray, mapped_differences: FloatArray
) -> float | None:
    """Compute among pairs of outputs with different metric scores the share that has equal scores after
    conversion. Returns None if there is no such pair.
    """
    is_different = raw_differences != 0
    if not is_different.any():
        return None
    return float((np.abs(mapped_differences[is_different]) < _TIE_TOLERANCE).mean())


def _average_range_of_system_errors(
    human_scores: FloatArray, mapped_scores: FloatArray, folds: LongArray
) -> float:
    """Compute the mean error of converted scores for each system, and the difference between the largest and
    the smallest. Averages over cross-validation folds.
    """
    ranges = []
    for fold in np.unique(folds):
        deviations = (mapped_scores - human_scores)[:, folds == fold].mean(axis=1)
        ranges.append(deviations.max() - deviations.min())
    return float(np.mean(ranges))
