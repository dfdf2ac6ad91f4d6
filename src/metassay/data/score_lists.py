"""Read metric scores of single outputs that another program computed.

The scores are columns of a table, JSON of comet-score or MetricX, or a `.seg.score` file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data import cells
from metassay.data.columns import (
    KNOWN_METADATA_COLUMNS,
    TEST_SET_COLUMNS,
    find_reference_columns,
    is_numeric,
    is_row_number_column,
    list_possible_column_names,
    select_columns_by_name,
)
from metassay.data.readers.compression import COMPRESSION_ENDINGS
from metassay.data.readers.files import decode_text, get_file_ending, get_file_stem, read_bytes
from metassay.data.readers.in_memory import convert_to_polars_frame
from metassay.data.readers.remote_files import download_if_remote
from metassay.data.readers.tables import parse_table
from metassay.errors import InputError, InputLocation
from metassay.tasks.base import TEXT_COLUMNS

_SEGMENT_SCORES_ENDING = ".seg.score"
# The column of MetricX's scores: predicted errors, lower is better.
_METRICX_COLUMN = "prediction"
_UNNAMED_METRIC = "score"
# The ids in `texts.jsonl`, which metassay writes for programs that compute scores.
_TEXT_ID_PATTERN = r"^[0-9a-f]{16}$"


@dataclass(frozen=True)
class ScoreList:
    """The scores of one metric from one file, with the columns that say which output each score belongs
    to.
    """

    metric: str
    file: str
    keys: pl.DataFrame | None
    """`id`; or `output` with any of `item`, `source`, `reference`. None: line n has the score of output n."""
    scores: pl.Series
    rows: pl.Series
    """The row of each score in the file, counted from 1."""
    digest: str
    """Hash of the content of the file."""
    predicted_errors: bool = False
    """Whether scores are predicted errors, so that lower is better."""

    def get_file_location_of_score(self, score_index: int) -> InputLocation:
        """Return the file and the row or line of a score, for error messages."""
        row = int(self.rows[score_index])
        if self.keys is None:
            return InputLocation(self.file, line=row)
        return InputLocation(self.file, row)


def read_score_lists(source: Any) -> list[ScoreList]:
    """Read the scores of all metrics from a path, from a table, or from several of these."""
    is_single = isinstance(source, str | os.PathLike) or not isinstance(source, Sequence)
    if is_single or convert_to_polars_frame(source) is not None:
        return _read_scores_of_path_or_table(source)
    score_lists = []
    for path_or_table in source:
        score_lists += _read_scores_of_path_or_table(path_or_table)
    return score_lists


def _read_scores_of_path_or_table(path_or_table: Any) -> list[ScoreList]:
    table = convert_to_polars_frame(path_or_table)
    if table is not None:
        digest = _hash_content(table.write_ndjson().encode())
        return list(_split_table_by_metric(table, "the table", digest))
    if not isinstance(path_or_table, str | os.PathLike):
        raise InputError(
            f"scores cannot be read from {type(path_or_table).__name__}.",
            remedy="Pass a path, a table, or several.",
        )
    path = download_if_remote(path_or_table)
    content = read_bytes(path)
    if _strip_compression_ending(path).endswith(_SEGMENT_SCORES_ENDING):
        return [_parse_score_lines(content, path)]
    if get_file_ending(path) == ".json":
        table = _parse_json_records(content, path)
    if table is None:
        table = parse_table(content, path)
    return list(_split_table_by_metric(table, path, _hash_content(content)))


def _parse_score_lines(content: bytes, path: str) -> ScoreList:
    """Parse a file in which each line ends with the score of one output."""
    lines = decode_text(content, path).removesuffix("\n").split("\n")
    last_fields = [line.rpartition("\t")[2] for line in lines]
    scores = cells.parse_score_column(pl.Series("score", last_fields), path)
    metric = Path(_strip_compression_ending(path)).name.removesuffix(_SEGMENT_SCORES_ENDING)
    line_numbers = pl.int_range(1, len(lines) + 1, eager=True)
    return ScoreList(metric, path, None, scores, line_numbers, _hash_content(content))


def _parse_json_records(content: bytes, path: str) -> pl.DataFrame | None:
    """Parse a JSON list of objects as a table. The program comet-score writes several such lists under
    different keys, which are put together.

    Nested values are left out. Returns None if the content is something else, such as JSON lines.
    """
    try:
        document = json.loads(decode_text(content, path))
    except ValueError:
        return None
    lists = list(document.values()) if isinstance(document, dict) else [document]
    records: list[Any] = []
    for values in lists:
        if isinstance(values, list):
            records += values
    if not records or not all(isinstance(record, dict) for record in records):
        return None
    return pl.DataFrame([_drop_nested_values(r) for r in records], infer_schema_length=None, strict=False)


def _drop_nested_values(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if not isinstance(value, list | dict)}


def _split_table_by_metric(table: pl.DataFrame, file: str, content_hash: str) -> Iterator[ScoreList]:
    """Yield the scores of each metric in a table, which has either a column per metric or the columns
    `metric` and `score`.
    """
    # of columns that differ only in case, the first one counts
    columns_by_lower_name = {name.lower(): name for name in reversed(table.columns)}
    keys = _select_columns_that_identify_outputs(table, columns_by_lower_name, file)
    rows = pl.int_range(1, table.height + 1, eager=True)
    if {"metric", "score"} <= columns_by_lower_name.keys():
        metrics = cells.parse_id_column(table[columns_by_lower_name["metric"]], file)
        scores = cells.parse_score_column(table[columns_by_lower_name["score"]], file)
        for metric in metrics.unique(maintain_order=True):
            is_metric = metrics == metric
            yield ScoreList(
                metric,
                file,
                keys.filter(is_metric),
                scores.filter(is_metric),
                rows.filter(is_metric),
                content_hash,
            )
        return
    metric_columns = _find_metric_columns(table)
    if not metric_columns:
        raise InputError(
            "no column holds scores.",
            location=InputLocation(file),
            remedy="Add a column of numbers for each metric, or the columns metric and score.",
        )
    for column in metric_columns:
        holds_errors = column.lower() == _METRICX_COLUMN
        is_unnamed = holds_errors or column.lower() == "score"
        metric = _name_metric_after_file(file) if is_unnamed else column
        yield ScoreList(
            metric,
            file,
            keys,
            cells.parse_score_column(table[column], file),
            rows,
            content_hash,
            holds_errors,
        )


def _select_columns_that_identify_outputs(
    table: pl.DataFrame, columns_by_lower_name: Mapping[str, str], file: str
) -> pl.DataFrame:
    """Return the columns that say to which output the score of a row belongs.

    These are `id` if it holds ids of `texts.jsonl`; or else `output` with `item`, or with `source` and
    `reference` as far as the table has them.
    """
    output_column = _find_text_column(table, columns_by_lower_name, list_possible_column_names("output"))
    id_column = columns_by_lower_name.get("id")
    if id_column is not None:
        holds_text_ids = table[id_column].cast(pl.String).str.contains(_TEXT_ID_PATTERN).all()
        if output_column is None or holds_text_ids:
            return pl.DataFrame({"id": cells.parse_id_column(table[id_column], file)})
    if output_column is None:
        raise InputError(
            "no column says which output each score belongs to.",
            location=InputLocation(file),
            remedy="Keep the column id of texts.jsonl, or item and output.",
        )
    keys = {"output": cells.check_text_column(table[output_column], file)}
    for name in list_possible_column_names("item"):
        item_column = columns_by_lower_name.get(name)
        if item_column is not None and item_column != output_column:
            test_set = select_columns_by_name(table.columns, TEST_SET_COLUMNS)
            keys["item"] = cells.join_id_columns(table, [*test_set, item_column], file)
            return pl.DataFrame(keys)
    source_column = _find_text_column(table, columns_by_lower_name, TEXT_COLUMNS["source"])
    if source_column is not None:
        keys["source"] = table[source_column]
    for reference_column in find_reference_columns(table.columns):
        if table[reference_column].dtype == pl.String:
            keys["reference"] = table[reference_column]
            break
    return pl.DataFrame(keys)


def _find_text_column(
    table: pl.DataFrame, columns_by_lower_name: Mapping[str, str], accepted_names: Sequence[str]
) -> str | None:
    """Find the first column of texts with one of the given names. Scores of the metric MetricX do not count
    as texts.
    """
    for name in accepted_names:
        column = columns_by_lower_name.get(name)
        if column is None or table[column].dtype != pl.String:
            continue
        if name != _METRICX_COLUMN or not is_numeric(table[column]):
            return column
    return None


def _find_metric_columns(table: pl.DataFrame) -> list[str]:
    """Return the names of the columns of numbers that are scores, not ids or descriptions of outputs."""
    other_names = {
        *TEST_SET_COLUMNS,
        *KNOWN_METADATA_COLUMNS,
        *list_possible_column_names("item"),
        *list_possible_column_names("system"),
        *list_possible_column_names("output"),
        *TEXT_COLUMNS["source"],
        "variance",
    }
    other_names.discard(_METRICX_COLUMN)
    references = find_reference_columns(table.columns)
    metric_columns = []
    for name in table.columns:
        if name.lower() in other_names or name in references or is_row_number_column(name):
            continue
        if is_numeric(table[name]):
            metric_columns.append(name)
    return metric_columns


def _name_metric_after_file(file: str) -> str:
    return get_file_stem(file) if Path(file).suffix else _UNNAMED_METRIC


def _strip_compression_ending(path: str) -> str:
    for ending in COMPRESSION_ENDINGS:
        if path.endswith(ending):
            return path.removesuffix(ending)
    return path


def _hash_content(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
