"""What people rated, as the tools that ask them export it: pearmut's annotations, Appraise's CSV.

Scores of several people on one output become their mean, and a column for each person (`human:NAME`) where
they are few. Items that test the raters (tutorials, attention checks, `BAD` and `REF`) are left out, counted.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from metassay.data import cells
from metassay.data.columns import is_reserved
from metassay.data.readers.files import file_ending, file_stem, read_first_lines, read_text
from metassay.data.readers.json_tables import check_value
from metassay.errors import InputError, Place
from metassay.text.tokenizers import language_code

RATINGS_KEY = ["testset", "lp", "seg_id", "system"]
MANY_PEOPLE = 30
"""With more of them each one's column would be nearly empty."""
ITEM_TYPES = ("TGT", "CHK", "BAD", "REF")
RATED = ("TGT", "CHK")
"""Of Appraise's kinds of items those that are outputs: the others are made to test the raters."""
_LAST_PART = re.compile(r"_#_\d+$")


def is_pearmut(path: str) -> bool:
    """Whether a file is pearmut's `annotations.json`, or the JSON lines of one campaign."""
    if file_ending(path) not in {".json", ".jsonl"}:
        return False
    head = "\n".join(read_first_lines(path))
    if file_ending(path) == ".jsonl":
        return all(key in head for key in ('"user_id"', '"item_i"', '"item"'))
    campaign = re.match(r'\s*\{\s*"[^"]*"\s*:\s*\[\s*\{', head)
    return campaign is not None and '"item"' in head and '"src"' in head and '"tgt"' in head


def read_pearmut(path: str) -> tuple[pl.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """A row per segment and model: texts, the mean score of all users, and each user's."""
    ratings: dict[tuple[str, ...], dict[str, Any]] = {}
    scores: dict[tuple[str, ...], dict[str, float | None]] = {}
    tests = 0
    for campaign, number, entry in _entries(path):
        place = Place(path, row=number)
        for own, annotation, position in _annotated(entry, place):
            if own.get("validation"):
                tests += 1
                continue
            for model, text, said in _models(own, annotation):
                row = _pearmut_row(campaign, entry["item"], position, own) | {"system": model, "hyp": text}
                key = (campaign, row["seg_id"], model)
                check_value(row, place)
                ratings.setdefault(key, row)
                # the log only grows: what a user said last of an output holds
                scores.setdefault(key, {})[str(entry.get("user_id"))] = _score(said, place)
    if not ratings:
        raise InputError("no annotation is in this export of pearmut.", place=Place(path))
    frame = pl.DataFrame(list(ratings.values()), infer_schema_length=None)
    table, notes = _with_people(frame, [scores[key] for key in ratings], "human")
    if tests:
        notes = (*notes, f"{file_stem(path)}: {tests} annotations of tutorials and checks were left out.")
    told = tuple(name for name in frame.columns if name not in {*_PEARMUT, "system", "hyp", "src", "ref"})
    return table, told, notes


def pearmut_errors(path: str) -> list[tuple[dict[str, Any], list[tuple[Any, Any]]]]:
    """Of each output and user, the keys and the errors marked: first and last character, the last included.

    Errors that are marked as missing from the output, and neutral remarks, have no place in it.
    """
    found: dict[tuple[str, ...], tuple[dict[str, Any], list[tuple[Any, Any]]]] = {}
    for campaign, number, entry in _entries(path):
        for own, annotation, position in _annotated(entry, Place(path, row=number)):
            for model, text, said in [] if own.get("validation") else _models(own, annotation):
                row = _pearmut_row(campaign, entry["item"], position, own)
                row |= {"system": model, "hyp": text, "rater": str(entry.get("user_id"))}
                errors = said.get("error_spans") or [] if isinstance(said, Mapping) else []
                ends = [(e.get("start_i"), e.get("end_i")) for e in errors if e.get("severity") != "neutral"]
                kept = [pair for pair in ends if "missing" not in pair]
                found[campaign, row["seg_id"], model, row["rater"]] = (row, kept)
    return list(found.values())


_PEARMUT = ("testset", "seg_id", "doc_id")
_NOT_TOLD = {
    "src",
    "tgt",
    "ref",
    "item_id",
    "doc_id",
    "instructions",
    "validation",
    "error_spans",
    "model",
    "models",
}


def _entries(path: str) -> list[tuple[str, int, dict[str, Any]]]:
    """Campaign, number and content of each entry of the log."""
    text = read_text(path)
    try:
        if file_ending(path) == ".jsonl":
            lines = [json.loads(line) for line in text.split("\n") if line.strip()]
            campaigns = {file_stem(path): lines}
        else:
            campaigns = json.loads(text)
        found = [
            (str(name), number, entry)
            for name, entries in campaigns.items()
            for number, entry in enumerate(entries, start=1)
        ]
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        raise InputError(
            f"this is no export of pearmut ({type(error).__name__}).", place=Place(path)
        ) from None
    return [part for part in found if isinstance(part[2], dict) and isinstance(part[2].get("item"), list)]


def _annotated(entry: Mapping[str, Any], place: Place) -> list[tuple[dict[str, Any], Any, int]]:
    """The segments of an entry's document, what was said of each, and their places in it."""
    said = entry.get("annotation", entry.get("annotations"))
    if not isinstance(said, list) or len(said) != len(entry["item"]):
        raise InputError("an entry does not annotate every segment of its document.", place=place)
    pairs = zip(entry["item"], said)
    return [(own, annotation, n) for n, (own, annotation) in enumerate(pairs) if isinstance(own, dict)]


def _models(own: Mapping[str, Any], annotation: Any) -> list[tuple[str, str, Any]]:
    """Model, output and annotation of each output of a segment: one text, or several by model."""
    texts = own.get("tgt")
    if isinstance(texts, Mapping):
        said = annotation if isinstance(annotation, Mapping) else {}
        return [(str(name), str(text), said[name]) for name, text in texts.items() if name in said]
    return [(str(own.get("model", "model")), str(texts), annotation)]


def _pearmut_row(
    campaign: str, document: Sequence[Any], position: int, own: Mapping[str, Any]
) -> dict[str, Any]:
    """The keys of a segment: named, else from the texts of its document, which are alike for all users."""
    named = own.get("item_id", own.get("doc_id"))
    alike = [part.get("item_id", part.get("doc_id")) for part in document if isinstance(part, dict)]
    texts = json.dumps([part.get("src") if isinstance(part, dict) else None for part in document])
    digest = hashlib.blake2b(texts.encode(), digest_size=5).hexdigest()
    item = f"{digest}-{position + 1}" if named is None else str(named)
    if named is not None and alike.count(named) > 1:
        item = f"{named}-{position + 1}"
    row = {"testset": campaign, "seg_id": item, "doc_id": _LAST_PART.sub("", str(named or digest))}
    for role in ("src", "ref"):
        if isinstance(own.get(role), str):
            row[role] = own[role]
    told = {name: value for name, value in own.items() if name not in _NOT_TOLD}
    return row | {
        f"metadata_{name}" if is_reserved(name) else name: str(value)
        for name, value in told.items()
        if isinstance(value, str | bool | int | float)
    }


def _score(said: Any, place: Place) -> float | None:
    value = said.get("score") if isinstance(said, Mapping) else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"a score is {type(value).__name__}, not a number.", place=place)
    return float(value)


def is_appraise(path: str) -> bool:
    """Whether a file is what Appraise's ExportSystemScoresToCSV writes: rows without a header."""
    if file_ending(path) != ".csv":
        return False
    try:
        fields = next(csv.reader(read_first_lines(path)[:1]), [])
    except csv.Error:
        return False
    return (
        len(fields) >= 9 and fields[3] in ITEM_TYPES and re.fullmatch(r"-?[\d.]+|None", fields[6]) is not None
    )


def read_appraise(path: str) -> tuple[pl.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """A row per system and segment: the mean score of all annotators, `da`, or `esa` where errors are marked.

    There are no texts in it: join it to outputs by language pair, system and segment.
    """
    scores: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    documents: dict[tuple[str, str, str], str] = {}
    marked, tests = False, 0
    for line, fields in enumerate(_fields(path), start=1):
        place = Place(path, line=line)
        if len(fields) < 9 or fields[3] not in ITEM_TYPES:
            raise InputError("no row as Appraise exports them was found.", place=place)
        annotator, systems, segment, kind, source, target, score = fields[:7]
        document = fields[7] if len(fields) >= 11 else ""
        marked = marked or (len(fields) >= 12 and fields[9].strip().startswith("[{"))
        if kind not in RATED:
            tests += 1
            continue
        lp = "-".join(language_code(code) or code for code in (source, target))
        (value,) = cells.scores(pl.Series("score", [score]), path)
        for system in systems.split("+"):
            key = (lp, f"{document}/{segment}" if document else segment, system)
            documents[key] = document
            if value is not None:
                scores.setdefault(key, {}).setdefault(annotator, []).append(value)
    frame = _appraise_frame(documents)
    means = [{who: sum(own) / len(own) for who, own in scores.get(key, {}).items()} for key in documents]
    table, notes = _with_people(frame, means, "esa" if marked else "da")
    if tests:
        notes = (*notes, f"{file_stem(path)}: {tests} rows that test the raters (BAD, REF) were left out.")
    return table, (), notes


def _fields(path: str) -> Iterator[list[str]]:
    """The rows of a CSV file; an error where it is none."""
    rows = csv.reader(io.StringIO(read_text(path)))
    try:
        yield from rows
    except csv.Error as error:
        raise InputError(f"this is no CSV ({error}).", place=Place(path, line=rows.line_num)) from None


def _appraise_frame(documents: Mapping[tuple[str, str, str], str]) -> pl.DataFrame:
    """Keys as columns; the document is part of a segment's id only where ids repeat over documents."""
    plain = {(lp, item.rpartition("/")[2], system) for lp, item, system in documents}
    short = len(plain) == len(documents)
    rows = [
        {"lp": lp, "seg_id": item.rpartition("/")[2] if short else item, "system": system}
        | ({"doc_id": document} if document else {})
        for (lp, item, system), document in documents.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _with_people(
    frame: pl.DataFrame, scores: Sequence[Mapping[str, float | None]], name: str
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table with the mean over people under `name`, and a column for each where they are few, sorted."""
    known = [{who: own for who, own in row.items() if own is not None} for row in scores]
    means = [sum(row.values()) / len(row) if row else None for row in known]
    made = [pl.Series(name, means, dtype=pl.Float64)]
    people = sorted({who for row in known for who in row})
    notes: tuple[str, ...] = ()
    if 1 < len(people) <= MANY_PEOPLE:
        each = ((who, [row.get(who) for row in known]) for who in people)
        made += [pl.Series(f"{name}:{who}", own, dtype=pl.Float64) for who, own in each]
    elif len(people) > 1:
        notes = (f"{len(people)} people rated; their mean stands for them.",)
    keys = [key for key in RATINGS_KEY if key in frame.columns]
    return frame.with_columns(made).sort(keys), notes
