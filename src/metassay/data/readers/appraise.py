"""Reader of Appraise: human scores exported by ExportSystemScoresToCSV, a CSV file without a header.

Scores of several annotators for one output become their mean, with a column for each annotator if there are
few. If an annotator scored an output more than once, the last score counts. Rows that test or train the
annotators (`BAD`, `REF`, tutorials) and rows of repeated or incomplete documents (`#dup`, `#incomplete`) are
left out and counted.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from metassay.data import cells
from metassay.data.readers.base import RawTable, Reader
from metassay.data.readers.files import get_file_stem, read_first_lines, read_text
from metassay.data.readers.json_tables import MALFORMED_CONTENT_ERRORS, malformed_content_error
from metassay.data.readers.rater_scores import add_rater_scores
from metassay.errors import InputError, InputLocation
from metassay.text.languages import parse_language

ITEM_TYPES = ("TGT", "CHK", "BAD", "REF")
OUTPUT_TYPES = ("TGT", "CHK")
"""Types of items that are outputs of systems. The others test the annotators."""
TEST_REASON = "tests the raters: BAD or REF"
TUTORIAL_REASON = "tutorial"
MARKED_DOCUMENTS = {
    "#bad": TEST_REASON,
    "#dup": "document shown again: #dup",
    "#incomplete": "incomplete document: #incomplete",
}
"""Marks that campaigns append to the names of documents, and what they mean."""
OutputKey = tuple[str, str, str]
"""Language pair, segment (with its document) and system."""


class AppraiseReader(Reader):
    """Reader of human scores exported from Appraise."""

    name = "appraise"
    files = ".csv without header"
    summary = (
        "ExportSystemScoresToCSV: annotator, system, segment, TGT …; scores alone, so --join it to outputs"
    )

    def sniff(self, path: str) -> bool:
        """Whether the first row of a CSV file has the columns that Appraise exports."""
        try:
            fields = next(csv.reader(read_first_lines(path)[:1]), [])
        except csv.Error:
            return False
        if len(fields) < 9 or fields[3] not in ITEM_TYPES:
            return False
        return re.fullmatch(r"-?[\d.]+|None", fields[6]) is not None

    def read(self, path: str) -> RawTable:
        """Read a row per system and segment with the mean score of all annotators.

        The score is called `esa` if errors are marked, else `da`. The export has no texts.
        """
        try:
            return _read_mean_scores(path)
        except InputError:
            raise
        except MALFORMED_CONTENT_ERRORS as error:
            raise malformed_content_error(error, path) from None


@dataclass(frozen=True)
class _ExportedRow:
    """One row of an Appraise export: the score that one annotator gave to one output."""

    annotator: str
    systems: list[str]
    """Systems that share this output: Appraise shows equal outputs only once."""
    item: str
    item_type: str
    lp: str
    score: str
    document: str
    has_marked_errors: bool

    def explain_exclusion(self) -> str | None:
        """Return the reason why a row is not the score of a system's output; None if it is one."""
        if self.item_type not in OUTPUT_TYPES:
            return TEST_REASON
        names = "+".join([self.document, *self.systems]).lower()
        if "tutorial" in names:
            return TUTORIAL_REASON
        for mark, reason in MARKED_DOCUMENTS.items():
            if mark in names:
                return reason
        return None


def _read_mean_scores(path: str) -> RawTable:
    """Read the mean score of all annotators for each output."""
    scores: dict[OutputKey, dict[str, float]] = {}
    documents: dict[OutputKey, str] = {}
    has_marked_errors = False
    left_out: Counter[str] = Counter()
    repeated_scores = 0
    for row in _read_rows(path):
        has_marked_errors |= row.has_marked_errors
        exclusion = row.explain_exclusion()
        if exclusion is not None:
            left_out[exclusion] += 1
            continue
        (score,) = cells.parse_scores(pl.Series("score", [row.score]), path)
        for system in row.systems:
            key = (row.lp, row.item, system)
            documents[key] = row.document
            if score is not None:
                by_annotator = scores.setdefault(key, {})
                repeated_scores += row.annotator in by_annotator
                by_annotator[row.annotator] = score
    name = "esa" if has_marked_errors else "da"
    if not documents:
        raise InputError("no row is a score of a system's output.", location=InputLocation(path))
    table, notes = add_rater_scores(
        _build_key_columns(documents), [scores.get(key, {}) for key in documents], name
    )
    for reason, count in left_out.items():
        notes.append(f"{get_file_stem(path)}: {count} rows were left out ({reason}).")
    if repeated_scores:
        notes.append(
            f"{get_file_stem(path)}: {repeated_scores} outputs were scored again by the same person; "
            "the last score counts."
        )
    return RawTable(path, table, notes=tuple(notes), left_out=dict(left_out))


def _read_rows(path: str) -> Iterator[_ExportedRow]:
    """Read all rows of an Appraise export."""
    for number, fields in enumerate(_read_csv_fields(path), start=1):
        if len(fields) < 9 or fields[3] not in ITEM_TYPES:
            raise InputError(
                "no row as Appraise exports them was found.", location=InputLocation(path, line=number)
            )
        annotator, systems, segment, item_type, source, target, score = fields[:7]
        document = fields[7] if len(fields) >= 11 else ""
        yield _ExportedRow(
            annotator=annotator,
            systems=systems.split("+"),
            item=f"{document}/{segment}" if document else segment,
            item_type=item_type,
            lp="-".join(parse_language(code) or code for code in (source, target)),
            score=score,
            document=document,
            has_marked_errors=len(fields) >= 12 and fields[9].strip().startswith("[{"),
        )


def _read_csv_fields(path: str) -> Iterator[list[str]]:
    """Yield the fields of each row of a CSV file."""
    rows = csv.reader(io.StringIO(read_text(path)))
    try:
        yield from rows
    except csv.Error as error:
        raise InputError(
            f"this is no CSV ({error}).", location=InputLocation(path, line=rows.line_num)
        ) from None


def _build_key_columns(documents: Mapping[OutputKey, str]) -> pl.DataFrame:
    """Return the columns `lp, seg_id, system` that identify outputs, and `doc_id` where it is known.

    The document is part of a segment's id only if segment numbers repeat over documents.
    """
    short_keys = {(lp, item.rpartition("/")[2], system) for lp, item, system in documents}
    is_unique = len(short_keys) == len(documents)
    rows = []
    for (lp, item, system), document in documents.items():
        row = {"lp": lp, "seg_id": item.rpartition("/")[2] if is_unique else item, "system": system}
        if document:
            row["doc_id"] = document
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)
