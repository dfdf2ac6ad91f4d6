"""Ask a language model for verdicts on the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from metassay.data import cells
from metassay.data.columns import build_missing_column_error, select_columns_by_name
from metassay.data.verdicts import VERDICT_COLUMNS
from metassay.errors import InputError
from metassay.llm.asker import Asker
from metassay.llm.budget import compute_token_cost
from metassay.metrics.base import Batch
from metassay.metrics.judge import PAIRWISE, Judge, JudgeSession
from metassay.metrics.registry import parse_metric
from metassay.stats.arrays import FloatArray
from metassay.tasks.base import TEXT_COLUMNS

SOURCE_COLUMNS = ("source", "src", "instruction", "question", "prompt")
REFERENCE_COLUMNS = ("reference", "ref", "reference_answer")
# How a preference is written in a table of verdicts.
WINNERS = {1.0: "1", 0.0: "2", 0.5: "tie"}


def choose_llm_judge(requested_judge: str | None, rows_to_judge: pl.DataFrame) -> Judge:
    """Return the judge that the user requested, which is a language model with a prompt. By default the judge
    compares two outputs if the table has two per row, and scores one output otherwise.
    """
    has_two_outputs = _has_two_outputs_per_row(rows_to_judge)
    if requested_judge is None:
        requested_judge = f"judge(mode={PAIRWISE})" if has_two_outputs else "judge"
    judge = parse_metric(requested_judge)
    if not isinstance(judge, Judge):
        raise InputError(
            f"{judge} is not a judge.", remedy="Write for example --judge 'judge(mode=pairwise)'."
        )
    if judge.compares_two_outputs and not has_two_outputs:
        names = (*VERDICT_COLUMNS["output_1"], *VERDICT_COLUMNS["output_2"])
        raise build_missing_column_error("output_1", names, rows_to_judge.columns, "")
    return judge


def ask_judge_about_rows(
    rows_to_judge: pl.DataFrame,
    judge: Judge,
    language_model: Asker,
    *,
    repeats: int = 1,
    language: str | None = None,
) -> tuple[pl.DataFrame, Judge]:
    """Ask a judge (a language model) about every row of a table. Returns the rows with the verdicts, and the
    judge with its connection to the model.

    The verdicts are in the columns `judge, repeat, swapped, winner` or `judge, repeat, score`. Repetitions
    differ in the seed only: at temperature 0 most models give the same answer again.
    """
    if repeats < 1:
        raise InputError(f"repeats is {repeats}; it must be at least 1.")
    session = JudgeSession(language_model)
    connected_judges = [
        replace(judge, seed=judge.seed + 1000 * repeat).connect_to_session(session)
        for repeat in range(repeats)
    ]
    spec = connected_judges[0].spec
    tables: list[pl.DataFrame] = []
    for repeat, connected_judge in enumerate(connected_judges):
        columns = [pl.lit(spec).alias("judge"), pl.lit(repeat).alias("repeat")]
        verdicts = _ask_judge_once_about_rows(rows_to_judge, connected_judge, language)
        tables += [table.with_columns(columns) for table in verdicts]
    return pl.concat(tables), connected_judges[0]


def compute_price_of_model_answers(language_model: Asker) -> float | None:
    """Compute the total price of the answers of a language model. Returns None if the prices of the model are
    not known.

    Cached answers are included, so that a repeated run reports the same price.
    """
    return compute_token_cost(
        language_model.prompt_tokens, language_model.completion_tokens, language_model.settings.price
    )


def _ask_judge_once_about_rows(
    rows_to_judge: pl.DataFrame, judge: Judge, language: str | None
) -> list[pl.DataFrame]:
    """Ask a judge (a language model) once about every row. Returns a table of rows with verdicts, or two
    tables if the judge compares two outputs in both orders.
    """
    if judge.compares_two_outputs:
        return _ask_in_both_orders(rows_to_judge, judge, language)
    if _has_two_outputs_per_row(rows_to_judge):
        return [_score_both_outputs_of_rows(rows_to_judge, judge, language)]
    scores = judge.score(_convert_rows_to_metric_batch(rows_to_judge, "output", language))
    return [rows_to_judge.with_columns(pl.Series("score", scores).fill_nan(None))]


def _ask_in_both_orders(
    rows_to_judge: pl.DataFrame, judge: Judge, language: str | None
) -> list[pl.DataFrame]:
    """Ask a judge (a language model) which of two outputs is better, once for each order of the two. Returns
    one table of verdicts for each order.
    """
    first = _convert_rows_to_metric_batch(rows_to_judge, "output_1", language)
    second = _convert_rows_to_metric_batch(rows_to_judge, "output_2", language)
    in_order, swapped = judge.ask_which_output_is_better(first, second).by_order
    return [
        rows_to_judge.with_columns(pl.lit(value=False).alias("swapped"), build_winner_column(in_order)),
        rows_to_judge.with_columns(pl.lit(value=True).alias("swapped"), build_winner_column(swapped)),
    ]


def _score_both_outputs_of_rows(
    rows_to_judge: pl.DataFrame, judge: Judge, language: str | None
) -> pl.DataFrame:
    """Let a judge score both outputs of each row separately. The output with the higher score counts as
    preferred.
    """
    first = judge.score(_convert_rows_to_metric_batch(rows_to_judge, "output_1", language))
    second = judge.score(_convert_rows_to_metric_batch(rows_to_judge, "output_2", language))
    preferences = (np.sign(first - second) + 1) / 2
    return rows_to_judge.with_columns(build_winner_column(preferences))


def build_winner_column(preferences: FloatArray) -> pl.Series:
    """Convert preferences between two outputs to names of the winners. A preference is 1 for the first
    output, 0 for the second, ½ for a tie and NaN if unknown.
    """
    winners = [WINNERS.get(float(preference)) for preference in preferences]
    return pl.Series("winner", winners, dtype=pl.String)


def _convert_rows_to_metric_batch(
    rows_to_judge: pl.DataFrame, output_column: str, language: str | None
) -> Batch:
    """Convert the outputs in a column to the form that metrics score, with sources and references if the
    table has them.

    `output_column` is `output`, `output_1` or `output_2`; the table may use a synonym.
    """
    names = TEXT_COLUMNS["output"] if output_column == "output" else VERDICT_COLUMNS[output_column]
    column = _find_first_column_with_name(rows_to_judge, names)
    if column is None:
        raise build_missing_column_error(output_column, names, rows_to_judge.columns, "")
    fields: dict[str, Sequence[Any]] = {
        "output": cells.check_text_column(rows_to_judge[column], "").fill_null("").to_list()
    }
    source = _find_first_column_with_name(rows_to_judge, SOURCE_COLUMNS)
    if source is not None:
        fields["source"] = cells.check_text_column(rows_to_judge[source], "").to_list()
    reference = _find_first_column_with_name(rows_to_judge, REFERENCE_COLUMNS)
    if reference is not None and rows_to_judge[reference].null_count() == 0:
        fields["references"] = [
            [text] for text in cells.check_text_column(rows_to_judge[reference], "").to_list()
        ]
    return Batch(fields, language)


def _has_two_outputs_per_row(rows_to_judge: pl.DataFrame) -> bool:
    """Return whether the table has columns for a first and a second output."""
    first = _find_first_column_with_name(rows_to_judge, VERDICT_COLUMNS["output_1"])
    second = _find_first_column_with_name(rows_to_judge, VERDICT_COLUMNS["output_2"])
    return first is not None and second is not None


def _find_first_column_with_name(rows_to_judge: pl.DataFrame, possible_names: Sequence[str]) -> str | None:
    """Return the first column of a table that has one of the given names, or None if there is none."""
    return next(iter(select_columns_by_name(rows_to_judge.columns, possible_names)), None)
