"""What `watch` shows on its page and in the terminal: what changed in a series of runs."""

from __future__ import annotations

from typing import Any

from metassay.meta.people.meta_metrics.registry import get_meta_metric_label
from metassay.reporting.charts.watched_runs import build_run_series_chart
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Chart, Page, Section, render_page
from metassay.reporting.tables import Field, build_grid
from metassay.reporting.terminal.blocks import (
    Block,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
)
from metassay.reporting.wording import (
    choose_decimals_for_percentage,
    format_percent,
    format_percent_interval,
    format_plural,
)
from metassay.results.base import Interval
from metassay.results.verdict import Claim, convert_sentences_to_findings
from metassay.results.watch import (
    ACCURACY,
    HUMAN_AGREEMENT,
    JUDGE_ACCURACY,
    JUDGE_CONSISTENCY,
    WatchContent,
    WatchedSeries,
)

MEASURES = {
    ACCURACY: "accuracy",
    HUMAN_AGREEMENT: "agreement with people",
    JUDGE_ACCURACY: "accuracy of the judge",
    JUDGE_CONSISTENCY: "same verdict in both orders",
}
FIELDS = (
    Field("metric", "metric or judge", "name"),
    Field("measure", "measure", "text"),
    Field("runs", "runs", "count"),
    Field("last", "last run", "percent"),
    Field("mean", "mean of all runs", "percent"),
    Field("low", "interval: low", "percent", "valid at every look, over all metrics"),
    Field("high", "high", "percent"),
    Field("changed", "changed from", "text"),
    Field(
        "delay", "runs to show .05", "count", "expected number of further runs until a change of .05 shows"
    ),
    Field("delay_of_fixed_test", "by one fixed test", "count", "which must not be repeated"),
)
MOST_IMPORTANT_COLUMNS = ("metric", "measure", "last", "mean", "low", "high")


def build_watch_page(watch_result: WatchContent) -> Page:
    """Build the report page of the command `watch`, which shows how the results of metrics and judges change
    over a series of runs.
    """
    labels = MetricLabels(series.metric for series in watch_result.series)
    sections = []
    for measure in dict.fromkeys(entry.measure for entry in watch_result.series):
        series = [entry for entry in watch_result.series if entry.measure == measure]
        title = describe_watched_measure(measure)
        title = title[:1].upper() + title[1:]
        spec = build_run_series_chart(series, watch_result.runs, labels, title)
        charts = [Chart(f"runs {measure}", spec, f"{title} in every run, oldest first.")]
        sections.append(Section(title, charts=charts))
    rows = [build_run_series_row(entry, labels) for entry in watch_result.series]
    table = build_grid("series", "Every metric and judge over all runs", FIELDS, rows)
    sections.append(Section("All series", grids=[table]))
    return Page(
        kicker="Runs over time",
        title="Did anything change?",
        lead=[claim.sentence for claim in watch_result.verdict],
        sections=sections,
        notes=watch_result.notes,
    )


def describe_watched_measure(measure: str) -> str:
    """Return the name of a measure that is watched over several runs, such as `accuracy` or `SPA on
    en-de`.
    """
    if measure in MEASURES:
        return MEASURES[measure]
    meta_metric, separator, dataset = measure.partition(" on ")
    return f"{get_meta_metric_label(meta_metric)}{separator}{dataset}"


def build_watch_verdict(watch_result: WatchContent) -> list[Claim]:
    """Write the main sentences of a `watch` report: what changed significantly over a series of runs, and how
    often such a claim is wrong by chance.
    """
    labels = MetricLabels(series.metric for series in watch_result.series)
    sentences = [
        _describe_metric_change(entry, labels) for entry in watch_result.series if entry.change is not None
    ]
    if not sentences:
        sentences = [f"No change is shown in {format_plural(len(watch_result.runs), 'run')}."]
    sentences.append(
        f"The chance of any false alarm is at most {format_percent(watch_result.error_rate)}, however often"
        " you look."
    )
    return convert_sentences_to_findings(sentences)


def _describe_metric_change(series: WatchedSeries, metric_labels: MetricLabels) -> str:
    change = series.change
    if change is None:
        return ""
    before = _format_interval(change.before)
    after = _format_interval(change.after)
    return (
        f"{metric_labels[series.metric]}: {describe_watched_measure(series.measure)} changed from {before} to"
        f" {after} since run {change.first_run}; run {change.shown_by} showed it."
    )


def _format_interval(mean: Interval) -> str:
    digits = choose_decimals_for_percentage(mean.low, mean.high)
    return (
        f"{format_percent(mean.value, digits=digits)}"
        f" ({format_percent_interval(mean.low, mean.high, digits=digits)})"
    )


def build_run_series_row(series: WatchedSeries, metric_labels: MetricLabels) -> dict[str, Any]:
    """Build the table row of one metric that is watched over a series of runs."""
    last = series.runs[-1]
    return {
        "metric": metric_labels[series.metric],
        "measure": describe_watched_measure(series.measure),
        "runs": len(series.runs),
        "last": last.value,
        "mean": last.mean.value,
        "low": last.mean.low,
        "high": last.mean.high,
        "changed": "" if series.change is None else series.change.first_run,
        "delay": series.delay,
        "delay_of_fixed_test": series.delay_of_fixed_test,
    }


def render_watch_page(watch_result: WatchContent) -> str:
    """Render the page of the command `watch`, which compares a series of runs, as one HTML file."""
    return render_page(build_watch_page(watch_result))


def describe_watch_result(watch_result: WatchContent) -> list[Block]:
    """Describe for the terminal what changed over a series of runs, and list the values of every metric."""
    labels = MetricLabels(series.metric for series in watch_result.series)
    rows = [build_run_series_row(entry, labels) for entry in watch_result.series]
    table = Table(
        rows, title=f"Metrics over {len(watch_result.runs)} runs", most_important=MOST_IMPORTANT_COLUMNS
    )
    return [
        *convert_sentences_to_lines(claim.sentence for claim in watch_result.verdict),
        table,
        *convert_sentences_to_notes(watch_result.notes),
    ]
