"""JSON lines: one object a line, the same keys in any order; a key may be absent (null)."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from metassay.errors import InputError, Place


def parse_json_lines(text: str, *, file: str) -> pl.DataFrame:
    """A table from JSON lines; lines end at LF alone, blank lines are passed over."""
    records: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, parse_constant=_refuse_constant)
        except ValueError as error:
            reason = getattr(error, "msg", str(error))
            raise InputError(f"this is not JSON ({reason}).", place=Place(file=file, line=number)) from None
        if not isinstance(record, dict):
            raise InputError("a JSON object was expected.", place=Place(file=file, line=number))
        records.append(record)
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: [record.get(name) for record in records] for name in names}
    return pl.DataFrame({name: _series(name, values, file) for name, values in columns.items()})


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
        return pl.Series(
            name, [None if value is None else float(value) for value in values], dtype=pl.Float64
        )
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        raise InputError("its values do not fit one type.", place=Place(file=file, column=name)) from None


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    names = {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names[type(value)]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
