"""Detect a change in a series of runs, with an error rate that holds however often one looks.

A confidence sequence is a series of intervals that all contain the true mean with probability 1 − α. With
Z = Σ n_i (x_i − μ) over runs with values x_i of n_i clusters each and V = Σ n_i² Var(x_i),

    |Z| ≤ √((V + r) (2 log(1/α) + log((V + r) / r)))    for all runs at once

with probability 1 − α, for any r > 0 (normal mixture: Robbins, 1970; Howard et al., 2021). Values of runs are
means over many clusters and taken as normal.

A change after run s is shown once the sequence of runs 1 … s and the sequence that starts with run s + 1 do
not overlap. The first has the error rate α / 2 for all s together, the second α / (2 s (s + 1)); these sum to
α over all s, so that stable series ever raise an alarm with probability at most α.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metassay.stats.arrays import FloatArray

ERROR_RATE = 0.05
_TUNED_RUNS = 10
"""Intervals are narrowest for about this many runs like the first."""


@dataclass(frozen=True)
class RunSeries:
    """One value per run, such as the accuracy of a metric, with its variance and its number of clusters."""

    values: FloatArray
    variances: FloatArray
    weights: FloatArray


@dataclass(frozen=True)
class MeanWithMargin:
    """The mean over several runs, and the largest plausible distance of the true mean from it."""

    value: float
    margin: float


@dataclass(frozen=True)
class DetectedChange:
    """A detected change between runs: when it was detected, when it began, the means before and after."""

    alarm: int
    start: int
    before: MeanWithMargin
    after: MeanWithMargin


def compute_confidence_sequence(
    run_series: RunSeries, error_rate: float = ERROR_RATE
) -> tuple[FloatArray, FloatArray]:
    """Compute the mean of the first 1, 2, … runs, with margins that contain all true means at once."""
    return _compute_means_and_margins(_raise_small_variances(run_series), 0, error_rate)


def detect_change(run_series: RunSeries, error_rate: float = ERROR_RATE) -> DetectedChange | None:
    """Find the first significant change in a series of runs; None if there is none.

    In a stable series, a change is reported with probability `error_rate` at most.
    """
    run_series = _raise_small_variances(run_series)
    runs = len(run_series.values)
    means, margins = _compute_means_and_margins(run_series, 0, error_rate / 2)
    first: DetectedChange | None = None
    largest_excess = 0.0
    for start in range(1, runs):
        later_means, later_margins = _compute_means_and_margins(
            run_series, start, _compute_error_rate_for_start(start, error_rate)
        )
        distances = np.abs(later_means - means[start - 1])
        excess = distances - margins[start - 1] - later_margins
        alarms = np.flatnonzero(excess > 0)
        if not len(alarms):
            continue
        position = int(alarms[0])
        alarm = start + position
        # At the same look, several starts may be shown: the one that is shown most clearly is reported.
        is_clearer = first is not None and alarm == first.alarm and excess[position] > largest_excess
        if first is None or alarm < first.alarm or is_clearer:
            largest_excess = float(excess[position])
            before = MeanWithMargin(float(means[start - 1]), float(margins[start - 1]))
            after = MeanWithMargin(float(later_means[position]), float(later_margins[position]))
            first = DetectedChange(alarm, start, before, after)
    return first


def estimate_detection_delay(
    run_series: RunSeries, change_size: float, error_rate: float = ERROR_RATE, most_runs: int = 1000
) -> tuple[int | None, int | None]:
    """Estimate after how many more runs a change of a given size is detected.

    Future runs are like the mean of those so far. The second number is for a single test at a number of runs
    that is fixed in advance, which may not be repeated. None beyond `most_runs` runs.
    """
    run_series = _raise_small_variances(run_series)
    start = len(run_series.values)
    _, margins = _compute_means_and_margins(run_series, 0, error_rate / 2)
    future = RunSeries(
        np.zeros(most_runs),
        np.full(most_runs, float(run_series.variances.mean())),
        np.full(most_runs, float(run_series.weights.mean())),
    )
    _, later_margins = _compute_means_and_margins(future, 0, _compute_error_rate_for_start(start, error_rate))
    shown = np.flatnonzero(margins[-1] + later_margins < change_size)
    past_variance = (run_series.weights**2 * run_series.variances).sum() / run_series.weights.sum() ** 2
    later_variances = future.variances / np.arange(1, most_runs + 1)
    normal_margins = 1.96 * np.sqrt(past_variance + later_variances)
    shown_by_test = np.flatnonzero(normal_margins < change_size)
    delay = int(shown[0]) + 1 if len(shown) else None
    delay_of_test = int(shown_by_test[0]) + 1 if len(shown_by_test) else None
    return delay, delay_of_test


def _raise_small_variances(run_series: RunSeries) -> RunSeries:
    """Raise the variances of runs whose variance per cluster is below the mean of all runs.

    A run in which a metric was right by chance nearly always has a small variance, and would count as
    strong evidence of a change.
    """
    per_cluster = run_series.variances * run_series.weights
    return replace(run_series, variances=np.maximum(per_cluster, per_cluster.mean()) / run_series.weights)


def _compute_error_rate_for_start(runs_before_change: int, error_rate: float) -> float:
    """Compute the part of the error rate that a test for a change after this number of runs may use.

    The parts for all numbers of runs sum to half of the error rate.
    """
    return error_rate / 2 / (runs_before_change * (runs_before_change + 1))


def _compute_means_and_margins(
    run_series: RunSeries, first_run: int, error_rate: float
) -> tuple[FloatArray, FloatArray]:
    """Compute means and margins of the confidence sequence that begins with a given run."""
    weights = run_series.weights[first_run:]
    total_weights = np.cumsum(weights)
    means = np.cumsum(weights * run_series.values[first_run:]) / total_weights
    variances = np.cumsum(weights**2 * run_series.variances[first_run:])
    # r is fixed by the first run, before any other is seen; its value only decides where margins are small.
    log_term = 2 * np.log(1 / error_rate)
    r = (
        _TUNED_RUNS
        * float(run_series.weights[0] ** 2 * run_series.variances[0])
        / (log_term + np.log(1 + log_term))
    )
    margins = np.sqrt((variances + r) * (log_term + np.log((variances + r) / r))) / total_weights
    return np.asarray(means), np.asarray(margins)
