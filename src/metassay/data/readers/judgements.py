"""Relevance judgements of rankings: TREC qrels, tables, and rating logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metassay.data import cells
from metassay.data.columns import build_missing_column_error, select_columns_by_name
from metassay.data.readers.files import read_text
from metassay.data.readers.rating_logs import DEFAULT_THRESHOLD, is_rating_log, read_rating_log
from metassay.data.readers.tables import is_table_file, read_table
from metassay.data.readers.trec_lines import SPACE, WORD, reject_repeated_lines, split_lines_into_fields
from metassay.errors import InputError, InputLocation
from metassay.tasks import ranking

_GRADE_NAMES = ("grade", "rel", "relevance", "qrel", "label")
_LINE = rf"^{SPACE}*{WORD}{SPACE}+{WORD}{SPACE}+{WORD}{SPACE}+{WORD}{SPACE}*$"
_FIELDS = ("topic", "iteration", "docid", "grade")
_REMEDY = "A line of judgements is: topic iteration document grade, and the grade is a whole number."


def read_relevance_judgements(path: str, *, rating_threshold: float = DEFAULT_THRESHOLD) -> pl.DataFrame:
    """Read relevance judgements from a file of any known format into a table `item, document, grade`.

    The file may be TREC qrels, a table with topic, document and grade, or a rating log, in which ratings from
    `rating_threshold` on are relevant.
    """
    if is_rating_log(path):
        ratings = read_rating_log(path, rating_threshold=rating_threshold)
        judgements = ratings.select(item="user", document="item", grade="grade")
    elif is_table_file(Path(path)):
        judgements = _extract_relevance_judgements(read_table(path), path)
    else:
        judgements = read_qrels(path).select(item="topic", document="docid", grade="grade")
    if (judgements["grade"] < 1).all():
        raise InputError(
            "no document is relevant to any topic.",
            location=InputLocation(file=path),
            remedy="Relevant documents have grade 1 or more.",
        )
    return judgements


def read_qrels(path: str) -> pl.DataFrame:
    """Read relevance judgements in the qrels format of TREC into a table `topic, docid, grade, line`.

    As in trec_eval, a negative grade marks a document of the pool that nobody judged, and comments and empty
    lines are ignored.
    """
    fields = split_lines_into_fields(
        read_text(path), path, _LINE, _FIELDS, "judgements have four columns", _REMEDY
    )
    grades = _parse_qrels_grades(fields["grade"], fields["line"], path)
    qrels = fields.select("topic", "docid", grades.alias("grade"), "line")
    reject_repeated_lines(
        qrels, ("topic", "docid"), path, "document {docid} was already judged for topic {topic}"
    )
    return qrels


def _parse_qrels_grades(grade_texts: pl.Series, line_numbers: pl.Series, path: str) -> pl.Series:
    """Convert relevance grades to integers. Fractions are an error, because rounding could change what is
    relevant.
    """
    grades = grade_texts.cast(pl.Int32, strict=False)
    is_invalid = grades.is_null() | ~grade_texts.str.contains(r"^[-+]?[0-9]+$")
    if is_invalid.any():
        index = int(is_invalid.arg_max() or 0)
        raise InputError(
            f"the grade {grade_texts[index]!r} is not a whole number.",
            location=InputLocation(file=path, line=line_numbers[index]),
            remedy=_REMEDY,
        )
    return grades


def _extract_relevance_judgements(table: pl.DataFrame, path: str) -> pl.DataFrame:
    """Extract the columns `item, document, grade` from a table of relevance judgements. A repeated judgement
    is an error.
    """
    item = _find_required_judgement_column(table, ranking.COLUMNS["item"], "item", path)
    document = _find_required_judgement_column(table, ranking.COLUMNS["document"], "document", path)
    grade = _find_required_judgement_column(table, _GRADE_NAMES, "grade", path)
    judgements = pl.DataFrame(
        {
            "item": cells.parse_id_column(table[item], path),
            "document": cells.parse_id_column(table[document], path),
            "grade": _parse_integer_grades(table[grade], path),
        }
    )
    is_first = judgements.select(pl.struct("item", "document").is_first_distinct())["item"]
    if not is_first.all():
        row = int(is_first.not_().arg_max() or 0)
        raise InputError(
            f"document {judgements['document'][row]} was already judged for topic {judgements['item'][row]}.",
            location=InputLocation(file=path, row=row + 1),
            remedy="Remove one of the two rows.",
        )
    return judgements


def _find_required_judgement_column(
    table: pl.DataFrame, accepted_names: Sequence[str], role: str, path: str
) -> str:
    """Find the first column that has one of the accepted names. If there is none, raise an error that names
    the role of the column.
    """
    columns = select_columns_by_name(table.columns, accepted_names)
    if columns:
        return columns[0]
    raise build_missing_column_error(role, accepted_names, table.columns, path)


def _parse_integer_grades(column: pl.Series, path: str) -> pl.Series:
    """Convert relevance grades to integers. Fractions and missing grades are errors."""
    if column.dtype.is_integer() or column.dtype == pl.String:
        grades = column.cast(pl.Int32, strict=False)
    else:
        grades = pl.Series([None] * len(column), dtype=pl.Int32)
    if grades.has_nulls():
        row = int(grades.is_null().arg_max() or 0)
        raise InputError(
            f"the grade {column[row]} is not a whole number.",
            location=InputLocation(path, row + 1, column.name),
        )
    return grades
