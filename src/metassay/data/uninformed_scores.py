"""Find scores that depend on nothing but the system, the item or the length of an output.

Such scores can agree with people by accident: one system may be better than the others, or longer outputs may
be. They say nothing about the quality of a single output, so a metric with such scores is never recommended.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from metassay.data.score_cube import ScoreCube
from metassay.data.text_measures import (
    BYTES,
    CHARACTERS,
    REFERENCE_CHARACTERS,
    REFERENCE_WORDS,
    TEXT_ID,
    WORDS,
    measure_text_lengths,
)
from metassay.stats.arrays import FloatArray

SYSTEM = "system"
ITEM = "item"
SYSTEM_AND_ITEM = "system and the item"
_SCORE = "_score"

# The lengths that alone should not determine a score, with the columns that hold them.
LENGTHS = {
    "number of words": (WORDS,),
    "number of characters": (CHARACTERS,),
    "number of bytes": (BYTES,),
    "numbers of words of output and reference": (WORDS, REFERENCE_WORDS),
    "numbers of characters of output and reference": (CHARACTERS, REFERENCE_CHARACTERS),
}

# With fewer repetitions, equal scores of outputs with, say, the same length may be a coincidence.
_FEWEST_REPETITIONS = 20
_FIRST_ROWS = 2000
_FIRST_ITEMS = 100
_RELATIVE_TOLERANCE = 1e-9


def build_table_of_text_lengths(text_table: pl.DataFrame) -> pl.DataFrame:
    """Build a table with the system, the item and the text lengths of each output."""
    references = text_table["references"] if "references" in text_table.columns else None
    return text_table.select(SYSTEM, ITEM).with_columns(
        **measure_text_lengths(text_table["output"], references)
    )


def find_property_that_determines_scores(scores: FloatArray, properties: pl.DataFrame) -> str | None:
    """Find a property of outputs, such as length, that alone determines the scores of a metric. Returns None
    if there is none.

    A property determines the scores if outputs with equal values always have equal scores. The scores of
    "system and item" are a number per system plus a number per item, as row numbers are. Outputs without a
    score (NaN) are left out, and an output with the same text as another counts once. A property needs 20
    outputs whose value another output has.
    """
    table = properties.with_columns(pl.Series(_SCORE, scores)).filter(pl.col(_SCORE).is_not_nan())
    for name in (SYSTEM, ITEM):
        if _are_scores_determined_by_columns(table, (name,), minimum_score_count=1):
            return name
    for name, columns in LENGTHS.items():
        if set(columns) <= set(table.columns) and _are_scores_determined_by_columns(
            table, columns, minimum_score_count=2
        ):
            return name
    if _are_scores_sums_of_system_and_item(table):
        return SYSTEM_AND_ITEM
    return None


def find_metrics_that_ignore_output_text(score_cube: ScoreCube) -> dict[str, str]:
    """Find metrics whose scores depend only on the system, the item or the length of an output. Such scores
    say nothing about quality.

    Returns the name of that property by metric. Lengths are known only if the scores were read with texts.
    """
    systems = len(score_cube.systems)
    items = len(score_cube.items)
    properties = pl.DataFrame(
        {SYSTEM: np.repeat(np.arange(systems), items), ITEM: np.tile(np.arange(items), systems)}
    ).with_columns(
        pl.Series(name, values.ravel()).fill_nan(None) for name, values in score_cube.text_measures.items()
    )
    uninformed: dict[str, str] = {}
    for metric, scores in score_cube.metric_scores.items():
        determining_property = find_property_that_determines_scores(scores.ravel(), properties)
        if determining_property is not None:
            uninformed[metric] = determining_property
    return uninformed


def _are_scores_determined_by_columns(
    table: pl.DataFrame, determining_columns: tuple[str, ...], *, minimum_score_count: int
) -> bool:
    """Return whether outputs with equal values in the given columns always have equal scores. False if too
    few outputs have equal values.
    """
    # Almost always the first rows show that the columns do not determine the scores.
    for rows in (table.head(_FIRST_ROWS), table):
        if not _have_equal_rows_equal_scores(rows, determining_columns):
            return False
    if TEXT_ID in table.columns:
        table = table.unique([*determining_columns, TEXT_ID])
    groups = table.group_by(determining_columns).agg(pl.len().alias("count"), pl.col(_SCORE).first())
    repeated = groups.filter(pl.col("count") > 1)
    repetitions = int((repeated["count"] - 1).sum())
    return repetitions >= _FEWEST_REPETITIONS and repeated[_SCORE].n_unique() >= minimum_score_count


def _have_equal_rows_equal_scores(table: pl.DataFrame, columns: tuple[str, ...]) -> bool:
    """Return whether all rows with equal values in the given columns have the same score."""
    groups = table.group_by(columns).agg(is_equal=pl.col(_SCORE).min() == pl.col(_SCORE).max())
    return bool(groups["is_equal"].all())


def _are_scores_sums_of_system_and_item(table: pl.DataFrame) -> bool:
    """Return whether every score is the sum of a number for its system and a number for its item."""
    if table.is_empty():
        return False
    # Almost always the first items show that the scores are no such sums.
    first_items = table[ITEM].unique(maintain_order=True).head(_FIRST_ITEMS)
    first_rows = table.filter(pl.col(ITEM).is_in(first_items.implode()))
    if not _do_systems_differ_by_constants(first_rows, minimum_repetitions=1):
        return False
    return _do_systems_differ_by_constants(table, minimum_repetitions=_FEWEST_REPETITIONS)


def _do_systems_differ_by_constants(table: pl.DataFrame, *, minimum_repetitions: int) -> bool:
    """Return whether the scores of any two systems differ by the same number for all items. False if too few
    items show this.
    """
    base_system = table[SYSTEM].value_counts(sort=True)[SYSTEM][0]
    base = table.filter(pl.col(SYSTEM) == base_system)
    differences = table.filter(pl.col(SYSTEM) != base_system).join(base, on=ITEM, suffix="_base")
    if TEXT_ID in table.columns:
        differences = differences.filter(pl.col(TEXT_ID) != pl.col(f"{TEXT_ID}_base"))
    difference = pl.col(_SCORE) - pl.col(f"{_SCORE}_base")
    by_system = differences.group_by(SYSTEM).agg(
        spread=difference.max() - difference.min(), repetitions=pl.len() - 1
    )
    largest_score = np.abs(table[_SCORE].to_numpy()).max()
    is_constant = (by_system["spread"] <= _RELATIVE_TOLERANCE * largest_score).all()
    return bool(is_constant) and int(by_system["repetitions"].sum()) >= minimum_repetitions
