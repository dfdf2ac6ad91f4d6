"""Columns of scores and metadata from the samples that evaluation harnesses log (inspect, lm-eval)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from metassay.data.columns import is_reserved_column
from metassay.data.readers.base import RawTable
from metassay.errors import InputError, InputLocation

# Scores that inspect writes as letters: correct, incorrect, partially correct, no answer.
SCORE_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def parse_optional_score(json_value: Any, location: InputLocation) -> float | None:
    """Convert a score in a JSON file to a float. Values that are not numbers, such as explanations, become
    None.
    """
    if isinstance(json_value, str):
        if json_value in SCORE_LETTERS:
            return SCORE_LETTERS[json_value]
        try:
            json_value = float(json_value)
        except ValueError:
            return None
    if not isinstance(json_value, bool | int | float) or math.isnan(json_value):
        return None
    if math.isinf(json_value):
        raise InputError("a score is infinite.", location=location)
    return float(json_value)


def select_metadata_values(json_fields: Any, maximum_length: int | None = None) -> dict[str, Any]:
    """Select the values of a JSON object by which outputs can be grouped: texts, numbers and booleans.

    With `maximum_length`, longer texts are left out.
    """
    if not isinstance(json_fields, Mapping):
        return {}
    metadata = {}
    for name, value in json_fields.items():
        is_long = isinstance(value, str) and maximum_length is not None and len(value) > maximum_length
        if isinstance(value, str | bool | int | float) and not is_long:
            metadata[str(name)] = value
    return metadata


def choose_unused_column_name(name: str, taken_names: Iterable[str], prefix: str) -> str:
    """Return a column name, with a prefix if the name is already used or would be read as something else."""
    return f"{prefix}{name}" if name in taken_names or is_reserved_column(name) else name


def build_columns_from_dicts(
    rows: Sequence[Mapping[str, Any]], taken_names: Iterable[str], prefix: str
) -> pl.DataFrame:
    """Build a table from a dictionary per row, with a column for every key. Where a dictionary lacks a key,
    the column is null.

    Values of different types become texts. A name that is taken or reserved gets the prefix.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = []
    for name in names:
        values = [row.get(name) for row in rows]
        types = {type(value) for value in values if value is not None}
        if len(types) > 1 and not types <= {int, float}:
            values = [None if value is None else str(value) for value in values]
        columns.append(pl.Series(choose_unused_column_name(name, taken_names, prefix), values, strict=False))
    return pl.DataFrame(columns)


def build_sample_table(
    path: str,
    outputs: pl.DataFrame,
    scores: Sequence[Mapping[str, Any]],
    metadata: Sequence[Mapping[str, Any]],
    notes: tuple[str, ...] = (),
) -> RawTable:
    """Build one table from the log of an evaluation tool: the outputs, with the scores and the metadata of
    each output.
    """
    score_columns = build_columns_from_dicts(scores, outputs.columns, "score_")
    used_names = [*outputs.columns, *score_columns.columns]
    metadata_columns = build_columns_from_dicts(metadata, used_names, "metadata_")
    table = pl.concat([outputs, score_columns, metadata_columns], how="horizontal")
    return RawTable(path, table, notes=notes, metadata_columns=tuple(metadata_columns.columns))
