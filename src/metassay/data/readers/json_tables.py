"""Parse tables in JSON: JSON lines with an object per line, or an array of objects."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import polars as pl

from metassay.errors import InputError, InputLocation, shorten_text

JSON_LINES_ENDINGS = (".jsonl", ".ndjson", ".jsonlines")
# What code raises that reads nested objects, if they have the right names but unexpected content.
_MALFORMED_CONTENT_ERRORS = (
    *(AttributeError, TypeError, KeyError, IndexError, ValueError, OverflowError, RecursionError),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
# Checked by recursion, so that deeper values would exhaust the stack.
_MAXIMUM_DEPTH = 20
_LARGEST_FLOAT = int(sys.float_info.max)
_TYPE_NAMES = {
    bool: "true or false",
    str: "text",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
# Columns that may hold both numbers and texts: 1, 2 or "tie".
_MIXED_COLUMNS = frozenset({"winner", "better", "verdict", "preference", "preferred", "gold", "human_winner"})
# Types of lists that become columns of lists.
_LIST_TYPES: dict[type, type[pl.DataType]] = {
    str: pl.String,
    int: pl.Int64,
    float: pl.Float64,
    bool: pl.Boolean,
}


def parse_json_lines(text: str, *, file: str) -> pl.DataFrame:
    """Parse a text with a JSON object per line into a table. Empty lines are ignored, and a key that an
    object lacks becomes null.
    """
    records = [record for record, _ in iterate_json_lines(text, file)]
    return _build_table_from_records(records, file)


def iterate_json_lines(text: str, file: str) -> Iterator[tuple[dict[str, Any], InputLocation]]:
    """Yield the JSON object of each line that is not empty, with its location in the file."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            location = InputLocation(file=file, line=number)
            yield parse_json_object(line, location), location


def parse_json_array(text: str, *, file: str) -> pl.DataFrame:
    """Parse a JSON array of objects into a table with a row per object."""
    records = _load_json_strictly(text, InputLocation(file=file))
    if not isinstance(records, list):
        raise InputError("a JSON array of objects was expected.", location=InputLocation(file=file))
    for number, record in enumerate(records, start=1):
        location = InputLocation(file=file, row=number)
        if not isinstance(record, dict):
            raise InputError("a JSON object was expected.", location=location)
        _check_values_of_json_object(record, location)
    return _build_table_from_records(records, file)


def parse_json_object(text: str, location: InputLocation) -> dict[str, Any]:
    """Parse a JSON object strictly. A repeated key or an invalid character is an error."""
    record = _load_json_strictly(text, location)
    if not isinstance(record, dict):
        raise InputError("a JSON object was expected.", location=location)
    # Only escapes can spell invalid characters, and only nested values can be too deep.
    if "\\u" in text or any(isinstance(value, list | dict) for value in record.values()):
        _check_values_of_json_object(record, location)
    return record


def check_json_depth_and_characters(value: Any, location: InputLocation, depth: int = 0) -> None:
    """Raise an error if a JSON value is nested too deeply, or if a text in it contains NUL or half a
    character (a lone surrogate).
    """
    if isinstance(value, str):
        if "\0" in value:
            raise InputError("there is a NUL character in the text.", location=location)
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise InputError("there is half a character in the text (a lone surrogate).", location=location)
    elif isinstance(value, list | dict):
        if depth > _MAXIMUM_DEPTH:
            raise InputError("this JSON is nested too deeply.", location=location)
        parts = value if isinstance(value, list) else [*value, *value.values()]
        for part in parts:
            check_json_depth_and_characters(part, location, depth + 1)


@contextmanager
def report_malformed_file(path: str, subject: str = "this is") -> Iterator[None]:
    """Replace errors that show that a file has unexpected content, such as a KeyError, by an error message
    for the user.
    """
    try:
        yield
    except InputError:
        raise
    except _MALFORMED_CONTENT_ERRORS as error:
        raise InputError(
            f"{subject} not in the form that was expected ({type(error).__name__}).",
            location=InputLocation(path),
        ) from None


def _check_values_of_json_object(json_object: dict[str, Any], location: InputLocation) -> None:
    """Raise an error that names the column if an object contains a value that cannot be part of a table."""
    for name, value in json_object.items():
        check_json_depth_and_characters([name, value], replace(location, column=shorten_text(name)))


def _load_json_strictly(text: str, location: InputLocation) -> Any:
    """Load JSON strictly: repeated keys, NaN and infinite numbers are errors."""
    try:
        return json.loads(
            text,
            parse_constant=_reject_nan_and_infinity,
            parse_float=_parse_finite_float,
            object_pairs_hook=_build_dict_without_repeated_keys,
        )
    except RecursionError:
        raise InputError("this JSON is nested too deeply.", location=location) from None
    except ValueError as error:
        reason = getattr(error, "msg", str(error))
        raise InputError(f"this is not JSON ({reason}).", location=location) from None


def _build_dict_without_repeated_keys(key_value_pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dictionary from pairs of key and value. A key that occurs twice is an error."""
    content = dict(key_value_pairs)
    if len(content) < len(key_value_pairs):
        counts = Counter(name for name, _ in key_value_pairs)
        repeated = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"the key {repeated!r} comes twice")
    return content


def _parse_finite_float(text: str) -> float:
    """Convert a text to a float. A number that is too large for a float is an error."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{shorten_text(text)} is too large for a number")
    return number


def _reject_nan_and_infinity(name: str) -> float:
    """Raise an error for NaN and Infinity, which the JSON standard does not allow."""
    raise ValueError(f"{name} is not a JSON number")


def _build_table_from_records(records: Sequence[dict[str, Any]], file: str) -> pl.DataFrame:
    """Build a table with a row per record and a column for every key of any record."""
    names = dict.fromkeys(name for record in records for name in record)
    return pl.DataFrame(
        [_build_column(name, [record.get(name) for record in records], file) for name in names]
    )


def _build_column(column_name: str, values: list[Any], file: str) -> pl.Series:
    """Build a table column from values that must all have the same type. Whole numbers may be mixed with
    fractions.

    Nothing else may be mixed, except for numbers and texts in columns of verdicts.
    """
    if column_name.lower() in _MIXED_COLUMNS and any(isinstance(value, str) for value in values):
        values = [str(value) if type(value) in {int, float} else value for value in values]
    type_name = _find_common_type(column_name, values, file)
    if type_name == "a number" and any(isinstance(value, float) for value in values):
        values = [_convert_integer_to_float(value) for value in values]
    try:
        if type_name in {"a list", "an object"}:
            return _build_nested_column(column_name, values)
        return pl.Series(column_name, values, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise InputError(
            "its values do not fit one type.", location=InputLocation(file=file, column=column_name)
        ) from None


def _find_common_type(column_name: str, values: Sequence[Any], file: str) -> str | None:
    """Return the name of the type that all values of a column have, or None if all values are null. Different
    types are an error.
    """
    common: str | None = None
    first_row = 0
    for row, value in enumerate(values, start=1):
        if value is None:
            continue
        type_name = _TYPE_NAMES[type(value)]
        if common is None:
            common = type_name
            first_row = row
        elif type_name != common:
            raise InputError(
                f"{type_name} here, but {common} in row {first_row}.",
                location=InputLocation(file=file, row=row, column=column_name),
            )
    return common


def _convert_integer_to_float(value: Any) -> Any:
    """Convert a whole number to a float, unless it is too large for one. Other values are returned
    unchanged.
    """
    if type(value) is int and abs(value) <= _LARGEST_FLOAT:
        return float(value)
    return value


def _build_nested_column(column_name: str, values: Sequence[Any]) -> pl.Series:
    """Build a column of lists of texts or numbers. Other nested values are stored as JSON text."""
    if not any(isinstance(value, dict) for value in values):
        inner_types = {type(inner) for value in values if value is not None for inner in value}
        inner_types.discard(type(None))
        for inner_type, dtype in _LIST_TYPES.items():
            if inner_types <= {inner_type}:
                return pl.Series(column_name, values, dtype=pl.List(dtype), strict=True)
    texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    return pl.DataFrame({"json": pl.Series(texts, dtype=pl.String)}).to_struct(column_name)
