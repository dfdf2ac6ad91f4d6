"""Columns from a second file, matched by the key columns that both have."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metassay.data.columns import KEY_PREFIXES, item_names, system_names
from metassay.errors import InputError, Place

OTHERS = ("doc_id", "speaker_id")
"""Keys beside those of items and systems."""


def join_columns(frame: pl.DataFrame, other: pl.DataFrame, *, file: str) -> tuple[pl.DataFrame, str]:
    """`frame` with the further columns of `other`, and a sentence that says how many rows found a match."""
    known = dict.fromkeys((*KEY_PREFIXES, *item_names(), *system_names(), *OTHERS))
    keys = [name for name in frame.columns if name in other.columns and name.lower() in known]
    if not keys:
        raise InputError(
            "shares no key column with the data.",
            place=Place(file=file),
            remedy=f"Both need some of: {', '.join(known)}.",
        )
    right = other.select([*keys, *(name for name in other.columns if name not in frame.columns)])
    if len(right.columns) == len(keys):
        raise InputError("adds no column that the data does not have.", place=Place(file=file))
    repeated = right.select(keys).is_duplicated()
    if repeated.any():
        row = int(repeated.arg_max() or 0) + 1
        raise InputError(
            f"the key {', '.join(keys)} occurs more than once.",
            place=Place(file=file, row=row, column=keys[-1]),
        )
    text = [pl.col(key).cast(pl.String).alias(f"_key_{key}") for key in keys]
    names = [f"_key_{key}" for key in keys]
    left = frame.with_columns(text)
    marked = right.with_columns(*text, pl.lit(value=True).alias("_found")).drop(keys)
    joined = left.join(marked, on=names, how="left", maintain_order="left")
    found = int(joined["_found"].fill_null(value=False).sum())
    note = f"{Path(file).name}: joined by {', '.join(keys)}; {found} of {frame.height} rows found a match."
    return joined.drop([*names, "_found"]), note
