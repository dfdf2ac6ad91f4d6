"""Tables that are in memory already: Polars, pandas, Arrow, Hugging Face data sets, lists of dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from metassay.errors import InputError


def as_frame(source: Any) -> pl.DataFrame | None:
    """The table as Polars; None where the source is no table but names one (paths)."""
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return source.lazy().collect()
    package = type(source).__module__.partition(".")[0]
    if package == "pandas":
        return _of_arrays({str(name): source[name] for name in source.columns})
    if package == "pyarrow":
        return _table(pl.from_arrow(source))
    if package == "datasets":
        return _table(pl.from_arrow(source.with_format("arrow")[:]))
    if isinstance(source, Sequence) and source and all(isinstance(row, Mapping) for row in source):
        return pl.DataFrame([dict(row) for row in source], infer_schema_length=None, strict=False)
    return None


def _of_arrays(columns: Mapping[str, Any]) -> pl.DataFrame:
    """From pandas columns; its index is not data."""
    made = []
    for name, values in columns.items():
        try:
            made.append(pl.Series(name, values.to_numpy(), strict=True, nan_to_null=True))
        except (TypeError, pl.exceptions.PolarsError):
            cells = [None if cell is None or cell != cell else cell for cell in values.tolist()]  # noqa: PLR0124 - NaN
            made.append(pl.Series(name, cells, strict=False))
    return pl.DataFrame(made)


def _table(found: Any) -> pl.DataFrame:
    if not isinstance(found, pl.DataFrame):
        raise InputError("a table was expected, not a single column.")
    return found
