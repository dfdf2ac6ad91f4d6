"""Parquet tables, read as they are."""

from __future__ import annotations

import io

import polars as pl

from metassay.errors import InputError, Place


def parse_parquet(content: bytes, *, file: str) -> pl.DataFrame:
    """The table in a Parquet file."""
    try:
        frame = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"this is not a Parquet file ({reason}).", place=Place(file=file)) from None
    if frame.is_empty():
        raise InputError("the file has no rows.", place=Place(file=file))
    categorical = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Categorical | pl.Enum)]
    return frame.with_columns(pl.col(categorical).cast(pl.String))
