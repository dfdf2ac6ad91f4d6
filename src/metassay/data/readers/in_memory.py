"""Convert data frames and lists of rows that are already in memory to Polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from metassay.errors import InputError, join_with_commas

_NOT_A_TABLE = "a table was expected, not a single column."


def convert_to_polars_frame(source: Any) -> pl.DataFrame | None:
    """Convert data in memory, such as a pandas or Arrow table or a list of dictionaries, to a Polars frame.

    Returns None for anything else, such as a path.
    """
    frame = _convert_if_table(source)
    if frame is not None and frame.is_empty():
        raise InputError("the table has no rows.")
    return frame


def _convert_if_table(source: Any) -> pl.DataFrame | None:
    """Convert a table in memory to a Polars frame. Returns None for anything else."""
    # By the name of the package, because these libraries need not be installed.
    package = type(source).__module__.partition(".")[0]
    if package == "pandas":
        return _convert_pandas_frame(source)
    if package == "datasets":
        source = source.with_format("arrow")[:]
    if package in {"pyarrow", "datasets"}:
        source = pl.from_arrow(source)
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return source.lazy().collect()
    if isinstance(source, pl.Series):
        raise InputError(_NOT_A_TABLE)
    if isinstance(source, Sequence) and source and all(isinstance(row, Mapping) for row in source):
        return pl.DataFrame([dict(row) for row in source], infer_schema_length=None, strict=False)
    return None


def _convert_pandas_frame(source: Any) -> pl.DataFrame:
    """Convert a pandas frame to a Polars frame. An index with a name raises an error, because it may hold
    ids of items or systems, which would be lost.
    """
    if not hasattr(source, "columns"):
        raise InputError(_NOT_A_TABLE)
    index = [str(name) for name in source.index.names if name is not None and name not in source.columns]
    if index:
        raise InputError(
            f"the index of the data frame ({join_with_commas(index)}) is not read.",
            remedy="Pass frame.reset_index(), or frame.reset_index(drop=True) if the index is not needed.",
        )
    return _convert_pandas_columns({str(name): source[name] for name in source.columns})


def _convert_pandas_columns(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Convert the columns of a pandas frame to a Polars frame, without the index."""
    converted = []
    for name, values in columns.items():
        try:
            column = pl.Series(name, values.to_numpy(), strict=True, nan_to_null=True)
        except (TypeError, ValueError, pl.exceptions.PolarsError):
            column = pl.Series(name, dtype=pl.Object)
        if column.dtype == pl.Object:
            column = pl.Series(name, [_convert_pandas_cell(cell) for cell in values.tolist()], strict=False)
        converted.append(column)
    return pl.DataFrame(converted)


def _convert_pandas_cell(cell: Any) -> Any:
    """Convert a cell of a pandas frame: arrays and tuples to lists, missing values to None. Other cells are
    unchanged.
    """
    if isinstance(cell, np.ndarray | tuple):
        return list(cell)
    if isinstance(cell, list):
        return cell
    is_missing = cell is None or cell != cell  # noqa: PLR0124 - missing values are unequal to themselves
    return None if is_missing else cell
