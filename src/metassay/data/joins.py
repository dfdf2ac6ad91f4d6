"""Join tables by their key columns, and drop repeated rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from metassay.data.columns import (
    TEST_SET_COLUMNS,
    is_row_number_column,
    is_unsupported_column_type,
    list_possible_column_names,
)
from metassay.errors import InputError, InputLocation

# Keys besides those of items and systems.
_OTHER_KEYS = ("doc_id", "speaker_id")


def join_tables_by_id(
    table: pl.DataFrame,
    other_table: pl.DataFrame,
    *,
    file: str,
    chosen_columns: Mapping[str, str] | None = None,
) -> tuple[pl.DataFrame, str]:
    """Add the columns of another table to a table. Rows are matched by the id columns that both tables have.

    Also returns a note that says how many rows have a match. `file` is the file of `other_table`;
    `chosen_columns` has the columns that the user chose, by role.
    """
    chosen_keys = [name for role, name in (chosen_columns or {}).items() if role in ("item", "system")]
    for role in ("item", "system"):
        other_table = _rename_id_column_for_join(
            other_table, (chosen_columns or {}).get(role), list_possible_column_names(role), table.columns
        )
    possible_keys = [
        *TEST_SET_COLUMNS,
        *list_possible_column_names("item"),
        *list_possible_column_names("system"),
        *_OTHER_KEYS,
    ]
    keys = []
    for name in table.columns:
        if name in other_table.columns and (name.lower() in possible_keys or name in chosen_keys):
            keys.append(name)
    other_table, shift_note = _align_segment_numbers(table, other_table)
    if not keys:
        raise InputError(
            "the file shares no key column with the data.",
            location=InputLocation(file=file),
            remedy="Name the id that both have with --column item=COLUMN, or rename it to one of: "
            f"{', '.join(dict.fromkeys(possible_keys))}.",
        )
    _check_key_types(table, keys, None)
    _check_key_types(other_table, keys, file)
    added = [name for name in other_table.columns if name not in table.columns]
    if not added:
        raise InputError("the file has no column that the data lacks.", location=InputLocation(file=file))
    _check_unique_keys(other_table, keys, file)
    # Keys are compared as texts: an id may be a number in one file and a text in the other.
    text_keys = [f"_key_{key}" for key in keys]
    key_columns = [pl.col(key).cast(pl.String).alias(name) for key, name in zip(keys, text_keys)]
    left = table.with_columns(key_columns)
    right = other_table.select(*added, *key_columns, pl.lit(value=True).alias("_has_match"))
    joined = left.join(right, on=text_keys, how="left", maintain_order="left")
    matches = int(joined["_has_match"].fill_null(value=False).sum())
    note = (
        f"{Path(file).name} was joined by {', '.join(keys)}: {matches} of {table.height} rows have a match."
    )
    note += shift_note
    return joined.drop([*text_keys, "_has_match"]), note


def _check_key_types(table: pl.DataFrame, key_columns: Sequence[str], file: str | None) -> None:
    """Raise an error if a key column holds values, such as lists, by which tables cannot be joined."""
    for key in key_columns:
        if is_unsupported_column_type(table.schema[key]):
            raise InputError(
                f"a key must be text or a number, not {table.schema[key]}.",
                location=InputLocation(file=file, column=key),
            )


def _check_unique_keys(table: pl.DataFrame, key_columns: Sequence[str], file: str) -> None:
    """Raise an error if two rows of a table have the same values in the key columns."""
    is_repeated = table.select(key_columns).is_duplicated()
    if is_repeated.any():
        raise InputError(
            f"the key {', '.join(key_columns)} occurs more than once.",
            location=InputLocation(
                file=file, row=int(is_repeated.arg_max() or 0) + 1, column=key_columns[-1]
            ),
        )


def _align_segment_numbers(table: pl.DataFrame, other_table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Shift the segment numbers of the second table to match the first table, if the two start to count at
    different numbers.

    Returns the second table and a sentence about the shift. Appraise counts segments from 0, most tables from
    1, and some test sets begin with a line that is not counted. Documents show which numbers belong together.
    """
    columns = ["doc_id", "seg_id"]
    if not {*columns} <= {*table.columns} & {*other_table.columns}:
        return other_table, ""
    segments = _list_segments_of_documents(table)
    other_segments = _list_segments_of_documents(other_table)
    shared = other_segments.filter(pl.col("doc_id").is_in(segments["doc_id"].unique().implode()))
    if shared.is_empty() or shared["seg_id"].null_count() or segments["seg_id"].null_count():
        return other_table, ""
    # 0 comes first: numbers that match already are not shifted.
    for shift in (0, 1, 2):
        shifted = shared.with_columns(pl.col("seg_id") + shift)
        if shifted.join(segments, on=columns, how="anti").is_empty():
            if shift == 0:
                return other_table, ""
            number = pl.col("seg_id").cast(pl.Int64, strict=False) + shift
            return other_table.with_columns(number), f" Its seg_id was increased by {shift} to match."
    return other_table, ""


def _list_segments_of_documents(table: pl.DataFrame) -> pl.DataFrame:
    """List the distinct pairs of document id and segment number in a table. A segment that is not a number
    becomes null.
    """
    columns = [pl.col("doc_id").cast(pl.String), pl.col("seg_id").cast(pl.Int64, strict=False)]
    return table.select(columns).unique()


def _rename_id_column_for_join(
    other_table: pl.DataFrame,
    chosen_column: str | None,
    known_id_names: Sequence[str],
    columns: Sequence[str],
) -> pl.DataFrame:
    """Rename the id column of the other table to the name that the user chose, so that the tables can be
    joined.
    """
    if chosen_column is None or chosen_column in other_table.columns or chosen_column not in columns:
        return other_table
    for name in other_table.columns:
        if name.lower() in known_id_names and name not in columns:
            return other_table.rename({name: chosen_column})
    return other_table


def drop_repeated_rows(table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Drop rows that repeat another row exactly, and columns of row numbers. Also returns notes for the user.

    Row numbers that a program wrote to the file are ignored in the comparison.
    """
    table = table.drop([name for name in table.columns if is_row_number_column(name)])
    distinct = table.unique(maintain_order=True)
    copies = table.height - distinct.height
    if not copies:
        return table, []
    return distinct, [f"{copies} rows are exact copies of others and were left out."]
