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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from metassay.data import cells
from metassay.data.readers.base import RawTable, Reader
from metassay.data.readers.files import get_file_stem, read_first_lines_without_comments, read_text
from metassay.data.readers.rater_scores import add_rater_scores
from metassay.errors import InputError, InputLocation
from metassay.text.languages import parse_language

ITEM_TYPES = ("TGT", "CHK", "BAD", "REF")
# Types of items that are outputs of systems. The others test the annotators.
OUTPUT_TYPES = ("TGT", "CHK")
TEST_REASON = "tests the raters: BAD or REF"
TUTORIAL_REASON = "tutorial"
# Marks that campaigns append to the names of documents, and what they mean.
MARKED_DOCUMENTS = {
    "#bad": TEST_REASON,
    "#dup": "document shown again: #dup",
    "#incomplete": "incomplete document: #incomplete",
}
# Language pair, segment (with its document) and system.
OutputKey = tuple[str, str, str]


class AppraiseReader(Reader):
    """Reader of human scores exported from the annotation tool Appraise."""

    name = "appraise"
    files = ".csv without header"
    summary = (
        "ExportSystemScoresToCSV: annotator, system, segment, TGT …; scores alone, so --join it to outputs"
    )

    def sniff(self, path: str) -> bool:
        """Return whether the first row of a CSV file has the columns of an export of the annotation tool
        Appraise.
        """
        try:
            fields = next(csv.reader(read_first_lines_without_comments(path)[:1]), [])
        except csv.Error:
            return False
        if len(fields) < 9 or fields[3] not in ITEM_TYPES:
            return False
        return re.fullmatch(r"-?[\d.]+|None", fields[6]) is not None

    def read(self, path: str) -> RawTable:
        """Read a row per system and segment, with the mean score of all annotators.

        The score is called `esa` if errors are marked, else `da`. The export has no texts.
        """
        export = read_appraise_export(path)
        key_columns = _build_columns_that_identify_outputs(export.documents)
        table, notes = add_rater_scores(key_columns, list(export.scores.values()), export.score_name)
        notes += export.describe_repeated_scores(path)
        return RawTable(path, table, notes=tuple(notes), left_out=dict(export.left_out))


@dataclass(frozen=True)
class _ExportedRow:
    """One row of a score export of the annotation tool Appraise."""

    annotator: str
    systems: list[str]
    """Systems that share this output: Appraise shows equal outputs only once."""
    segment: str
    item_type: str
    lp: str
    score: str
    document: str
    has_marked_errors: bool
    end_time: float

    @property
    def item_id(self) -> str:
        """The id of the segment. The id of its document is put in front if the export names the document."""
        return f"{self.document}/{self.segment}" if self.document else self.segment

    def get_reason_not_scored(self) -> str | None:
        """Return why a row does not score the output of a system, such as "tutorial". Returns None if the row
        does score one.
        """
        if self.item_type not in OUTPUT_TYPES:
            return TEST_REASON
        names = "+".join([self.document, self.segment, *self.systems]).lower()
        if "tutorial" in names:
            return TUTORIAL_REASON
        for mark, reason in MARKED_DOCUMENTS.items():
            if mark in names:
                return reason
        return None


@dataclass
class AppraiseExport:
    """The human scores of one export of the annotation tool Appraise."""

    scores: dict[OutputKey, dict[str, float]] = field(default_factory=dict)
    """Scores of each output by annotator; empty if the output has no score."""
    documents: dict[OutputKey, str] = field(default_factory=dict)
    segments: dict[OutputKey, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of rows left out, by reason."""
    repeated_scores: int = 0
    has_marked_errors: bool = False

    @property
    def score_name(self) -> str:
        """The name of the score: `esa` if raters marked errors (error span annotation), else `da` (direct
        assessment).
        """
        return "esa" if self.has_marked_errors else "da"

    def describe_left_out_rows(self, export_path: str) -> list[str]:
        """Return a note for the user for each reason why rows were left out."""
        notes = []
        for reason, count in self.left_out.items():
            rows = "1 row was" if count == 1 else f"{count} rows were"
            notes.append(f"{get_file_stem(export_path)}: {rows} left out ({reason}).")
        return notes

    def describe_repeated_scores(self, export_path: str) -> list[str]:
        """Return a note for the user if somebody scored outputs again."""
        if not self.repeated_scores:
            return []
        outputs = "1 output was" if self.repeated_scores == 1 else f"{self.repeated_scores} outputs were"
        name = get_file_stem(export_path)
        return [f"{name}: {outputs} scored again by the same person; the last score counts."]


def read_appraise_export(path: str) -> AppraiseExport:
    """Read the scores of an export of Appraise. If an annotator scored an output several times, the score
    that was finished last counts.
    """
    export = AppraiseExport()
    end_times: dict[tuple[OutputKey, str], float] = {}
    for row in _iterate_export_rows(path):
        export.has_marked_errors |= row.has_marked_errors
        exclusion = row.get_reason_not_scored()
        if exclusion is not None:
            export.left_out[exclusion] += 1
            continue
        (score,) = cells.parse_score_column(pl.Series("score", [row.score]), path)
        for system in row.systems:
            key = (row.lp, row.item_id, system)
            export.documents[key] = row.document
            export.segments[key] = row.segment
            by_annotator = export.scores.setdefault(key, {})
            if score is None:
                continue
            export.repeated_scores += row.annotator in by_annotator
            if row.end_time >= end_times.get((key, row.annotator), row.end_time):
                by_annotator[row.annotator] = score
                end_times[key, row.annotator] = row.end_time
    if not export.documents:
        raise InputError("no row is a score of a system's output.", location=InputLocation(path))
    return export


def _iterate_export_rows(path: str) -> Iterator[_ExportedRow]:
    """Yield every row of an export of Appraise."""
    for number, fields in enumerate(_iterate_csv_rows(path), start=1):
        if len(fields) < 9 or fields[3] not in ITEM_TYPES:
            raise InputError(
                "no row as Appraise exports them was found.", location=InputLocation(path, line=number)
            )
        annotator, systems, segment, item_type, source, target, score = fields[:7]
        yield _ExportedRow(
            annotator=annotator,
            systems=systems.split("+"),
            segment=segment,
            item_type=item_type,
            lp="-".join(parse_language(code) or code for code in (source, target)),
            score=score,
            document=fields[7] if len(fields) >= 11 else "",
            has_marked_errors=len(fields) >= 12 and fields[9].strip().startswith("[{"),
            end_time=_parse_end_time(fields),
        )


def _parse_end_time(fields: Sequence[str]) -> float:
    """Return the time at which the annotator finished a row, or 0 if the export does not say."""
    try:
        return float(fields[11])
    except (IndexError, ValueError):
        return 0.0


def _iterate_csv_rows(path: str) -> Iterator[list[str]]:
    """Yield the fields of each row of a CSV file."""
    rows = csv.reader(io.StringIO(read_text(path)))
    try:
        yield from rows
    except csv.Error as error:
        raise InputError(
            f"this is not a CSV file ({error}).", location=InputLocation(path, line=rows.line_num)
        ) from None


def _build_columns_that_identify_outputs(document_of_output: Mapping[OutputKey, str]) -> pl.DataFrame:
    """Build a table with the language pair, segment, system and, where known, document of each output.

    The document is part of a segment's id only if segment numbers repeat over documents.
    """
    short_keys = {(lp, item.rpartition("/")[2], system) for lp, item, system in document_of_output}
    is_unique = len(short_keys) == len(document_of_output)
    rows = []
    for (lp, item, system), document in document_of_output.items():
        row = {"lp": lp, "seg_id": item.rpartition("/")[2] if is_unique else item, "system": system}
        if document:
            row["doc_id"] = document
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)
