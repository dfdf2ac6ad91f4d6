"""What `metassay watch` prints: what changed in a series of runs."""

from __future__ import annotations

from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import (
    Block,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
)
from metassay.reporting.watch_page import build_series_row, describe_run_series
from metassay.results.watch import WatchContent

MOST_IMPORTANT = ("metric", "measure", "last", "mean", "low", "high")


def describe_watch_result(watch_result: WatchContent) -> list[Block]:
    """Describe for the terminal what changed over time, then every metric."""
    labels = MetricLabels(series.metric for series in watch_result.series)
    rows = [build_series_row(entry, labels) for entry in watch_result.series]
    table = Table(rows, title=f"Metrics over {len(watch_result.runs)} runs", most_important=MOST_IMPORTANT)
    return [
        *convert_sentences_to_lines(describe_run_series(watch_result)),
        table,
        *convert_sentences_to_notes(watch_result.notes),
    ]
