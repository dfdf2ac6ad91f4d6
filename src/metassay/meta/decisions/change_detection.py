"""Detect a change in a series of runs, with an error rate that holds however often one looks.

Run i has a value x_i with variance v_i, the mean over many clusters and taken as normal. Let z_i be the
difference of x_i from the mean of all earlier runs, divided by its standard deviation. While nothing
changes, the z_i are independent with mean 0 and variance 1 (recursive residuals: Brown, Durbin and Evans,
1975). If the mean changes by δ after run s, the mean of z_i is δ c_si for i > s with a known c_si. The
likelihood ratio of a change after run s, averaged over δ with a normal density of standard deviation τ, is

    E_s = (1 + τ² B)^(−1/2) exp(τ² A² / (2 + 2 τ² B)),    A = Σ c_si z_i,    B = Σ c_si²    over i > s.

A change is shown once Σ_s w_s E_s reaches 1 / α, where E_s is 1 for changes that are still to come. The
weights w_s sum to 1, so that the sum is a martingale with mean 1 while nothing changes, and a stable series
ever reaches 1 / α with probability at most α (Ville, 1939).

Means over all runs have a confidence sequence: intervals that all contain the true mean with probability
1 − α. With Z = Σ u_i (x_i − μ), u_i = 1 / v_i, and V = Σ u_i,

    |Z| ≤ √((V + r) (2 log(1/α) + log((V + r) / r)))    for all runs at once

with probability 1 − α, for any r > 0 (normal mixture: Robbins, 1970; Howard et al., 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.stats.arrays import FloatArray, LongArray

# How many future runs are simulated to estimate a delay.
_MOST_RUNS = 1000
ERROR_RATE = 0.05
# τ: changes of about this size are shown soonest.
TYPICAL_CHANGE = 0.05
# Intervals are narrowest for about this many runs like the first.
_TUNED_RUNS = 10
# More than any error rate needs, and small enough for the exponential function.
_LARGEST_LOG_EVIDENCE = 100.0
# Up to about this many runs, a change is given the same weight after each.
_FLAT_RUNS = 10


@dataclass(frozen=True)
class ValuesOverRuns:
    """A series with one value per run, such as the accuracy of a metric in nightly runs.

    Each value has a sampling variance. `weights` are the sizes of the runs in clusters, by which the
    variances of runs can be compared.
    """

    values: FloatArray
    variances: FloatArray
    weights: FloatArray


@dataclass(frozen=True)
class MeanWithMargin:
    """A mean over several runs with its margin of error. The margin stays valid when it is checked after
    every run.
    """

    value: float
    margin: float


@dataclass(frozen=True)
class DetectedChange:
    """A detected change between runs: when it was detected and began, and the means before and after it.

    `alarm` is the position of the run at which it was detected, `start` the most likely position of the first
    run after the change. The margins hold for all positions and looks at once.
    """

    alarm: int
    start: int
    before: MeanWithMargin
    after: MeanWithMargin


def compute_running_means_over_runs(
    values_over_runs: ValuesOverRuns, error_rate: float = ERROR_RATE
) -> tuple[FloatArray, FloatArray]:
    """Compute the mean over the first run, over the first two runs, and so on, with margins of error.

    With high probability all means are within their margins at once.
    """
    return _compute_running_means_and_margins(
        values_over_runs.values, _raise_small_variances(values_over_runs), error_rate
    )


def detect_change_over_runs(
    values_over_runs: ValuesOverRuns, error_rate: float = ERROR_RATE
) -> DetectedChange | None:
    """Find the first significant change in a series with one value per run. Returns None if there is none.

    In a stable series, a change is reported with probability `error_rate` at most.
    """
    if len(values_over_runs.values) < 2:
        return None
    variances = _raise_small_variances(values_over_runs)
    log_evidence = _compute_log_evidence_of_changes(values_over_runs.values, variances)
    starts = np.arange(1, len(values_over_runs.values))
    # A change after the last look has had no effect yet: its evidence is 1, times its weight.
    weight_of_future_changes = 1 - np.cumsum(_compute_prior_probability_of_change(starts))
    evidence = np.exp(np.minimum(log_evidence, _LARGEST_LOG_EVIDENCE))
    total_evidence = evidence.sum(axis=0) + weight_of_future_changes
    # By Ville's inequality, a stable series ever reaches 1 / error rate with at most that probability.
    alarms = np.flatnonzero(total_evidence >= 1 / error_rate)
    if not len(alarms):
        return None
    look = int(alarms[0])
    start = int(starts[log_evidence[:, look].argmax()])
    alarm = look + 1
    before = _compute_running_means_and_margins(
        values_over_runs.values[:start], variances[:start], error_rate / 2
    )
    # Half of the error rate for the mean before, half for the mean after, shared over all possible starts.
    rate_of_start = error_rate / 2 * float(_compute_prior_probability_of_change(np.array(start)))
    after = _compute_running_means_and_margins(
        values_over_runs.values[start : alarm + 1], variances[start : alarm + 1], rate_of_start
    )
    return DetectedChange(alarm, start, _get_last_mean_with_margin(before), _get_last_mean_with_margin(after))


def estimate_detection_delay(
    values_over_runs: ValuesOverRuns, change_size: float, error_rate: float = ERROR_RATE
) -> tuple[int | None, int | None]:
    """Estimate how many more runs are needed to detect a change of the given size.

    Also returns how many runs a single planned test needs. Future runs are like the mean of those so far, and
    change by exactly this size. The second number is for a single two-sided test at a number of runs that is
    fixed in advance, with a power of 50 %; it must not be repeated. Numbers above a thousand are returned as
    None.
    """
    variances = _raise_small_variances(values_over_runs)
    start = len(variances)
    future_variances = np.full(_MOST_RUNS, float(variances.mean()))
    all_variances = np.concatenate([variances, future_variances])
    values = np.concatenate([np.zeros(start), np.full(_MOST_RUNS, change_size)])
    log_evidence = _compute_log_evidence_of_changes(values, all_variances, start)[0, start - 1 :]
    shown = np.flatnonzero(log_evidence >= np.log(1 / error_rate))
    variance_of_past = 1 / (1 / variances).sum()
    margins_of_test = 1.96 * np.sqrt(variance_of_past + future_variances / np.arange(1, _MOST_RUNS + 1))
    shown_by_test = np.flatnonzero(margins_of_test < change_size)
    delay = int(shown[0]) + 1 if len(shown) else None
    delay_of_test = int(shown_by_test[0]) + 1 if len(shown_by_test) else None
    return delay, delay_of_test


def _raise_small_variances(values_over_runs: ValuesOverRuns) -> FloatArray:
    """Raise each variance to at least the mean variance of all runs so far.

    A run in which a metric was right by chance nearly always has a small variance, and would count as strong
    evidence of a change.
    """
    # Runs of different sizes are compared by their variance per cluster.
    per_cluster = values_over_runs.variances * values_over_runs.weights
    means_so_far = np.cumsum(per_cluster) / np.arange(1, len(per_cluster) + 1)
    return np.asarray(np.maximum(per_cluster, means_so_far) / values_over_runs.weights)


def _compute_log_evidence_of_changes(
    run_values: FloatArray, variances: FloatArray, single_change_position: int | None = None
) -> FloatArray:
    """Compute how strongly the data up to each run suggest a change after each earlier run.

    Later runs are columns, earlier runs are rows. Returns the log likelihood ratio of each change plus the
    logarithm of its prior probability; −∞ for changes after the run. `single_change_position` computes the
    row of one change only.
    """
    precisions = 1 / variances
    total_precisions = np.cumsum(precisions)
    means = np.cumsum(precisions * run_values) / total_precisions
    deviations = np.sqrt(variances[1:] + 1 / total_precisions[:-1])
    z = (run_values[1:] - means[:-1]) / deviations
    looks = np.arange(1, len(run_values))
    starts = (looks if single_change_position is None else np.array([single_change_position]))[:, None]
    is_after = looks >= starts
    # The mean of the earlier runs has moved by the share of the precision that lies after the change.
    c = np.where(is_after, total_precisions[starts - 1] / total_precisions[:-1] / deviations, 0.0)
    a = np.cumsum(c * z, axis=1)
    b = np.cumsum(c**2, axis=1)
    spread = TYPICAL_CHANGE**2
    log_ratios = spread * a**2 / (2 + 2 * spread * b) - 0.5 * np.log1p(spread * b)
    return np.asarray(
        np.where(is_after, log_ratios + np.log(_compute_prior_probability_of_change(starts)), -np.inf)
    )


def _compute_prior_probability_of_change(runs_before_change: LongArray) -> FloatArray:
    """Return the prior probability that the value changes after a given number of runs.

    It falls slowly at first, so that a change after 30 runs is shown nearly as soon as one after three.
    """
    return np.asarray(
        _FLAT_RUNS / ((runs_before_change + _FLAT_RUNS - 1) * (runs_before_change + _FLAT_RUNS))
    )


def _compute_running_means_and_margins(
    run_values: FloatArray, variances: FloatArray, error_rate: float
) -> tuple[FloatArray, FloatArray]:
    """Compute the mean over the first run, over the first two runs, and so on, with margins of error."""
    precisions = 1 / variances
    totals = np.cumsum(precisions)
    means = np.cumsum(precisions * run_values) / totals
    # r is fixed by the first run, before any other is seen; its value only decides where margins are small.
    log_term = 2 * np.log(1 / error_rate)
    r = _TUNED_RUNS * float(precisions[0]) / (log_term + np.log(1 + log_term))
    margins = np.sqrt((totals + r) * (log_term + np.log((totals + r) / r))) / totals
    return np.asarray(means), np.asarray(margins)


def _get_last_mean_with_margin(means_and_margins: tuple[FloatArray, FloatArray]) -> MeanWithMargin:
    """Return the last of the running means, which is over all runs, with its margin of error."""
    means, margins = means_and_margins
    return MeanWithMargin(float(means[-1]), float(margins[-1]))
