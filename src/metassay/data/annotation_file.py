"""The CSV file that `annotate` writes for raters and `estimate` reads back.

It has a row per output to rate: `item`, `system`, texts that raters need, `probability` and an empty column
for the human score. Reading a file and writing it again gives the same bytes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from metassay.data.cells import parse_score_column, parse_score_texts
from metassay.errors import InputError, InputLocation, NoSuchFile

ITEM = "item"
SYSTEM = "system"
PROBABILITY = "probability"
# Columns for the raters; a file has those that the data has.
TEXT_COLUMNS = ("source", "reference", "output")
_STARTS_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_TEXT_MARK = "'"


@dataclass(frozen=True)
class OutputToRate:
    """An output to rate, with its human score. The score is None until a rater fills it in."""

    item: str
    system: str
    texts: tuple[str, ...]
    probability: float
    score: float | None


@dataclass(frozen=True)
class AnnotationFile:
    """The content of a CSV file in which raters fill in human scores for outputs."""

    human: str
    text_columns: tuple[str, ...]
    rows: tuple[OutputToRate, ...]


def format_annotation_file(annotation_file: AnnotationFile) -> bytes:
    """Format an annotation file as the bytes of a CSV file that spreadsheets can open."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow(
        [ITEM, SYSTEM, *annotation_file.text_columns, PROBABILITY, escape_formula(annotation_file.human)]
    )
    for row in annotation_file.rows:
        texts = [escape_formula(text) for text in (row.item, row.system, *row.texts)]
        score = "" if row.score is None else repr(row.score)
        writer.writerow([*texts, repr(row.probability), score])
    return target.getvalue().encode()


def read_annotation_file(path: str | Path) -> AnnotationFile:
    """Read the CSV file that `metassay annotate` wrote and in which raters filled in human scores."""
    location = InputLocation(file=str(path))
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")  # Excel adds a byte order mark
    except FileNotFoundError:
        raise NoSuchFile(location=location) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error}).", location=location) from None
    records = list(csv.reader(io.StringIO(text, newline=""), delimiter=_find_delimiter(text)))
    header = [unescape_formula(name) for name in records[0]] if records else []
    text_columns = tuple(name for name in header if name in TEXT_COLUMNS)
    fixed_columns = (ITEM, SYSTEM, *text_columns, PROBABILITY)
    if tuple(header[:-1]) != fixed_columns:
        raise InputError(
            f"the columns are not those that `metassay annotate` writes ({', '.join(fixed_columns)},"
            " human score).",
            location=location,
            remedy="Fill in the last column and leave the others as they are.",
        )
    rows = _parse_annotation_rows(records[1:], header, str(path))
    return AnnotationFile(header[-1], text_columns, rows)


def escape_formula(cell_text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula.

    >>> escape_formula("=1+1"), escape_formula("plain"), unescape_formula(escape_formula("'quoted'"))
    ("'=1+1", 'plain', "'quoted'")
    """
    if cell_text.startswith((*_STARTS_OF_FORMULAS, _TEXT_MARK)):
        return _TEXT_MARK + cell_text
    return cell_text


def unescape_formula(cell_text: str) -> str:
    """Remove the apostrophe that `escape_formula` put before a text."""
    return cell_text.removeprefix(_TEXT_MARK)


def _find_delimiter(file_text: str) -> str:
    """Find the character that separates the cells of an annotation file: a comma, a semicolon or a tab.

    Some spreadsheets save CSV files with semicolons or tabs.
    """
    after_item = file_text[len(ITEM) : len(ITEM) + 1]
    return after_item if after_item in {",", ";", "\t"} else ","


def _parse_annotation_rows(
    records: Sequence[Sequence[str]], header: Sequence[str], file: str
) -> tuple[OutputToRate, ...]:
    """Parse the rows of an annotation file. A wrong number of cells or an invalid probability is an error."""
    for number, record in enumerate(records, start=1):
        if len(record) != len(header):
            raise InputError(
                f"there are {len(record)} cells, not {len(header)}.", location=InputLocation(file, number)
            )
    probabilities = _parse_numbers(PROBABILITY, [record[-2] for record in records], file)
    scores = _parse_numbers(header[-1], [record[-1] for record in records], file)
    rows = []
    for number, record in enumerate(records, start=1):
        probability = probabilities[number - 1]
        if probability is None or not 0 < probability <= 1:
            raise InputError(
                "the probability is not between 0 and 1.",
                location=InputLocation(file, number, PROBABILITY),
                remedy="Restore the column as it was written.",
            )
        item, system, *texts = map(unescape_formula, record[:-2])
        rows.append(OutputToRate(item, system, tuple(texts), probability, scores[number - 1]))
    return tuple(rows)


def _parse_numbers(column_name: str, cells: Sequence[str], file: str) -> list[float | None]:
    """Parse the cells of a column as numbers. Empty cells become None."""
    column = pl.Series(column_name, cells, dtype=pl.String)
    parse_score_column(column, file)  # raises an error for a cell that is no number
    # Unlike the checked scores, these keep −0.0, so that writing them again gives the same bytes.
    return parse_score_texts(column).to_list()
