"""Columns of scores and metadata from the samples that evaluation harnesses log (inspect, lm-eval)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from metassay.data.columns import is_reserved
from metassay.errors import InputError, InputLocation

SCORE_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Scores that inspect writes as letters: correct, incorrect, partially correct, no answer."""


def parse_score(value: Any, location: InputLocation) -> float | None:
    """Return a score as a number. None if it is something else, such as an explanation or a list."""
    if isinstance(value, str):
        if value in SCORE_LETTERS:
            return SCORE_LETTERS[value]
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, bool | int | float) or math.isnan(value):
        return None
    if math.isinf(value):
        raise InputError("a score is infinite.", location=location)
    return float(value)


def select_metadata(values: Any, maximum_length: int | None = None) -> dict[str, Any]:
    """Return the values of an object that can be contexts: texts, numbers and booleans.

    With `maximum_length`, longer texts are left out.
    """
    if not isinstance(values, Mapping):
        return {}
    metadata = {}
    for name, value in values.items():
        is_long = isinstance(value, str) and maximum_length is not None and len(value) > maximum_length
        if isinstance(value, str | bool | int | float) and not is_long:
            metadata[str(name)] = value
    return metadata


def choose_free_name(name: str, taken: Iterable[str], prefix: str) -> str:
    """Return the name, with the prefix if it is taken or means something else in a table."""
    return f"{prefix}{name}" if name in taken or is_reserved(name) else name


def build_columns(rows: Sequence[Mapping[str, Any]], taken: Iterable[str], prefix: str) -> pl.DataFrame:
    """Build a column for every name in the rows, null for rows without it.

    Values of different types become texts. A name that is taken or reserved gets the prefix.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = []
    for name in names:
        values = [row.get(name) for row in rows]
        types = {type(value) for value in values if value is not None}
        if len(types) > 1 and not types <= {int, float}:
            values = [None if value is None else str(value) for value in values]
        columns.append(pl.Series(choose_free_name(name, taken, prefix), values, strict=False))
    return pl.DataFrame(columns)
