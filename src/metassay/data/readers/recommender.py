"""Rating logs of recommenders: `user, item, rating`, in the layouts of MovieLens and in tables."""

from __future__ import annotations

import re

import polars as pl

from metassay.data.readers.files import opening, read_text
from metassay.data.readers.trec import content_lines, refuse_repeated
from metassay.errors import InputError, Place

THRESHOLD = 4.0
"""Ratings from here on are relevant unless the user says otherwise: 4 of 5 stars."""
NAMES = {
    "user": ("user", "userid", "user_id", "uid"),
    "item": ("item", "itemid", "item_id", "movieid", "movie_id", "iid", "product", "productid"),
    "rating": ("rating", "stars", "score"),
}
_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_PLAIN = re.compile(rf"\S+(::|\t)\S+\1{_NUMBER}(?:\1\d{{8,}})?\s*")


def sniff(path: str) -> bool:
    """Whether the file starts like `ratings.dat`, `u.data` or a table with user, item and rating."""
    lines = opening(path)[:5]
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
        for role, names in NAMES.items()
    }
    found = {role: place for role, place in places.items() if place is not None}
    return found if len(found) == len(NAMES) else None


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
