"""Checking and converting the cells of raw tables: ids, texts and scores."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.errors import InputError, InputLocation, format_path_for_user, shorten_text
from metassay.tasks.base import TEXT_COLUMNS

# What people write for a score that is not there, in lower case.
MISSING_SCORES = frozenset({"", "none", "na", "n/a", "n.a.", "n.a", "#n/a", "null", "nan", "-"})
# Squares and sums of larger scores overflow, and results would be undefined.
LARGEST_SCORE = 1e100
_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"
# A number with thousands separators, such as `1,234.5`.
SEPARATED_NUMBER = r"^\s*[+-]?\d{1,3}(,\d{3})+(\.\d+)?\s*$"
_MINUS_SIGN = "\N{MINUS SIGN}"
_DIGITS = re.compile("[0-9]+")
_DECIMAL_COMMA = r"^\s*[+-]?\d*,\d+\s*$"
# Usual names, in lower case, of columns of texts other than references.
_TEXT_NAMES = frozenset({*TEXT_COLUMNS["output"], *TEXT_COLUMNS["source"], "answer", "response"})


def parse_id_column(column: pl.Series, file: str) -> pl.Series:
    """Convert a column of ids to text. An id that is neither a text nor a whole number is an error."""
    unsuitable_type = _explain_why_type_cannot_hold_ids(column.dtype)
    if unsuitable_type is not None:
        # Polars prints nested values in several lines.
        value = "" if column.dtype.is_nested() else f" ({shorten_text(str(column[0]))})"
        raise InputError(
            f"an id must be text or a whole number, not {unsuitable_type}{value}.",
            location=InputLocation(file=file, row=1, column=column.name),
            remedy="Write the ids as text or as integers.",
        )
    text = column.cast(pl.String)
    is_empty = (text.is_null() | (text == "")).fill_null(value=True)
    if is_empty.any():
        row = int(is_empty.arg_max() or 0) + 1
        raise InputError(
            "the id is missing.",
            location=InputLocation(file=file, row=row, column=column.name),
            remedy="Every row needs one: fill it in or delete the row.",
        )
    _reject_nul_characters(text, file)
    _reject_float_ids(text, file)
    return text


def join_id_columns(table: pl.DataFrame, column_names: Sequence[str], file: str) -> pl.Series:
    """Join the ids in several columns of each row by `/`, as in `2022/en-de/17`."""
    if len(column_names) == 1:
        return parse_id_column(table[column_names[0]], file)
    ids = [
        parse_id_column(table[name], file).alias(str(position)) for position, name in enumerate(column_names)
    ]
    return pl.DataFrame(ids).select(pl.concat_str(pl.all(), separator="/")).to_series()


def _explain_why_type_cannot_hold_ids(dtype: pl.DataType) -> str | None:
    """Describe a column type that cannot hold ids, for example as "a float". Returns None if the type can
    hold ids.
    """
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


def sort_ids(ids: Sequence[str]) -> list[str]:
    """Sort ids so that numbers inside them are compared by size, everything else as text.

    >>> sort_ids(["en-de/10", "en-de/9", "b"])
    ['b', 'en-de/9', 'en-de/10']
    """
    return sorted(ids, key=build_natural_sort_key)


def build_natural_sort_key(text: str) -> str:
    """Build a sort key that compares numbers inside ids by size, so that `talk-2` comes before `talk-10`.

    Every number is replaced by its length and its digits without leading zeros, because int() refuses very
    long numbers, and by all digits, by which 1 and 01 differ.
    """
    return _DIGITS.sub(_build_sort_key_of_number, text)


def _build_sort_key_of_number(number: re.Match[str]) -> str:
    """Build the part of a sort key that stands for one number in an id. It begins with the count of
    digits.
    """
    significant_digits = number[0].lstrip("0")
    return f"\0{len(significant_digits):04d}{significant_digits}\0{number[0]}\0"


def check_text_column(column: pl.Series, file: str) -> pl.Series:
    """Check that a column holds only texts without NUL characters, or only nulls. Returns the column."""
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype != pl.String:
        raise InputError(
            f"text was expected, but the column holds {column.dtype}.",
            location=InputLocation(file=file, column=column.name),
        )
    _reject_nul_characters(column, file)
    return column


def parse_score_column(column: pl.Series, file: str) -> pl.Series:
    """Convert a column of scores to floats. A missing score, such as `None`, `NA`, an empty text or NaN,
    becomes null.

    Texts may have a decimal comma or a percent sign; true and false are 1 and 0; −0.0 becomes 0. Raises an
    error that names the row for texts that are no number, for infinities and for numbers too large to compute
    with.
    """
    if column.dtype == pl.String:
        numbers = parse_score_texts(column)
        is_malformed = numbers.is_null() & ~find_missing_scores(column)
        if is_malformed.any():
            row = int(is_malformed.arg_max() or 0)
            raise _build_malformed_score_error(column, row, file)
        _reject_mixed_percentages(column, numbers, file)
        column = numbers
    elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise InputError(
            f"numbers were expected, but the column holds {column.dtype}.",
            location=InputLocation(file=file, column=column.name),
        )
    numbers = column.cast(pl.Float64).fill_nan(None)
    # −0.0 would be another value in hashes and in texts.
    numbers = numbers.set(numbers == 0.0, 0.0)
    is_infinite = numbers.is_infinite().fill_null(value=False)
    if is_infinite.any():
        row = int(is_infinite.arg_max() or 0)
        raise build_infinite_score_error(InputLocation(file, row + 1, column.name))
    is_too_large = (numbers.abs() > LARGEST_SCORE).fill_null(value=False)
    if is_too_large.any():
        row = int(is_too_large.arg_max() or 0)
        raise InputError(
            f"a score of {numbers[row]:g} is too large to compute with (at most {LARGEST_SCORE:g}).",
            location=InputLocation(file, row + 1, column.name),
            remedy="Leave the cell empty (or write None) where there is no score.",
        )
    return numbers.alias(column.name)


def _build_malformed_score_error(column: pl.Series, row: int, file: str) -> InputError:
    """Return the error for a text in a column of scores that is not a number."""
    text = column[row]
    message = f"{shorten_text(text)!r} is not a number."
    remedy = "Leave the cell empty (or write None) where there is no score."
    if re.match(SEPARATED_NUMBER, text):
        message = f"the comma in {text!r} may be a decimal comma or separate thousands."
        remedy = "Write the numbers without thousands separators."
    elif parse_score_texts(column).is_null().all():
        remedy = "Write all scores of the column as numbers."
    return InputError(message, location=InputLocation(file, row + 1, column.name), remedy=remedy)


def _reject_mixed_percentages(column: pl.Series, numbers: pl.Series, file: str) -> None:
    """Raise an error if some cells are percentages such as `45 %` and others are numbers such as `.45`."""
    is_percentage = column.str.contains("%", literal=True).fill_null(value=False)
    is_plain = ~is_percentage & (numbers != 0).fill_null(value=False)
    if is_percentage.any() and is_plain.any():
        row = int(is_plain.arg_max() or 0)
        raise InputError(
            f"{shorten_text(column[row])!r} is no percentage, but other cells of the column are.",
            location=InputLocation(file, row + 1, column.name),
            remedy="Write all scores of a column in the same way.",
        )


def build_infinite_score_error(location: InputLocation) -> InputError:
    """Return the error for a score that is infinite."""
    return InputError(
        "a score is infinite.",
        location=location,
        remedy="Leave the cell empty (or write None) where there is no score.",
    )


def find_missing_scores(column: pl.Series) -> pl.Series:
    """Return a Boolean column that is true for texts that stand for a missing score, such as `n.a.` and empty
    texts.
    """
    return column.is_null() | column.str.strip_chars().str.to_lowercase().is_in(list(MISSING_SCORES))


def parse_score_texts(column: pl.Series) -> pl.Series:
    """Convert texts to floats as `parse_number_column` does. If all texts are true or false, these are 1 and
    0.

    >>> parse_score_texts(pl.Series(["True", "", "False"])).to_list()
    [1.0, None, 0.0]
    """
    if holds_truth_values(column):
        words = column.str.strip_chars().str.to_lowercase()
        is_missing = ~words.is_in(["true", "false"]).fill_null(value=False)
        return (words == "true").cast(pl.Float64).set(is_missing, None).alias(column.name)
    return parse_number_column(column)


def holds_truth_values(column: pl.Series) -> bool:
    """Return whether all values of a column are true or false, also as texts, except for missing ones.

    >>> holds_truth_values(pl.Series(["True", "", "False"])), holds_truth_values(pl.Series(["true", "1"]))
    (True, False)
    """
    if column.dtype != pl.String:
        return column.dtype == pl.Boolean
    words = column.str.strip_chars().str.to_lowercase()
    is_truth_value = words.is_in(["true", "false"]).fill_null(value=False)
    return bool(is_truth_value.any() and (is_truth_value | find_missing_scores(column)).all())


def parse_number_column(column: pl.Series) -> pl.Series:
    """Convert texts to floats. A text that is missing or is not a number becomes null.

    A percent sign is dropped: `45 %` is 45. A comma is a decimal comma if it cannot separate thousands in
    every number of the column. Numbers such as `1.234,5` and `1,234.5` show what points and commas mean in
    their column.

    >>> parse_number_column(pl.Series(["0,5", "n.a.", "12,25 %"])).to_list()
    [0.5, None, 12.25]
    >>> parse_number_column(pl.Series(["1.234,5", "1.000", "0,5"])).to_list()
    [1234.5, 1000.0, 0.5]
    """
    texts = column.str.strip_chars().str.replace(r"\s*%$", "")
    texts = texts.str.replace_all(_MINUS_SIGN, "-", literal=True)
    has_comma = texts.str.contains(",", literal=True).fill_null(value=False)
    if has_comma.any():
        texts = _remove_thousands_separators(texts)
        is_decimal = texts.str.contains(_DECIMAL_COMMA)
        may_be_thousands = texts.str.contains(_THOUSANDS)
        # `1,234` may be a thousand or a fraction: other numbers of the column decide.
        if (is_decimal & ~may_be_thousands).any():
            with_points = texts.str.replace(",", ".", literal=True)
            texts = pl.select(pl.when(is_decimal).then(with_points).otherwise(texts)).to_series()
    numbers = texts.cast(pl.Float64, strict=False)
    return numbers.set(find_missing_scores(column), None).alias(column.name)


def _remove_thousands_separators(texts: pl.Series) -> pl.Series:
    """Rewrite numbers such as `1.234,5` or `1,234.5` as `1234.5` if a number of the column has both marks.

    Texts that are written in another way than such a number become null.
    """
    for separator, decimal_mark in ((".", ","), (",", ".")):
        whole = rf"[+-]?\d{{1,3}}(\{separator}\d{{3}})+"
        if texts.str.contains(rf"^{whole}\{decimal_mark}\d+$").any():
            is_number = texts.str.contains(rf"^({whole}|[+-]?\d*)(\{decimal_mark}\d+)?$")
            plain = texts.str.replace_all(separator, "", literal=True)
            plain = plain.str.replace(decimal_mark, ".", literal=True)
            return plain.set(~is_number, None)
    return texts


def _reject_nul_characters(column: pl.Series, file: str) -> None:
    """Raise an error if any text of a column contains a NUL character."""
    has_nul = column.str.contains("\0", literal=True).fill_null(value=False)
    if has_nul.any():
        row = int(has_nul.arg_max() or 0) + 1
        raise InputError(
            "there is a NUL character in the text.",
            location=InputLocation(file=file, row=row, column=column.name),
            remedy="Remove it: no text contains one on purpose.",
        )


def _reject_float_ids(ids: pl.Series, file: str) -> None:
    """Raise an error if ids look like 1.0 and 2.0, because a program has converted integers to floats."""
    is_float = ids.str.contains(r"^[+-]?\d+\.\d*$|^[+-]?\d+(\.\d*)?[eE][+-]?\d+$")
    if is_float.any() and ids.str.contains(r"^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$").all():
        row = int(is_float.arg_max() or 0)
        raise InputError(
            f"an id must be text or a whole number, not a float ({ids[row]}).",
            location=InputLocation(file=file, row=row + 1, column=ids.name),
            remedy="Write the ids as text or as integers.",
        )


def replace_decimal_commas(table: pl.DataFrame, file: str, notes: list[str]) -> pl.DataFrame:
    """Replace decimal commas by points in columns of numbers, and add a note that names these columns.

    Columns of texts, recognised by their names, are left as they are: `3,5` may be an answer.
    """
    columns = []
    for name, column in table.to_dict().items():
        is_text = name.lower() in _TEXT_NAMES or name.lower().startswith("ref")
        if not is_text and _has_decimal_commas(column):
            columns.append(name)
    if columns:
        notes.append(
            f"{format_path_for_user(file)}: commas in these columns were read as decimal points: "
            f"{', '.join(columns)}."
        )
    return table.with_columns(pl.col(columns).str.replace(",", ".", literal=True))


def _has_decimal_commas(column: pl.Series) -> bool:
    """Return whether all texts of a column are numbers, some of them written with a decimal comma.

    A comma before three digits (`1,234`) may also separate thousands. Columns with only such commas are left
    as they are, and are refused as scores.
    """
    number = rf"{_DECIMAL_COMMA}|^\s*[+-]?\d*\s*$"
    if not column.str.contains(_DECIMAL_COMMA).any() or not column.str.contains(number).all():
        return False
    return bool((column.str.contains(",") & ~column.str.contains(_THOUSANDS)).any())
