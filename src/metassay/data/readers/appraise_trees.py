"""Appraise exports next to a tree of texts, as WMT24 published them: `humeval/*.csv` next to `txt/`.

An export names a segment by its line in the texts. Its numbers begin at 0 or at 1, and may or may not count
the canary line at the top of the texts. The document, which both sides name, shows which of these holds.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metassay.data.readers.appraise import AppraiseExport, AppraiseReader, OutputKey, read_appraise_export
from metassay.data.readers.rater_scores import add_rater_scores
from metassay.errors import InputError, InputLocation

EXPORT_FOLDER = "humeval"
# What to add to a segment number to get the line from 1: numbers from 0, from 0 without canary, from 1.
_OFFSETS = (1, 2, 0)


def list_appraise_exports(test_set_folder: Path) -> list[Path]:
    """List the files exported from the annotation tool Appraise, in the folder `humeval` inside or next to a
    test set.
    """
    folders = (test_set_folder / EXPORT_FOLDER, test_set_folder.parent / EXPORT_FOLDER)
    files = [path for folder in folders for path in sorted(folder.glob("*.csv"))]
    return [path for path in files if AppraiseReader().sniff(str(path))]


def read_appraise_scores(
    exports: list[Path], segments: pl.DataFrame, language_pair: str
) -> tuple[pl.DataFrame | None, list[str]]:
    """Read the human scores of a language pair from exports of the annotation tool Appraise. Returns a table
    with a row per system and segment, and notes.

    `segments` has `seg_id` from 1 and `doc_id`. Exports that repeat a score of the same annotator count once.
    """
    document_of_line = dict(segments.select("seg_id", "doc_id").iter_rows())
    scores: dict[tuple[str, int], dict[str, float | None]] = {}
    notes = []
    score_name = "da"
    for path in exports:
        export = read_appraise_export(str(path))
        keys = [key for key in export.documents if key[0] == language_pair]
        if not keys:
            continue
        if export.has_marked_errors:
            score_name = export.score_name
        offset = _find_segment_number_offset(export, keys, document_of_line, path)
        for key in keys:
            output = (key[2], int(export.segments[key]) + offset)
            scores.setdefault(output, {}).update(export.scores[key])
        notes += export.describe_left_out_rows(str(path))
        notes += export.describe_repeated_scores(str(path))
    if not scores:
        return None, []
    outputs = pl.DataFrame(list(scores), schema={"system": pl.String, "seg_id": pl.Int64}, orient="row")
    table, rater_notes = add_rater_scores(outputs, list(scores.values()), score_name)
    return table, [*notes, *(f"{language_pair}: {note}" for note in rater_notes)]


def _find_segment_number_offset(
    export: AppraiseExport,
    output_keys: list[OutputKey],
    document_of_segment_number: dict[int, str],
    path: Path,
) -> int:
    """Find the number that must be added to the segment numbers of an export to get the line numbers of the
    texts.
    """
    for offset in _OFFSETS:
        if not _list_misplaced_outputs(export, output_keys, offset, document_of_segment_number):
            return offset
    wrong = _list_misplaced_outputs(export, output_keys, _OFFSETS[0], document_of_segment_number)[0]
    raise InputError(
        f"segment {export.segments[wrong]} is of document {export.documents[wrong]!r}, but the texts have "
        "another document there.",
        location=InputLocation(str(path)),
        remedy="Use the export that belongs to these texts.",
    )


def _list_misplaced_outputs(
    export: AppraiseExport,
    output_keys: list[OutputKey],
    offset: int,
    document_of_segment_number: dict[int, str],
) -> list[OutputKey]:
    """List the outputs whose segment belongs to another document in the export than in the texts, or is
    missing in the texts.

    `offset` is added to the segment numbers of the export.
    """
    misplaced = []
    for key in output_keys:
        segment = export.segments[key]
        document = document_of_segment_number.get(int(segment) + offset) if segment.isdecimal() else None
        if document != export.documents[key]:
            misplaced.append(key)
    return misplaced
