"""Verdicts made here: a model is asked about outputs, or about pairs of them; tables of what it said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data import cells
from metassay.data.columns import missing_column_error
from metassay.data.verdicts import VERDICT_COLUMNS
from metassay.engine.batches import OutputRows
from metassay.errors import InputError
from metassay.llm.asking import Asker, cost
from metassay.metrics.base import Batch
from metassay.metrics.judge import PAIRWISE, Judge, JudgeSession, Preferences
from metassay.metrics.registry import parse_metric
from metassay.tasks.base import TEXT_COLUMNS

SOURCES = ("source", "src", "instruction", "question", "prompt")
REFERENCES = ("reference", "ref", "reference_answer")
WINNERS = {1.0: "1", 0.0: "2", 0.5: "tie"}


def chosen_judge(spec: str | None, frame: pl.DataFrame) -> Judge:
    """The judge asked for; by default one that compares, where there are two outputs in a row."""
    two = (
        _column(frame, VERDICT_COLUMNS["output_1"]) is not None
        and _column(frame, VERDICT_COLUMNS["output_2"]) is not None
    )
    judge = parse_metric(spec or (f"judge(mode={PAIRWISE})" if two else "judge"))
    if not isinstance(judge, Judge):
        raise InputError(f"{judge} is no judge.", remedy="Such as --judge 'judge(mode=pairwise)'.")
    if judge.pairwise and not two:
        raise missing_column_error(
            "output_1", (*VERDICT_COLUMNS["output_1"], *VERDICT_COLUMNS["output_2"]), frame.columns, ""
        )
    return judge


def ask_judge(
    frame: pl.DataFrame, judge: Judge, asker: Asker, *, repeats: int = 1, language: str | None = None
) -> tuple[pl.DataFrame, Judge]:
    """The rows with what the judge says of each (`judge, repeat, swapped, winner` or `score`), and the judge.

    Repetitions differ in the seed alone: at temperature 0 most models then answer alike.
    """
    if repeats < 1:
        raise InputError(f"{repeats} repeats ask nothing.")
    session = JudgeSession(asker)
    asking = [
        replace(judge, seed=judge.seed + 1000 * number).connect_session(session) for number in range(repeats)
    ]
    two = (
        _column(frame, VERDICT_COLUMNS["output_1"]) is not None
        and _column(frame, VERDICT_COLUMNS["output_2"]) is not None
    )
    say = _compared if asking[0].pairwise else _both_scored if two else _scored
    label = asking[0].spec
    parts = [
        part.with_columns(pl.lit(label).alias("judge"), pl.lit(number).alias("repeat"))
        for number, own in enumerate(asking)
        for part in say(frame, own, language)
    ]
    return pl.concat(parts), asking[0]


def money(asker: Asker) -> float | None:
    """What all answers used are worth, also those from the cache: the same whenever a run is repeated."""
    return cost(asker.prompt_tokens, asker.completion_tokens, asker.settings.price)


def _compared(frame: pl.DataFrame, judge: Judge, language: str | None) -> list[pl.DataFrame]:
    first, second = (_batch(frame, f"output_{side}", language) for side in (1, 2))
    asked = judge.compare_outputs(first, second).by_order
    return [
        frame.with_columns(pl.lit(value=swapped).alias("swapped"), _winner(verdict))
        for swapped, verdict in zip((False, True), asked)
    ]


def _both_scored(frame: pl.DataFrame, judge: Judge, language: str | None) -> list[pl.DataFrame]:
    """Both outputs scored on their own; the one with the higher score is preferred."""
    one, two = (judge.score(_batch(frame, f"output_{side}", language)) for side in (1, 2))
    return [frame.with_columns(_winner(np.where(np.isnan(one + two), np.nan, (np.sign(one - two) + 1) / 2)))]


def _scored(frame: pl.DataFrame, judge: Judge, language: str | None) -> list[pl.DataFrame]:
    scores = judge.score(_batch(frame, "output", language))
    return [frame.with_columns(pl.Series("score", scores).fill_nan(None))]


def verdicts_on_pairs(judge: Judge, pairs: pl.DataFrame, asked: NDArray[np.float64]) -> pl.DataFrame:
    """What a judge said of pairs of an output and a worse one, as a table that `metassay judge` reads.

    `asked` is [orders, pairs], 1 where the output is named: shown first, and where there is a second row,
    shown second. Were the output always number 1, base rates alone would seem to know it; so the pair's name
    decides by a coin which of the two is number 1.
    """
    ids = _pair_ids(pairs)
    turned = np.array([blake2b(name.encode(), digest_size=1).digest()[0] % 2 for name in ids], dtype=np.bool_)
    one, two = pairs["output"], pairs["worse"]
    mask = pl.Series(turned)
    known = pairs.select(
        ids,
        "item",
        "system",
        "perturbation",
        pl.lit(judge.spec).alias("judge"),
        pl.Series("better", np.where(turned, 2, 1)),
        two.zip_with(mask, one).alias("output_1"),
        one.zip_with(mask, two).alias("output_2"),
    )
    parts = [
        known.with_columns(
            pl.Series("swapped", turned ^ bool(order) if len(asked) > 1 else np.zeros_like(turned)),
            _winner(np.where(turned, 1 - said, said)),
        )
        for order, said in enumerate(asked)
    ]
    return pl.concat(parts)


def _pair_ids(frame: pl.DataFrame) -> pl.Series:
    """A name for every pair, no two alike, whatever the order of the rows.

    People make several pairs of one output in one way; their texts number these.
    """
    joined = pl.concat_str("item", "system", "perturbation", separator="/").alias("pair")
    number = pl.struct("item", "system", "output", "worse").rank("ordinal").over("pair")
    named = frame.with_columns(joined)
    return named.select(pl.concat_str("pair", number, separator="/").alias("pair"))["pair"]


def _winner(verdict: Any) -> pl.Series:
    return pl.Series("winner", [WINNERS.get(float(each)) for each in verdict], dtype=pl.String)


def _batch(frame: pl.DataFrame, role: str, language: str | None) -> Batch:
    names = TEXT_COLUMNS["output"] if role == "output" else VERDICT_COLUMNS[role]
    column = _column(frame, names)
    if column is None:
        raise missing_column_error(role, names, frame.columns, "")
    outputs = cells.texts(frame[column], "").fill_null("").to_list()
    fields: dict[str, Sequence[Any]] = {"output": outputs}
    source, reference = _column(frame, SOURCES), _column(frame, REFERENCES)
    if source is not None:
        fields["source"] = cells.texts(frame[source], "").to_list()
    if reference is not None and frame[reference].null_count() == 0:
        fields["references"] = [[text] for text in cells.texts(frame[reference], "").to_list()]
    return Batch(fields, language)


def _column(frame: pl.DataFrame, names: Sequence[str]) -> str | None:
    lower = {name.lower(): name for name in reversed(frame.columns)}
    return next((lower[name] for name in names if name in lower), None)


def compared(judge: Judge, rows: pl.DataFrame, pairs: pl.DataFrame) -> Preferences:
    """Which side of every pair a judge prefers, asked in both orders; `rows` is what it may read beside."""
    reads = judge.needs | judge.optional_fields
    firsts, seconds = (
        OutputRows(rows.with_columns(pairs[side].alias("output"))) for side in ("output", "worse")
    )
    cuts = zip(firsts.split_into_batches(), seconds.split_into_batches())
    found = [judge.compare_outputs(one.to_batch(reads), two.to_batch(reads)).by_order for one, two in cuts]
    return Preferences(np.concatenate([np.empty((2, 0)), *found], axis=1))
