"""`watch`: whether accuracy or agreement with people changed in a series of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from metassay.errors import InputError, InputLocation, display_path
from metassay.meta.contexts.cluster_credits import ClusterCredits
from metassay.meta.decisions.change_detection import (
    ERROR_RATE,
    DetectedChange,
    MeanWithMargin,
    RunSeries,
    compute_confidence_sequence,
    detect_change,
    estimate_detection_delay,
)
from metassay.reporting.pages import Page
from metassay.reporting.result_display import ResultDisplay
from metassay.reporting.watch_page import build_watch_page, render_watch_page
from metassay.results.assay import GLOBAL, AssayContent
from metassay.results.base import Interval
from metassay.results.watch import (
    ACCURACY,
    HUMAN_AGREEMENT,
    SeriesChange,
    WatchContent,
    WatchedRun,
    WatchedSeries,
)
from metassay.stats.arrays import FloatArray
from metassay.store.files import write_bytes
from metassay.workflows.credit_files import read_credit_table
from metassay.workflows.run_files import RESULT, find_run_folders, load_assay_run

SMALLEST_RUN = 30
"""Accuracies over fewer clusters are not close enough to normal to be watched."""
PLANNED_CHANGE = 0.05
_NORMAL_QUANTILE = 1.96


class WatchResult(ResultDisplay, WatchContent, frozen=True, kw_only=True):
    """Result of `watch`: accuracy and agreement with people over a series of runs."""

    def to_frame(self) -> pl.DataFrame:
        """Return a table with one row per metric, measure and run."""
        rows = []
        for series in self.series:
            for point in series.runs:
                row = {
                    "metric": series.metric,
                    "measure": series.measure,
                    "run": point.run,
                    "value": point.value,
                    "mean": point.mean.value,
                    "low": point.mean.low,
                    "high": point.mean.high,
                    "clusters": point.clusters,
                }
                rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def build_page(self) -> Page:
        """Build the page of the result."""
        return build_watch_page(self)


@dataclass(frozen=True)
class _Measurement:
    """The value of one metric in one run, with its variance."""

    run: str
    value: float
    variance: float
    clusters: int


def watch(*runs: str | Path) -> WatchResult:
    """Look for changes in a series of finished assays, oldest first.

    Unlike repeated comparisons, it may be asked after every new run: where nothing changes, it ever reports a
    change with probability at most 5 %, over all runs and metrics together. Runs are taken as samples of
    their own; use `compare` for two runs of the same outputs, which it compares in pairs.

    >>> import tempfile
    >>> from metassay.workflows.assay import assay, read_bundled_sample
    >>> run = tempfile.mkdtemp() + "/run"
    >>> few = {"metrics": "chrf,ter", "contexts": ["domain"], "perturbations": "removal,insertion"}
    >>> result = assay(read_bundled_sample("mt"), resamples=20, permutations=19, out=run, **few)
    >>> watch(run, run).changed
    False
    """
    folders = find_run_folders(runs)
    if len(folders) < 2:
        raise InputError(
            "there is one run only.", remedy="Name two or more runs, or a folder that holds them."
        )
    names = [display_path(folder) for folder in folders]
    measurements: dict[tuple[str, str], list[_Measurement]] = {}
    tasks = set()
    for name, folder in zip(names, folders):
        run = load_assay_run(folder)
        result = run.read_result(RESULT, AssayContent)
        tasks.add(result.task)
        table = read_credit_table(run)
        overall = None if table is None else table[GLOBAL, GLOBAL]
        for key, measurement in _list_measurements(name, result, overall).items():
            measurements.setdefault(key, []).append(measurement)
    if len(tasks) > 1:
        raise InputError(f"these runs are of different tasks ({', '.join(sorted(tasks))}).")
    watched = {key: series for key, series in measurements.items() if len(series) > 1}
    if not watched:
        raise InputError(
            f"no metric has an accuracy over {SMALLEST_RUN} independent items or documents in two runs.",
            remedy="Watch runs of more items.",
        )
    # Each metric gets an equal part of the error rate.
    error_rate = ERROR_RATE / len(watched)
    series = [_find_change_in_series(key, entries, error_rate) for key, entries in watched.items()]
    return WatchResult(
        runs=names,
        changed=any(entry.change is not None for entry in series),
        error_rate=ERROR_RATE,
        series=series,
        notes=_note_missing_metrics(measurements, len(names)),
    )


def write_watch_page(result: WatchContent, file: Path) -> None:
    """Write the page of a result to an HTML file."""
    if file.suffix != ".html":
        raise InputError(
            "the page is an HTML file.", location=InputLocation(file=str(file)), remedy="Name it FILE.html."
        )
    write_bytes(file, render_watch_page(result).encode())


def _list_measurements(
    name: str, result: AssayContent, overall: ClusterCredits | None
) -> dict[tuple[str, str], _Measurement]:
    """Return accuracy and agreement with people of every metric in one run."""
    measurements = {}
    for row in result.overall:
        if row.accuracy is None or row.low is None or row.high is None or row.clusters < SMALLEST_RUN:
            continue
        variance = _compute_variance_from_interval(row.low, row.high)
        if overall is not None and row.metric in overall.credits:
            variance = _compute_variance(overall.credits[row.metric], overall.weights[row.metric])
        # A metric that is always right has no variance; half a wrong cluster is as many as it may hide.
        variance += 0.25 / row.clusters**2
        measurements[row.metric, ACCURACY] = _Measurement(name, row.accuracy, variance, row.clusters)
    comparison = result.human_comparison
    if comparison is None or comparison.items < SMALLEST_RUN:
        return measurements
    for entry in comparison.metrics:
        if entry.accuracy is None or entry.low is None or entry.high is None:
            continue
        variance = _compute_variance_from_interval(entry.low, entry.high) + 0.25 / comparison.items**2
        key = (entry.metric, HUMAN_AGREEMENT)
        measurements[key] = _Measurement(name, entry.accuracy, variance, comparison.items)
    return measurements


def _compute_variance_from_interval(low: float, high: float) -> float:
    return ((high - low) / (2 * _NORMAL_QUANTILE)) ** 2


def _compute_variance(cluster_credits: FloatArray, weights: FloatArray) -> float:
    """Compute the variance of the ratio Σ credits / Σ weights over clusters."""
    total = weights.sum()
    clusters = len(weights)
    deviations = (cluster_credits - cluster_credits.sum() / total * weights) / total
    return float(clusters / (clusters - 1) * (deviations**2).sum())


def _find_change_in_series(
    key: tuple[str, str], measurements: Sequence[_Measurement], error_rate: float
) -> WatchedSeries:
    series = RunSeries(
        np.array([entry.value for entry in measurements]),
        np.array([entry.variance for entry in measurements]),
        np.array([float(entry.clusters) for entry in measurements]),
    )
    means, margins = compute_confidence_sequence(series, error_rate)
    points = []
    for entry, mean, margin in zip(measurements, means, margins):
        interval = _build_interval(MeanWithMargin(float(mean), float(margin)))
        points.append(WatchedRun(entry.run, entry.value, entry.clusters, interval))
    change = detect_change(series, error_rate)
    delay, delay_of_fixed_test = estimate_detection_delay(series, PLANNED_CHANGE, error_rate)
    metric, measure = key
    return WatchedSeries(
        metric=metric,
        measure=measure,
        runs=points,
        change=None if change is None else _build_change(change, measurements),
        delay=delay,
        delay_of_fixed_test=delay_of_fixed_test,
    )


def _build_change(change: DetectedChange, measurements: Sequence[_Measurement]) -> SeriesChange:
    return SeriesChange(
        first_run=measurements[change.start].run,
        shown_by=measurements[change.alarm].run,
        before=_build_interval(change.before),
        after=_build_interval(change.after),
    )


def _build_interval(mean: MeanWithMargin) -> Interval:
    """Return the interval around a mean, within 0 and 1."""
    return Interval(mean.value, max(0.0, mean.value - mean.margin), min(1.0, mean.value + mean.margin))


def _note_missing_metrics(
    measurements: dict[tuple[str, str], list[_Measurement]], run_count: int
) -> list[str]:
    """Return notes on metrics that are missing in some runs."""
    notes = []
    for (metric, measure), entries in measurements.items():
        if len(entries) < run_count:
            notes.append(f"{metric}: {len(entries)} of {run_count} runs have its {measure}.")
    return notes
