"""How much of the expected deviations is shrinkage to the mean, and how much goes beyond it.

A metric that carries no information (a constant) predicts the same human score for every system: it favours
the worst and disadvantages the best, by exactly as much as their human scores differ. A noisy metric does the
same in part, even if it treats all systems alike. This part of the expected deviations, the shrinkage, is a
line in the human means. A system that lies above the line is favoured beyond shrinkage, one below it
disadvantaged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.meta.dependence.deviations import largest_difference_between_groups
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import fit_values_by_group


@dataclass(frozen=True)
class DeviationParts:
    """Expected deviations of systems from human scores, split into shrinkage to the mean and a residual.

    `slope` is the deviation per point of human mean: −1 for a constant metric, 0 without shrinkage.
    """

    shrinkage: FloatArray
    residual: FloatArray
    slope: float

    @property
    def residual_range(self) -> float:
        """Maximum minus minimum residual: system dependence that is not due to shrinkage."""
        return float(largest_difference_between_groups(self.residual))


def split_deviations(expected_deviations: FloatArray, human_means: FloatArray) -> DeviationParts:
    """Split expected deviations into a linear function of the human means (shrinkage) and a residual."""
    centred_means = human_means - human_means.mean()
    sum_of_squares = float(centred_means @ centred_means)
    slope = float(centred_means @ expected_deviations) / sum_of_squares if sum_of_squares > 0 else 0.0
    shrinkage = expected_deviations.mean() + slope * centred_means
    return DeviationParts(shrinkage, expected_deviations - shrinkage, slope)


def measure_residual_ranges(deviations: FloatArray, human_means: FloatArray) -> FloatArray:
    """Residual range of each row of expected deviations [rows, groups]."""
    centred_means = human_means - human_means.mean()
    sum_of_squares = float(centred_means @ centred_means)
    slopes = deviations @ centred_means / sum_of_squares if sum_of_squares > 0 else np.zeros(len(deviations))
    # the mean of a row does not change its range
    return largest_difference_between_groups(deviations - slopes[:, np.newaxis] * centred_means)


def constant_metric_dependence(outputs: ScoredOutputs) -> float:
    """System dependence of a metric that gives every output the same score: the range of the human means."""
    return float(largest_difference_between_groups(outputs.human_means))


def dependence_without_each_group(outputs: ScoredOutputs) -> FloatArray:
    """System dependence with each group in turn left out; NaN where fewer than two groups remain.

    A range grows with the number of groups, and a single unusual group may account for all of it.
    """
    if outputs.group_count < 3:
        return np.full(outputs.group_count, np.nan)
    sysdep = np.empty(outputs.group_count)
    for group in range(outputs.group_count):
        # a group without weight does not change the fit, and its mean is NaN
        weights = np.where(outputs.groups == group, 0.0, outputs.weights)
        predicted_means = fit_values_by_group(
            outputs.sorted_metric_scores,
            outputs.human_scores[np.newaxis],
            weights,
            outputs.groups,
            outputs.group_count,
        )[0]
        sysdep[group] = largest_difference_between_groups(predicted_means - outputs.human_means)
    return sysdep
