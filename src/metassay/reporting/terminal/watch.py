"""What `metassay watch` prints: what changed in a series of runs."""

from __future__ import annotations

from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import Block, Table, make_lines, make_notes
from metassay.reporting.watch_page import build_series_row, describe_run_series
from metassay.results.watch import WatchContent

MOST_IMPORTANT = ("metric", "measure", "last", "mean", "low", "high")


def describe_watch_result(result: WatchContent) -> list[Block]:
    """Describe for the terminal what changed over time, then every metric."""
    labels = MetricLabels(series.metric for series in result.series)
    rows = [build_series_row(entry, labels) for entry in result.series]
    table = Table(rows, title=f"Metrics over {len(result.runs)} runs", most_important=MOST_IMPORTANT)
    return [*make_lines(describe_run_series(result)), table, *make_notes(result.notes)]
