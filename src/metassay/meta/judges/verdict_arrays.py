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
    """Converts a table of verdicts to arrays in which items and systems have fixed positions."""

    def __init__(self, table: VerdictTable) -> None:
        self.table = table
        self.judges: list[str] = sorted(table.frame["judge"].unique())
        self.items: list[str] = sorted(table.frame["item"].unique())
        groups = table.frame.group_by("judge", maintain_order=True)
        self._rows_by_judge = {str(judge): rows for (judge,), rows in groups}

    def get_verdicts_of_judge(self, judge: str) -> pl.DataFrame:
        """Return the rows of the table with the verdicts of one judge, sorted."""
        return self._rows_by_judge[judge]

    def convert_rows_to_judge_verdicts(self, verdict_rows: pl.DataFrame) -> JudgeVerdicts:
        """Convert the rows with the verdicts of one judge to arrays."""
        question = [name for name in (*QUESTION_COLUMNS, "date") if name in verdict_rows.columns]
        return JudgeVerdicts(
            values=_get_float_column(verdict_rows, "value"),
            gold=_get_float_column(verdict_rows, "gold"),
            items=_find_positions_in_sorted_names(verdict_rows["item"], self.items),
            pair_questions=_assign_ids_to_distinct_rows(verdict_rows, [*question, "repeat"]),
            repeat_questions=_assign_ids_to_distinct_rows(verdict_rows, [*question, "swapped"]),
            swapped=verdict_rows["swapped"].to_numpy(),
            longer=_get_float_column(verdict_rows, "longer"),
        )

    @cached_property
    def verdicts_by_system(self) -> pl.DataFrame | None:
        """Verdicts with one system in each row. A preference between two systems becomes a score of each.
        None if systems are not named.
        """
        frame = self.table.frame
        if self.table.kind != PAIRWISE:
            return frame if "system" in frame.columns else None
        if not self.table.has_columns("system_1", "system_2"):
            return None
        # A preference for the first output is a score of 1 for the first system and of 0 for the second.
        second = frame.with_columns(value=1 - pl.col("value"), gold=1 - pl.col("gold"))
        return pl.concat(
            [_add_system_column_for_output(frame, "1"), _add_system_column_for_output(second, "2")],
            how="diagonal",
        )

    @cached_property
    def systems(self) -> list[str]:
        """Names of all systems whose outputs were judged, sorted."""
        if self.verdicts_by_system is None:
            return []
        return sorted(self.verdicts_by_system["system"].drop_nulls().unique())

    def average_verdicts_by_output(self, judge: str, column: str = "value") -> FloatArray:
        """Average the verdicts of one judge on each output in a table of systems and items; NaN where there
        is no verdict.
        """
        matrix = np.full((len(self.systems), len(self.items)), np.nan)
        if self.verdicts_by_system is None:
            return matrix
        rows = self.verdicts_by_system.filter(pl.col("judge") == judge)
        means = rows.group_by("system", "item", maintain_order=True).agg(pl.col(column).mean())
        means = means.drop_nulls("system")
        systems = _find_positions_in_sorted_names(means["system"], self.systems)
        items = _find_positions_in_sorted_names(means["item"], self.items)
        matrix[systems, items] = _get_float_column(means, column)
        return matrix

    @cached_property
    def human_score_matrix(self) -> FloatArray:
        """Human scores of the outputs in a table of systems (rows) and items (columns); NaN where there is
        none.
        """
        matrix = np.full((len(self.systems), len(self.items)), np.nan)
        for judge in self.judges:
            gold = self.average_verdicts_by_output(judge, "gold")
            matrix = np.where(np.isnan(matrix), gold, matrix)
        return matrix

    @cached_property
    def has_one_output_per_item(self) -> bool:
        """Whether every item has only one output, so that only outputs of different items can be compared."""
        question = [name for name in QUESTION_COLUMNS if name in self.table.frame.columns]
        return self.table.frame.select(question).n_unique() == len(self.items)

    def average_judge_verdicts_by_item(self, judge: str) -> FloatArray:
        """Average the verdicts of one judge on each item; NaN where there is no verdict."""
        return self._average_by_item(self.get_verdicts_of_judge(judge), "value")

    @cached_property
    def human_score_by_item(self) -> FloatArray:
        """Mean human score of each item; NaN where there is none."""
        return self._average_by_item(self.table.frame, "gold")

    def _average_by_item(self, rows: pl.DataFrame, column: str) -> FloatArray:
        """Average a column of the given rows on each item; NaN where there is no row."""
        averages = np.full(len(self.items), np.nan)
        means = rows.group_by("item", maintain_order=True).agg(pl.col(column).mean())
        averages[_find_positions_in_sorted_names(means["item"], self.items)] = _get_float_column(
            means, column
        )
        return averages

    @cached_property
    def model_family_of_system(self) -> dict[str, str]:
        """Name of the family (such as a series of models) to which each system belongs. Empty if no family is
        known.
        """
        if self.verdicts_by_system is None or "family" not in self.verdicts_by_system.columns:
            return {}
        families = self.verdicts_by_system.select("system", "family").drop_nulls().unique()
        ambiguous = families.filter(pl.col("system").is_duplicated())
        if ambiguous.height:
            raise InputError(f"the system {min(ambiguous['system'].to_list())} belongs to several families.")
        return dict(families.sort("system").iter_rows())

    @cached_property
    def model_family_of_judge(self) -> dict[str, str]:
        """Name of the family (such as a series of models) to which each judge itself belongs, for judges
        whose family is known.
        """
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

    def get_ratings_of_judge_and_humans(self, judge: str) -> tuple[FloatArray, FloatArray]:
        """Return the rating of each output by a judge, and the ratings of the same outputs by each human
        rater.
        """
        rows = self.get_verdicts_of_judge(judge)
        raters = self.table.raters
        question = [name for name in QUESTION_COLUMNS if name in rows.columns]
        if self.table.kind == GRADE:
            value = pl.col("value").mean()
        elif self.table.kind == PAIRWISE:
            value = combine_repeated_judge_verdicts(pl.col("value"))
        else:
            # a label has no middle: repeated verdicts that differ count as none
            is_unanimous = pl.col("value").drop_nulls().n_unique() == 1
            value = pl.when(is_unanimous).then(pl.col("value").max()).alias("value")
        rater_means = [pl.col(name).mean() for name in raters]
        means = rows.group_by(question, maintain_order=True).agg(value, *rater_means)
        return _get_float_column(means, "value"), np.stack(
            [_get_float_column(means, name) for name in raters]
        )

    def get_context_of_each_verdict(
        self, context_column: str, verdict_rows: pl.DataFrame
    ) -> list[str | None]:
        """Return the context (such as the domain) of each verdict, or of each item if judges give scores."""
        if context_column not in self.table.frame.columns:
            raise UnknownName("column", context_column, self.table.metadata)
        if self.table.kind != GRADE:
            return verdict_rows[context_column].cast(pl.String).to_list()
        values_by_item = self._collect_values_by_item(context_column)
        if any(len(values) > 1 for values in values_by_item.values()):
            raise InputError(
                f"outputs of one item differ in {context_column}, and scores are compared within items.",
                remedy="Choose a column that describes items, such as their domain.",
            )
        return [values_by_item[item][0] for item in self.items]

    def choose_default_contexts(self) -> tuple[str, ...]:
        """Return the columns that are used as contexts if the user names none: columns with a known name and
        several values.
        """
        return tuple(name for name in self.table.metadata if self._is_context_column_by_default(name))

    def _is_context_column_by_default(self, column: str) -> bool:
        """Return whether a column is used as a context if the user names none."""
        if column.lower() not in DEFAULT_CONTEXTS or self.table.frame[column].n_unique() < 2:
            return False
        if self.table.kind != GRADE:
            return True
        # scores are compared within items, so that an item must have one context
        return all(len(values) == 1 for values in self._collect_values_by_item(column).values())

    def _collect_values_by_item(self, column: str) -> dict[str, list[str | None]]:
        """Return a dictionary from each item to its distinct values in a column."""
        grouped = self.table.frame.group_by("item").agg(pl.col(column).cast(pl.String).unique())
        return dict(grouped.iter_rows())


def _add_system_column_for_output(pair_verdicts: pl.DataFrame, output_number: str) -> pl.DataFrame:
    """Return the verdicts on pairs of outputs with a column that names the system of the first or second
    output, and its family if known.
    """
    system = pair_verdicts.with_columns(system=pl.col(f"system_{output_number}"))
    family = f"family_{output_number}"
    return system.with_columns(family=pl.col(family)) if family in pair_verdicts.columns else system


def combine_repeated_judge_verdicts(verdict_column: pl.Expr) -> pl.Expr:
    """Combine repeated verdicts on one question. If they differ, the result is a tie."""
    mean = verdict_column.mean()
    is_unanimous = mean.is_null() | (mean == 1) | (mean == 0)
    return pl.when(is_unanimous).then(mean).otherwise(0.5).alias("value")


def _get_float_column(verdict_rows: pl.DataFrame, column_name: str) -> FloatArray:
    """Return a column as an array of floats. Missing values, or all values of a missing column, are NaN."""
    if column_name not in verdict_rows.columns:
        return np.full(verdict_rows.height, np.nan)
    numbers: FloatArray = verdict_rows[column_name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return numbers


def _find_positions_in_sorted_names(column: pl.Series, sorted_names: Sequence[str]) -> NDArray[np.int32]:
    """Return the position of each value in a list of sorted names."""
    positions = {name: position for position, name in enumerate(sorted_names)}
    return np.array([positions[value] for value in column], dtype=np.int32)


def _assign_ids_to_distinct_rows(
    verdict_rows: pl.DataFrame, column_names: Sequence[str]
) -> NDArray[np.int32]:
    """Return a number for each row, counted from 0, so that rows with equal values in the given columns have
    the same number.
    """
    numbers = verdict_rows.select(pl.struct(column_names).rank("dense").cast(pl.Int32) - 1).to_series()
    codes: NDArray[np.int32] = numbers.to_numpy()
    return codes
