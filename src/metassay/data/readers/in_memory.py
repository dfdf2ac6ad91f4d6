"""Convert data frames and lists of rows that are already in memory to Polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from metassay.errors import InputError


def convert_to_frame(source: Any) -> pl.DataFrame | None:
    """Convert a Polars, pandas or Arrow table, a `datasets.Dataset` or a list of dicts.

    Returns None for anything else, such as a path.
    """
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return source.lazy().collect()
    # By the name of the package, because these libraries need not be installed.
    package = type(source).__module__.partition(".")[0]
    if package == "pandas":
        return _convert_pandas({str(name): source[name] for name in source.columns})
    if package == "pyarrow":
        return _check_table(pl.from_arrow(source))
    if package == "datasets":
        return _check_table(pl.from_arrow(source.with_format("arrow")[:]))
    if isinstance(source, Sequence) and source and all(isinstance(row, Mapping) for row in source):
        return pl.DataFrame([dict(row) for row in source], infer_schema_length=None, strict=False)
    return None


def _convert_pandas(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Convert the columns of a pandas frame. Its index is not part of the data."""
    converted = []
    for name, values in columns.items():
        try:
            converted.append(pl.Series(name, values.to_numpy(), strict=True, nan_to_null=True))
        except (TypeError, pl.exceptions.PolarsError):
            cells = [None if _is_missing(cell) else cell for cell in values.tolist()]
            converted.append(pl.Series(name, cells, strict=False))
    return pl.DataFrame(converted)


def _is_missing(cell: Any) -> bool:
    """Whether a cell is None or one of pandas' missing values, which are unequal to themselves."""
    return cell is None or cell != cell  # noqa: PLR0124 - true for NaN


def _check_table(converted: pl.DataFrame | pl.Series) -> pl.DataFrame:
    if not isinstance(converted, pl.DataFrame):
        raise InputError("a table was expected, not a single column.")
    return converted
