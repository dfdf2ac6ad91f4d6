"""Read the tables that hold human and metric scores, and merge them to one table with a column per score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from metassay.data.cells import parse_score_column
from metassay.data.columns import (
    TEST_SET_COLUMNS,
    find_reference_columns,
    find_score_columns,
    find_unusable_columns,
    list_possible_column_names,
    replace_short_role_names,
)
from metassay.data.dataset import Dataset
from metassay.data.joins import drop_repeated_rows, join_tables_by_id
from metassay.data.readers.base import RawTable, ReaderOptions
from metassay.data.readers.registry import download_remote_paths, read_table_to_join, read_tables
from metassay.data.row_selection import select_rows
from metassay.data.score_tables import pivot_long_scores
from metassay.errors import UnknownName
from metassay.options import TableReadOptions

_REPEATED_ROW_REASON = "exact copy of another row"
_COLUMN_ROLES = ("item", "system", "human", "output", "source", "references")
# The usual column name of a role, where it is not the name of the role itself.
_COLUMN_OF_ROLE = {"item": "seg_id", "references": "ref"}


@dataclass(frozen=True)
class ScoreTable:
    """A table with a row per output and a column per human or metric score, and notes on how it was read."""

    frame: pl.DataFrame
    file: str
    notes: tuple[str, ...]
    human_columns: tuple[str, ...]
    """Columns that are human scores according to the file format."""
    metadata_columns: tuple[str, ...]
    """Columns that are metadata according to the file format."""
    left_out: Mapping[str, int]
    """Number of rows that were left out while files were read, by reason."""

    def add_metadata_columns(self, names: Iterable[str]) -> ScoreTable:
        """Return the table with further columns that are metadata, not scores."""
        return replace(self, metadata_columns=_list_distinct_names([*self.metadata_columns, *names]))


def read_score_table(
    source: Any,
    options: TableReadOptions,
    *,
    references: Sequence[str] = (),
    human: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> ScoreTable:
    """Read tables of scores, add the columns of further files, and put all rows into one table.

    `references` are names of references in folders of mt-metrics-eval. Columns named in `human` and `metrics`
    are scores, also if they are numbers in one table and text in another.
    """
    reader_options = ReaderOptions(options.quoting, reference=tuple(references))
    columns = replace_short_role_names(options.columns)
    notes: list[str] = []
    left_out: Counter[str] = Counter()
    raw_tables = _read_raw_tables(source, reader_options)
    for table in raw_tables:
        notes += table.notes
    frames = []
    for table in raw_tables:
        frame, repetition_notes = drop_repeated_rows(table.frame)
        left_out[_REPEATED_ROW_REASON] += table.frame.height - frame.height
        left_out.update(table.left_out)
        frames.append(pivot_long_scores(frame, table.file))
        notes += repetition_notes
    join_paths = [] if options.join is None else download_remote_paths(options.join)
    for path in join_paths:
        join_table = read_table_to_join(path, reader_options)
        join_frame = pivot_long_scores(join_table.frame, path)
        notes += join_table.notes
        left_out.update(join_table.left_out)
        for index, frame in enumerate(frames):
            left, right = _add_missing_item_column(frame, join_frame)
            frames[index], note = join_tables_by_id(left, right, file=path, chosen_columns=columns)
            notes.append(note)
    frames = [_rename_chosen_columns(frame, columns) for frame in frames]
    human_columns = _list_distinct_names(name for table in raw_tables for name in table.human_columns)
    metadata_columns = _list_distinct_names(name for table in raw_tables for name in table.metadata_columns)
    files = [table.file for table in raw_tables]
    merged = _concatenate_score_tables(frames, files, [*human, *human_columns], metrics, metadata_columns)
    return ScoreTable(
        frame=select_rows(merged, options.where, options.systems, options.exclude_systems),
        file=raw_tables[0].file if len(raw_tables) == 1 else "the tables",
        notes=tuple(notes),
        human_columns=human_columns,
        metadata_columns=metadata_columns,
        left_out=left_out,
    )


def _read_raw_tables(source: Any, options: ReaderOptions) -> list[RawTable]:
    """Read the tables of a source. If the source is a `Dataset`, its outputs are the only table."""
    if not isinstance(source, Dataset):
        return read_tables(source, options)
    return [
        RawTable("the data set", source.outputs, None, source.notes, source.human, source.declared_metadata)
    ]


def _list_distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _add_missing_item_column(
    left_table: pl.DataFrame, right_table: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add the column `item` to one of two tables if only the other has it, so that they can be joined."""
    left_names = [name for name in list_possible_column_names("item") if name in left_table.columns]
    right_names = [name for name in list_possible_column_names("item") if name in right_table.columns]
    if not left_names or not right_names or {*left_names} & {*right_names}:
        return left_table, right_table
    if left_names == ["item"]:
        return left_table, _add_item_column(right_table, right_names[0])
    if right_names == ["item"]:
        return _add_item_column(left_table, left_names[0]), right_table
    return left_table, right_table


def _add_item_column(table: pl.DataFrame, id_column: str) -> pl.DataFrame:
    """Add the column `item`, which joins test set and id by `/`, as in `2022/en-de/17`."""
    parts = [name for name in (*TEST_SET_COLUMNS, id_column) if name in table.columns]
    item = pl.concat_str([pl.col(name).cast(pl.String) for name in parts], separator="/")
    return table.with_columns(item=item)


def _rename_chosen_columns(frame: pl.DataFrame, chosen_columns: Mapping[str, str] | None) -> pl.DataFrame:
    """Rename each column that the user chose for a role to the usual name of this role."""
    new_names = {}
    for role, column in (chosen_columns or {}).items():
        if role not in _COLUMN_ROLES:
            raise UnknownName("column role", role, _COLUMN_ROLES)
        if column not in frame.columns:
            raise UnknownName("column", column, frame.columns)
        new_names[column] = _COLUMN_OF_ROLE.get(role, role)
    replaced = [name for name in new_names.values() if name in frame.columns and name not in new_names]
    return frame.drop(replaced).rename(new_names)


def _concatenate_score_tables(
    frames: Sequence[pl.DataFrame],
    files: Sequence[str],
    human: Sequence[str],
    metric_columns: Sequence[str],
    metadata_columns: Sequence[str],
) -> pl.DataFrame:
    """Put the rows of several tables into one table. Scores become numbers and other columns text; nested
    columns are dropped.
    """
    if len(frames) == 1:
        return frames[0]
    converted = []
    for frame, file in zip(frames, files):
        human_columns = [name for name in human if name in frame.columns]
        human_scores, metric_scores = find_score_columns(
            frame, human_columns, metric_columns, metadata_columns
        )
        scores = {*human_scores, *metric_scores}
        columns: list[pl.Series] = []
        for name, dtype in frame.schema.items():
            if dtype.is_nested():
                continue
            if name in scores:
                columns.append(parse_score_column(frame[name], file))
            else:
                columns.append(frame[name].cast(pl.String))
        converted.append(frame.select(columns))
    return pl.concat(converted, how="diagonal_relaxed")


def find_ignored_score_columns(table: pl.DataFrame) -> dict[str, str]:
    """Find the columns that can be used neither as scores nor to group outputs. Returns the reason for each
    column.

    Ids, texts and references are not among them.
    """
    role_names = {*find_reference_columns(table.columns), *TEST_SET_COLUMNS}
    for role in ("item", "system", "output", "source"):
        role_names.update(list_possible_column_names(role))
    without_role = [name for name in table.columns if name.lower() not in role_names]
    return find_unusable_columns(table.select(without_role))
