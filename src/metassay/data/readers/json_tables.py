"""JSON lines, one object a line, or an array of objects; keys in any order, and one may be absent (null)."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import polars as pl

from metassay.errors import InputError, Place, shorten_text

_DEEPEST = 20
_NESTED = ("a list", "an object")
_LISTS: tuple[tuple[set[type], type[pl.DataType]], ...] = (
    ({str}, pl.String),
    ({int}, pl.Int64),
    ({float}, pl.Float64),
    ({bool}, pl.Boolean),
)
_LARGEST = int(sys.float_info.max)
BROKEN = (
    *(AttributeError, TypeError, KeyError, IndexError, ValueError, OverflowError, RecursionError),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
"""What nested objects raise that have the right names and the wrong things under them."""


def parse_json_lines(text: str, *, file: str) -> pl.DataFrame:
    """A table from JSON lines; lines end at LF alone, blank lines are passed over."""
    records: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        records.append(parse_object(line, Place(file=file, line=number)))
    return _table(records, file)


def parse_json_array(text: str, *, file: str) -> pl.DataFrame:
    """A table from a JSON array of objects."""
    records = _loaded(text, Place(file=file))
    if not isinstance(records, list):
        raise InputError("a JSON array of objects was expected.", place=Place(file=file))
    for number, record in enumerate(records, start=1):
        place = Place(file=file, row=number)
        if not isinstance(record, dict):
            raise InputError("a JSON object was expected.", place=place)
        _check_values(record, place)
    return _table(records, file)


def _table(records: list[dict[str, Any]], file: str) -> pl.DataFrame:
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: [record.get(name) for record in records] for name in names}
    return pl.DataFrame({name: _series(name, values, file) for name, values in columns.items()})


def parse_object(text: str, place: Place) -> dict[str, Any]:
    """The JSON object in a text, or an error: also for a key that comes twice, and for text that is none."""
    found = _loaded(text, place)
    if not isinstance(found, dict):
        raise InputError("a JSON object was expected.", place=place)
    if "\\u" in text or any(isinstance(value, list | dict) for value in found.values()):
        _check_values(found, place)
    return found


def _loaded(text: str, place: Place) -> Any:
    """What a JSON text says."""
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_without_repeats,
        )
    except RecursionError:
        raise InputError("this JSON is nested too deeply.", place=place) from None
    except ValueError as error:
        reason = getattr(error, "msg", str(error))
        raise InputError(f"this is not JSON ({reason}).", place=place) from None


def _check_values(found: dict[str, Any], place: Place) -> None:
    for name, value in found.items():
        check_value([name, value], replace(place, column=shorten_text(name)))


def check_value(value: Any, place: Place, depth: int = 0) -> None:
    """An error where escapes spell what no text holds, NUL and halves of a character; nesting has an end."""
    if isinstance(value, str):
        if "\0" in value:
            raise InputError("there is a NUL character in the text.", place=place)
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise InputError("there is half a character in the text (a lone surrogate).", place=place)
    elif isinstance(value, list | dict):
        if depth > _DEEPEST:
            raise InputError("this JSON is nested too deeply.", place=place)
        for inner in value if isinstance(value, list) else (*value, *value.values()):
            check_value(inner, place, depth + 1)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice!r} comes twice")
    return found


def _finite(written: str) -> float:
    number = float(written)
    if math.isinf(number):
        raise ValueError(f"{shorten_text(written)} is too large for a number")
    return number


def _series(name: str, values: list[Any], file: str) -> pl.Series:
    """A typed column; values of two kinds in one column are refused, whole numbers may join fractions."""
    first: tuple[str, int] | None = None
    for row, value in enumerate(values, start=1):
        if value is None:
            continue
        kind = _kind(value)
        if first is None:
            first = (kind, row)
        elif kind != first[0]:
            raise InputError(
                f"{kind} here, but {first[0]} in row {first[1]}.",
                place=Place(file=file, row=row, column=name),
            )
    if first is not None and first[0] == "a number" and any(isinstance(value, float) for value in values):
        values = [
            float(value) if type(value) is int and abs(value) <= _LARGEST else value for value in values
        ]
    try:
        if first is not None and first[0] in _NESTED:
            return _nested(name, values)
        return pl.Series(name, values, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise InputError("its values do not fit one type.", place=Place(file=file, column=name)) from None


def _nested(name: str, values: list[Any]) -> pl.Series:
    """Lists of texts or of numbers as such; whatever else is nested, which nobody asks for, as its JSON."""
    kinds = {type(inner) for value in values if isinstance(value, list) for inner in value} - {type(None)}
    plain = next((kind for own, kind in _LISTS if kinds <= own), None)
    if plain is not None and not any(isinstance(value, dict) for value in values):
        return pl.Series(name, values, dtype=pl.List(plain), strict=True)
    texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    return pl.DataFrame({"json": pl.Series(texts, dtype=pl.String)}).to_struct(name)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    names = {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names[type(value)]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
