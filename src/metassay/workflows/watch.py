"""`watch`: find out whether the accuracy of metrics or judges, or their agreement with people, changed over
several runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from metassay.errors import InputError, InputLocation, format_path_for_user
from metassay.meta.decisions.change_detection import (
    ERROR_RATE,
    MeanWithMargin,
    ValuesOverRuns,
    compute_running_means_over_runs,
    detect_change_over_runs,
    estimate_detection_delay,
)
from metassay.options import FilePaths
from metassay.reporting.result_display import ResultDisplay
from metassay.reporting.watch_page import (
    build_watch_page,
    build_watch_verdict,
    describe_watch_result,
    render_watch_page,
)
from metassay.reporting.wording import join_first_names
from metassay.results.base import Interval
from metassay.results.watch import (
    ACCURACY,
    HUMAN_AGREEMENT,
    JUDGE_ACCURACY,
    JUDGE_CONSISTENCY,
    SeriesChange,
    WatchContent,
    WatchedRun,
    WatchedSeries,
)
from metassay.store.files import write_bytes
from metassay.store.run_folder import RunFolder
from metassay.workflows.changed_options import reject_runs_with_other_options
from metassay.workflows.run_files import find_run_folders, get_run_command
from metassay.workflows.watched_runs import (
    MEASURED_COMMANDS,
    SMALLEST_RUN,
    Measurement,
    SeriesKey,
    have_similar_system_and_item_counts,
)

PLANNED_CHANGE = 0.05
# Time and memory grow with the square of the number of runs.
MOST_RUNS = 2000
# A note names at most this many runs.
_MOST_LISTED_RUNS = 3
# Measures that lie between 0 and 1; meta-metrics may be correlations.
SHARES = {ACCURACY, HUMAN_AGREEMENT, JUDGE_ACCURACY, JUDGE_CONSISTENCY}


class WatchResult(ResultDisplay, WatchContent, frozen=True, kw_only=True):
    """Result of `watch`: the values of metrics and judges in a series of runs, and whether
    anything changed.
    """

    build_page = build_watch_page
    describe_result_for_terminal = describe_watch_result

    def to_frame(self) -> pl.DataFrame:
        """Return a table with one row for each metric or judge in each run."""
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


class _NamedMeasurement(NamedTuple):
    """A measured value and the name of the run that it comes from."""

    run: str
    measurement: Measurement


def watch(*runs: FilePaths) -> WatchResult:
    """Find out whether metrics or judges changed over a series of finished runs.

    `runs` are run folders, or a list of them, the oldest first. A single folder that contains runs stands for
    all of them. For runs of `assay`, the accuracy of every metric and its agreement with people are watched.
    For runs of `rank`, it is the value of every metric by each meta-metric. For runs of `judge`, it is the
    accuracy of every judge and how often it gives the same verdict in both orders. Runs of other commands are
    left out. Runs that were made with other options raise an error, as in `compare`.

    You may call this function after every new run. If nothing changes, the probability that it ever reports a
    change is at most 5 %, over all runs and metrics together. It treats the runs as independent samples. To
    compare two runs on the same outputs, use `compare`, which compares them pair by pair.

    >>> import shutil, tempfile
    >>> from metassay.workflows.assay import assay, read_bundled_sample
    >>> run = tempfile.mkdtemp() + "/run"
    >>> few = {"metrics": "chrf,ter", "contexts": ["domain"], "perturbations": "removal,insertion"}
    >>> result = assay(read_bundled_sample("mt"), resamples=20, permutations=19, out=run, **few)
    >>> again = shutil.copytree(run, run + "-again")
    >>> watch(run, again).changed
    False
    """
    return find_metric_changes_over_runs(
        {format_path_for_user(folder): folder for folder in find_run_folders(runs)}
    )


def find_metric_changes_over_runs(run_folder_by_name: Mapping[str, Path]) -> WatchResult:
    """Find out whether metrics or judges changed over a series of runs, as `watch` does. The runs are given
    with the names under which they are shown.
    """
    if len(run_folder_by_name) < 2:
        raise InputError(
            "there is only one run.", remedy="Name two or more runs, or a folder that holds them."
        )
    if len(run_folder_by_name) > MOST_RUNS:
        raise InputError(
            f"there are {len(run_folder_by_name)} runs, but at most {MOST_RUNS} can be watched.",
            remedy="Name only the runs after a fixed date, and keep this date in later calls.",
        )
    measurements, notes = _read_metric_and_judge_values(run_folder_by_name)
    watched = {key: entries for key, entries in measurements.items() if len(entries) > 1}
    if not watched:
        raise InputError(
            f"no metric or judge has a value over {SMALLEST_RUN} independent items or documents in two runs.",
            remedy="Watch runs of assay, rank or judge, of more items.",
        )
    # Each series gets an equal part of the error rate.
    error_rate = ERROR_RATE / len(watched)
    series = [_test_series_for_change(key, entries, error_rate) for key, entries in watched.items()]
    result = WatchResult(
        runs=list(run_folder_by_name),
        changed=any(entry.change is not None for entry in series),
        error_rate=ERROR_RATE,
        series=series,
        notes=notes,
    )
    return msgspec.structs.replace(result, verdict=build_watch_verdict(result))


def _read_metric_and_judge_values(
    run_folder_by_name: Mapping[str, Path],
) -> tuple[dict[SeriesKey, list[_NamedMeasurement]], list[str]]:
    """Read the values of each metric and judge in all runs. Returns the values, and notes on runs that are
    left out.
    """
    measurements: dict[SeriesKey, list[_NamedMeasurement]] = {}
    notes = []
    first_run_by_command: dict[str, RunFolder] = {}
    kind_by_command: dict[str, str] = {}
    small_runs: dict[str, list[str]] = {}
    for name, folder in run_folder_by_name.items():
        run = RunFolder.open_for_reading(folder)
        command = get_run_command(run)
        if command not in MEASURED_COMMANDS:
            notes.append(f"{name} was left out because it is a run of `metassay {command}`.")
            continue
        measured = MEASURED_COMMANDS[command](run)
        kind = kind_by_command.setdefault(command, measured.kind)
        if kind != measured.kind:
            raise InputError(f"these runs cannot be compared: {kind}, and {measured.kind}.")
        reject_runs_with_other_options(first_run_by_command.setdefault(command, run), run)
        for measure in measured.measures_of_few_clusters:
            small_runs.setdefault(measure, []).append(name)
        for key, measurement in measured.measurements.items():
            entries = measurements.setdefault(key, [])
            if entries and not have_similar_system_and_item_counts(entries[0].measurement, measurement):
                notes.append(
                    f"{name} was left out of {key.measure} of {key.name} because it has another number of "
                    "systems or items than the first run."
                )
                continue
            entries.append(_NamedMeasurement(name, measurement))
    for measure, run_names in small_runs.items():
        notes.append(
            f"The {measure} of {join_first_names(run_names, _MOST_LISTED_RUNS)} is not watched, because it "
            f"comes from fewer than {SMALLEST_RUN} independent items or documents."
        )
    return measurements, [*notes, *_list_notes_on_missing_metrics(measurements, len(run_folder_by_name))]


def write_html_page_of_changes(watch_result: WatchContent, html_file: Path) -> None:
    """Write an HTML page that shows what changed over the watched runs."""
    if html_file.suffix != ".html":
        raise InputError(
            "the page is an HTML file.",
            location=InputLocation(file=str(html_file)),
            remedy="Name it FILE.html.",
        )
    write_bytes(html_file, render_watch_page(watch_result).encode())


def _test_series_for_change(
    series_key: SeriesKey, named_measurements: Sequence[_NamedMeasurement], error_rate: float
) -> WatchedSeries:
    """Test whether the values of one metric or judge changed over the runs, and between which runs."""
    measurements = [entry.measurement for entry in named_measurements]
    run_series = ValuesOverRuns(
        np.array([measurement.value for measurement in measurements]),
        np.array([measurement.variance for measurement in measurements]),
        np.array([float(measurement.clusters) for measurement in measurements]),
    )
    is_share = series_key.measure in SHARES
    means, margins = compute_running_means_over_runs(run_series, error_rate)
    points = []
    for entry, mean, margin in zip(named_measurements, means, margins):
        interval = _build_interval_around_mean(MeanWithMargin(float(mean), float(margin)), is_share=is_share)
        points.append(WatchedRun(entry.run, entry.measurement.value, entry.measurement.clusters, interval))
    detected = detect_change_over_runs(run_series, error_rate)
    change = None
    if detected is not None:
        change = SeriesChange(
            first_run=named_measurements[detected.start].run,
            shown_by=named_measurements[detected.alarm].run,
            before=_build_interval_around_mean(detected.before, is_share=is_share),
            after=_build_interval_around_mean(detected.after, is_share=is_share),
        )
    delay, delay_of_fixed_test = estimate_detection_delay(run_series, PLANNED_CHANGE, error_rate)
    return WatchedSeries(
        metric=series_key.name,
        measure=series_key.measure,
        runs=points,
        change=change,
        delay=delay,
        delay_of_fixed_test=delay_of_fixed_test,
    )


def _build_interval_around_mean(mean_and_margin: MeanWithMargin, *, is_share: bool) -> Interval:
    """Build the confidence interval around a mean. For shares, it is limited to the range from 0 to 1."""
    low = mean_and_margin.value - mean_and_margin.margin
    high = mean_and_margin.value + mean_and_margin.margin
    if is_share:
        low, high = max(0.0, low), min(1.0, high)
    return Interval(mean_and_margin.value, low, high)


def _list_notes_on_missing_metrics(
    measurements: dict[SeriesKey, list[_NamedMeasurement]], run_count: int
) -> list[str]:
    """Return a note for each metric or judge that some runs do not have."""
    notes = []
    for key, entries in measurements.items():
        if len(entries) < run_count:
            notes.append(f"{key.name}: {len(entries)} of {run_count} runs have its {key.measure}.")
    return notes
