"""From whatever people have, scores of people and metrics: files, folders, frames, data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from metassay.data.columns import KEY_PREFIXES, TEXT_NAMES
from metassay.data.dataset import Dataset
from metassay.data.join import join_columns
from metassay.data.readers.registry import How, RawTable, joined_table, paths_of, raw_tables
from metassay.data.scores import ScoreTable, score_columns, score_tables, widened
from metassay.errors import InputError, UnknownName
from metassay.workflows.read import Paths
from metassay.workflows.settings import Named, ScoreReading, names_of

Source = Dataset | pl.DataFrame | ScoreTable | Sequence[ScoreTable] | Paths


def only_human(tables: Sequence[ScoreTable], human: Named | None) -> str:
    """The human score asked for (of several, the first), or the only one there is."""
    if human is not None:
        return names_of(human)[0]
    found = list(dict.fromkeys(name for table in tables for name in table.human if ":" not in name))
    if not found:
        raise InputError("there is no column of human scores.", remedy="Name one with --human COLUMN.")
    if len(found) > 1:
        raise InputError(
            f"there are several human scores: {', '.join(found)}.", remedy="Choose one with --human COLUMN."
        )
    return found[0]


def read_score_tables(
    data: Source,
    reading: ScoreReading,
    *,
    human: Named | None = None,
) -> tuple[list[ScoreTable], list[str]]:
    """One table per data set that has metrics to rank, and notes on what was read."""
    declared = names_of(human)
    if isinstance(data, ScoreTable):
        return [data], []
    if isinstance(data, Sequence) and data and all(isinstance(part, ScoreTable) for part in data):
        return [part for part in data if isinstance(part, ScoreTable)], []
    how = How(quoting=reading.quoting, reference=tuple(reading.reference))
    raw = (
        [RawTable("the data set", data.outputs, notes=data.notes)]
        if isinstance(data, Dataset)
        else raw_tables(data, how)
    )
    notes = [note for table in raw for note in table.notes]
    frames = [(table.file, _with_roles(widened(table.frame, table.file), reading.columns)) for table in raw]
    for other in [] if reading.join is None else paths_of(reading.join):
        frames, said = _joined(frames, other, how)
        notes += said
    merged = _merged([frame for _, frame in frames], declared)
    merged = _selected(merged, reading)
    file = frames[0][0] if len(frames) == 1 else "the tables"
    tables = score_tables(merged, human=declared, file=file, keep_references=reading.keep_references)
    useful = [table for table in tables if table.metrics and table.human]
    if not useful:
        lacking = "are no human scores" if any(table.metrics for table in tables) else "is no metric to rank"
        raise InputError(
            f"there {lacking}.", remedy="Add a column with --join FILE, or name one with --human."
        )
    notes += [f"{t.dataset}: passed over, without metric or human scores." for t in tables if t not in useful]
    return useful, notes


def _joined(
    frames: Sequence[tuple[str, pl.DataFrame]], file: str, how: How
) -> tuple[list[tuple[str, pl.DataFrame]], list[str]]:
    other = widened(joined_table(file, how), file)
    found, notes = [], []
    for name, frame in frames:
        joined, note = join_columns(*_with_items(frame, other), file=file)
        found.append((name, joined))
        notes.append(note)
    return found, notes


def _with_items(frame: pl.DataFrame, other: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables with the column `item`, where one has it and the other its parts (year, lp, seg_id)."""
    ids = [[name for name in TEXT_NAMES["item"] if name in table.columns] for table in (frame, other)]
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
        if role not in {"item", "system", "human"}:
            raise UnknownName("column role", role, ("item", "system", "human"))
        if column not in frame.columns:
            raise UnknownName("column", column, frame.columns)
    renamed = {column: "seg_id" if role == "item" else role for role, column in (columns or {}).items()}
    clash = [name for name in renamed.values() if name in frame.columns and name not in renamed]
    return frame.drop(clash).rename(renamed)


def _merged(frames: Sequence[pl.DataFrame], human: Sequence[str]) -> pl.DataFrame:
    """All tables under each other; a column that is a number in one file and text in another becomes text."""
    if len(frames) == 1:
        return frames[0]
    numbers = []
    for frame in frames:
        people, metrics = score_columns(frame, [name for name in human if name in frame.columns])
        scores = {*people, *metrics}
        kinds = [
            pl.col(name).cast(pl.Float64, strict=False) if name in scores else pl.col(name).cast(pl.String)
            for name, kind in frame.schema.items()
            if not kind.is_nested()
        ]
        numbers.append(frame.select(kinds))
    return pl.concat(numbers, how="diagonal_relaxed")


def _selected(frame: pl.DataFrame, reading: ScoreReading) -> pl.DataFrame:
    """The rows of `--where`, `--systems` and `--exclude-systems`."""
    wanted = {
        name: [values] if isinstance(values, str) else list(values)
        for name, values in (reading.where or {}).items()
    }
    if reading.systems:
        wanted["system"] = list(reading.systems)
    for name, values in wanted.items():
        if name not in frame.columns:
            raise UnknownName("column", name, frame.columns)
        frame = frame.filter(pl.col(name).cast(pl.String).is_in(values))
    if reading.exclude_systems:
        frame = frame.filter(~pl.col("system").cast(pl.String).is_in(list(reading.exclude_systems)))
    if frame.is_empty():
        raise InputError("no row is left after --where, --systems and --exclude-systems.")
    return frame
