"""From whatever people have, scores of people and metrics: files, folders, frames, data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import polars as pl

from metassay.data.columns import KEY_PREFIXES, TEXT_NAMES
from metassay.data.dataset import Dataset
from metassay.data.join import join_columns
from metassay.data.readers.mqm_ratings import is_ratings, segment_scores
from metassay.data.readers.mt_metrics_eval import is_score_tree, read_score_trees
from metassay.data.readers.tables import read_table
from metassay.data.scores import ScoreTable, score_columns, score_tables, widened
from metassay.errors import InputError, UnknownName
from metassay.workflows.read import Paths, expand

Source = Dataset | pl.DataFrame | ScoreTable | Sequence[ScoreTable] | Paths
Where = Mapping[str, str | Sequence[str]]


class Reading(TypedDict, total=False):
    """The keywords that say how scores are read, for verbs that pass them on."""

    join: Paths | None
    columns: Mapping[str, str] | None
    where: Where | None
    systems: Sequence[str] | None
    exclude_systems: Sequence[str] | None
    reference: Sequence[str]
    keep_references: bool
    quoting: str


def only_human(tables: Sequence[ScoreTable], human: str | None) -> str:
    """The human score asked for, or the only one there is."""
    if human is not None:
        return human
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
    *,
    human: str | None = None,
    join: Paths | None = None,
    columns: Mapping[str, str] | None = None,
    where: Where | None = None,
    systems: Sequence[str] | None = None,
    exclude_systems: Sequence[str] | None = None,
    reference: Sequence[str] = (),
    keep_references: bool = False,
    quoting: str = "minimal",
    rated: bool = True,
) -> tuple[list[ScoreTable], list[str]]:
    """One table per data set that has metrics to rank, and notes on what was read; `rated` ones alone."""
    if isinstance(data, ScoreTable):
        return [data], []
    if isinstance(data, Sequence) and data and all(isinstance(part, ScoreTable) for part in data):
        return [part for part in data if isinstance(part, ScoreTable)], []
    frames, notes = _frames(data, reference, quoting, keep_references=keep_references)
    frames = [(file, _with_roles(widened(frame, file), columns)) for file, frame in frames]
    for other in [] if join is None else expand(join):
        frames, said = _joined(frames, other, quoting)
        notes += said
    merged = _merged([frame for _, frame in frames], human)
    merged = _selected(merged, where, systems, exclude_systems)
    file = frames[0][0] if len(frames) == 1 else "the tables"
    tables = score_tables(merged, human=[human] if human else [], file=file, keep_references=keep_references)
    useful = [table for table in tables if table.metrics and (table.human or not rated)]
    if not useful:
        lacking = "are no human scores" if any(table.metrics for table in tables) else "is no metric to rank"
        raise InputError(
            f"there {lacking}.", remedy="Add a column with --join FILE, or name one with --human."
        )
    notes += [f"{t.dataset}: passed over, without metric or human scores." for t in tables if t not in useful]
    return useful, notes


def _frames(
    data: Any, reference: Sequence[str], quoting: str, *, keep_references: bool
) -> tuple[list[tuple[str, pl.DataFrame]], list[str]]:
    """The raw tables with their names."""
    if isinstance(data, Dataset):
        return [("the data set", data.outputs)], list(data.notes)
    if isinstance(data, pl.DataFrame):
        return [("the table", data)], []
    frames: list[tuple[str, pl.DataFrame]] = []
    notes: list[str] = []
    paths = [data] if isinstance(data, str) or not isinstance(data, Sequence) else data
    for path in paths:
        if is_score_tree(path):
            for tree in read_score_trees(path, reference=reference, keep_references=keep_references):
                frames.append((str(path), tree.frame))
                notes += tree.notes
        else:
            frames += [(file, read_table(file, quoting=quoting)) for file in expand(path)]
    if not frames:
        raise InputError("no file was named.")
    return frames, notes


def _joined(
    frames: Sequence[tuple[str, pl.DataFrame]], file: str, quoting: str
) -> tuple[list[tuple[str, pl.DataFrame]], list[str]]:
    other = read_table(file, quoting="none" if file.endswith(".tsv") else quoting)
    other = segment_scores(other, file=file) if is_ratings(other) else widened(other, file)
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


def _merged(frames: Sequence[pl.DataFrame], human: str | None) -> pl.DataFrame:
    """All tables under each other; a column that is a number in one file and text in another becomes text."""
    if len(frames) == 1:
        return frames[0]
    numbers = []
    for frame in frames:
        people, metrics = score_columns(frame, [human] if human and human in frame.columns else [])
        scores = {*people, *metrics}
        kinds = [
            pl.col(name).cast(pl.Float64, strict=False) if name in scores else pl.col(name).cast(pl.String)
            for name, kind in frame.schema.items()
            if not kind.is_nested()
        ]
        numbers.append(frame.select(kinds))
    return pl.concat(numbers, how="diagonal_relaxed")


def _selected(
    frame: pl.DataFrame, where: Where | None, systems: Sequence[str] | None, excluded: Sequence[str] | None
) -> pl.DataFrame:
    wanted = {
        name: [values] if isinstance(values, str) else list(values) for name, values in (where or {}).items()
    }
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
