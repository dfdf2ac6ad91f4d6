"""Files with one human score per line, in the order of the outputs."""

from __future__ import annotations

import polars as pl

from metassay.data import cells
from metassay.data.readers.files import (
    get_file_ending,
    get_file_stem,
    is_pipe,
    read_first_lines_without_comments,
    read_text,
)
from metassay.data.readers.tables import TABLE_ENDINGS


def is_score_per_line_file(path: str) -> bool:
    """Return whether a file is not a table and its first lines are numbers."""
    if get_file_ending(path) in TABLE_ENDINGS or is_pipe(path):
        return False
    lines = read_first_lines_without_comments(path)[:20]
    cells_of_lines = pl.Series([line.rpartition("\t")[2] for line in lines], dtype=pl.String)
    is_number = cells.parse_number_column(cells_of_lines).is_not_null()
    return bool(is_number.any() and (is_number | cells.find_missing_scores(cells_of_lines)).all())


def read_score_per_line_file(path: str) -> pl.Series:
    """Read a file with one score per line; a missing score is null. The score is named after the file.

    Files of mt-metrics-eval have a system and a tab before each score.
    """
    lines = read_text(path).removesuffix("\n").split("\n")
    texts = pl.Series(get_file_stem(path), [line.rpartition("\t")[2] for line in lines], dtype=pl.String)
    return cells.parse_score_column(texts, path)
