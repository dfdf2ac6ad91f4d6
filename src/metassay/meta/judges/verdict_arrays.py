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
    """A table of verdicts that can be converted to arrays, with one position for each item and system."""

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
        """Convert table rows with the verdicts of one judge to arrays."""
        question = [name for name in (*QUESTION_COLUMNS, "date") if name in verdict_rows.columns]
        return JudgeVerdicts(
            values=_get_float_column(verdict_rows, "value"),
            gold=_get_float_column(verdict_rows, "gold"),
            items=_find_positions_in_sorted_names(verdict_rows["item"], self.items),
            questions=_number_distinct_rows(verdict_rows, question),
            pair_questions=_number_distinct_rows(verdict_rows, [*question, "repeat"]),
            repeat_questions=_number_distinct_rows(verdict_rows, [*question, "swapped"]),
            swapped=verdict_rows["swapped"].to_numpy(),
            longer=_get_float_column(verdict_rows, "longer"),
        )

    @cached_property
    def verdicts_by_system(self) -> pl.DataFrame | None:
        """Table of verdicts with one system in each row, or None if systems are not named.

        A preference between two systems becomes two rows.
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
        """Average the verdicts of one judge on each output.

        Returns a matrix of systems and items, with NaN for outputs without a verdict.
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
        """Human scores of all outputs, with systems in rows and items in columns.

        A missing score is NaN.
        """
        matrix = np.full((len(self.systems), len(self.items)), np.nan)
        for judge in self.judges:
            gold = self.average_verdicts_by_output(judge, "gold")
            matrix = np.where(np.isnan(matrix), gold, matrix)
        return matrix

    @cached_property
    def has_one_output_per_item(self) -> bool:
        """Whether every item has only one output.

        Then only outputs of different items can be compared.
        """
        question = [name for name in QUESTION_COLUMNS if name in self.table.frame.columns]
        return self.table.frame.select(question).n_unique() == len(self.items)

    def average_judge_verdicts_by_item(self, judge: str) -> FloatArray:
        """Average the verdicts of one judge on each item.

        An item without a verdict gets NaN.
        """
        return self._average_column_by_item(self.get_verdicts_of_judge(judge), "value")

    @cached_property
    def human_score_by_item(self) -> FloatArray:
        """Mean human score of each item. An item without a human score has NaN."""
        return self._average_column_by_item(self.table.frame, "gold")

    def _average_column_by_item(self, verdict_rows: pl.DataFrame, column: str) -> FloatArray:
        """Average a column of verdicts over the rows of each item. An item without rows gets NaN."""
        averages = np.full(len(self.items), np.nan)
        means = verdict_rows.group_by("item", maintain_order=True).agg(pl.col(column).mean())
        averages[_find_positions_in_sorted_names(means["item"], self.items)] = _get_float_column(
            means, column
        )
        return averages

    @cached_property
    def model_family_of_system(self) -> dict[str, str]:
        """Dictionary from each system to its family, such as a series of models.

        It is empty if no family is known.
        """
        if self.verdicts_by_system is None or "family" not in self.verdicts_by_system.columns:
            return {}
        return _map_names_to_families(self.verdicts_by_system, "system", "family")

    @cached_property
    def model_family_of_judge(self) -> dict[str, str]:
        """Dictionary from each judge to the family of models that it belongs to, as far as known."""
        if "judge_family" not in self.table.frame.columns:
            return {}
        return _map_names_to_families(
            self.table.frame, "judge", "judge_family", remedy="Give it one judge_family in all rows."
        )

    def get_ratings_of_judge_and_humans(self, judge: str) -> tuple[FloatArray, FloatArray]:
        """Return the ratings that a judge gave to outputs, and those of each human rater."""
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
        """Return the context, such as the domain, of each verdict.

        For a judge that gives scores, return the context of each item.
        """
        if context_column not in self.table.frame.columns:
            raise UnknownName("column", context_column, self.table.metadata)
        if self.table.kind != GRADE:
            return verdict_rows[context_column].cast(pl.String).to_list()
        values_by_item = self._collect_column_values_by_item(context_column)
        if any(len(values) > 1 for values in values_by_item.values()):
            raise InputError(
                f"outputs of one item differ in {context_column}, and scores are compared within items.",
                remedy="Choose a column that describes items, such as their domain.",
            )
        return [values_by_item[item][0] for item in self.items]

    def choose_default_contexts(self) -> tuple[str, ...]:
        """List the columns that are contexts by default.

        They have several values and a known name, such as domain.
        """
        return tuple(name for name in self.table.metadata if self._is_context_column_by_default(name))

    def _is_context_column_by_default(self, column: str) -> bool:
        """Return whether a column is used as a context when the user names no contexts."""
        if column.lower() not in DEFAULT_CONTEXTS or self.table.frame[column].n_unique() < 2:
            return False
        if self.table.kind != GRADE:
            return True
        # scores are compared within items, so that an item must have one context
        return all(len(values) == 1 for values in self._collect_column_values_by_item(column).values())

    def _collect_column_values_by_item(self, column: str) -> dict[str, list[str | None]]:
        """Collect the distinct values of a column for each item. Returns a dictionary from item to values."""
        grouped = self.table.frame.group_by("item").agg(pl.col(column).cast(pl.String).unique())
        return dict(grouped.iter_rows())


def _add_system_column_for_output(pair_verdicts: pl.DataFrame, output_number: str) -> pl.DataFrame:
    """Add a column that names the system of the first or second output of each pair.

    A column with the family of the system is added if it is known.
    """
    system = pair_verdicts.with_columns(system=pl.col(f"system_{output_number}"))
    family = f"family_{output_number}"
    return system.with_columns(family=pl.col(family)) if family in pair_verdicts.columns else system


def combine_repeated_judge_verdicts(verdict_expression: pl.Expr) -> pl.Expr:
    """Combine repeated verdicts on one question to one verdict. Different verdicts give a tie."""
    mean = verdict_expression.mean()
    is_unanimous = mean.is_null() | (mean == 1) | (mean == 0)
    return pl.when(is_unanimous).then(mean).otherwise(0.5).alias("value")


def _get_float_column(table: pl.DataFrame, column_name: str) -> FloatArray:
    """Return a column of a table as an array of floats.

    Missing values are NaN, and so are all values of a missing column.
    """
    if column_name not in table.columns:
        return np.full(table.height, np.nan)
    numbers: FloatArray = table[column_name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return numbers


def _find_positions_in_sorted_names(names: pl.Series, sorted_names: Sequence[str]) -> NDArray[np.int32]:
    """Return the position of each value of a column in a list of sorted names."""
    positions = {name: position for position, name in enumerate(sorted_names)}
    return np.array([positions[value] for value in names], dtype=np.int32)


def _number_distinct_rows(table: pl.DataFrame, column_names: Sequence[str]) -> NDArray[np.int32]:
    """Number the rows of a table from 0.

    Rows with equal values in the given columns get the same number.
    """
    numbers = table.select(pl.struct(column_names).rank("dense").cast(pl.Int32) - 1).to_series()
    codes: NDArray[np.int32] = numbers.to_numpy()
    return codes


def _map_names_to_families(
    table: pl.DataFrame, name_column: str, family_column: str, *, remedy: str | None = None
) -> dict[str, str]:
    """Return the model family of each system or judge. Raises an error if one has several."""
    families = table.select(name_column, family_column).drop_nulls().unique().sort(name_column)
    ambiguous = families.filter(pl.col(name_column).is_duplicated())
    if ambiguous.height:
        raise InputError(
            f"the {name_column} {min(ambiguous[name_column].to_list())} belongs to several families.",
            remedy=remedy,
        )
    return dict(families.iter_rows())
