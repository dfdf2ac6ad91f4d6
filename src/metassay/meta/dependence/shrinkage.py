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

from metassay.meta.dependence.deviations import compute_range_over_groups
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import fit_isotonic_to_each_value_row


@dataclass(frozen=True)
class OverratingParts:
    """How much a metric overrates each system, split into shrinkage towards the mean and the rest.

    `slope` is the deviation per point of human mean: −1 for a constant metric, 0 without shrinkage.
    """

    shrinkage: FloatArray
    residual: FloatArray
    slope: float

    @property
    def residual_range(self) -> float:
        """How much more the metric overrates one system than another, apart from shrinkage to the mean."""
        return float(compute_range_over_groups(self.residual))


def separate_regression_to_mean(system_overrating: FloatArray, human_means: FloatArray) -> OverratingParts:
    """Split how much a metric overrates each system into shrinkage towards the mean and the rest.

    Shrinkage is a linear function of the human means.
    """
    centred_means = human_means - human_means.mean()
    sum_of_squares = float(centred_means @ centred_means)
    slope = float(centred_means @ system_overrating) / sum_of_squares if sum_of_squares > 0 else 0.0
    shrinkage = system_overrating.mean() + slope * centred_means
    return OverratingParts(shrinkage, system_overrating - shrinkage, slope)


def compute_bias_without_regression_to_mean(
    overrating_rows: FloatArray, human_means: FloatArray
) -> FloatArray:
    """Compute how much more a metric overrates one system than another, apart from shrinkage to the mean.

    Each row of `overrating_rows` says how much a metric overrates each system, and gives one number.
    """
    centred_means = human_means - human_means.mean()
    sum_of_squares = float(centred_means @ centred_means)
    slopes = (
        overrating_rows @ centred_means / sum_of_squares
        if sum_of_squares > 0
        else np.zeros(len(overrating_rows))
    )
    # the mean of a row does not change its range
    return compute_range_over_groups(overrating_rows - slopes[:, np.newaxis] * centred_means)


def compute_bias_of_constant_metric(outputs: ScoredOutputs) -> float:
    """Return the bias between systems of a metric that gives every output the same score.

    It is the range of the mean human scores.
    """
    return float(compute_range_over_groups(outputs.human_means_of_groups))


def compute_metric_bias_leaving_out_each_system(outputs: ScoredOutputs) -> FloatArray:
    """Compute the bias of a metric between systems with each system left out in turn.

    It is NaN if fewer than two systems remain. A range grows with the number of groups, and a single unusual
    group may account for all of it.
    """
    if outputs.group_count < 3:
        return np.full(outputs.group_count, np.nan)
    sysdep = np.empty(outputs.group_count)
    for group in range(outputs.group_count):
        # a group without weight does not change the fit, and its mean is NaN
        weights = np.where(outputs.groups == group, 0.0, outputs.weights)
        predicted_means = fit_isotonic_to_each_value_row(
            outputs.sorted_metric_scores,
            outputs.human_scores[np.newaxis],
            weights,
            outputs.groups,
            outputs.group_count,
        )[0]
        sysdep[group] = compute_range_over_groups(predicted_means - outputs.human_means_of_groups)
    return sysdep
