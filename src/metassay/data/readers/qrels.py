"""TREC relevance judgements (qrels): `topic iteration document grade`, one judgement a line."""

from __future__ import annotations

import re

import polars as pl

from metassay.data.readers.files import opening, read_text
from metassay.data.readers.trec import content_lines, refuse_repeated
from metassay.errors import InputError, Place

_GAP = r"[ \t\r\x0b\x0c]"
_WORD = r"([^ \t\r\x0b\x0c]+)"
_LINE = rf"^{_GAP}*{_WORD}{_GAP}+{_WORD}{_GAP}+{_WORD}{_GAP}+{_WORD}{_GAP}*$"
_SNIFF = re.compile(r"\s*\S+\s+\S+\s+\S+\s+[-+]?\d{1,6}\s*")
_REMEDY = "A line of judgements is: topic iteration document grade, and the grade is a whole number."


def sniff(path: str) -> bool:
    """Whether the file starts with judgements: four words, the last a small whole number."""
    lines = opening(path)[:5]
    return bool(lines) and all(_SNIFF.fullmatch(line) for line in lines)


def read_qrels(path: str) -> pl.DataFrame:
    """A table `topic, docid, grade, line` of the judgements.

    Grades are whole numbers. A negative one marks a document of the pool that nobody judged, as in
    trec_eval. Comments, empty lines and gzip are treated as in runs.
    """
    lines = content_lines(read_text(path), path)
    fields = lines["text"].str.extract_groups(_LINE).struct.unnest()
    fields.columns = ["topic", "iteration", "docid", "written"]
    bad = fields["topic"].is_null()
    if bad.any():
        at = int(bad.arg_max() or 0)
        words = len(lines["text"][at].split())
        raise InputError(
            f"{words} {'word' if words == 1 else 'words'}, but judgements have four columns.",
            place=Place(file=path, line=lines["line"][at]),
            remedy=_REMEDY,
        )
    frame = fields.select(
        "topic", "docid", _grades(fields["written"], lines["line"], path).alias("grade"), lines["line"]
    )
    refuse_repeated(frame, ("topic", "docid"), path, "document {docid} was already judged for topic {topic}")
    return frame


def _grades(written: pl.Series, lines: pl.Series, path: str) -> pl.Series:
    """Whole-number grades; floats are refused, since rounding one would change who is relevant."""
    grades = written.cast(pl.Int32, strict=False)
    bad = grades.is_null() | ~written.str.contains(r"^[-+]?[0-9]+$")
    if bad.any():
        at = int(bad.arg_max() or 0)
        raise InputError(
            f"the grade {written[at]!r} is not a whole number.",
            place=Place(file=path, line=lines[at]),
            remedy=_REMEDY,
        )
    return grades
