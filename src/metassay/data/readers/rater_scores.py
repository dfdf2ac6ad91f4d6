"""Add the scores of several raters to a table: their mean, and a column for each rater."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

# With more raters, there is no column for each of them, because most of its cells would be empty.
MAXIMUM_RATER_COLUMNS = 30
_SORT_COLUMNS = ("testset", "lp", "seg_id", "system")


def add_rater_scores(
    outputs: pl.DataFrame, scores_by_rater: Sequence[Mapping[str, float | None]], score_name: str
) -> tuple[pl.DataFrame, list[str]]:
    """Add a column with the mean score of all raters and, if there are few raters, a column of scores for
    each rater.

    `scores_by_rater` has the scores of each row. Returns the table, sorted by its key columns, and notes.
    """
    present = [{rater: score for rater, score in row.items() if score is not None} for row in scores_by_rater]
    means = [sum(row.values()) / len(row) if row else None for row in present]
    columns = [pl.Series(score_name, means, dtype=pl.Float64)]
    raters = sorted({rater for row in present for rater in row})
    notes = []
    if len(raters) > MAXIMUM_RATER_COLUMNS:
        notes.append(f"{len(raters)} people rated the outputs. Their mean is the human score.")
    elif len(raters) > 1:
        for rater in raters:
            rater_scores = [row.get(rater) for row in present]
            columns.append(pl.Series(f"{score_name}:{rater}", rater_scores, dtype=pl.Float64))
    keys = [key for key in _SORT_COLUMNS if key in outputs.columns]
    return outputs.with_columns(columns).sort(keys), notes
