"""Checking and converting the cells of raw tables: ids, texts and scores."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.errors import InputError, InputLocation, display_path, shorten_text

MISSING_SCORES = frozenset({"", "none", "na", "n/a", "n.a.", "n.a", "#n/a", "null", "nan", "-"})
"""What people write for a score that is not there, in lower case."""
LARGEST_SCORE = 1e100
"""Squares and sums of larger scores overflow, and results would be undefined."""
_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"
_DECIMAL_COMMA = r"^\s*[+-]?\d*,\d+\s*$"


def ids(column: pl.Series, file: str) -> pl.Series:
    """An id column as text. Integers become decimal digits; float, null, boolean and nested are refused."""
    noun = _name_unsuitable_type(column.dtype)
    if noun is not None:
        raise InputError(
            f"an id must be text or a whole number, not {noun} ({shorten_text(str(column[0]))}).",
            location=InputLocation(file=file, row=1, column=column.name),
            remedy="Write the ids as text or as integers.",
        )
    text = column.cast(pl.String)
    empty = (text.is_null() | (text == "")).fill_null(value=True)
    if empty.any():
        row = int(empty.arg_max() or 0) + 1
        raise InputError(
            "the id is missing.",
            location=InputLocation(file=file, row=row, column=column.name),
            remedy="Every row needs one: fill it in or delete the row.",
        )
    _refuse_nul(text, file)
    _refuse_written_floats(text, file)
    return text


def _name_unsuitable_type(dtype: pl.DataType) -> str | None:
    """Return what a column holds that cannot be ids; None if it can."""
    if dtype.is_float():
        return "a float"
    if dtype.is_nested():
        return "a nested value"
    nouns = {
        pl.Boolean: "true or false",
        pl.Binary: "bytes",
        pl.Duration: "a duration",
        pl.Object: "an object",
    }
    return nouns.get(dtype.base_type())


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
            location=InputLocation(file=file, column=column.name),
        )
    _refuse_nul(column, file)
    return column


def scores(column: pl.Series, file: str) -> pl.Series:
    """A column of numbers, null where missing (`None`, `NA`, `n.a.`, empty, NaN); −0.0 becomes 0.

    Texts may have a decimal comma or a percent sign. Text that is no number, and infinities, are refused
    with their row.
    """
    if column.dtype == pl.String:
        numbers = parse_numbers(column)
        is_malformed = numbers.is_null() & ~is_missing_score(column)
        if is_malformed.any():
            row = int(is_malformed.arg_max() or 0)
            raise InputError(
                f"{shorten_text(column[row])!r} is not a number.",
                location=InputLocation(file, row + 1, column.name),
                remedy="Leave the cell empty (or write None) where there is no score.",
            )
        column = numbers
    elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise InputError(
            f"numbers were expected, but the column holds {column.dtype}.",
            location=InputLocation(file=file, column=column.name),
        )
    numbers = column.cast(pl.Float64).fill_nan(None)
    numbers = numbers.set(numbers == 0.0, 0.0)
    infinite = numbers.is_infinite().fill_null(value=False)
    if infinite.any():
        raise infinite_score(InputLocation(file, int(infinite.arg_max() or 0) + 1, column.name))
    too_large = (numbers.abs() > LARGEST_SCORE).fill_null(value=False)
    if too_large.any():
        row = int(too_large.arg_max() or 0)
        raise InputError(
            f"a score of {numbers[row]:g} is too large to compute with (at most {LARGEST_SCORE:g}).",
            location=InputLocation(file, row + 1, column.name),
            remedy="Leave the cell empty (or write None) where there is no score.",
        )
    return numbers.alias(column.name)


def infinite_score(location: InputLocation) -> InputError:
    """The error for an infinity among scores."""
    return InputError(
        "a score is infinite.",
        location=location,
        remedy="Leave the cell empty (or write None) where there is no score.",
    )


def is_missing_score(column: pl.Series) -> pl.Series:
    """Whether each text says that there is no score."""
    return column.is_null() | column.str.strip_chars().str.to_lowercase().is_in(list(MISSING_SCORES))


def parse_numbers(column: pl.Series) -> pl.Series:
    """Parse texts as numbers; null where a text is missing or is no number.

    A percent sign is dropped: `45 %` is 45. A comma is a decimal comma if it cannot separate thousands in
    every number of the column.

    >>> parse_numbers(pl.Series(["0,5", "n.a.", "12,25 %"])).to_list()
    [0.5, None, 12.25]
    """
    texts = column.str.strip_chars().str.replace(r"\s*%$", "")
    has_comma = texts.str.contains(",", literal=True).fill_null(value=False)
    if has_comma.any():
        is_decimal = texts.str.contains(_DECIMAL_COMMA)
        may_be_thousands = texts.str.contains(_THOUSANDS)
        if (is_decimal & ~may_be_thousands).any():
            with_points = texts.str.replace(",", ".", literal=True)
            texts = pl.select(pl.when(is_decimal).then(with_points).otherwise(texts)).to_series()
    numbers = texts.cast(pl.Float64, strict=False)
    return numbers.set(is_missing_score(column), None).alias(column.name)


def _refuse_nul(column: pl.Series, file: str) -> None:
    with_nul = column.str.contains("\0", literal=True).fill_null(value=False)
    if with_nul.any():
        row = int(with_nul.arg_max() or 0) + 1
        raise InputError(
            "there is a NUL character in the text.",
            location=InputLocation(file=file, row=row, column=column.name),
            remedy="Remove it: no text contains one on purpose.",
        )


def _refuse_written_floats(text: pl.Series, file: str) -> None:
    """Refuse ids like 1.0, 2.0 …, which a program wrote that took integers for floats."""
    written = text.str.contains(r"^[+-]?\d+\.\d*$|^[+-]?\d+(\.\d*)?[eE][+-]?\d+$")
    if written.any() and text.str.contains(r"^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$").all():
        row = int(written.arg_max() or 0)
        raise InputError(
            f"an id must be text or a whole number, not a float ({text[row]}).",
            location=InputLocation(file=file, row=row + 1, column=text.name),
            remedy="Write the ids as text or as integers.",
        )


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
