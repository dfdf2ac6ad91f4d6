"""The CSV file that `annotate` writes for raters and `estimate` reads back.

It has a row per output to rate: `item`, `system`, texts that raters need, `probability` and an empty column
for the human score. Reading a file and writing it again gives the same bytes.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metassay.errors import InputError, InputLocation, NoSuchFile

ITEM = "item"
SYSTEM = "system"
PROBABILITY = "probability"
TEXT_COLUMNS = ("source", "reference", "output")
"""Columns for the raters; a file has those that the data has."""
_STARTS_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_TEXT_MARK = "'"


@dataclass(frozen=True)
class OutputToRate:
    """A row of the file. `score` is None until somebody has rated the output."""

    item: str
    system: str
    texts: tuple[str, ...]
    probability: float
    score: float | None


@dataclass(frozen=True)
class AnnotationFile:
    """All rows, and the names of the columns of texts and of the human score."""

    human: str
    text_columns: tuple[str, ...]
    rows: tuple[OutputToRate, ...]


def format_annotation_file(file: AnnotationFile) -> bytes:
    """Write the file as CSV in UTF-8, with quotes where needed and CRLF at the end of lines (RFC 4180)."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow([ITEM, SYSTEM, *file.text_columns, PROBABILITY, mark_text(file.human)])
    for row in file.rows:
        texts = [mark_text(text) for text in (row.item, row.system, *row.texts)]
        score = "" if row.score is None else repr(row.score)
        writer.writerow([*texts, repr(row.probability), score])
    return target.getvalue().encode()


def parse_annotation_file(path: str | Path) -> AnnotationFile:
    """Read a file that `annotate` wrote; scores may have been filled in."""
    location = InputLocation(file=str(path))
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")  # Excel adds a byte order mark
    except FileNotFoundError:
        raise NoSuchFile(location=location) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error}).", location=location) from None
    records = list(csv.reader(io.StringIO(text, newline=""), delimiter=_find_delimiter(text)))
    header = [unmark_text(name) for name in records[0]] if records else []
    text_columns = tuple(name for name in header if name in TEXT_COLUMNS)
    fixed_columns = (ITEM, SYSTEM, *text_columns, PROBABILITY)
    if tuple(header[:-1]) != fixed_columns:
        raise InputError(
            f"the columns are not those that `metassay annotate` writes ({', '.join(fixed_columns)},"
            " human score).",
            location=location,
            remedy="Fill in the last column and leave the others as they are.",
        )
    rows = [_parse_row(record, len(header), str(path), n) for n, record in enumerate(records[1:], start=1)]
    return AnnotationFile(header[-1], text_columns, tuple(rows))


def mark_text(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula.

    >>> mark_text("=1+1"), mark_text("plain"), unmark_text(mark_text("'quoted'"))
    ("'=1+1", 'plain', "'quoted'")
    """
    if text.startswith((*_STARTS_OF_FORMULAS, _TEXT_MARK)):
        return _TEXT_MARK + text
    return text


def unmark_text(text: str) -> str:
    """Undo `mark_text`."""
    return text.removeprefix(_TEXT_MARK)


def _find_delimiter(text: str) -> str:
    """Return the delimiter after the first column name; some spreadsheets save semicolons or tabs."""
    after_item = text[len(ITEM) : len(ITEM) + 1]
    return after_item if after_item in {",", ";", "\t"} else ","


def _parse_row(record: Sequence[str], width: int, file: str, number: int) -> OutputToRate:
    if len(record) != width:
        raise InputError(
            f"there are {len(record)} cells, not {width}.", location=InputLocation(file=file, row=number)
        )
    texts = tuple(unmark_text(cell) for cell in record[:-2])
    probability = _parse_number(record[-2], InputLocation(file, number, PROBABILITY))
    if probability is None or not 0 < probability <= 1:
        raise InputError(
            "the probability is not between 0 and 1.",
            location=InputLocation(file, number, PROBABILITY),
            remedy="Restore the column as it was written.",
        )
    score = _parse_number(record[-1], InputLocation(file, number))
    return OutputToRate(texts[0], texts[1], texts[2:], probability, score)


def _parse_number(cell: str, location: InputLocation) -> float | None:
    text = cell.strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(
            f"{cell!r} is not a number.",
            location=location,
            remedy="Leave the cell empty where there is no score.",
        )
    return number
