"""Read tables of judges' verdicts from files, run folders and data frames."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from metassay.data.columns import select_columns_by_name
from metassay.data.joins import join_tables_by_id
from metassay.data.readers.base import RawTable, ReaderOptions
from metassay.data.readers.in_memory import convert_to_polars_frame
from metassay.data.readers.registry import download_remote_paths, read_table_to_join, read_tables
from metassay.data.reading import Source
from metassay.data.row_selection import select_rows
from metassay.data.verdicts import VERDICT_COLUMNS
from metassay.errors import InputError, InputLocation
from metassay.options import FilePaths, Names
from metassay.store.layout import MANIFEST
from metassay.store.parts import hash_bytes
from metassay.store.remote import download_run_if_remote
from metassay.store.run_folder import RunFolder
from metassay.workflows.run_files import VERDICTS


@dataclass(frozen=True)
class VerdictFrame:
    """A table of verdicts of judges, with the name of the file and notes for the user."""

    frame: pl.DataFrame
    file: str
    notes: list[str]


def read_verdicts(
    data_source: Source,
    *,
    join: FilePaths | None,
    where: Mapping[str, Names] | None,
    quoting: str,
    judge_column: str | None,
) -> VerdictFrame:
    """Read tables of judges' verdicts. Tables without a column of judges, such as human labels, are joined to
    them.

    `judge_column` is the column of judges, if its name is unusual.
    """
    options = ReaderOptions(quoting=quoting)
    notes: list[str] = []
    verdict_tables: list[RawTable] = []
    other_tables: list[RawTable] = []
    given_frame = convert_to_polars_frame(data_source)
    if given_frame is not None:
        verdict_tables.append(RawTable("the table", given_frame))
    else:
        for table in read_tables(_find_verdict_files(data_source), options):
            if _has_judge_column(table.frame, judge_column):
                verdict_tables.append(table)
            else:
                other_tables.append(table)
            notes += table.notes
        if not verdict_tables:
            # The table of a single judge, or one whose columns are reported as missing later.
            position = next(
                (i for i, other in enumerate(other_tables) if _has_winner_or_score_column(other.frame)), 0
            )
            verdict_tables.append(other_tables.pop(position))
    for path in [] if join is None else download_remote_paths(join):
        table = read_table_to_join(path, options)
        other_tables.append(RawTable(path, table.frame))
        notes += table.notes
    frame = pl.concat([table.frame for table in verdict_tables], how="diagonal_relaxed")
    for other in other_tables:
        frame, note = join_tables_by_id(frame, other.frame, file=other.file)
        notes.append(note)
    file = verdict_tables[0].file if len(verdict_tables) == 1 else "the tables"
    if where:
        frame = select_rows(frame, where, None, None)
    return VerdictFrame(frame, file, notes)


def hash_verdict_rows(verdict_table: pl.DataFrame) -> str:
    """Return a hash of the rows of a table. It does not depend on the order of the rows."""
    sorted_lines = sorted(verdict_table.write_ndjson().split("\n"))
    return hash_bytes("\n".join(sorted_lines).encode())


def _find_verdict_files(data_source: Any) -> list[str]:
    """Return the paths of the files to read. For a run folder, this is the file of verdicts in the folder."""
    paths: list[Any] = [data_source] if isinstance(data_source, str | os.PathLike) else list(data_source)
    files = []
    for path in [os.fspath(path) for path in paths]:
        if not (download_run_if_remote(path) / MANIFEST).is_file():
            files.append(path)
            continue
        verdicts = RunFolder.open_for_reading(path).find_intact_file(VERDICTS)
        if verdicts is None:
            raise InputError(
                "there was no judge in this run.",
                location=InputLocation(file=path),
                remedy="Make one with: metassay assay DATA --metrics 'judge(mode=pairwise)' --llm-url URL",
            )
        files.append(str(verdicts))
    return files


def _has_judge_column(table: pl.DataFrame, judge_column: str | None) -> bool:
    """Return whether a table has a column that names the judge of each verdict."""
    return judge_column in table.columns or bool(
        select_columns_by_name(table.columns, VERDICT_COLUMNS["judge"])
    )


def _has_winner_or_score_column(table: pl.DataFrame) -> bool:
    """Return whether a table has a column of winners or of scores, so that its rows can be verdicts."""
    return bool(
        select_columns_by_name(table.columns, [*VERDICT_COLUMNS["winner"], *VERDICT_COLUMNS["score"]])
    )
