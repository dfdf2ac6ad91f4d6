"""Expected deviations and system dependence (von Däniken, Deriu and Cieliebak, 2024, arXiv 2412.03152).

`f_k` is the isotonic regression of the human score h on the metric score m over the outputs of system k, and
`f_G` the same over the outputs of all systems; each is the mean over bootstrap fits. The expected deviation
of a system is how much too high its human score is when it is predicted from the metric with f_G; SysDep is
the range of these deviations:

    ED(k)  = mean over the outputs of k of f_G(m) - f_k(m)
    SysDep = max over k of ED(k) - min over k of ED(k)

Outputs can be grouped by another column than the system; everything here therefore speaks of groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from metassay.errors import InputError
from metassay.meta.dependence.scored_outputs import ScoredOutputs, build_scored_outputs
from metassay.stats.arrays import FloatArray
from metassay.stats.group_fits import fit_isotonic_by_group
from metassay.stats.isotonic import Counts, fit_isotonic_to_each_value_row
from metassay.stats.levels import CONFIDENCE_LEVEL
from metassay.stats.resampling import draw_cluster_counts

# Standard errors within which a group may be the one with the highest, or the lowest, deviation.
NEAR = 2.5
# Degrees of freedom that one step of an isotonic fit uses.
STEP_COST = 1.5


@dataclass(frozen=True)
class SystemDependence:
    """System dependence (SysDep) of a metric: how much more it overrates one system than another.

    `deviations` has the expected deviation of each group, in row order; `single_fit_deviations` has those of
    one fit to all data instead of the mean over bootstrap fits. `low` and `high` are the 95 % interval of
    `sysdep`, `deviations_low` and `deviations_high` those of the deviations. `resampled_deviations` is
    `[resamples, groups]`. Intervals and resampled deviations are None without a bootstrap.
    """

    sysdep: float
    low: float | None
    high: float | None
    deviations: FloatArray
    single_fit_deviations: FloatArray
    deviations_low: FloatArray | None = None
    deviations_high: FloatArray | None = None
    resampled_deviations: FloatArray | None = None

    @cached_property
    def sysdep_of_single_fit(self) -> float:
        """How much more the metric overrates one system than another, from a single fit to all data."""
        return float(compute_range_over_groups(self.single_fit_deviations))

    @cached_property
    def sysdep_of_resamples(self) -> FloatArray | None:
        """How much more the metric overrates one system than another, on each bootstrap resample.

        It is None without a bootstrap.
        """
        if self.resampled_deviations is None:
            return None
        return compute_range_over_groups(self.resampled_deviations)

    def drop_intervals(self) -> SystemDependence:
        """Return a copy without intervals, for data that is too small for them."""
        return replace(self, low=None, high=None, deviations_low=None, deviations_high=None)


def system_dependence(
    human: ArrayLike,
    metric: ArrayLike,
    *,
    bootstraps: int = 200,
    seed: int = 0,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> SystemDependence:
    """Compute how much more a metric overrates one system than another (system dependence).

    A system is overrated if its metric scores predict higher human scores than it has. Scores are `[systems,
    segments]`; an output with a missing score (NaN) is left out. The bootstrap resamples whole segments, or
    whole `clusters` (a label per segment), jointly over systems. `weights` are per segment or per output.
    With `bootstraps=0` there is one fit and no interval.

    >>> result = system_dependence([[1, 2, 3, 4], [0, 1, 2, 2]], [[2, 3, 3, 5], [1, 1, 2, 3]], bootstraps=0)
    >>> result.deviations.shape
    (2,)
    """
    outputs = build_scored_outputs(human, metric, clusters=clusters, weights=weights)
    return measure_metric_bias_between_systems(
        outputs, draw_cluster_counts(outputs.cluster_count, bootstraps, seed)
    )


def measure_metric_bias_between_systems(outputs: ScoredOutputs, resample_counts: Counts) -> SystemDependence:
    """Measure how much more a metric overrates one system than another (system dependence).

    Intervals come from the given bootstrap resamples. `resample_counts[b, c]` is how often resample b
    contains cluster c. Metrics that are measured on the same resamples can be compared pair by pair.
    """
    if not len(resample_counts):
        deviations = measure_how_much_groups_are_overrated(outputs)
        return SystemDependence(
            float(compute_range_over_groups(deviations)), None, None, deviations, deviations
        )
    fits = fit_isotonic_by_group(
        outputs.sorted_metric_scores,
        outputs.metric_scores,
        outputs.human_scores,
        outputs.weights,
        outputs.groups,
        outputs.clusters,
        resample_counts,
    )
    _check_every_group_was_resampled(outputs, fits.group_means)
    # The error of a resample is its distance from the fit to the data that the resample was drawn from.
    single_fit_deviations = fits.pooled_means - outputs.human_means_of_groups
    deviations = np.nanmean(fits.resampled_fit_means - fits.group_fit_means, axis=0)
    resampled_deviations = fits.resampled_means - fits.group_means
    scale = (
        compute_residual_correction_factor(fits.pooled_fit, len(outputs.human_scores))
        * fits.interval_widening_factor
    )
    errors = (resampled_deviations - single_fit_deviations) * scale
    low, high = estimate_range_interval(deviations, errors)
    half_widths = np.nanquantile(np.abs(errors), CONFIDENCE_LEVEL, axis=0)
    return SystemDependence(
        sysdep=float(compute_range_over_groups(deviations)),
        low=low,
        high=high,
        deviations=deviations,
        single_fit_deviations=single_fit_deviations,
        deviations_low=deviations - half_widths,
        deviations_high=deviations + half_widths,
        resampled_deviations=resampled_deviations,
    )


def _check_every_group_was_resampled(outputs: ScoredOutputs, resampled_human_means: FloatArray) -> None:
    """Raise an error if a group of outputs, such as a system, is in no bootstrap resample."""
    never_drawn = np.flatnonzero(np.isnan(resampled_human_means).all(axis=0))
    if len(never_drawn):
        raise InputError(
            f"{outputs.group_names[never_drawn[0]]} has so few outputs that none of"
            f" {len(resampled_human_means)} resamples contains one.",
            remedy="Increase --bootstraps, set it to 0, or leave the group out.",
        )


def compute_residual_correction_factor(fitted_values: FloatArray, output_count: int) -> float:
    """Compute the factor by which residuals of an isotonic regression are too small.

    They are too small because the fit follows the data too closely. The factor is √(n / (n − 1.5 D)) for n
    outputs and a fit with D steps. D estimates the degrees of freedom of an isotonic fit. An error variance
    from its residuals divides by n − cD with c between 1 (the true function is flat) and 2 (it is steep)
    (Meyer and Woodroofe, 2000).
    """
    steps = 1 + np.count_nonzero(np.diff(fitted_values))
    # at least a quarter of the outputs count, so that a fit with very many steps does not divide by zero
    remaining = max(output_count - STEP_COST * steps, output_count / 4)
    return float(np.sqrt(output_count / remaining))


def measure_how_much_groups_are_overrated(outputs: ScoredOutputs) -> FloatArray:
    """Compute how much a metric overrates each group of outputs, such as a system.

    It is the mean human score that the metric predicts minus the true mean. This is ED(k) from one fit to all
    data. f_k is not needed: pool-adjacent-violators keeps the mean, so that the mean of f_k(m) over the
    outputs of k is their mean human score.
    """
    return predict_mean_human_scores(outputs) - outputs.human_means_of_groups


def predict_mean_human_scores(outputs: ScoredOutputs) -> FloatArray:
    """Predict the mean human score of each group of outputs, such as a system, from metric scores.

    All groups share one isotonic regression.
    """
    means: FloatArray = fit_isotonic_to_each_value_row(
        outputs.sorted_metric_scores,
        outputs.human_scores[np.newaxis],
        outputs.weights,
        outputs.groups,
        outputs.group_count,
    )[0]
    return means


def compute_range_over_groups(group_values: FloatArray) -> FloatArray:
    """Return the largest minus the smallest group value.

    Groups are on the last axis, and NaN is ignored.
    """
    return np.asarray(np.nanmax(group_values, axis=-1) - np.nanmin(group_values, axis=-1))


def estimate_range_interval(group_values: FloatArray, bootstrap_errors: FloatArray) -> tuple[float, float]:
    """Estimate a 95 % interval for the largest minus the smallest group value, from bootstrap errors.

    The largest of several noisy values is too large on average, which percentiles of resampled ranges ignore:
    where all groups are equal the true range is 0, below every percentile. The lower end therefore allows for
    the error of every group that may be the highest or the lowest (within 2.5 standard errors), and the upper
    end for the error of the two groups that are.
    """
    top = int(np.argmax(group_values))
    bottom = int(np.argmin(group_values))
    may_be_top = group_values >= group_values[top] - NEAR * np.nanstd(
        bootstrap_errors - bootstrap_errors[:, [top]], axis=0
    )
    may_be_bottom = group_values <= group_values[bottom] + NEAR * np.nanstd(
        bootstrap_errors - bootstrap_errors[:, [bottom]], axis=0
    )
    largest_errors = np.fmax.reduce(bootstrap_errors[:, may_be_top], axis=1)
    smallest_errors = np.fmin.reduce(bootstrap_errors[:, may_be_bottom], axis=1)
    excess = largest_errors - smallest_errors
    shortfall = bootstrap_errors[:, bottom] - bootstrap_errors[:, top]
    tail = (1 + CONFIDENCE_LEVEL) / 2
    estimate = float(compute_range_over_groups(group_values))
    # A range is never negative.
    low = max(0.0, estimate - max(0.0, float(np.nanquantile(excess, tail))))
    high = estimate + max(0.0, float(np.nanquantile(shortfall, tail)))
    return low, high
