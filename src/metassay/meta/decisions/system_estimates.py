"""Estimate the human score of every system, all differences between systems, and their ranks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from metassay.meta.decisions.control_variates import LabelledSample, SeriesEstimates, estimate_means
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import MetricChoice
from metassay.results.base import Interval, to_optional
from metassay.results.estimate import SystemDifference, SystemEstimate
from metassay.stats.arrays import FloatArray
from metassay.stats.labels_saved import estimate_labels_saved, subtract_pairs
from metassay.stats.multiplicity import adjust_holm


@dataclass(frozen=True)
class EstimatedSystems:
    """All systems, best first, and the differences between them."""

    systems: list[SystemEstimate]
    differences: list[SystemDifference]


def estimate_systems(
    scores: LabelledScores, choice: MetricChoice, *, target: str, seed: int, resamples: int = 1000
) -> EstimatedSystems:
    """Estimate the mean human score of every system and the differences of all pairs.

    The intervals of the differences are simultaneous: with probability 95 % all of them are right at once.
    The rank of a system is between 1 + the systems that are above it by these intervals, and the number of
    systems − those below it.
    """
    metric = None if choice.metric is None else scores.metrics[choice.metric]
    labels_only = _estimate(scores, scores.human, None, target, seed, resamples)
    with_metric = labels_only
    if metric is not None:
        with_metric = _estimate(scores, scores.human, metric, target, seed, resamples)
    order = sorted(range(len(scores.systems)), key=lambda system: -with_metric.values[system])
    metric_of_differences = metric if choice.use_for_differences else None
    differences = _estimate_differences(scores, metric_of_differences, order, target, seed, resamples)
    shares_saved = [_share_saved(scores, metric, system) for system in order]
    ranks = _find_ranks([scores.systems[system] for system in order], differences)
    labels_only_intervals = _build_intervals(labels_only)
    metric_intervals = _build_intervals(with_metric)
    labelled_counts = (~np.isnan(scores.human)).sum(axis=1)
    systems = []
    for system, share, (rank_low, rank_high) in zip(order, shares_saved, ranks):
        estimate = SystemEstimate(
            system=scores.systems[system],
            items=len(scores.items),
            labelled=int(labelled_counts[system]),
            labels_only=labels_only_intervals[system],
            estimate=metric_intervals[system],
            labels_saved=share,
            rank_low=rank_low,
            rank_high=rank_high,
        )
        systems.append(estimate)
    return EstimatedSystems(systems, differences)


def _estimate(
    scores: LabelledScores,
    human: FloatArray,
    metric: FloatArray | None,
    target: str,
    seed: int,
    resamples: int,
) -> SeriesEstimates:
    """Estimate the means of series of human scores, with or without a metric."""
    sample = LabelledSample(
        human=human,
        metric=np.zeros_like(human) if metric is None else metric,
        unit_of_item=scores.unit_of_item,
        probabilities=scores.probabilities,
    )
    generator = np.random.default_rng(seed)
    return estimate_means(
        sample, use_metric=metric is not None, target=target, generator=generator, resamples=resamples
    )


def _estimate_differences(
    scores: LabelledScores,
    metric: FloatArray | None,
    order: list[int],
    target: str,
    seed: int,
    resamples: int,
) -> list[SystemDifference]:
    """Estimate the difference of each pair of systems on the items on which both are labelled."""
    if len(order) < 2:
        return []
    human_differences = subtract_pairs(scores.human[order])
    metric_differences = None if metric is None else subtract_pairs(metric[order])
    estimates = _estimate(scores, human_differences, metric_differences, target, seed, resamples)
    lows, highs = estimates.simultaneous_intervals()
    p_values = adjust_holm(estimates.p_values())
    names = [scores.systems[system] for system in order]
    differences = []
    for position, (better, worse) in enumerate(combinations(names, 2)):
        difference = SystemDifference(
            a=better,
            b=worse,
            difference=to_optional(estimates.values[position]),
            low=to_optional(lows[position]),
            high=to_optional(highs[position]),
            p_holm=to_optional(p_values[position]),
        )
        differences.append(difference)
    return differences


def _build_intervals(estimates: SeriesEstimates) -> list[Interval]:
    lows, highs = estimates.intervals()
    return [
        Interval(to_optional(value), to_optional(low), to_optional(high))
        for value, low, high in zip(estimates.values, lows, highs)
    ]


def _share_saved(scores: LabelledScores, metric: FloatArray | None, system: int) -> float | None:
    """Return the share of labels that a metric saves for the mean of one system; 0 without a metric."""
    if metric is None:
        return 0.0
    labelled = ~np.isnan(scores.human[system])
    share = estimate_labels_saved(
        scores.human[[system]][:, labelled], metric[[system]][:, labelled], scores.unit_of_item[labelled]
    )
    return to_optional(share.value)


def _find_ranks(systems: list[str], differences: list[SystemDifference]) -> list[tuple[int, int]]:
    """Return the lowest and the highest rank that each system can have by the simultaneous intervals."""
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
