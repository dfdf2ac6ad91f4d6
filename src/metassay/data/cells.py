"""Checking and converting the cells of raw tables: ids, texts and scores."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import polars as pl

from metassay.errors import InputError, Place, display_path

MISSING_SCORES = frozenset({"", "none", "na", "n/a", "null", "nan"})
"""What people write for a score that is not there, in lower case."""


def ids(column: pl.Series, file: str) -> pl.Series:
    """An id column as text. Integers become decimal digits; float, null, boolean and nested are refused."""
    kind = column.dtype
    if kind.is_float() or kind == pl.Boolean or kind.is_nested():
        word = "a float" if kind.is_float() else "true or false" if kind == pl.Boolean else "a nested value"
        raise InputError(
            f"an id must be text or a whole number, not {word} ({column[0]}).",
            place=Place(file=file, row=1, column=column.name),
            remedy="Write the ids as text or as integers.",
        )
    text = column.cast(pl.String)
    empty = (text.is_null() | (text == "")).fill_null(value=True)
    if empty.any():
        row = int(empty.arg_max() or 0) + 1
        raise InputError(
            "the id is missing.",
            place=Place(file=file, row=row, column=column.name),
            remedy="Every row needs one: fill it in or delete the row.",
        )
    _refuse_nul(text, file)
    _refuse_written_floats(text, file)
    return text


def sorted_ids(ids: Sequence[str]) -> list[str]:
    """Ids in order: numbers inside them by size, everything else as text.

    >>> sorted_ids(["en-de/10", "en-de/9", "b"])
    ['b', 'en-de/9', 'en-de/10']
    """
    return sorted(ids, key=_natural)


def _natural(text: str) -> list[tuple[str, tuple[int, str], str]]:
    """Texts and numbers in turn; the digits last, so that 1 and 01 differ."""
    parts = re.split(r"([0-9]+)", text)
    numbers = [*parts[1::2], ""]
    return [(words, _size(digits), digits) for words, digits in zip(parts[::2], numbers)]


def _size(digits: str) -> tuple[int, str]:
    """A number in decimal digits, however many: longer is larger, and of one length the text decides."""
    plain = digits.lstrip("0")
    return (len(plain), plain) if digits else (-1, "")


def texts(column: pl.Series, file: str) -> pl.Series:
    """A text column, null where there is none; NUL and other types are refused."""
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype != pl.String:
        raise InputError(
            f"text was expected, but the column holds {column.dtype}.",
            place=Place(file=file, column=column.name),
        )
    _refuse_nul(column, file)
    return column


def scores(column: pl.Series, file: str) -> pl.Series:
    """A column of numbers, null where missing (`None`, `NA`, `null`, empty, NaN); −0.0 becomes 0.

    Text that is no number, and infinities, are refused with their row.
    """
    if column.dtype == pl.String:
        column = pl.Series(
            column.name,
            [_number(cell, Place(file, row, column.name)) for row, cell in enumerate(column, start=1)],
            dtype=pl.Float64,
        )
    elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise InputError(
            f"numbers were expected, but the column holds {column.dtype}.",
            place=Place(file=file, column=column.name),
        )
    numbers = column.cast(pl.Float64).fill_nan(None)
    numbers = numbers.set(numbers == 0.0, 0.0)
    infinite = numbers.is_infinite().fill_null(value=False)
    if infinite.any():
        raise infinite_score(Place(file, int(infinite.arg_max() or 0) + 1, column.name))
    return numbers.alias(column.name)


def infinite_score(place: Place) -> InputError:
    """The error for an infinity among scores."""
    return InputError(
        "a score is infinite.",
        place=place,
        remedy="Leave the cell empty (or write None) where there is no score.",
    )


def _number(cell: str | None, place: Place) -> float | None:
    if cell is None or cell.strip().lower() in MISSING_SCORES:
        return None
    try:
        number = float(cell)
    except ValueError:
        raise InputError(
            f"{cell!r} is not a number.",
            place=place,
            remedy="Leave the cell empty (or write None) where there is no score.",
        ) from None
    if math.isinf(number):
        raise infinite_score(place)
    return number


def _refuse_nul(column: pl.Series, file: str) -> None:
    with_nul = column.str.contains("\0", literal=True).fill_null(value=False)
    if with_nul.any():
        row = int(with_nul.arg_max() or 0) + 1
        raise InputError(
            "there is a NUL character in the text.",
            place=Place(file=file, row=row, column=column.name),
            remedy="Remove it: no text contains one on purpose.",
        )


def _refuse_written_floats(text: pl.Series, file: str) -> None:
    """Refuse ids like 1.0, 2.0 …, which a program wrote that took integers for floats."""
    written = text.str.contains(r"^[+-]?\d+\.\d*$|^[+-]?\d+(\.\d*)?[eE][+-]?\d+$")
    if written.any() and text.str.contains(r"^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$").all():
        row = int(written.arg_max() or 0)
        raise InputError(
            f"an id must be text or a whole number, not a float ({text[row]}).",
            place=Place(file=file, row=row + 1, column=text.name),
            remedy="Write the ids as text or as integers.",
        )


_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"
_DECIMAL_COMMA = r"^\s*[+-]?\d*,\d+\s*$"


def with_points(table: pl.DataFrame, file: str, notes: list[str]) -> pl.DataFrame:
    """The table with a point in numbers that have a comma: columns in which every filled cell is a number.

    Where every comma could part thousands as well (`1,234`), the column stays as it is, and as scores is
    refused.
    """
    number = rf"{_DECIMAL_COMMA}|^\s*[+-]?\d*\s*$"
    told = [
        name
        for name, cells in table.to_dict().items()
        if cells.str.contains(_DECIMAL_COMMA).any()
        and cells.str.contains(number).all()
        and (cells.str.contains(",") & ~cells.str.contains(_THOUSANDS)).any()
    ]
    if told:
        notes.append(
            f"{display_path(file)}: numbers with a decimal comma were read as with a point: "
            f"{', '.join(told)}."
        )
    return table.with_columns(pl.col(told).str.replace(",", ".", literal=True))
