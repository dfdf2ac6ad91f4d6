"""Ask judges (language models) about the pairs of an assay, and build the table of their verdicts."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.engine.batches import OutputRows
from metassay.metrics.judge import Judge, Preferences
from metassay.workflows.ask_judge import build_winner_column


def ask_judge_about_pairs(judge: Judge, rows: pl.DataFrame, pairs: pl.DataFrame) -> Preferences:
    """Ask a judge which output of every pair is better, in both orders of the two outputs.

    `rows` has the further fields that the judge may read (source, references), one row per pair.
    """
    fields = judge.needs | judge.optional_fields
    better_rows = OutputRows(rows.with_columns(pairs["output"].alias("output")))
    worse_rows = OutputRows(rows.with_columns(pairs["worse"].alias("output")))
    # `concatenate` refuses an empty list, which occurs without pairs.
    by_order = [np.empty((2, 0))]
    for better, worse in zip(better_rows.split_into_batches(), worse_rows.split_into_batches()):
        preferences = judge.ask_which_output_is_better(
            better.build_metric_batch(fields), worse.build_metric_batch(fields)
        )
        by_order.append(preferences.by_order)
    return Preferences(np.concatenate(by_order, axis=1))


def build_verdict_table(
    judge: Judge, pairs: pl.DataFrame, verdicts_by_order: NDArray[np.float64]
) -> pl.DataFrame:
    """Build a table of the verdicts of a judge on pairs, in the form that `metassay judge` reads.

    `verdicts_by_order` is `[orders, pairs]`: 1 where the judge prefers the output to the worse one. In the
    second order, if there is one, the output was shown second. A hash of the pair decides which of the two
    outputs is number 1: if it were always the better one, base rates alone would seem to be informative.
    """
    pair_ids = _build_pair_ids(pairs)
    is_reversed = np.array(
        [blake2b(name.encode(), digest_size=1).digest()[0] % 2 for name in pair_ids], np.bool_
    )
    mask = pl.Series(is_reversed)
    better = pairs["output"]
    worse = pairs["worse"]
    table = pairs.select(
        pair_ids,
        "item",
        "system",
        "perturbation",
        pl.lit(judge.spec).alias("judge"),
        pl.Series("better", np.where(is_reversed, 2, 1)),
        worse.zip_with(mask, better).alias("output_1"),
        better.zip_with(mask, worse).alias("output_2"),
    )
    has_both_orders = len(verdicts_by_order) > 1
    tables = []
    for order, verdicts in enumerate(verdicts_by_order):
        swapped = is_reversed ^ bool(order) if has_both_orders else np.zeros_like(is_reversed)
        prefers_first = np.where(is_reversed, 1 - verdicts, verdicts)
        tables.append(table.with_columns(pl.Series("swapped", swapped), build_winner_column(prefers_first)))
    return pl.concat(tables)


def _build_pair_ids(pairs: pl.DataFrame) -> pl.Series:
    """Build an id for every pair. It is unique, and does not depend on the order of the rows.

    One output can have several pairs of the same kind, from human scores; these are numbered by their texts.
    """
    name = pl.concat_str("item", "system", "perturbation", separator="/").alias("pair")
    number = pl.struct("item", "system", "output", "worse").rank("ordinal").over("pair")
    named_pairs = pairs.with_columns(name)
    return named_pairs.select(pl.concat_str("pair", number, separator="/").alias("pair"))["pair"]
