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
_OUTPUT_NOUNS = ("output", "model", "response", "assistant", "answer")
FIRST_OUTPUT = ("1", "1.0", *(f"{noun}_{end}" for noun in _OUTPUT_NOUNS for end in ("1", "a")))
SECOND_OUTPUT = ("2", "2.0", *(f"{noun}_{end}" for noun in _OUTPUT_NOUNS for end in ("2", "b")))
TIE = (
    *("0", "0.0", "0.5", "tie", "both", "draw", "equal", "same", "neither", "tie_(bothbad)", "both_bad"),
    *("c", "[[c]]", "a=b", "[[a=b]]"),
)
POSITIONS = {"first": 1.0, "left": 1.0, "second": 0.0, "right": 0.0}
# Also the answers of Arena-Hard, such as [[A>>B]].
LETTERS = {
    **dict.fromkeys(("a", "[[a]]", "a>b", "a>>b", "[[a>b]]", "[[a>>b]]", "b<a", "b<<a"), 1.0),
    **dict.fromkeys(("b", "[[b]]", "b>a", "b>>a", "[[b>a]]", "[[b>>a]]", "a<b", "a<<b"), 0.0),
}
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
    """Rows whose winner is the letter A or B."""
    is_numbered: pl.Series
    """Rows whose winner is an output with its number or letter, such as `1` or `model_a`."""
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
    spellings = _unify_spelling(winners)
    codes, note = _find_output_meant_by_each_number(winners, winner_column)
    swapped = verdicts["swapped"].fill_null(value=False)
    first_systems = _get_column_in_lower_case(verdicts, "system_1")
    second_systems = _get_column_in_lower_case(verdicts, "system_2")
    values: list[float | None] = []
    rows = zip(winners, spellings, swapped, first_systems, second_systems)
    for row, (winner, spelling, is_swapped, first_system, second_system) in enumerate(rows, start=1):
        if winner is None or winner in cells.MISSING_SCORES:
            values.append(None)
        elif winner in codes:
            values.append(codes[winner])
        elif spelling in POSITIONS:
            values.append(abs(POSITIONS[spelling] - is_swapped))
        elif spelling in FIRST_OUTPUT or (winner == first_system != second_system):
            values.append(1.0)
        elif spelling in SECOND_OUTPUT or (winner == second_system != first_system):
            values.append(0.0)
        elif spelling in LETTERS:
            values.append(LETTERS[spelling])
        elif spelling in TIE:
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
    numbered = [name for name in (*FIRST_OUTPUT, *SECOND_OUTPUT, *codes) if name not in systems]
    return ParsedWinners(
        pl.Series(winner_column, values, dtype=pl.Float64),
        is_letter=spellings.is_in(letters).fill_null(value=False),
        is_numbered=spellings.is_in(numbered).fill_null(value=False),
        note=note,
    )


def _unify_spelling(winners: pl.Series) -> pl.Series:
    """Replace spaces and hyphens in lower-case names of winners, so that `response a` becomes `response_a`
    and `a > b` becomes `a>b`.
    """
    return winners.str.replace_all(r"\s*([<>=]+)\s*", "$1").str.replace_all(r"[\s-]+", "_")


def does_column_contain_winners(column: pl.Series, system_columns: Sequence[pl.Series]) -> bool:
    """Return whether any row of a column names the winner of a pair: an output, a position, a tie or a
    system. True for a column without values.
    """
    winners = column.cast(pl.String).str.strip_chars().str.to_lowercase().drop_nulls()
    spellings = [*FIRST_OUTPUT, *SECOND_OUTPUT, *TIE, *POSITIONS, *LETTERS]
    system_names: list[str] = []
    for names in system_columns:
        system_names += names.cast(pl.String).str.to_lowercase().drop_nulls().unique().to_list()
    is_winner = _unify_spelling(winners).is_in(spellings) | winners.is_in(system_names)
    return winners.is_empty() or bool(is_winner.any())


def do_codes_mean_screen_positions(
    winners: pl.Series, human_winners: pl.Series, is_swapped: pl.Series, is_code: pl.Series
) -> bool:
    """Return whether codes such as the letters A and B mean the position of an output on the screen instead
    of a fixed output. `is_code` marks the rows with such a code.

    Then verdicts agree with the human labels where the outputs were not swapped, and contradict them where
    they were. Both human labels must occur in both orders: if output 1 is always better, a judge that prefers
    what is shown first looks the same.
    """
    agrees = (winners == human_winners).fill_null(value=False).to_numpy()
    shares = []
    variance = 0.0
    for order in (False, True):
        shares_by_label = []
        for label in (0.0, 1.0):
            is_counted = is_code & (human_winners == label) & (is_swapped == order)
            agreement = agrees[is_counted.fill_null(value=False).to_numpy()]
            if not len(agreement):
                return False
            # one more of each kind, so that a few equal verdicts prove nothing
            share = (agreement.sum() + 1) / (len(agreement) + 2)
            shares_by_label.append(float(share))
            variance += share * (1 - share) / len(agreement) / 4
        shares.append(float(np.mean(shares_by_label)))
    in_order, in_swapped_order = shares
    has_evidence = in_order - in_swapped_order > _EVIDENCE * np.sqrt(variance)
    return bool(in_order > 0.5 > in_swapped_order and has_evidence)


def _find_output_meant_by_each_number(winners: pl.Series, column: str) -> tuple[dict[str, float], str | None]:
    """Find which output each of the numbers 0, ½ and 1 stands for, if a column has only these. Also returns a
    note for the user.
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
