"""Read spans of characters that people or metrics marked as errors in outputs.

Several forms are read: mt-metrics-eval's `.seg.rating` files and JSON lines of ratings; tables with `start`
and `end` of each error; tables of the WMT25 task (`start_indices`, `end_indices`, `error_types`); tables of
MQM ratings, in which `<v>` and `</v>` surround the error in `target`; exports of pearmut. A span is
[start, end).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from metassay.data import cells
from metassay.data.columns import TEST_SET_COLUMNS
from metassay.data.readers.files import get_file_ending, read_first_lines_without_comments, read_text
from metassay.data.readers.json_tables import (
    JSON_LINES_ENDINGS,
    iterate_json_lines,
    parse_json_object,
    report_malformed_file,
)
from metassay.data.readers.pearmut import is_pearmut_file, read_pearmut_annotations
from metassay.data.readers.remote_files import download_if_remote
from metassay.data.readers.tables import read_table
from metassay.errors import InputError, InputLocation, join_with_commas

Span = tuple[int, int]
SPANS_DTYPE = pl.List(pl.Struct({"start": pl.Int64, "end": pl.Int64}))
_KNOWN_FORMS = "start and end, start_indices and end_indices, or a target with <v> … </v>"
# Names of the columns in files, by the name that they have here.
_COLUMN_NAMES = {
    "system": ("system", "system_id", "model"),
    "seg_id": ("seg_id", "segment_id", "item", "id", "segment"),
    "doc_id": ("doc_id", "document_id", "doc"),
    "rater": ("rater", "rater_id", "annotator"),
    "hyp": ("hyp", "hypothesis", "hypothesis_segment", "output", "target"),
}
_TAG = re.compile(r"</?v>")
_DEFAULT_RATER = "rater"


def read_error_spans(path: str) -> pl.DataFrame:
    """Read the positions of errors that raters marked in outputs, as a table with a row per output and rater.

    Errors of the source, neutral remarks and omissions have no position in the output and thus no span.
    """
    with report_malformed_file(path, "spans are"):
        spans = _read_error_spans_of_any_format(download_if_remote(path))
    if spans.is_empty():
        raise InputError("the file has no ratings of outputs.", location=InputLocation(path))
    return spans


def _read_error_spans_of_any_format(path: str) -> pl.DataFrame:
    """Read a file of marked errors in any of the known formats."""
    if path.endswith(".seg.rating"):
        return _read_error_spans_from_seg_rating(path)
    if get_file_ending(path) in JSON_LINES_ENDINGS and '"errors"' in next(
        iter(read_first_lines_without_comments(path)), ""
    ):
        return _read_error_spans_from_json_lines(path)
    if is_pearmut_file(path):
        return _read_error_spans_from_pearmut(path)
    return _read_error_spans_from_table(path)


def _read_error_spans_from_table(path: str) -> pl.DataFrame:
    """Read the positions of marked errors from a CSV or TSV table."""
    table = read_table(path, quoting="none" if path.endswith(".tsv") else "minimal")
    table = _rename_error_span_columns(table.rename({name: name.lower() for name in table.columns}), path)
    columns = {*table.columns}
    for suffix in ("_gold", ""):
        if {f"start_indices{suffix}", f"end_indices{suffix}"} <= columns:
            spans = []
            for row, location in _iterate_rows_with_location(table, path):
                spans.append(_parse_lists_of_starts_and_ends(row, suffix, location))
            return _add_error_span_column(table, spans)
    if {"start", "end"} <= columns:
        spans = [
            _parse_error_span_of_row(row, location)
            for row, location in _iterate_rows_with_location(table, path)
        ]
        return _merge_error_spans_by_rater(table, spans)
    if "hyp" in columns and table["hyp"].str.contains("<v>", literal=True).any():
        spans = [
            _find_tagged_error_spans(row, location)
            for row, location in _iterate_rows_with_location(table, path)
        ]
        without_tags = table.with_columns(hyp=pl.col("hyp").str.replace_all(_TAG.pattern, ""))
        return _merge_error_spans_by_rater(without_tags, spans)
    raise InputError(
        f"there are no error spans (looked for {_KNOWN_FORMS}; "
        f"there are: {join_with_commas(table.columns)}).",
        location=InputLocation(path),
    )


def _iterate_rows_with_location(
    table: pl.DataFrame, path: str
) -> Iterator[tuple[dict[str, Any], InputLocation]]:
    """Yield every row of a table with its location in the file, for error messages."""
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        yield row, InputLocation(path, number)


def _rename_error_span_columns(table: pl.DataFrame, path: str) -> pl.DataFrame:
    """Rename the columns of a table of marked errors to names that do not depend on the file, and check the
    ids.
    """
    for name, known_names in _COLUMN_NAMES.items():
        present = [known for known in known_names if known in table.columns]
        if not present and name in {"system", "seg_id"}:
            raise InputError(
                f"no column holds {name} ({', '.join(known_names)}).", location=InputLocation(path)
            )
        if present and present[0] != name:
            table = table.rename({present[0]: name})
    if "lp" not in table.columns and {"source_lang", "target_lang"} <= {*table.columns}:
        table = table.with_columns(lp=pl.concat_str("source_lang", "target_lang", separator="-"))
    rater = pl.col("rater").cast(pl.String) if "rater" in table.columns else pl.lit(_DEFAULT_RATER)
    ids = [cells.parse_id_column(table[name], path) for name in ("system", "seg_id")]
    return table.with_columns(rater.alias("rater"), *ids)


def _is_error_severity(severity: Any) -> bool:
    """Return whether a severity, such as "minor", marks an error and not a neutral remark."""
    name = str(severity or "").strip().lower().replace("_", "-").replace(" ", "-")
    return name not in {"neutral", "no-error"}


def _parse_lists_of_starts_and_ends(
    row: Mapping[str, Any], column_suffix: str, location: InputLocation
) -> list[Span]:
    """Parse the start and end positions of all errors in a row of a WMT25 table. The position -1 means no
    error, and `missing` an omission.
    """
    starts, ends, severities = (
        str(row.get(f"{name}{column_suffix}") or "").split()
        for name in ("start_indices", "end_indices", "error_types")
    )
    if len(starts) != len(ends) or (severities and len(severities) < len(starts)):
        raise InputError(
            f"{len(starts)} starts, {len(ends)} ends and {len(severities)} error types.", location=location
        )
    if not severities:
        severities = ["major"] * len(starts)
    spans = []
    for start, end, severity in zip(starts, ends, severities):
        if _is_error_severity(severity) and "missing" not in {start, end}:
            span = _parse_error_span(start, end, InputLocation(location.file, location.row, "start_indices"))
            if span is not None:
                spans.append(span)
    return spans


def _parse_error_span(start: Any, end: Any, location: InputLocation) -> Span | None:
    """Convert the start and end of a marked error to integers. Returns None if both are equal, or both are
    −1, which means that there is no error.

    The end is not part of the error.
    """
    try:
        first = int(start)
        last = int(end)
    except (TypeError, ValueError):
        raise InputError(f"{start!r} to {end!r} is not a span.", location=location) from None
    if first == last == -1:
        return None
    if not 0 <= first <= last:
        raise InputError(f"a span cannot go from {first} to {last}.", location=location)
    return (first, last) if first < last else None


def _parse_error_span_of_row(row: Mapping[str, Any], location: InputLocation) -> list[Span]:
    """Parse the error in a row with the columns `start` and `end`. Returns a list with one span, or an empty
    list if there is no error.
    """
    if row["start"] in {None, ""} or not _is_error_severity(row.get("severity")):
        return []
    span = _parse_error_span(row["start"], row["end"], InputLocation(location.file, location.row, "start"))
    return [] if span is None else [span]


def _find_tagged_error_spans(row: Mapping[str, Any], location: InputLocation) -> list[Span]:
    """Find the start and end of each text between the tags `<v>` and `</v>`, counted in the text without
    tags.
    """
    if not _is_error_severity(row.get("severity")):
        return []
    positions = []
    removed = 0
    for tag in _TAG.finditer(row["hyp"] or ""):
        positions.append(tag.start() - removed)
        removed += len(tag[0])
    if len(positions) % 2:
        raise InputError(
            "a <v> is opened and never closed.", location=InputLocation(location.file, location.row, "target")
        )
    pairs = zip(positions[::2], positions[1::2])
    return [(start, end) for start, end in pairs if start < end]


def _convert_errors_to_spans(json_errors: Any, location: InputLocation) -> list[Span]:
    """Convert a JSON list of errors, as mt-metrics-eval writes it, to start and end positions. Errors of the
    source and neutral remarks are left out.
    """
    if not isinstance(json_errors, list):
        return []
    spans = []
    for error in json_errors:
        if not isinstance(error, Mapping):
            continue
        if error.get("is_source_error") or not _is_error_severity(error.get("severity")):
            continue
        span = _parse_error_span(error.get("start"), error.get("end"), location)
        if span is not None:
            spans.append(span)
    return spans


def _read_error_spans_from_seg_rating(path: str) -> pl.DataFrame:
    """Read the marked errors of a `.seg.rating` file, in which the n-th line of a system is about
    segment n.
    """
    rows = []
    spans = []
    line_counts = Counter[str]()
    for number, line in enumerate(read_text(path).removesuffix("\n").split("\n"), start=1):
        system, *fields = line.split("\t")
        line_counts[system] += 1
        if not fields or fields[0].strip().lower() in cells.MISSING_SCORES:
            continue
        location = InputLocation(path, line=number)
        spans.append(_convert_errors_to_spans(parse_json_object(fields[0], location).get("errors"), location))
        rater = fields[1] if len(fields) > 1 else _DEFAULT_RATER
        rows.append({"system": system, "seg_id": str(line_counts[system]), "rater": rater})
    return _add_error_span_column(pl.DataFrame(rows, infer_schema_length=None), spans)


def _read_error_spans_from_json_lines(path: str) -> pl.DataFrame:
    """Read marked errors from a file with a JSON object per line, in which segments are counted from 0."""
    rows = []
    spans = []
    for rating, location in iterate_json_lines(read_text(path), path):
        spans.append(_convert_errors_to_spans(rating.get("errors"), location))
        row: dict[str, Any] = {
            "system": str(rating.get("system_id")),
            "rater": str(rating.get("rater_id") or _DEFAULT_RATER),
            "seg_id": str(int(rating.get("segment_id") or 0) + 1),
            "hyp": rating.get("hypothesis"),
        }
        languages = [rating.get("src_lang"), rating.get("tgt_lang")]
        if all(languages):
            row["lp"] = "-".join(map(str, languages))
        rows.append(row)
    return _add_error_span_column(pl.DataFrame(rows, infer_schema_length=None), spans)


def _read_error_spans_from_pearmut(path: str) -> pl.DataFrame:
    """Read the errors that raters marked with the annotation tool pearmut."""
    rows = []
    spans = []
    for output in read_pearmut_annotations(path):
        rows.append({**output.row, "rater": output.user})
        spans.append(
            [_parse_error_span_with_inclusive_end(first, last, path) for first, last in output.error_spans]
        )
    return _add_error_span_column(pl.DataFrame(rows, infer_schema_length=None), spans)


def _parse_error_span_with_inclusive_end(first_character: Any, last_character: Any, path: str) -> Span:
    """Convert a span given by its first and last character to one that ends after the last character."""
    start, end = _parse_error_span(first_character, last_character, InputLocation(path)) or (
        int(first_character),
        int(last_character),
    )
    return start, end + 1


def _add_error_span_column(table: pl.DataFrame, error_spans: Sequence[Sequence[Span]]) -> pl.DataFrame:
    """Add a column that lists the start and end of each error in a row."""
    column = [[{"start": start, "end": end} for start, end in row] for row in error_spans]
    return table.with_columns(pl.Series("spans", column, dtype=SPANS_DTYPE))


def _merge_error_spans_by_rater(table: pl.DataFrame, error_spans: Sequence[Sequence[Span]]) -> pl.DataFrame:
    """Combine rows about the same output and rater to one row that lists all marked errors."""
    possible_keys = (*TEST_SET_COLUMNS, "doc_id", "seg_id", "system", "rater")
    keys = [name for name in possible_keys if name in table.columns]
    dropped = {*keys, "start", "end", "severity", "category"}
    others = [pl.col(name).first() for name in table.columns if name not in dropped]
    rows = _add_error_span_column(table, error_spans).group_by(keys, maintain_order=True)
    return rows.agg(*others, pl.col("spans").explode().drop_nulls())
