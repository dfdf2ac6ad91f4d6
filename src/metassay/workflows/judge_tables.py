"""From verdict tables to the arrays that `meta.judges` works on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.joins import join_columns
from metassay.data.readers.base import ReaderOptions
from metassay.data.readers.in_memory import convert_to_frame
from metassay.data.readers.registry import fetch_paths, read_join_table, read_tables
from metassay.data.verdicts import PAIRS, QUESTION_COLUMNS, SCORES, VERDICT_COLUMNS, VerdictTable
from metassay.errors import InputError, Place, UnknownName
from metassay.meta.judges.judge_measures import Askings
from metassay.stats.arrays import FloatArray
from metassay.store.layout import MANIFEST
from metassay.store.remote import open_run
from metassay.workflows.read import Paths
from metassay.workflows.run_files import VERDICTS

USUAL_CONTEXTS = ("subset", "category", "domain", "lp", "language")
"""Columns that are contexts where nobody names any."""


def read_verdict_frames(
    data: Any, join: Paths | None, quoting: str, judge: str | None
) -> tuple[pl.DataFrame, str, list[str]]:
    """One frame of askings, where it is from, and notes: tables without judges are joined to the others."""
    how, notes = ReaderOptions(quoting=quoting), list[str]()
    if (given := convert_to_frame(data)) is not None:
        verdicts, others = [("the table", given)], []
    else:
        tables = read_tables(_verdicts_of_runs(data), how)
        read = [(table.file, table.frame) for table in tables]
        notes = [note for table in tables for note in table.notes]
        verdicts = [(file, frame) for file, frame in read if _has_judges(frame, judge)] or read[:1]
        others = [pair for pair in read if not any(pair[1] is frame for _, frame in verdicts)]
    for beside in [] if join is None else fetch_paths(join):
        table = read_join_table(beside, how)
        others.append((beside, table.frame))
        notes += table.notes
    file = verdicts[0][0] if len(verdicts) == 1 else "the tables"
    frame = pl.concat([frame for _, frame in verdicts], how="diagonal_relaxed")
    for name, other in others:
        frame, note = join_columns(frame, other, file=name)
        notes.append(note)
    return frame, file, notes


def _verdicts_of_runs(data: Paths) -> list[str]:
    """The files named; a run folder stands for the verdicts in it."""
    paths = [data] if isinstance(data, str | os.PathLike) else list(data)
    found = []
    for path in (os.fspath(each) for each in paths):
        run = open_run(path)
        if not (run / MANIFEST).is_file():
            found.append(path)
        elif (run / VERDICTS).is_file():
            found.append(str(run / VERDICTS))
        else:
            raise InputError(
                "there was no judge in this run.",
                place=Place(file=path),
                remedy="Make one with: metassay assay DATA --metrics 'judge(mode=pairwise)' --llm-url URL",
            )
    return found


def _has_judges(frame: pl.DataFrame, judge: str | None) -> bool:
    names = {name.lower() for name in frame.columns}
    return judge in frame.columns or any(name in names for name in VERDICT_COLUMNS["judge"])


class Docket:
    """The askings of all judges as arrays over the same items (and systems), sorted by their names."""

    def __init__(self, table: VerdictTable) -> None:
        self.table = table
        self.judges: list[str] = sorted(table.frame["judge"].unique())
        self.items: list[str] = sorted(table.frame["item"].unique())
        self._of = {str(name): part for (name,), part in table.frame.group_by("judge", maintain_order=True)}

    def rows(self, judge: str) -> pl.DataFrame:
        """The askings of one judge, sorted."""
        return self._of[judge]

    def askings(self, rows: pl.DataFrame) -> Askings:
        """Rows of one judge as arrays."""
        about = [name for name in (*QUESTION_COLUMNS, "date") if name in rows.columns]
        swapped: NDArray[np.bool_] = rows["swapped"].to_numpy()
        return Askings(
            value=_floats(rows, "value"),
            gold=_floats(rows, "gold"),
            item=_codes(rows["item"], self.items),
            unit=_groups(rows, [*about, "repeat"]),
            question=_groups(rows, [*about, "swapped"]),
            swapped=swapped,
            longer=_floats(rows, "longer"),
        )

    @cached_property
    def sided(self) -> pl.DataFrame | None:
        """Askings per system: as they are, or a preference as a score of both systems; None if unknown."""
        frame = self.table.frame
        if self.table.kind != PAIRS:
            return frame if "system" in frame.columns else None
        if not self.table.has("system_1", "system_2"):
            return None
        sides = [
            frame.with_columns(
                system=pl.col(f"system_{side}"),
                value=pl.col("value") if side == 1 else 1 - pl.col("value"),
                gold=pl.col("gold") if side == 1 else 1 - pl.col("gold"),
                **({"family": pl.col(f"family_{side}")} if f"family_{side}" in frame.columns else {}),
            )
            for side in (1, 2)
        ]
        return pl.concat(sides, how="diagonal")

    @cached_property
    def systems(self) -> list[str]:
        """Every system, sorted."""
        return [] if self.sided is None else sorted(self.sided["system"].drop_nulls().unique())

    def matrix(self, judge: str, column: str = "value") -> FloatArray:
        """One judge's values [systems, items], the mean over askings; NaN where there are none."""
        found = np.full((len(self.systems), len(self.items)), np.nan)
        if self.sided is None:
            return found
        rows = self.sided.filter(pl.col("judge") == judge)
        means = (
            rows.group_by("system", "item", maintain_order=True)
            .agg(pl.col(column).mean())
            .drop_nulls("system")
        )
        places = _codes(means["system"], self.systems), _codes(means["item"], self.items)
        found[places] = means[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return found

    @cached_property
    def human(self) -> FloatArray:
        """What people say of each system's outputs [systems, items], whichever judge's row tells it."""
        found = np.full((len(self.systems), len(self.items)), np.nan)
        for judge in self.judges:
            own = self.matrix(judge, "gold")
            found = np.where(np.isnan(found), own, found)
        return found

    @cached_property
    def families(self) -> dict[str, str]:
        """The family of each system; empty where none is known."""
        if self.sided is None or "family" not in self.sided.columns:
            return {}
        known = self.sided.select("system", "family").drop_nulls().unique()
        torn = known.filter(pl.col("system").is_duplicated())
        if torn.height:
            raise InputError(f"the system {min(torn['system'].to_list())} belongs to several families.")
        return dict(known.sort("system").iter_rows())

    def ratings(self, judge: str) -> tuple[FloatArray, FloatArray]:
        """What one judge [outputs] and each of the people [people, outputs] said; NaN where nothing."""
        rows, people = self.rows(judge), self.table.people
        about = [name for name in QUESTION_COLUMNS if name in rows.columns]
        columns = [pl.col(name).mean() for name in people]
        value = pl.col("value").mean() if self.table.kind == SCORES else _settled(pl.col("value"))
        means = rows.group_by(about, maintain_order=True).agg(value, *columns)
        return _floats(means, "value"), np.stack([_floats(means, name) for name in people])

    def context_labels(self, column: str, rows: pl.DataFrame) -> list[str | None]:
        """The context of each asking, or for scores of each item."""
        if column not in self.table.frame.columns:
            raise UnknownName("column", column, self.table.labels)
        if self.table.kind != SCORES:
            return rows[column].cast(pl.String).to_list()
        by_item = self._by_item(column)
        if (by_item[column].list.len() > 1).any():
            raise InputError(
                f"outputs of one item differ in {column}, and scores are compared within items.",
                remedy="Choose a column that describes items, such as their domain.",
            )
        known = dict(zip(by_item["item"], by_item[column].list.first()))
        return [known[item] for item in self.items]

    def usual_contexts(self) -> tuple[str, ...]:
        """The columns that serve as contexts where nobody names any."""
        return tuple(
            name
            for name in self.table.labels
            if name.lower() in USUAL_CONTEXTS
            and self.table.frame[name].n_unique() > 1
            and (self.table.kind != SCORES or (self._by_item(name)[name].list.len() == 1).all())
        )

    def _by_item(self, column: str) -> pl.DataFrame:
        """The values of a column among the askings about each item."""
        return self.table.frame.group_by("item").agg(pl.col(column).cast(pl.String).unique())


def _settled(verdict: pl.Expr) -> pl.Expr:
    """One verdict from several: what all say, else a tie."""
    mean = verdict.mean()
    return pl.when(mean.is_null() | (mean == 1) | (mean == 0)).then(mean).otherwise(0.5).alias("value")


def _floats(rows: pl.DataFrame, name: str) -> FloatArray:
    if name not in rows.columns:
        return np.full(rows.height, np.nan)
    numbers: FloatArray = rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return numbers


def _codes(column: pl.Series, values: Sequence[str]) -> NDArray[np.int32]:
    place: Mapping[str, int] = {value: code for code, value in enumerate(values)}
    return np.array([place[value] for value in column], dtype=np.int32)


def _groups(rows: pl.DataFrame, names: Sequence[str]) -> NDArray[np.int32]:
    codes: NDArray[np.int32] = (
        rows.select(pl.struct(names).rank("dense").cast(pl.Int32) - 1).to_series().to_numpy()
    )
    return codes
