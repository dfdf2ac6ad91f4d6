"""Lines of words, which TREC runs, relevance judgements and rating logs have in common."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from metassay.errors import InputError, InputLocation

# The characters that C's isspace() knows except LF, because trec_eval splits lines at these.
SPACE = r"[ \t\r\x0b\x0c]"
WORD = r"([^ \t\r\x0b\x0c]+)"


def list_lines_without_comments(text: str, path: str) -> pl.DataFrame:
    """Return a table with the number and text of all lines that are neither empty nor comments (`#`)."""
    lines = pl.DataFrame({"text": text.split("\n")}).with_row_index("line", offset=1)
    lines = lines.filter(pl.col("text").str.contains(r"^[ \t\r\x0b\x0c]*[^# \t\r\x0b\x0c]"))
    if lines.is_empty():
        raise InputError(
            "the file has no lines but comments and empty ones.", location=InputLocation(file=path, line=1)
        )
    return lines.with_columns(pl.col("line").cast(pl.Int64))


def split_lines_into_fields(
    text: str, path: str, pattern: str, field_names: Sequence[str], expected: str, remedy: str
) -> pl.DataFrame:
    """Split each line that is neither empty nor a comment into fields by a regular expression. Returns a
    table of the fields and line numbers.

    Raises an error for a line that does not match; `expected` completes "3 words, but …".
    """
    lines = list_lines_without_comments(text, path)
    fields = lines["text"].str.extract_groups(pattern).struct.unnest()
    fields.columns = list(field_names)
    malformed = lines.filter(fields[field_names[0]].is_null())
    if malformed.height:
        words = len(malformed["text"][0].split())
        raise InputError(
            f"{words} {'word' if words == 1 else 'words'}, but {expected}.",
            location=InputLocation(file=path, line=malformed["line"][0]),
            remedy=remedy,
        )
    return fields.with_columns(lines["line"])


def reject_repeated_lines(table: pl.DataFrame, key_columns: tuple[str, ...], path: str, message: str) -> None:
    """Raise an error if two lines of a file have the same values in the given columns.

    `message` is a format string for the fields of that line.
    """
    is_repeated = table.select(pl.struct(key_columns).is_duplicated())[key_columns[0]]
    if not is_repeated.any():
        return
    repeated = table.filter(is_repeated)
    is_first = repeated.select(pl.struct(key_columns).is_first_distinct())[key_columns[0]]
    second = repeated.filter(~is_first).row(0, named=True)
    has_same_key = pl.all_horizontal(pl.col(name) == second[name] for name in key_columns)
    first_line = repeated.filter(has_same_key)["line"][0]
    raise InputError(
        f"{message.format(**second)} in line {first_line}.",
        location=InputLocation(file=path, line=second["line"]),
        remedy="Remove one of the two lines.",
    )
