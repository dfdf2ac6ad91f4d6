"""Relevance judgements from whatever holds them: TREC qrels, a table, or a log of ratings."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from metassay.data import cells
from metassay.data.columns import RANKING_NAMES, missing_column
from metassay.data.readers import recommender
from metassay.data.readers.files import ending
from metassay.data.readers.qrels import read_qrels
from metassay.data.readers.tables import ENDINGS, read_table
from metassay.errors import InputError, Place

GRADE_NAMES = ("grade", "rel", "relevance", "qrel", "label")


def read_judgements(path: str, *, threshold: float = recommender.THRESHOLD) -> pl.DataFrame:
    """A table `item, document, grade` of judgements, each document judged once for an item.

    Reads TREC qrels, tables (CSV, TSV, JSON lines, Parquet) with topic, document and grade, and rating logs,
    in which a rating from `threshold` on is relevant.
    """
    if ending(path) in ENDINGS and not recommender.sniff(path):
        frame = _from_table(read_table(path), path)
    elif recommender.sniff(path):
        ratings = recommender.read_ratings(path, threshold=threshold)
        frame = ratings.select(item="user", document="item", grade="grade")
    else:
        frame = read_qrels(path).select(item="topic", document="docid", grade="grade")
    if (frame["grade"] < 1).all():
        raise InputError(
            "no document is relevant to any topic.",
            place=Place(file=path),
            remedy="Relevant documents have grade 1 or more.",
        )
    return frame


def _from_table(table: pl.DataFrame, path: str) -> pl.DataFrame:
    lower = {name.lower(): name for name in reversed(table.columns)}
    columns = {
        role: _column(lower, names, role, table.columns, path)
        for role, names in (
            ("item", RANKING_NAMES["item"]),
            ("document", RANKING_NAMES["document"]),
            ("grade", GRADE_NAMES),
        )
    }
    frame = pl.DataFrame(
        {
            "item": cells.ids(table[columns["item"]], path),
            "document": cells.ids(table[columns["document"]], path),
            "grade": _grades(table[columns["grade"]], path),
        }
    )
    repeated = frame.select(pl.struct("item", "document").is_first_distinct())["item"]
    if not repeated.all():
        row = int(repeated.not_().arg_max() or 0)
        raise InputError(
            f"document {frame['document'][row]} was already judged for topic {frame['item'][row]}.",
            place=Place(file=path, row=row + 1),
            remedy="Remove one of the two rows.",
        )
    return frame


def _column(lower: dict[str, str], names: Sequence[str], role: str, columns: Sequence[str], path: str) -> str:
    found = next((lower[name] for name in names if name in lower), None)
    if found is None:
        raise missing_column(role, names, columns, path)
    return found


def _grades(column: pl.Series, path: str) -> pl.Series:
    """Whole-number grades, also where they are written as text; floats and gaps are refused."""
    whole = column.dtype.is_integer() or column.dtype == pl.String
    grades = column.cast(pl.Int32, strict=False) if whole else pl.Series([None] * len(column), dtype=pl.Int32)
    if grades.has_nulls():
        row = int(grades.is_null().arg_max() or 0)
        raise InputError(
            f"the grade {column[row]} is not a whole number.", place=Place(path, row + 1, column.name)
        )
    return grades
