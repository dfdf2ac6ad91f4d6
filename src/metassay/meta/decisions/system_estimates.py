"""Estimate the human score of every system, all differences between systems, and their ranks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from metassay.meta.decisions.control_variates import (
    LabelledSample,
    MeanEstimates,
    estimate_mean_human_scores,
)
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import LabelSavingChoice
from metassay.results.base import Interval, none_if_nan
from metassay.results.estimate import SystemDifference, SystemEstimate
from metassay.stats.arrays import FloatArray
from metassay.stats.labels_saved import compute_system_differences, estimate_labels_saved
from metassay.stats.multiplicity import adjust_p_values_by_holm


@dataclass(frozen=True)
class EstimatedSystems:
    """The estimated mean human score of each system, and the estimated differences between systems."""

    systems: list[SystemEstimate]
    differences: list[SystemDifference]


def estimate_system_scores(
    labelled_scores: LabelledScores,
    metric_choice: LabelSavingChoice,
    *,
    target: str,
    seed: int,
    resamples: int = 1000,
) -> EstimatedSystems:
    """Estimate the mean human score of every system, and all differences, from labels of some items.

    The intervals of the differences are simultaneous: with probability 95 % all of them are right at once.
    The rank of a system is between 1 + the systems that are above it by these intervals, and the number of
    systems − those below it.
    """
    metric = None if metric_choice.metric is None else labelled_scores.metrics[metric_choice.metric]
    labels_only = estimate_human_means_from_labelled_items(
        labelled_scores, labelled_scores.human, None, target, seed, resamples
    )
    with_metric = labels_only
    if metric is not None:
        with_metric = estimate_human_means_from_labelled_items(
            labelled_scores, labelled_scores.human, metric, target, seed, resamples
        )
    order = sorted(range(len(labelled_scores.systems)), key=lambda system: -with_metric.values[system])
    metric_of_differences = metric if metric_choice.use_for_differences else None
    differences = _estimate_system_differences(
        labelled_scores, metric_of_differences, order, target, seed, resamples
    )
    shares_saved = [_estimate_labels_saved_for_system(labelled_scores, metric, system) for system in order]
    ranks = _find_best_and_worst_possible_ranks(
        [labelled_scores.systems[system] for system in order], differences
    )
    labels_only_intervals = _list_means_with_intervals(labels_only)
    metric_intervals = _list_means_with_intervals(with_metric)
    labelled_counts = (~np.isnan(labelled_scores.human)).sum(axis=1)
    systems = []
    for system, share, (rank_low, rank_high) in zip(order, shares_saved, ranks):
        estimate = SystemEstimate(
            system=labelled_scores.systems[system],
            items=len(labelled_scores.items),
            labelled=int(labelled_counts[system]),
            labels_only=labels_only_intervals[system],
            estimate=metric_intervals[system],
            labels_saved=share,
            rank_low=rank_low,
            rank_high=rank_high,
        )
        systems.append(estimate)
    return EstimatedSystems(systems, differences)


def estimate_human_means_from_labelled_items(
    labelled_scores: LabelledScores,
    human_scores: FloatArray,
    metric_scores: FloatArray | None,
    target_population: str,
    seed: int,
    resample_count: int = 1000,
) -> MeanEstimates:
    """Estimate mean human scores from human labels of some items.

    If a metric scored all items, its scores make the estimates more precise.
    """
    sample = LabelledSample(
        human=human_scores,
        metric=metric_scores,
        unit_of_item=labelled_scores.unit_of_item,
        probabilities=labelled_scores.probabilities,
    )
    return estimate_mean_human_scores(
        sample,
        target=target_population,
        generator=np.random.default_rng(seed),
        resamples=resample_count,
    )


def _estimate_system_differences(
    labelled_scores: LabelledScores,
    metric_scores: FloatArray | None,
    systems_best_first: list[int],
    target_population: str,
    seed: int,
    resample_count: int,
) -> list[SystemDifference]:
    """Estimate the difference in mean human score between every two systems.

    Only items with labels for both systems are used.
    """
    if len(systems_best_first) < 2:
        return []
    human_differences = compute_system_differences(labelled_scores.human[systems_best_first])
    metric_differences = (
        None if metric_scores is None else compute_system_differences(metric_scores[systems_best_first])
    )
    estimates = estimate_human_means_from_labelled_items(
        labelled_scores, human_differences, metric_differences, target_population, seed, resample_count
    )
    lows, highs = estimates.compute_simultaneous_intervals()
    p_values = adjust_p_values_by_holm(estimates.compute_p_values_of_zero_means())
    names = [labelled_scores.systems[system] for system in systems_best_first]
    differences = []
    for position, (better, worse) in enumerate(combinations(names, 2)):
        difference = SystemDifference(
            a=better,
            b=worse,
            difference=none_if_nan(estimates.values[position]),
            low=none_if_nan(lows[position]),
            high=none_if_nan(highs[position]),
            p_holm=none_if_nan(p_values[position]),
        )
        differences.append(difference)
    return differences


def _list_means_with_intervals(system_estimates: MeanEstimates) -> list[Interval]:
    """List the estimated mean human score of each system with its 95 % interval."""
    lows, highs = system_estimates.compute_confidence_intervals_of_means()
    return [
        Interval(none_if_nan(value), none_if_nan(low), none_if_nan(high))
        for value, low, high in zip(system_estimates.values, lows, highs)
    ]


def _estimate_labels_saved_for_system(
    labelled_scores: LabelledScores, metric_scores: FloatArray | None, system_index: int
) -> float | None:
    """Estimate the share of human labels that a metric makes unnecessary for the mean of one system.

    It is 0 without a metric.
    """
    if metric_scores is None:
        return 0.0
    labelled = ~np.isnan(labelled_scores.human[system_index])
    share = estimate_labels_saved(
        labelled_scores.human[[system_index]][:, labelled],
        metric_scores[[system_index]][:, labelled],
        labelled_scores.unit_of_item[labelled],
    )
    return none_if_nan(share.value)


def _find_best_and_worst_possible_ranks(
    systems: list[str], differences: list[SystemDifference]
) -> list[tuple[int, int]]:
    """Find the best and worst possible rank of each system from intervals of the differences.

    Rank 1 is best.
    """
    above = dict.fromkeys(systems, 0)
    below = dict.fromkeys(systems, 0)
    for pair in differences:
        if pair.low is not None and pair.low > 0:
            above[pair.b] += 1
            below[pair.a] += 1
        elif pair.high is not None and pair.high < 0:
            above[pair.a] += 1
            below[pair.b] += 1
    return [(1 + above[system], len(systems) - below[system]) for system in systems]
