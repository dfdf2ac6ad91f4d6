"""Select the rows of a table that the user asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from metassay.errors import InputError, UnknownName


def select_rows(
    table: pl.DataFrame,
    where: Mapping[str, str | Sequence[str]] | None,
    systems: Sequence[str] | None,
    excluded_systems: Sequence[str] | None,
) -> pl.DataFrame:
    """Return the rows that the options `--where`, `--systems` and `--exclude-systems` select. Raises an error
    if no row is left.
    """
    accepted_values = {
        column: [values] if isinstance(values, str) else list(values)
        for column, values in (where or {}).items()
    }
    if systems:
        accepted_values["system"] = [*accepted_values.get("system", []), *systems]
    for column, values in accepted_values.items():
        if column not in table.columns:
            raise UnknownName("column", column, table.columns)
        table = table.filter(pl.col(column).cast(pl.String).is_in(values))
    if excluded_systems:
        table = table.filter(~pl.col("system").cast(pl.String).is_in(list(excluded_systems)))
    if table.is_empty():
        raise InputError("no row is left after --where, --systems and --exclude-systems.")
    return table
