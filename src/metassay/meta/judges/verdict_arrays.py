"""Verdicts of all judges as arrays over the same items and systems."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.verdict_types import GRADE, PAIRWISE
from metassay.data.verdicts import QUESTION_COLUMNS, VerdictTable
from metassay.errors import InputError, UnknownName
from metassay.meta.judges.judge_measures import JudgeVerdicts
from metassay.stats.arrays import FloatArray

# Columns that are contexts if the user names none, in lower case.
DEFAULT_CONTEXTS = ("subset", "category", "domain", "lp", "language")


class VerdictArrays:
    """Arrays of the verdicts in a table; items and systems are sorted by name."""

    def __init__(self, table: VerdictTable) -> None:
        self.table = table
        self.judges: list[str] = sorted(table.frame["judge"].unique())
        self.items: list[str] = sorted(table.frame["item"].unique())
        groups = table.frame.group_by("judge", maintain_order=True)
        self._rows_by_judge = {str(judge): rows for (judge,), rows in groups}

    def get_verdicts_of_judge(self, judge: str) -> pl.DataFrame:
        """Return the rows of one judge, sorted."""
        return self._rows_by_judge[judge]

    def build_judge_verdicts(self, verdict_rows: pl.DataFrame) -> JudgeVerdicts:
        """Build the arrays of the verdicts of one judge."""
        question = [name for name in (*QUESTION_COLUMNS, "date") if name in verdict_rows.columns]
        return JudgeVerdicts(
            values=_get_float_column(verdict_rows, "value"),
            gold=_get_float_column(verdict_rows, "gold"),
            items=_encode_as_positions(verdict_rows["item"], self.items),
            pair_questions=_number_distinct_rows(verdict_rows, [*question, "repeat"]),
            repeat_questions=_number_distinct_rows(verdict_rows, [*question, "swapped"]),
            swapped=verdict_rows["swapped"].to_numpy(),
            longer=_get_float_column(verdict_rows, "longer"),
        )

    @cached_property
    def verdicts_by_system(self) -> pl.DataFrame | None:
        """Verdicts with one system each; a preference becomes a score of both. None without systems."""
        frame = self.table.frame
        if self.table.kind != PAIRWISE:
            return frame if "system" in frame.columns else None
        if not self.table.has_columns("system_1", "system_2"):
            return None
        # A preference for the first output is a score of 1 for the first system and of 0 for the second.
        second = frame.with_columns(value=1 - pl.col("value"), gold=1 - pl.col("gold"))
        return pl.concat(
            [_add_system_of_output(frame, "1"), _add_system_of_output(second, "2")], how="diagonal"
        )

    @cached_property
    def systems(self) -> list[str]:
        """Names of all systems, sorted."""
        if self.verdicts_by_system is None:
            return []
        return sorted(self.verdicts_by_system["system"].drop_nulls().unique())

    def average_verdicts_by_output(self, judge: str, column: str = "value") -> FloatArray:
        """Average the verdicts of one judge on each output, `[systems, items]`; NaN where there is none."""
        matrix = np.full((len(self.systems), len(self.items)), np.nan)
        if self.verdicts_by_system is None:
            return matrix
        rows = self.verdicts_by_system.filter(pl.col("judge") == judge)
        means = rows.group_by("system", "item", maintain_order=True).agg(pl.col(column).mean())
        means = means.drop_nulls("system")
        systems = _encode_as_positions(means["system"], self.systems)
        items = _encode_as_positions(means["item"], self.items)
        matrix[systems, items] = _get_float_column(means, column)
        return matrix

    @cached_property
    def human_score_matrix(self) -> FloatArray:
        """Human scores of the outputs, `[systems, items]`; NaN where there is none."""
        matrix = np.full((len(self.systems), len(self.items)), np.nan)
        for judge in self.judges:
            gold = self.average_verdicts_by_output(judge, "gold")
            matrix = np.where(np.isnan(matrix), gold, matrix)
        return matrix

    @cached_property
    def has_one_output_per_item(self) -> bool:
        """Whether no item has two outputs, so that only outputs of different items can be compared."""
        question = [name for name in QUESTION_COLUMNS if name in self.table.frame.columns]
        return self.table.frame.select(question).n_unique() == len(self.items)

    def average_verdicts_by_item(self, judge: str) -> FloatArray:
        """Average the verdicts of one judge on each item, `[items]`; NaN where there is none."""
        return self._average_by_item(self.get_verdicts_of_judge(judge), "value")

    @cached_property
    def human_score_by_item(self) -> FloatArray:
        """Human score of each item, `[items]`; NaN where there is none."""
        return self._average_by_item(self.table.frame, "gold")

    def _average_by_item(self, rows: pl.DataFrame, column: str) -> FloatArray:
        averages = np.full(len(self.items), np.nan)
        means = rows.group_by("item", maintain_order=True).agg(pl.col(column).mean())
        averages[_encode_as_positions(means["item"], self.items)] = _get_float_column(means, column)
        return averages

    @cached_property
    def families(self) -> dict[str, str]:
        """The family of each system; empty if none is known."""
        if self.verdicts_by_system is None or "family" not in self.verdicts_by_system.columns:
            return {}
        families = self.verdicts_by_system.select("system", "family").drop_nulls().unique()
        ambiguous = families.filter(pl.col("system").is_duplicated())
        if ambiguous.height:
            raise InputError(f"the system {min(ambiguous['system'].to_list())} belongs to several families.")
        return dict(families.sort("system").iter_rows())

    @cached_property
    def judge_families(self) -> dict[str, str]:
        """The family that each judge itself belongs to, as far as it is declared."""
        if "judge_family" not in self.table.frame.columns:
            return {}
        families = self.table.frame.select("judge", "judge_family").drop_nulls().unique()
        ambiguous = families.filter(pl.col("judge").is_duplicated())
        if ambiguous.height:
            raise InputError(
                f"the judge {min(ambiguous['judge'].to_list())} belongs to several families.",
                remedy="Give it one judge_family in all rows.",
            )
        return dict(families.sort("judge").iter_rows())

    def build_judge_and_rater_ratings(self, judge: str) -> tuple[FloatArray, FloatArray]:
        """Build the ratings of a judge, `[outputs]`, and of each human rater, `[raters, outputs]`."""
        rows = self.get_verdicts_of_judge(judge)
        raters = self.table.raters
        question = [name for name in QUESTION_COLUMNS if name in rows.columns]
        if self.table.kind == GRADE:
            value = pl.col("value").mean()
        elif self.table.kind == PAIRWISE:
            value = combine_repeated_verdicts(pl.col("value"))
        else:
            # a label has no middle: repeated verdicts that differ count as none
            is_unanimous = pl.col("value").drop_nulls().n_unique() == 1
            value = pl.when(is_unanimous).then(pl.col("value").max()).alias("value")
        rater_means = [pl.col(name).mean() for name in raters]
        means = rows.group_by(question, maintain_order=True).agg(value, *rater_means)
        return _get_float_column(means, "value"), np.stack(
            [_get_float_column(means, name) for name in raters]
        )

    def get_context_labels(self, column: str, verdict_rows: pl.DataFrame) -> list[str | None]:
        """Return the context of each verdict; for scores, of each item."""
        if column not in self.table.frame.columns:
            raise UnknownName("column", column, self.table.metadata)
        if self.table.kind != GRADE:
            return verdict_rows[column].cast(pl.String).to_list()
        values_by_item = self._collect_values_by_item(column)
        if any(len(values) > 1 for values in values_by_item.values()):
            raise InputError(
                f"outputs of one item differ in {column}, and scores are compared within items.",
                remedy="Choose a column that describes items, such as their domain.",
            )
        return [values_by_item[item][0] for item in self.items]

    def choose_default_contexts(self) -> tuple[str, ...]:
        """Return the columns that are contexts if the user names none: known names with several values."""
        return tuple(name for name in self.table.metadata if self._is_default_context(name))

    def _is_default_context(self, column: str) -> bool:
        """Whether a column is a context if the user names none."""
        if column.lower() not in DEFAULT_CONTEXTS or self.table.frame[column].n_unique() < 2:
            return False
        if self.table.kind != GRADE:
            return True
        # scores are compared within items, so that an item must have one context
        return all(len(values) == 1 for values in self._collect_values_by_item(column).values())

    def _collect_values_by_item(self, column: str) -> dict[str, list[str | None]]:
        """Return the distinct values of a column for each item."""
        grouped = self.table.frame.group_by("item").agg(pl.col(column).cast(pl.String).unique())
        return dict(grouped.iter_rows())


def _add_system_of_output(pair_verdicts: pl.DataFrame, output_number: str) -> pl.DataFrame:
    """Name the system (and its family) of the first or second output as the one that verdicts are about."""
    system = pair_verdicts.with_columns(system=pl.col(f"system_{output_number}"))
    family = f"family_{output_number}"
    return system.with_columns(family=pl.col(family)) if family in pair_verdicts.columns else system


def combine_repeated_verdicts(verdict_column: pl.Expr) -> pl.Expr:
    """Combine repeated verdicts on one question: the verdict that all share, else a tie."""
    mean = verdict_column.mean()
    is_unanimous = mean.is_null() | (mean == 1) | (mean == 0)
    return pl.when(is_unanimous).then(mean).otherwise(0.5).alias("value")


def _get_float_column(verdict_rows: pl.DataFrame, column_name: str) -> FloatArray:
    """Return a column as float64 array; NaN where a value is missing."""
    if column_name not in verdict_rows.columns:
        return np.full(verdict_rows.height, np.nan)
    numbers: FloatArray = verdict_rows[column_name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return numbers


def _encode_as_positions(column: pl.Series, sorted_names: Sequence[str]) -> NDArray[np.int32]:
    """Return the position of each value among the sorted names."""
    positions = {name: position for position, name in enumerate(sorted_names)}
    return np.array([positions[value] for value in column], dtype=np.int32)


def _number_distinct_rows(verdict_rows: pl.DataFrame, column_names: Sequence[str]) -> NDArray[np.int32]:
    """Number the distinct combinations of some columns from 0, in sorted order."""
    numbers = verdict_rows.select(pl.struct(column_names).rank("dense").cast(pl.Int32) - 1).to_series()
    codes: NDArray[np.int32] = numbers.to_numpy()
    return codes
