"""Read parallel text files: line n of every file belongs to segment n."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from metassay.data.columns import list_possible_column_names
from metassay.data.readers.files import (
    decode_text,
    get_file_ending,
    get_file_stem,
    is_pipe,
    read_bytes,
    read_first_lines_without_comments,
)
from metassay.data.readers.tables import TABLE_ENDINGS
from metassay.data.readers.trec_runs import TREC_RUN_REMEDY
from metassay.data.readers.trn import is_trn_file
from metassay.errors import InputError, InputLocation, format_path_for_user

# A line of a TREC run without its second word Q0, or without the tag.
_INCOMPLETE_RUN_LINE = re.compile(
    r"\s*(\S+\s+\S+\s+\d+\s+[-+.\deE]+\s+\S+|\S+\s+[Qq]0\s+\S+\s+\d+\s+[-+.\deE]+)\s*"
)


def read_lines(path: str) -> list[str]:
    """Read all lines of a text file, including empty ones."""
    content = read_bytes(path)
    if not content:
        raise InputError("the file is empty.", location=InputLocation(file=path, line=1))
    # `decode_text` refuses a file of empty lines, which are valid outputs here.
    text = content.decode() if content.isspace() else decode_text(content, path)
    return text.removesuffix("\n").split("\n")


def read_parallel_lines(
    references: Sequence[str], outputs: Sequence[str], source: str | None = None
) -> pl.DataFrame:
    """Read text files whose line n belongs to segment n into a table with a row per system and segment.

    The name of a file of outputs is the system. All files must have the same number of lines.
    """
    if not references or not outputs:
        raise InputError("the plain-text form needs --reference FILE and --hypothesis FILE….")
    first_reference = references[0]
    shared_columns = {}
    for number, path in enumerate(references, start=1):
        shared_columns[f"ref{number}"] = read_lines(path)
    size = len(shared_columns["ref1"])
    for path, lines in zip(references, shared_columns.values()):
        _check_line_count(path, lines, size, first_reference)
    if source is not None:
        shared_columns["source"] = read_lines(source)
        _check_line_count(source, shared_columns["source"], size, first_reference)
    systems = ["standard input" if path == "-" else get_file_stem(path) for path in outputs]
    tables = []
    for path, system in zip(outputs, systems):
        if systems.count(system) > 1:
            raise InputError(
                f"two hypothesis files are called {system}.",
                location=InputLocation(file=path),
                remedy="Rename one of them.",
            )
        lines = read_lines(path)
        _check_line_count(path, lines, size, first_reference)
        table = pl.DataFrame({"output": lines, **shared_columns})
        ids = pl.int_range(1, size + 1, dtype=pl.Int64).alias("seg_id")
        tables.append(table.select(ids, pl.lit(system).alias("system"), pl.all()))
    return pl.concat(tables)


def reject_plain_text(path: str) -> None:
    """Raise an error with advice if a file is plain text, a transcript or an incomplete TREC run instead of a
    table.

    Such files can only be read together with their references.
    """
    if is_pipe(path) or get_file_ending(path) in TABLE_ENDINGS:
        return
    lines = read_first_lines_without_comments(path)[:20]
    if is_trn_file(path):
        raise InputError(
            "transcripts in trn format need the transcripts of the reference.",
            location=InputLocation(file=path),
            remedy="Name both: -r REFERENCE.trn OUTPUT.trn",
        )
    if lines and all(map(_INCOMPLETE_RUN_LINE.fullmatch, lines)):
        raise InputError(
            "the lines have 5 words, but those of a TREC run have 6.",
            location=InputLocation(file=path),
            remedy=TREC_RUN_REMEDY,
        )
    if lines and not _looks_like_table(lines):
        raise InputError(
            "this is plain text, not a table with named columns.",
            location=InputLocation(file=path),
            remedy="Name the file of references: -r REFERENCE OUTPUT… (or --reference FILE).",
        )


def _looks_like_table(lines: Sequence[str]) -> bool:
    """Return whether the first lines of a file look like JSON, Parquet, CSV or TSV."""
    header = lines[0]
    if header.lstrip().startswith(("{", "[")) or header.startswith("PAR1"):
        return True
    names = {name.strip(' "\r').lower() for name in re.split(r"[,\t;|]", header)}
    if len(names) > 1 and names & _list_known_column_names():
        return True
    tabs = {line.count("\t") for line in lines}
    return len(tabs) == 1 and 0 not in tabs


def _list_known_column_names() -> set[str]:
    """Return all column names by which the header of a table is recognised."""
    names = {"metric", "score", "ref", "reference", "references", "worse", "lp"}
    for role in ("item", "system", "output", "source", "document"):
        names.update(list_possible_column_names(role))
    return names


def _check_line_count(path: str, lines: Sequence[str], expected_count: int, first_reference: str) -> None:
    """Raise an error unless a file has as many lines as the first file of references."""
    if len(lines) != expected_count:
        raise InputError(
            f"{len(lines)} lines, but {format_path_for_user(first_reference)} has {expected_count}.",
            location=InputLocation(file=path),
            remedy="Line n of every file must belong to segment n.",
        )
