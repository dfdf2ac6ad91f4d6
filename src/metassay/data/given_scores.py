"""Scores of texts that were made elsewhere, from tables, JSON lines, comet-score, MetricX, seg.score."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
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
    is_row_number,
    list_column_names,
)
from metassay.data.readers.compression import COMPRESSION_ENDINGS
from metassay.data.readers.files import decode_text, file_ending, file_stem, read_bytes
from metassay.data.readers.in_memory import convert_to_frame
from metassay.data.readers.remote_files import download_if_remote
from metassay.data.readers.tables import parse_table
from metassay.errors import InputError, InputLocation
from metassay.tasks.base import TEXT_COLUMNS

SEGMENTS = ".seg.score"
PREDICTION = "prediction"
"""Where MetricX writes its scores: predicted errors, lower is better."""
_NAMELESS = "score"
_OUR_IDS = r"^[0-9a-f]{16}$"


@dataclass(frozen=True)
class ScoreList:
    """The scores that one file has of one metric, and what says which text each belongs to."""

    metric: str
    file: str
    keys: pl.DataFrame | None
    """`id`; or `output` with any of `item`, `source`, `reference`; None: a line per text, in their order."""
    scores: pl.Series
    rows: pl.Series
    """The row of the file that each score stands in."""
    digest: str
    """Of the content of the file."""
    predicted_errors: bool = False

    def locate_score(self, index: int) -> InputLocation:
        """Where one of the scores stands."""
        row = int(self.rows[index])
        return InputLocation(self.file, line=row) if self.keys is None else InputLocation(self.file, row)


def read_given_scores(source: Any, *, quoting: str = "minimal") -> list[ScoreList]:
    """Every metric in the files or tables named: a path, a table, or several of them."""
    frame = convert_to_frame(source)
    if frame is not None or isinstance(source, str | os.PathLike) or not isinstance(source, Sequence):
        parts = [source]
    else:
        parts = list(source)
    return [found for part in parts for found in _in_part(part, quoting)]


def _in_part(part: Any, quoting: str) -> list[ScoreList]:
    frame = convert_to_frame(part)
    if frame is not None:
        return list(_in_table(frame, "the table", _digest(frame.write_ndjson().encode())))
    if not isinstance(part, str | os.PathLike):
        raise InputError(
            f"scores cannot be read from {type(part).__name__}.", remedy="Pass a path, a table, or several."
        )
    path = download_if_remote(part)
    content = read_bytes(path)
    if _without_compression(path).endswith(SEGMENTS):
        return [_in_lines(content, path)]
    frame = _in_json(content, path) if file_ending(path) == ".json" else None
    frame = parse_table(content, path, quoting=quoting) if frame is None else frame
    return list(_in_table(frame, path, _digest(content)))


def _in_lines(content: bytes, path: str) -> ScoreList:
    """A line per text: its score, behind a system and a tab in files of mt-metrics-eval."""
    lines = decode_text(content, path).removesuffix("\n").split("\n")
    scores = cells.scores(pl.Series("score", [line.rpartition("\t")[2] for line in lines]), path)
    name = Path(_without_compression(path)).name.removesuffix(SEGMENTS)
    rows = pl.int_range(1, len(lines) + 1, eager=True)
    return ScoreList(name, path, None, scores, rows, _digest(content))


def _in_json(content: bytes, path: str) -> pl.DataFrame | None:
    """A list of objects, or lists of objects by file, which is what comet-score writes; None: JSON lines."""
    try:
        found = json.loads(decode_text(content, path))
    except ValueError:
        return None
    lists = list(found.values()) if isinstance(found, dict) else [found]
    records = [record for part in lists if isinstance(part, list) for record in part]
    if not records or not all(isinstance(record, dict) for record in records):
        return None
    plain = [{k: v for k, v in r.items() if not isinstance(v, list | dict)} for r in records]
    return pl.DataFrame(plain, infer_schema_length=None, strict=False)


def _in_table(frame: pl.DataFrame, file: str, digest: str) -> Iterator[ScoreList]:
    """The metrics of a table: one column each, or long, with the columns `metric` and `score`."""
    lower = {name.lower(): name for name in reversed(frame.columns)}
    keys = _keys(frame, lower, file)
    rows = pl.int_range(1, frame.height + 1, eager=True)
    if {"metric", "score"} <= lower.keys():
        names = cells.ids(frame[lower["metric"]], file)
        scores = cells.scores(frame[lower["score"]], file)
        for metric in names.unique(maintain_order=True):
            own = names == metric
            yield ScoreList(metric, file, keys.filter(own), scores.filter(own), rows.filter(own), digest)
        return
    columns = _metric_columns(frame)
    if not columns:
        raise InputError(
            "no column holds scores.",
            location=InputLocation(file),
            remedy="Add a column of numbers for each metric, or the columns metric and score.",
        )
    for name in columns:
        errors = name.lower() == PREDICTION
        metric = _file_metric(file) if errors or name.lower() == "score" else name
        yield ScoreList(metric, file, keys, cells.scores(frame[name], file), rows, digest, errors)


def _keys(frame: pl.DataFrame, lower: dict[str, str], file: str) -> pl.DataFrame:
    """What says which text a row is of: our id; or the output, with item, source and reference if there."""
    output = _text_column(frame, lower, list_column_names("output"))
    own = lower.get("id")
    if own is not None and (output is None or frame[own].cast(pl.String).str.contains(_OUR_IDS).all()):
        return pl.DataFrame({"id": cells.ids(frame[own], file)})
    if output is None:
        raise InputError(
            "no column says which text a score is of.",
            location=InputLocation(file),
            remedy="Keep the column id of texts.jsonl, or item and output.",
        )
    made = {"output": cells.texts(frame[output], file)}
    item = next(
        (lower[name] for name in list_column_names("item") if name in lower and lower[name] != output), None
    )
    if item is not None:
        prefixes = [lower[name] for name in TEST_SET_COLUMNS if name in lower]
        parts = [cells.ids(frame[name], file).alias(str(i)) for i, name in enumerate([*prefixes, item])]
        made["item"] = pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator="/"))["0"]
        return pl.DataFrame(made)
    source = _text_column(frame, lower, TEXT_COLUMNS["source"])
    reference = next(
        (name for name in find_reference_columns(frame.columns) if frame[name].dtype == pl.String), None
    )
    made |= {} if source is None else {"source": frame[source]}
    made |= {} if reference is None else {"reference": frame[reference]}
    return pl.DataFrame(made)


def _text_column(frame: pl.DataFrame, lower: dict[str, str], names: Sequence[str]) -> str | None:
    """The first column of texts with one of the names; numbers that a table holds as text are none."""
    there = [lower[name] for name in names if name in lower and frame[lower[name]].dtype == pl.String]
    return next((name for name in there if name.lower() != PREDICTION or not is_numeric(frame[name])), None)


def _metric_columns(frame: pl.DataFrame) -> list[str]:
    """Every column of numbers that is no key and describes nothing."""
    texts = {
        *list_column_names("item"),
        *list_column_names("system"),
        *list_column_names("output"),
        *TEXT_COLUMNS["source"],
    } - {PREDICTION}
    known = {*TEST_SET_COLUMNS, *KNOWN_METADATA_COLUMNS, *texts, "variance"}
    passed = {
        *find_reference_columns(frame.columns),
        *(name for name in frame.columns if is_row_number(name)),
    }
    named = [name for name in frame.columns if name.lower() not in known and name not in passed]
    return [name for name in named if is_numeric(frame[name])]


def _file_metric(file: str) -> str:
    return file_stem(file) if Path(file).suffix else _NAMELESS


def _without_compression(path: str) -> str:
    return next((path.removesuffix(end) for end in COMPRESSION_ENDINGS if path.endswith(end)), path)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
