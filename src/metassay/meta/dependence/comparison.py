"""Whether two metrics differ in SysDep, by a paired bootstrap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.errors import InputError
from metassay.meta.dependence.deviations import (
    CONFIDENCE,
    SystemDependence,
    measure_dependence,
    range_over_groups,
)
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import Counts

ROUNDING = 1e-9
"""Relative difference below which two values of SysDep are equal."""


@dataclass(frozen=True)
class SysDepDifference:
    """SysDep of metric a minus SysDep of metric b, with its 95 % interval and two-sided p-value."""

    difference: float
    low: float
    high: float
    p: float


def compare_metrics(
    outputs: ScoredOutputs, other_metric_scores: FloatArray, resample_counts: Counts
) -> SysDepDifference:
    """Compare the SysDep of the metric of `outputs` with that of another metric on the same outputs."""
    other_outputs = outputs.with_metric_scores(other_metric_scores)
    return compare_dependence(
        measure_dependence(outputs, resample_counts), measure_dependence(other_outputs, resample_counts)
    )


def compare_dependence(a: SystemDependence, b: SystemDependence) -> SysDepDifference:
    """Compare the SysDep of two metrics that were measured on the same resamples.

    p is the share of resamples whose difference is at least as far from the difference of the single fits as
    that difference is from 0.
    """
    if a.resampled_deviations is None or b.resampled_deviations is None:
        raise InputError("two metrics can only be compared with a bootstrap.", remedy="Set bootstraps=200.")
    estimate = a.sysdep - b.sysdep
    single_fit_difference = range_over_groups(a.single_fit_deviations) - range_over_groups(
        b.single_fit_deviations
    )
    resampled_differences = range_over_groups(a.resampled_deviations) - range_over_groups(
        b.resampled_deviations
    )
    errors = resampled_differences - single_fit_difference
    half_width = float(np.quantile(np.abs(errors), CONFIDENCE))
    threshold = np.abs(single_fit_difference) - ROUNDING * (a.sysdep + b.sysdep)
    at_least_as_far = np.count_nonzero(np.abs(errors) >= threshold)
    return SysDepDifference(
        difference=estimate,
        low=estimate - half_width,
        high=estimate + half_width,
        p=float((1 + at_least_as_far) / (1 + len(errors))),
    )
