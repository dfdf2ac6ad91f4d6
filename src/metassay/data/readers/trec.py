"""Rankings and what they are judged by: TREC runs and qrels, tables, logs of a recommender's ratings.

A line of a run is `topic Q0 document rank score tag`, one retrieved document; a line of relevance judgements
(qrels) is `topic iteration document grade`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from metassay.data import cells
from metassay.data.columns import RANKING_NAMES, missing_column_error
from metassay.data.readers.files import read_first_lines, read_text
from metassay.data.readers.tables import is_table, read_table
from metassay.errors import InputError, Place

THRESHOLD = 4.0
"""Ratings from here on are relevant unless the user says otherwise: 4 of 5 stars."""
RATING_NAMES = {
    "user": ("user", "userid", "user_id", "uid"),
    "item": ("item", "itemid", "item_id", "movieid", "movie_id", "iid", "product", "productid"),
    "rating": ("rating", "stars", "score"),
}
_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_PLAIN = re.compile(rf"\S+(::|\t)\S+\1{_NUMBER}(?:\1\d{{8,}})?\s*")
GRADE_NAMES = ("grade", "rel", "relevance", "qrel", "label")
_GAP = r"[ \t\r\x0b\x0c]"
_WORD = r"([^ \t\r\x0b\x0c]+)"
_RUN_LINE = rf"^{_GAP}*{f'{_WORD}{_GAP}+' * 5}(.*[^ \t\r\x0b\x0c]){_GAP}*$"
_RUN_START = re.compile(r"\s*\S+\s+[Qq]0\s+\S+\s+\S+\s+[-+.\dnNiI]\S*\s+\S.*")
_RUN_REMEDY = "A line of a run is: topic Q0 document rank score tag."
_LINE = rf"^{_GAP}*{_WORD}{_GAP}+{_WORD}{_GAP}+{_WORD}{_GAP}+{_WORD}{_GAP}*$"
_SNIFF = re.compile(r"\s*\S+\s+\S+\s+\S+\s+[-+]?\d{1,6}\s*")
_REMEDY = "A line of judgements is: topic iteration document grade, and the grade is a whole number."


def is_run(path: str) -> bool:
    """Whether the file starts with lines of a run: six words or more, the second of them Q0."""
    return looks_like_run(read_first_lines(path))


def looks_like_run(lines: Sequence[str]) -> bool:
    """Whether the first of these lines are lines of a run."""
    return bool(lines) and all(_RUN_START.fullmatch(line) for line in lines[:5])


def read_run(path: str) -> pl.DataFrame:
    """A table `run, topic, docid, score, line` of the retrieved documents, in the order of the file.

    Lines that start with `#` and empty lines are passed over; the second and fourth word are ignored, as
    trec_eval does. The run is the tag: all that follows the score where every line has the same, else its
    first word (trec_eval ignores further words). Gzip is recognised by content.
    """
    return parse_run(read_text(path), path)


def parse_run(text: str, path: str) -> pl.DataFrame:
    """The same from text; `path` is where it comes from."""
    lines = content_lines(text, path)
    fields = lines["text"].str.extract_groups(_RUN_LINE).struct.unnest()
    fields.columns = ["topic", "iteration", "docid", "rank", "written", "tag"]
    bad = fields["topic"].is_null()
    if bad.any():
        at = int(bad.arg_max() or 0)
        words = len(lines["text"][at].split())
        raise InputError(
            f"{words} {'word' if words == 1 else 'words'}, but a run has six columns.",
            place=Place(file=path, line=lines["line"][at]),
            remedy=_RUN_REMEDY,
        )
    frame = fields.select(
        _tags(fields["tag"]).alias("run"),
        "topic",
        "docid",
        _scores(fields["written"], lines["line"], path).alias("score"),
        lines["line"],
    )
    refuse_repeated(
        frame, ("run", "topic", "docid"), path, "document {docid} was already retrieved for topic {topic}"
    )
    return frame


def content_lines(text: str, path: str) -> pl.DataFrame:
    """The lines that say something, with their numbers: `text, line`."""
    frame = pl.DataFrame({"text": text.split("\n")}).with_row_index("line", offset=1)
    frame = frame.filter(pl.col("text").str.contains(r"^[ \t\r\x0b\x0c]*[^# \t\r\x0b\x0c]"))
    if frame.is_empty():
        raise InputError("the file has no lines but comments and empty ones.", place=Place(file=path, line=1))
    return frame.with_columns(pl.col("line").cast(pl.Int64))


def refuse_repeated(frame: pl.DataFrame, key: tuple[str, ...], path: str, what: str) -> None:
    """An error at the second of two lines with the same key; `what` is filled in from the line."""
    repeated = frame.select(pl.struct(key).is_duplicated())[key[0]]
    if not repeated.any():
        return
    rows = frame.filter(repeated)
    second = rows.filter(~rows.select(pl.struct(key).is_first_distinct())[key[0]]).row(0, named=True)
    same = pl.all_horizontal(pl.col(name) == second[name] for name in key)
    first = rows.filter(same)["line"][0]
    raise InputError(
        f"{what.format(**second)} in line {first}.",
        place=Place(file=path, line=second["line"]),
        remedy="Remove one of the two lines.",
    )


def _tags(tags: pl.Series) -> pl.Series:
    if tags.n_unique() == 1:
        return tags
    return tags.str.extract(rf"^{_WORD}")


def _scores(written: pl.Series, lines: pl.Series, path: str) -> pl.Series:
    """Retrieval scores as float64; what is no number, not a number or infinite is refused with its line."""
    scores = written.cast(pl.Float64, strict=False)
    bad = ~scores.is_finite().fill_null(value=False)
    if bad.any():
        at = int(bad.arg_max() or 0)
        raise InputError(
            f"the score {written[at]!r} is not a finite number.",
            place=Place(file=path, line=lines[at]),
            remedy=_RUN_REMEDY,
        )
    return scores


def is_rating_log(path: str) -> bool:
    """Whether the file starts like `ratings.dat`, `u.data` or a table with user, item and rating."""
    lines = read_first_lines(path)[:5]
    if not lines:
        return False
    header = [name.strip(' "\r').lower() for name in re.split(r"[,\t;]", lines[0])]
    return _roles(header) is not None or all(_PLAIN.fullmatch(line) for line in lines)


def read_ratings(path: str, *, threshold: float = THRESHOLD) -> pl.DataFrame:
    """A table `user, item, rating, grade, line`; the grade is 1 from rating `threshold` on, else 0.

    Fields are parted by `::` (MovieLens 1M and 10M), tab (100K), comma or semicolon; a header, where there is
    one, says which is which, else they are user, item, rating. A user rates an item once.
    """
    lines = content_lines(read_text(path), path)
    mark = next(mark for mark in ("::", "\t", ";", ",", "") if mark in lines["text"][0])
    if not mark:
        raise InputError(
            "user, item and rating are not parted by `::`, tab, comma or semicolon.",
            place=Place(file=path, line=lines["line"][0]),
        )
    header = [name.strip(' "\r').lower() for name in lines["text"][0].split(mark)]
    roles = _roles(header)
    if roles is None:
        roles = {"user": 0, "item": 1, "rating": 2}
    else:
        lines = lines.slice(1)
    frame = _fields(lines, mark, roles, path)
    refuse_repeated(frame, ("user", "item"), path, "user {user} already rated item {item}")
    return frame.with_columns(grade=(pl.col("rating") >= threshold).cast(pl.Int32))


def _roles(header: list[str]) -> dict[str, int] | None:
    """The place of user, item and rating in a header; None where one is missing."""
    places = {
        role: next((header.index(name) for name in names if name in header), None)
        for role, names in RATING_NAMES.items()
    }
    found = {role: place for role, place in places.items() if place is not None}
    return found if len(found) == len(RATING_NAMES) else None


def _fields(lines: pl.DataFrame, mark: str, roles: dict[str, int], path: str) -> pl.DataFrame:
    parts = lines["text"].str.strip_chars_end("\r").str.split(mark)
    frame = pl.DataFrame(
        {role: parts.list.get(place, null_on_oob=True).str.strip_chars(' "') for role, place in roles.items()}
    ).with_columns(lines["line"])
    ratings = frame["rating"].cast(pl.Float64, strict=False)
    whole = frame["user"].is_not_null() & frame["item"].is_not_null() & ratings.is_finite()
    bad = ~whole.fill_null(value=False)
    if bad.any():
        row = frame.row(int(bad.arg_max() or 0), named=True)
        missing = row["rating"] is None
        raise InputError(
            "a rating needs user, item and rating."
            if missing
            else f"the rating {row['rating']!r} is no number.",
            place=Place(file=path, line=row["line"]),
        )
    return frame.with_columns(ratings.alias("rating")).select("user", "item", "rating", "line")


def read_judgements(path: str, *, threshold: float = THRESHOLD) -> pl.DataFrame:
    """A table `item, document, grade` of judgements, each document judged once for an item.

    Reads TREC qrels, tables (CSV, TSV, JSON lines, Parquet) with topic, document and grade, and rating logs,
    in which a rating from `threshold` on is relevant.
    """
    if is_table(Path(path)) and not is_rating_log(path):
        frame = _from_table(read_table(path), path)
    elif is_rating_log(path):
        ratings = read_ratings(path, threshold=threshold)
        frame = ratings.select(item="user", document="item", grade="grade")
    else:
        frame = read_qrels(path).select(item="topic", document="docid", grade="grade")
    if (frame["grade"] < 1).all():
        raise InputError(
            "no document is relevant to any topic.",
            place=Place(file=path),
            remedy="Relevant documents have grade 1 or more.",
        )
    return frame


def _from_table(table: pl.DataFrame, path: str) -> pl.DataFrame:
    lower = {name.lower(): name for name in reversed(table.columns)}
    columns = {
        role: _column(lower, names, role, table.columns, path)
        for role, names in (
            ("item", RANKING_NAMES["item"]),
            ("document", RANKING_NAMES["document"]),
            ("grade", GRADE_NAMES),
        )
    }
    frame = pl.DataFrame(
        {
            "item": cells.ids(table[columns["item"]], path),
            "document": cells.ids(table[columns["document"]], path),
            "grade": _grades(table[columns["grade"]], path),
        }
    )
    repeated = frame.select(pl.struct("item", "document").is_first_distinct())["item"]
    if not repeated.all():
        row = int(repeated.not_().arg_max() or 0)
        raise InputError(
            f"document {frame['document'][row]} was already judged for topic {frame['item'][row]}.",
            place=Place(file=path, row=row + 1),
            remedy="Remove one of the two rows.",
        )
    return frame


def _column(lower: dict[str, str], names: Sequence[str], role: str, columns: Sequence[str], path: str) -> str:
    found = next((lower[name] for name in names if name in lower), None)
    if found is None:
        raise missing_column_error(role, names, columns, path)
    return found


def _grades(column: pl.Series, path: str) -> pl.Series:
    """Whole-number grades, also where they are written as text; floats and gaps are refused."""
    whole = column.dtype.is_integer() or column.dtype == pl.String
    grades = column.cast(pl.Int32, strict=False) if whole else pl.Series([None] * len(column), dtype=pl.Int32)
    if grades.has_nulls():
        row = int(grades.is_null().arg_max() or 0)
        raise InputError(
            f"the grade {column[row]} is not a whole number.", place=Place(path, row + 1, column.name)
        )
    return grades


def is_qrels(path: str) -> bool:
    """Whether the file starts with judgements: four words, the last a small whole number."""
    lines = read_first_lines(path)[:5]
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
        "topic", "docid", _line_grades(fields["written"], lines["line"], path).alias("grade"), lines["line"]
    )
    refuse_repeated(frame, ("topic", "docid"), path, "document {docid} was already judged for topic {topic}")
    return frame


def _line_grades(written: pl.Series, lines: pl.Series, path: str) -> pl.Series:
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
