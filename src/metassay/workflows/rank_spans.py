"""Read the error spans that people and metrics marked, for `rank --meta spans`."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from metassay.data.columns import TEST_SET_COLUMNS, find_reference_columns
from metassay.data.readers.error_spans import read_error_spans
from metassay.data.readers.mt_metrics_eval import has_test_sets, read_marked_errors
from metassay.data.readers.registry import download_remote_paths
from metassay.data.reference_systems import find_rows_with_reference_as_output
from metassay.data.row_selection import select_rows
from metassay.data.score_cube import UNNAMED_DATASET
from metassay.errors import InputError
from metassay.meta.people.span_ranking import SpanRatings, match_human_and_metric_spans
from metassay.options import get_single_human_name
from metassay.specs import split_metric_names
from metassay.workflows.options import RankOptions, ScoreReadOptions
from metassay.workflows.read import Source

# The name under which the option `spans` gives the spans of people.
HUMAN_SPANS = "human"
# Spans of people, and of metrics by name.
SpanTables = tuple[pl.DataFrame, Mapping[str, pl.DataFrame]]


def read_marked_error_spans(source: Source, options: RankOptions) -> list[SpanRatings]:
    """Read the errors that people and metrics marked in outputs. Returns the marked errors of
    each data set.
    """
    files = dict(options.spans or {})
    if HUMAN_SPANS in files:
        sources: list[SpanTables] = [(read_error_spans(str(files.pop(HUMAN_SPANS))), {})]
    else:
        sources = _read_error_spans_of_people_and_metrics(source, options)
    metric_spans = {name: read_error_spans(str(file)) for name, file in files.items()}
    ratings = []
    for human_spans, spans_of_tree in sources:
        selected = _select_spans_of_requested_metrics(spans_of_tree, options)
        for dataset, rows in _split_table_by_dataset(_select_requested_rows(human_spans, options)):
            ordered = rows.sort("seg_id", "system")
            ratings.append(
                match_human_and_metric_spans(ordered, {**selected, **metric_spans}, dataset=dataset)
            )
    if not ratings:
        raise InputError(
            "the data has no error spans from people.",
            remedy="Name a file of human spans with --spans human=FILE.",
        )
    return ratings


def _read_error_spans_of_people_and_metrics(source: Source, options: RankOptions) -> list[SpanTables]:
    """Read the marked errors of people and of metrics from files, or from folders in the layout of
    mt-metrics-eval.
    """
    human = get_single_human_name(options.human)
    tables: list[SpanTables] = []
    for path in download_remote_paths(source):
        if has_test_sets(path):
            tables += read_marked_errors(path, human, reference=options.reference)
        else:
            tables.append((read_error_spans(path), {}))
    return tables


def _select_spans_of_requested_metrics(
    spans_by_metric: Mapping[str, pl.DataFrame], options: RankOptions
) -> dict[str, pl.DataFrame]:
    """Select the marked errors of the requested metrics, or of all metrics if none is requested."""
    if not options.metrics:
        return dict(spans_by_metric)
    requested = split_metric_names(options.metrics)
    return {name: table for name, table in spans_by_metric.items() if name in requested}


def _split_table_by_dataset(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Split the rows of a table by year, language pair and test set. Returns the name and the rows of each
    data set.
    """
    keys = [name for name in TEST_SET_COLUMNS if name in table.columns]
    if not keys:
        return [(UNNAMED_DATASET, table)]
    groups = sorted(table.group_by(keys, maintain_order=True), key=lambda group: str(group[0]))
    return [("/".join(map(str, key)), group) for key, group in groups]


def _select_requested_rows(table: pl.DataFrame, options: ScoreReadOptions) -> pl.DataFrame:
    """Select the rows that the options ask for. Systems whose outputs are the references are left out."""
    table = select_rows(table, options.where, options.systems, options.exclude_systems)
    references = find_reference_columns(table.columns)
    if references and "hyp" in table.columns and not options.keep_references:
        table = table.filter(
            ~find_rows_with_reference_as_output(table, "hyp", references, group_columns=["system"])
        )
    return table
