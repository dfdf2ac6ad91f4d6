"""Winners of pairs in all spellings: outputs, positions, names of systems, and codes.

`1`, `2`, `output_a` or the name of a system is an output, wherever it was shown; `first` and `second` are
positions. The letters A and B are used for both: the human labels show which is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from metassay.data import cells
from metassay.errors import InputError, InputLocation, UnknownName

# What the letters A and B can mean.
AUTO = "auto"
OUTPUT = "output"
POSITION = "position"
LETTER_MEANINGS = (AUTO, OUTPUT, POSITION)

# Accepted spellings of a winner, in lower case.
FIRST_OUTPUT = ("1", "output_1", "output_a", "model_1", "model_a", "response_1", "response_a", "1.0")
SECOND_OUTPUT = ("2", "output_2", "output_b", "model_2", "model_b", "response_2", "response_b", "2.0")
TIE = ("0", "c", "[[c]]", "tie", "both", "draw", "equal", "0.5", "0.0", "tie (bothbad)", "both_bad")
POSITIONS = {"first": 1.0, "second": 0.0}
LETTERS = {"a": 1.0, "[[a]]": 1.0, "b": 0.0, "[[b]]": 0.0}
# Columns that contain nothing else number outputs from 0, or hold the score of the first output.
ZERO_BASED = {"0": 1.0, "1": 0.0}
SHARE_OF_FIRST = {"0": 0.0, "0.0": 0.0, "0.5": 0.5, "1": 1.0, "1.0": 1.0}
# Standard errors by which accuracy must differ between the orders to show that letters are positions.
_EVIDENCE = 3.0


@dataclass(frozen=True)
class ParsedWinners:
    """The winner of each pair as a number: 1 if the first output wins, 0 if the second wins, ½ for a tie,
    null if it is missing.

    `note` says how codes were read, where that is not obvious.
    """

    values: pl.Series
    is_letter: pl.Series
    note: str | None = None


def check_meaning_of_a_and_b(requested_meaning: str) -> None:
    """Raise an error if the user named a meaning of the letters A and B that does not exist."""
    if requested_meaning not in LETTER_MEANINGS:
        raise UnknownName("meaning of letters", requested_meaning, LETTER_MEANINGS)


def parse_winners(
    frame: pl.DataFrame, winner_column: str, verdicts: pl.DataFrame, file: str
) -> ParsedWinners:
    """Parse a column that names the winner of each pair. The letters A and B are read as the first and the
    second output.

    `verdicts` has the columns `swapped` and, if systems are known, `system_1` and `system_2`.
    """
    winners = frame[winner_column].cast(pl.String).str.strip_chars().str.to_lowercase()
    codes, note = _find_output_meant_by_each_number(winners, winner_column)
    swapped = verdicts["swapped"].fill_null(value=False)
    first_systems = _get_column_in_lower_case(verdicts, "system_1")
    second_systems = _get_column_in_lower_case(verdicts, "system_2")
    values: list[float | None] = []
    rows = zip(winners, swapped, first_systems, second_systems)
    for row, (winner, is_swapped, first_system, second_system) in enumerate(rows, start=1):
        if winner is None or winner in cells.MISSING_SCORES:
            values.append(None)
        elif winner in codes:
            values.append(codes[winner])
        elif winner in POSITIONS:
            values.append(abs(POSITIONS[winner] - is_swapped))
        elif winner in FIRST_OUTPUT or (winner == first_system != second_system):
            values.append(1.0)
        elif winner in SECOND_OUTPUT or (winner == second_system != first_system):
            values.append(0.0)
        elif winner in LETTERS:
            values.append(LETTERS[winner])
        elif winner in TIE:
            values.append(0.5)
        else:
            raise InputError(
                f"{frame[winner_column][row - 1]!r} is not the name of an output.",
                location=InputLocation(file or None, row, winner_column),
                remedy="Write 1, 2 or tie, or leave the cell empty if there is no verdict."
                " For labels of single outputs, add --verdict-type label.",
            )
    systems = {*first_systems, *second_systems}
    letters = [letter for letter in LETTERS if letter not in systems]
    is_letter = winners.is_in(letters).fill_null(value=False)
    return ParsedWinners(pl.Series(winner_column, values, dtype=pl.Float64), is_letter, note)


def does_column_contain_winners(column: pl.Series, system_columns: Sequence[pl.Series]) -> bool:
    """Return whether a column names the winner of a pair in any row: an output, a position, a tie or a
    system. A column without values counts as one.
    """
    winners = column.cast(pl.String).str.strip_chars().str.to_lowercase().drop_nulls()
    spellings = [*FIRST_OUTPUT, *SECOND_OUTPUT, *TIE, *POSITIONS, *LETTERS]
    for names in system_columns:
        spellings += names.cast(pl.String).str.to_lowercase().drop_nulls().unique().to_list()
    return winners.is_empty() or bool(winners.is_in(spellings).any())


def do_a_and_b_mean_screen_positions(
    winners: pl.Series, human_winners: pl.Series, is_swapped: pl.Series, is_letter: pl.Series
) -> bool:
    """Return whether the letters A and B mean the position of an output on the screen instead of a fixed
    output.

    Then verdicts agree with the human labels where the outputs were not swapped, and contradict them where
    they were.
    """
    is_decided = (is_letter & human_winners.is_in([0.0, 1.0])).fill_null(value=False)
    agrees = (winners == human_winners).fill_null(value=False).to_numpy()
    shares = []
    variance = 0.0
    for order in (False, True):
        agreement = agrees[(is_decided & (is_swapped == order)).to_numpy()]
        if not len(agreement):
            return False
        # one more of each kind, so that a few equal verdicts prove nothing
        share = (agreement.sum() + 1) / (len(agreement) + 2)
        shares.append(float(share))
        variance += share * (1 - share) / len(agreement)
    in_order, in_swapped_order = shares
    has_evidence = in_order - in_swapped_order > _EVIDENCE * np.sqrt(variance)
    return bool(in_order > 0.5 > in_swapped_order and has_evidence)


def _find_output_meant_by_each_number(winners: pl.Series, column: str) -> tuple[dict[str, float], str | None]:
    """Return which output each of the numbers 0, ½ and 1 stands for if a column has only these, and a note on
    it.
    """
    present = {*winners.drop_nulls().unique()} - {*cells.MISSING_SCORES}
    if present == {"0", "1"}:
        return ZERO_BASED, f"{column} contains only 0 and 1: 0 is read as the first output, 1 as the second."
    if {"0.5"} < present <= {*SHARE_OF_FIRST}:
        return SHARE_OF_FIRST, f"{column}: 1 is read as the first output, 0 as the second, 0.5 as a tie."
    return {}, None


def _get_column_in_lower_case(table: pl.DataFrame, column_name: str) -> Sequence[str | None]:
    """Return the texts of a column in lower case, or None for every row if the table lacks the column."""
    if column_name not in table.columns:
        return [None] * table.height
    return table[column_name].str.to_lowercase().to_list()
