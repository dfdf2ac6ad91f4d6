"""Spans of characters that people, or a metric, marked as errors in outputs.

Read from mt-metrics-eval's `.seg.rating` files and its JSON lines of ratings, from tables with `start` and
`end` of each error, those of the WMT25 task (`start_indices`, `end_indices`, `error_types`), and tables of
MQM ratings, where `<v>` and `</v>` stand around the error in `target`. Exports of
pearmut have them too. A span is [start, end).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from metassay.data import cells
from metassay.data.columns import KEY_PREFIXES
from metassay.data.readers.files import file_ending, read_first_lines, read_text
from metassay.data.readers.json_tables import BROKEN, parse_object
from metassay.data.readers.pearmut import is_pearmut, pearmut_errors
from metassay.data.readers.remote_files import download_if_remote
from metassay.data.readers.tables import JSON_LINES, read_table
from metassay.errors import InputError, Place, join_names

SPANS = pl.List(pl.Struct({"start": pl.Int64, "end": pl.Int64}))
FORMS = "start and end, start_indices and end_indices, or a target with <v> … </v>"
_NAMES = {
    "system": ("system", "system_id", "model"),
    "seg_id": ("seg_id", "segment_id", "item", "id", "segment"),
    "doc_id": ("doc_id", "document_id", "doc"),
    "rater": ("rater", "rater_id", "annotator"),
    "hyp": ("hyp", "hypothesis", "hypothesis_segment", "output", "target"),
}
"""What the columns of a table of spans are called elsewhere."""
_TAG = re.compile(r"</?v>")


def read_spans(path: str) -> pl.DataFrame:
    """A row per rated output and rater: `system, seg_id, rater, spans`, and what else the file says of it.

    Errors of the source, neutral remarks and omissions without a place in the output have no span.
    """
    try:
        return _read(download_if_remote(path))
    except InputError:
        raise
    except BROKEN as error:
        what = f"spans are not in the form that was expected ({type(error).__name__})."
        raise InputError(what, place=Place(path)) from None


def _read(path: str) -> pl.DataFrame:
    if path.endswith(".seg.rating"):
        return _spans_of_rating_file(path)
    if file_ending(path) in JSON_LINES and '"errors"' in next(iter(read_first_lines(path)), ""):
        return _spans_of_json_lines(path)
    if is_pearmut(path):
        marked = pearmut_errors(path)
        rows = pl.DataFrame([row for row, _ in marked], infer_schema_length=None)
        return _with_spans(rows, [_included(ends, Place(path)) for _, ends in marked])
    frame = read_table(path, quoting="none" if path.endswith(".tsv") else "minimal")
    frame = _renamed(frame.rename({name: name.lower() for name in frame.columns}), path)
    suffix = "_gold" if "start_indices_gold" in frame.columns else ""
    if {f"start_indices{suffix}", f"end_indices{suffix}"} <= {*frame.columns}:
        return _with_spans(frame, [_indexed(row, suffix, path) for row in _numbered(frame)])
    if {"start", "end"} <= {*frame.columns}:
        return _gathered(frame, [_of_row(row, path) for row in _numbered(frame)])
    if "hyp" in frame.columns and frame["hyp"].str.contains("<v>", literal=True).any():
        texts = frame.with_columns(hyp=pl.col("hyp").str.replace_all(_TAG.pattern, ""))
        return _gathered(texts, [_tagged(row, path) for row in _numbered(frame)])
    raise InputError(
        f"no error spans are here (looked for {FORMS}; there are: {join_names(frame.columns)}).",
        place=Place(path),
    )


def _numbered(frame: pl.DataFrame) -> Iterable[tuple[int, dict[str, Any]]]:
    return enumerate(frame.iter_rows(named=True), start=1)


def _renamed(frame: pl.DataFrame, path: str) -> pl.DataFrame:
    for own, names in _NAMES.items():
        found = next((name for name in names if name in frame.columns), None)
        if found is None and own in {"system", "seg_id"}:
            raise InputError(f"no column holds {own} ({', '.join(names)}).", place=Place(path))
        if found not in {None, own}:
            frame = frame.rename({str(found): own})
    if "lp" not in frame.columns and {"source_lang", "target_lang"} <= {*frame.columns}:
        frame = frame.with_columns(lp=pl.concat_str("source_lang", "target_lang", separator="-"))
    keys = {name: cells.ids(frame[name], path) for name in ("system", "seg_id")}
    rater = pl.col("rater").cast(pl.String) if "rater" in frame.columns else pl.lit("rater")
    return frame.with_columns(rater.alias("rater"), *keys.values())


def _counts(severity: Any) -> bool:
    return str(severity or "").strip().lower().replace("_", "-").replace(" ", "-") not in {
        "neutral",
        "no-error",
    }


def _indexed(numbered: tuple[int, Mapping[str, Any]], suffix: str, path: str) -> list[tuple[int, int]]:
    """The spans of a row with lists of numbers; -1 stands for none, `missing` for an omission."""
    row, cells_of = numbered
    starts, ends, kinds = (
        str(cells_of.get(f"{name}{suffix}") or "").split()
        for name in ("start_indices", "end_indices", "error_types")
    )
    if len(starts) != len(ends) or (kinds and len(kinds) < len(starts)):
        raise InputError(
            f"{len(starts)} starts, {len(ends)} ends and {len(kinds)} error types.", place=Place(path, row)
        )
    kinds = kinds or ["major"] * len(starts)
    kept = [(a, b) for a, b, kind in zip(starts, ends, kinds) if _counts(kind) and "missing" not in {a, b}]
    return [span for a, b in kept if (span := _span(a, b, Place(path, row, "start_indices"))) is not None]


def _span(start: Any, end: Any, place: Place) -> tuple[int, int] | None:
    """Two numbers as [start, end); None for -1, which stands for no error."""
    try:
        first, last = int(start), int(end)
    except (TypeError, ValueError):
        raise InputError(f"{start!r} to {end!r} is no span.", place=place) from None
    if first == last == -1:
        return None
    if not 0 <= first <= last:
        raise InputError(f"a span cannot go from {first} to {last}.", place=place)
    return (first, last) if first < last else None


def _included(ends: Sequence[tuple[Any, Any]], place: Place) -> list[tuple[int, int]]:
    """Spans whose last character is given, not the one behind it."""
    spans = (_span(first, last, place) or (int(first), int(last)) for first, last in ends)
    return [(first, last + 1) for first, last in spans]


def _of_row(numbered: tuple[int, Mapping[str, Any]], path: str) -> list[tuple[int, int]]:
    row, found = numbered
    if found["start"] in {None, ""} or not _counts(found.get("severity")):
        return []
    span = _span(found["start"], found["end"], Place(path, row, "start"))
    return [] if span is None else [span]


def _tagged(numbered: tuple[int, Mapping[str, Any]], path: str) -> list[tuple[int, int]]:
    """Where the tags stand in a text, counted without them."""
    row, found = numbered
    if not _counts(found.get("severity")):
        return []
    places, removed = [], 0
    for tag in _TAG.finditer(found["hyp"] or ""):
        places.append(tag.start() - removed)
        removed += len(tag[0])
    if len(places) % 2:
        raise InputError("a <v> is opened and never closed.", place=Place(path, row, "target"))
    return [(a, b) for a, b in zip(places[::2], places[1::2]) if a < b]


def _spans_of(errors: Any, place: Place) -> list[tuple[int, int]]:
    """The spans of a list of errors as mt-metrics-eval writes them."""
    marked = [error for error in errors if isinstance(error, Mapping)] if isinstance(errors, list) else []
    found = [
        _span(error.get("start"), error.get("end"), place)
        for error in marked
        if not error.get("is_source_error") and _counts(error.get("severity"))
    ]
    return [span for span in found if span is not None]


def _spans_of_rating_file(path: str) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    spans = []
    lines = Counter[str]()
    for number, line in enumerate(read_text(path).removesuffix("\n").split("\n"), start=1):
        system, *fields = line.split("\t")
        lines[system] += 1
        if fields and fields[0].strip().lower() not in cells.MISSING_SCORES:
            place = Place(path, line=number)
            spans.append(_spans_of(parse_object(fields[0], place).get("errors"), place))
            rater = fields[1] if len(fields) > 1 else "rater"
            rows.append({"system": system, "seg_id": str(lines[system]), "rater": rater})
    return _with_spans(pl.DataFrame(rows, infer_schema_length=None), spans)


def _spans_of_json_lines(path: str) -> pl.DataFrame:
    """Ratings that stand alone: `segment_id` counts from 0."""
    rows: list[dict[str, Any]] = []
    spans = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            place = Place(path, line=number)
            own = parse_object(line, place)
            spans.append(_spans_of(own.get("errors"), place))
            languages = [own.get("src_lang"), own.get("tgt_lang")]
            rows.append(
                {"system": str(own.get("system_id")), "rater": str(own.get("rater_id") or "rater")}
                | {"seg_id": str(int(own.get("segment_id") or 0) + 1), "hyp": own.get("hypothesis")}
                | ({"lp": "-".join(map(str, languages))} if all(languages) else {})
            )
    return _with_spans(pl.DataFrame(rows, infer_schema_length=None), spans)


def _with_spans(frame: pl.DataFrame, spans: Sequence[Sequence[tuple[int, int]]]) -> pl.DataFrame:
    column = [[{"start": a, "end": b} for a, b in own] for own in spans]
    return frame.with_columns(pl.Series("spans", column, dtype=SPANS))


def _gathered(frame: pl.DataFrame, spans: Sequence[Sequence[tuple[int, int]]]) -> pl.DataFrame:
    """One row per output and rater, with the spans of all its rows."""
    keys = [n for n in (*KEY_PREFIXES, "doc_id", "seg_id", "system", "rater") if n in frame.columns]
    rest = [
        pl.col(n).first() for n in frame.columns if n not in {*keys, "start", "end", "severity", "category"}
    ]
    return (
        _with_spans(frame, spans)
        .group_by(keys, maintain_order=True)
        .agg(*rest, pl.col("spans").explode().drop_nulls())
    )
