"""From whatever people have, one wide frame of scores: a row per output, a column per score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from metassay.data.columns import KEY_PREFIXES, item_names, score_columns
from metassay.data.cube import widened, without_copies
from metassay.data.dataset import Dataset
from metassay.data.join import join_columns
from metassay.data.readers.registry import How, RawTable, joined_table, paths_of, raw_tables
from metassay.errors import InputError, UnknownName

ROLES = ("item", "system", "human")


@dataclass(frozen=True)
class ScoreFrame:
    """One frame, the name of where it comes from, and notes on what was read."""

    frame: pl.DataFrame
    file: str
    notes: tuple[str, ...] = ()


def read_score_frame(
    source: Any,
    *,
    human: Sequence[str] = (),
    metrics: Sequence[str] = (),
    how: How | None = None,
    join: Any = None,
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    systems: Sequence[str] | None = None,
    exclude_systems: Sequence[str] | None = None,
) -> ScoreFrame:
    """All tables of the source under each other, with the columns of the files to be joined.

    `human` and `metrics` settle of which kind a column is, where a number in one file is text in another.
    """
    how = how or How()
    raw = (
        [RawTable("the data set", source.outputs, notes=source.notes)] if isinstance(source, Dataset) else []
    )
    raw = raw or raw_tables(source, how)
    notes = [note for table in raw for note in table.notes]
    frames = []
    for table in raw:
        frame, said = without_copies(table.frame)
        frames.append((table.file, _with_roles(widened(frame, table.file), columns)))
        notes += said
    for file in [] if join is None else paths_of(join):
        other = widened(joined_table(file, how), file)
        for index, (name, frame) in enumerate(frames):
            joined, note = join_columns(*_with_items(frame, other), file=file)
            frames[index] = (name, joined)
            notes.append(note)
    merged = _merged([frame for _, frame in frames], human, metrics)
    file = frames[0][0] if len(frames) == 1 else "the tables"
    return ScoreFrame(_selected(merged, where or {}, systems, exclude_systems), file, tuple(notes))


def _with_items(frame: pl.DataFrame, other: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables with the column `item`, where one has it and the other its parts (year, lp, seg_id)."""
    ids = [[name for name in item_names() if name in table.columns] for table in (frame, other)]
    if {*ids[0]} & {*ids[1]} or not all(ids) or ["item"] not in ids:
        return frame, other
    made = []
    for table, own in zip((frame, other), ids):
        parts = [name for name in (*KEY_PREFIXES, own[0]) if name in table.columns]
        whole = pl.concat_str([pl.col(name).cast(pl.String) for name in parts], separator="/")
        made.append(table if "item" in own else table.with_columns(item=whole))
    return made[0], made[1]


def _with_roles(frame: pl.DataFrame, columns: Mapping[str, str] | None) -> pl.DataFrame:
    """Columns named by the user under the names that are recognised."""
    for role, column in (columns or {}).items():
        if role not in ROLES:
            raise UnknownName("column role", role, ROLES)
        if column not in frame.columns:
            raise UnknownName("column", column, frame.columns)
    renamed = {column: "seg_id" if role == "item" else role for role, column in (columns or {}).items()}
    clash = [name for name in renamed.values() if name in frame.columns and name not in renamed]
    return frame.drop(clash).rename(renamed)


def _merged(frames: Sequence[pl.DataFrame], human: Sequence[str], metrics: Sequence[str]) -> pl.DataFrame:
    """All tables under each other; a column that is a number in one file and text in another becomes text."""
    if len(frames) == 1:
        return frames[0]
    numbers = []
    for frame in frames:
        here = [name for name in human if name in frame.columns]
        scores = {name for kind in score_columns(frame, here, metrics) for name in kind}
        kinds = [
            pl.col(name).cast(pl.Float64, strict=False) if name in scores else pl.col(name).cast(pl.String)
            for name, kind in frame.schema.items()
            if not kind.is_nested()
        ]
        numbers.append(frame.select(kinds))
    return pl.concat(numbers, how="diagonal_relaxed")


def _selected(
    frame: pl.DataFrame,
    where: Mapping[str, str | Sequence[str]],
    systems: Sequence[str] | None,
    excluded: Sequence[str] | None,
) -> pl.DataFrame:
    """The rows of `--where`, `--systems` and `--exclude-systems`."""
    wanted = {name: [values] if isinstance(values, str) else list(values) for name, values in where.items()}
    if systems:
        wanted["system"] = list(systems)
    for name, values in wanted.items():
        if name not in frame.columns:
            raise UnknownName("column", name, frame.columns)
        frame = frame.filter(pl.col(name).cast(pl.String).is_in(values))
    if excluded:
        frame = frame.filter(~pl.col("system").cast(pl.String).is_in(list(excluded)))
    if frame.is_empty():
        raise InputError("no row is left after --where, --systems and --exclude-systems.")
    return frame
