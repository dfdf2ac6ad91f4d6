"""Whether two metrics differ in SysDep, by a paired bootstrap."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metassay.errors import InputError
from metassay.meta.dependence.deviations import (
    SystemDependence,
    measure_metric_bias_between_systems,
)
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import Counts
from metassay.stats.levels import CONFIDENCE_LEVEL

# Relative difference below which two values of SysDep are equal.
ROUNDING = 1e-9


@dataclass(frozen=True)
class DependenceDifference:
    """Difference between two metrics in system dependence, with a 95 % interval and a p-value.

    The p-value is two-sided.
    """

    difference: float
    low: float
    high: float
    p: float


def measure_and_compare_metric_biases(
    outputs: ScoredOutputs, other_metric_scores: FloatArray, resample_counts: Counts
) -> DependenceDifference:
    """Measure how much more two metrics overrate one system than another, and test the difference.

    `outputs` has the scores of the first metric, `other_metric_scores` those of the second one.
    """
    other_outputs = replace(outputs, metric_scores=other_metric_scores)
    return compare_measured_metric_biases(
        measure_metric_bias_between_systems(outputs, resample_counts),
        measure_metric_bias_between_systems(other_outputs, resample_counts),
    )


def compare_measured_metric_biases(
    first_bias: SystemDependence, second_bias: SystemDependence
) -> DependenceDifference:
    """Test whether two metrics differ in how much more they overrate one system than another.

    Both must be measured on the same resamples. p is the share of resamples whose difference is at least as
    far from the difference of the single fits as that difference is from 0.
    """
    if first_bias.sysdep_of_resamples is None or second_bias.sysdep_of_resamples is None:
        raise InputError("two metrics can only be compared with a bootstrap.", remedy="Set bootstraps=200.")
    estimate = first_bias.sysdep - second_bias.sysdep
    single_fit_difference = first_bias.sysdep_of_single_fit - second_bias.sysdep_of_single_fit
    errors = first_bias.sysdep_of_resamples - second_bias.sysdep_of_resamples - single_fit_difference
    half_width = float(np.quantile(np.abs(errors), CONFIDENCE_LEVEL))
    threshold = np.abs(single_fit_difference) - ROUNDING * (first_bias.sysdep + second_bias.sysdep)
    at_least_as_far = np.count_nonzero(np.abs(errors) >= threshold)
    return DependenceDifference(
        difference=estimate,
        low=estimate - half_width,
        high=estimate + half_width,
        p=float((1 + at_least_as_far) / (1 + len(errors))),
    )
