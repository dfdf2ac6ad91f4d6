"""Write tables as CSV that spreadsheets show as text, never execute."""

from __future__ import annotations

import re
from typing import Any, Literal

import polars as pl

# The first characters of a cell that spreadsheets take for a formula.
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?$"


def escape_spreadsheet_formula(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would run as a formula. Numbers are unchanged.

    >>> [escape_spreadsheet_formula(cell) for cell in ("=1+1", "-5", "plain")]
    ["'=1+1", '-5', 'plain']
    """
    if isinstance(cell, str) and re.match(_FORMULA, cell) and not re.match(_NUMBER, cell):
        return f"'{cell}"
    return cell


def format_csv(table: pl.DataFrame) -> str:
    """Format a table as CSV so that spreadsheets run no cell and no column name as a formula."""
    names = [escape_spreadsheet_formula(name) for name in table.columns]
    columns = [_escape_formulas_in_column(column) for column in table.iter_columns()]
    # Polars does not quote a carriage return, though many readers take it for the end of a row.
    has_return = any(column.dtype == pl.String and column.str.contains("\r").any() for column in columns)
    quote_style: Literal["non_numeric", "necessary"] = "non_numeric" if has_return else "necessary"
    return pl.DataFrame(dict(zip(names, columns))).write_csv(quote_style=quote_style)


def _escape_formulas_in_column(column: pl.Series) -> pl.Series:
    if not isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum):
        return column
    text = column.cast(pl.String)
    is_formula = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    return pl.select(pl.when(is_formula).then("'" + text).otherwise(text)).to_series()
