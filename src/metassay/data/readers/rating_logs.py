"""Rating logs of recommenders, such as MovieLens: user, item and rating in each line."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.data.readers.files import read_first_lines_without_comments, read_text
from metassay.data.readers.trec_lines import list_lines_without_comments, reject_repeated_lines
from metassay.errors import InputError, InputLocation

# Ratings from here on are relevant: 4 of 5 stars.
DEFAULT_THRESHOLD = 4.0
_COLUMN_NAMES = {
    "user": ("user", "userid", "user_id", "uid"),
    "item": ("item", "itemid", "item_id", "movieid", "movie_id", "iid", "product", "productid"),
    "rating": ("rating", "stars", "score"),
}
_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_LINE_WITHOUT_HEADER = re.compile(rf"\S+(::|\t)\S+\1{_NUMBER}(?:\1\d{{8,}})?\s*")


def is_rating_log(path: str) -> bool:
    """Return whether a file is a log in which users rate items, such as `ratings.dat` or `u.data` of
    MovieLens.
    """
    lines = read_first_lines_without_comments(path)[:5]
    if not lines:
        return False
    if _find_rating_log_columns(re.split(r"[,\t;]", lines[0])) is not None:
        return True
    return all(_LINE_WITHOUT_HEADER.fullmatch(line) for line in lines)


def read_rating_log(path: str, *, rating_threshold: float = DEFAULT_THRESHOLD) -> pl.DataFrame:
    """Read a log of ratings as relevance judgements. An item is relevant to a user (grade 1) if the rating
    reaches a threshold, else not (grade 0).

    Fields are separated by `::` (MovieLens 1M and 10M), tab (100K), comma or semicolon. Without a header,
    they are user, item and rating. A user may rate an item only once.
    """
    lines = list_lines_without_comments(read_text(path), path)
    first_line = lines["text"][0]
    separator = next(mark for mark in ("::", "\t", ";", ",", "") if mark in first_line)
    if not separator:
        raise InputError(
            "user, item and rating are not separated by `::`, tab, comma or semicolon.",
            location=InputLocation(file=path, line=lines["line"][0]),
        )
    positions = _find_rating_log_columns(first_line.split(separator))
    if positions is None:
        positions = {"user": 0, "item": 1, "rating": 2}
    else:
        lines = lines.slice(1)
    ratings = _split_rating_lines(lines, separator, positions, path)
    reject_repeated_lines(ratings, ("user", "item"), path, "user {user} already rated item {item}")
    return ratings.with_columns(grade=(pl.col("rating") >= rating_threshold).cast(pl.Int32))


def _find_rating_log_columns(header: Sequence[str]) -> dict[str, int] | None:
    """Find the positions of the columns of users, items and ratings in a header. Returns None if one of them
    is missing.
    """
    names = [name.strip(' "\r').lower() for name in header]
    positions = {}
    for role, known_names in _COLUMN_NAMES.items():
        present = [name for name in known_names if name in names]
        if not present:
            return None
        positions[role] = names.index(present[0])
    return positions


def _split_rating_lines(
    lines: pl.DataFrame, separator: str, column_positions: dict[str, int], path: str
) -> pl.DataFrame:
    """Split the lines of a log into a table with the user, the item and the rating of each line."""
    fields = lines["text"].str.strip_chars_end("\r").str.split(separator)
    columns = {}
    for role, position in column_positions.items():
        columns[role] = fields.list.get(position, null_on_oob=True).str.strip_chars(' "')
    table = pl.DataFrame(columns).with_columns(lines["line"])
    ratings = table["rating"].cast(pl.Float64, strict=False)
    is_complete = table["user"].is_not_null() & table["item"].is_not_null() & ratings.is_finite()
    is_invalid = ~is_complete.fill_null(value=False)
    if is_invalid.any():
        row = table.row(int(is_invalid.arg_max() or 0), named=True)
        if row["rating"] is None:
            message = "a rating needs user, item and rating."
        else:
            message = f"the rating {row['rating']!r} is not a number."
        raise InputError(message, location=InputLocation(file=path, line=row["line"]))
    return table.with_columns(ratings.alias("rating")).select("user", "item", "rating", "line")
