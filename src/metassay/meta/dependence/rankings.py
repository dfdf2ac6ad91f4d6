"""Rankings of groups by human score and by metric, and the pairs of groups that a metric inverts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.results.depend import Inversion, Rankings
from metassay.stats.arrays import FloatArray


def rank_systems_by_human_and_metric_scores(
    outputs: ScoredOutputs, system_overrating: FloatArray
) -> Rankings:
    """Rank systems by mean human score, by mean metric score, and by predicted human score.

    The human score is predicted from the metric.
    """
    names = outputs.group_names
    return Rankings(
        human=sort_names_by_descending_mean(names, outputs.human_means_of_groups),
        metric=sort_names_by_descending_mean(names, outputs.metric_means_of_groups),
        remapped=sort_names_by_descending_mean(names, outputs.human_means_of_groups + system_overrating),
    )


def sort_names_by_descending_mean(group_names: Sequence[str], group_means: FloatArray) -> list[str]:
    """Sort names by descending mean. Names with equal means are sorted alphabetically."""
    return [name for _, name in sorted(zip((-group_means).tolist(), group_names))]


def find_system_pairs_in_wrong_order(
    outputs: ScoredOutputs, system_overrating: FloatArray
) -> list[Inversion]:
    """Find all pairs of systems that people and the metric order differently.

    The pair with the largest difference in human scores is first. If the difference of the expected
    deviations exceeds the human gap, the deviations explain the inversion: the remapped means are inverted as
    well. Otherwise it results from averaging on the scale of the metric.
    """
    human_means = outputs.human_means_of_groups
    metric_means = outputs.metric_means_of_groups
    inversions = []
    for better, worse in permutations(range(outputs.group_count), 2):
        if human_means[better] > human_means[worse] and metric_means[better] < metric_means[worse]:
            human_gap = float(human_means[better] - human_means[worse])
            deviation_gap = float(system_overrating[worse] - system_overrating[better])
            inversion = Inversion(
                better=outputs.group_names[better],
                worse=outputs.group_names[worse],
                human_gap=human_gap,
                metric_gap=float(metric_means[better] - metric_means[worse]),
                deviation_gap=deviation_gap,
                explained=deviation_gap > human_gap,
            )
            inversions.append(inversion)
    return sorted(inversions, key=lambda pair: (-pair.human_gap, pair.better, pair.worse))
