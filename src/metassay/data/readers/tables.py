"""Reader of tables: CSV, TSV, JSON, JSON lines, Parquet and Excel, each also compressed with gzip or zstd.

Reads tables as they stand in files. `data.columns` finds out what their columns mean.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from metassay.data.readers import mqm_ratings
from metassay.data.readers.base import RawTable, Reader, ReaderOptions
from metassay.data.readers.delimited import DELIMITERS, parse_table_with_guessed_delimiter
from metassay.data.readers.excel_tables import EXCEL_ENDINGS, parse_excel
from metassay.data.readers.files import (
    decode_text,
    get_file_ending,
    read_bytes,
    read_first_lines_without_comments,
)
from metassay.data.readers.json_tables import JSON_LINES_ENDINGS, parse_json_array, parse_json_lines
from metassay.data.readers.parquet_tables import (
    PARQUET_ENDINGS,
    is_large_parquet,
    looks_like_parquet,
    parse_parquet,
    read_large_parquet,
)
from metassay.errors import InputError, InputLocation

TABLE_ENDINGS = (*DELIMITERS, *JSON_LINES_ENDINGS, *PARQUET_ENDINGS, *EXCEL_ENDINGS)


class TableReader(Reader):
    """Reader of CSV, TSV, JSON, Parquet and Excel tables with a row per output, or per output and metric."""

    name = "table"
    files = ".csv .tsv .json .jsonl .parquet .xlsx"
    summary = (
        "a row per output (and metric); also .gz and .zst; commas, tabs, semicolons or bars; --quoting none "
        "for files like WMT's; tables of marked errors (system, category, severity) become MQM"
    )

    def sniff(self, path: str) -> bool:
        """Return whether the ending of a file, such as `.csv`, is that of a table."""
        return is_table_file(Path(path))

    def read(self, path: str) -> list[RawTable]:
        """Read the table of a file, in which quotes around a cell are not part of the cell."""
        return self.read_tables(path, ReaderOptions())

    def read_tables(self, path: str, options: ReaderOptions) -> list[RawTable]:
        """Read the table of a file. A table of marked errors is converted to MQM scores of outputs."""
        notes: list[str] = []
        table = read_table(path, quoting=options.quoting, notes=notes)
        if mqm_ratings.is_mqm_table(table):
            table = mqm_ratings.compute_mqm_scores_by_segment(table, file=path)
        return [RawTable(path, table, notes=tuple(notes))]


def is_table_file(path: Path) -> bool:
    """Return whether the ending of a file is that of a table, such as `.csv`. A `.json` file must also begin
    with an array.
    """
    ending = get_file_ending(str(path))
    if ending == ".json":
        return "".join(read_first_lines_without_comments(str(path))[:1]).startswith("[")
    return ending in TABLE_ENDINGS


def read_table(path: str, *, quoting: str = "minimal", notes: list[str] | None = None) -> pl.DataFrame:
    """Read a table from a file of any known format, or from standard input (`-`).

    The format follows from the ending, else from the first bytes. Notes about what was read differently from
    how it is written are appended to `notes`.
    """
    if is_large_parquet(path):
        return read_large_parquet(path)
    return parse_table(read_bytes(path), path, quoting=quoting, notes=notes)


def parse_table(
    content: bytes, path: str, *, quoting: str = "minimal", notes: list[str] | None = None
) -> pl.DataFrame:
    """Parse the decompressed content of a file as a table. The ending of the path says which format the
    content has.
    """
    file = "standard input" if path == "-" else path
    ending = get_file_ending(path)
    if ending in PARQUET_ENDINGS or (ending not in TABLE_ENDINGS and looks_like_parquet(content)):
        table = parse_parquet(content, file_name=file)
    elif ending in EXCEL_ENDINGS:
        table = parse_excel(content, file=file)
    else:
        text = decode_text(content, file)
        table = _parse_text_table(text, ending, file, quoting, [] if notes is None else notes)
    if not table.columns:
        raise InputError("the table has no columns.", location=InputLocation(file=file))
    return table


def _parse_text_table(text: str, file_ending: str, file: str, quoting: str, notes: list[str]) -> pl.DataFrame:
    """Parse CSV, TSV or JSON text into a table. The format follows from the ending of the file, or else from
    the first characters.
    """
    if file_ending in JSON_LINES_ENDINGS or (file_ending not in DELIMITERS and text.lstrip().startswith("{")):
        return parse_json_lines(text, file=file)
    if file_ending == ".json" or (file_ending not in TABLE_ENDINGS and re.match(r"\s*\[\s*\{", text)):
        return parse_json_array(text, file=file)
    return parse_table_with_guessed_delimiter(
        text, DELIMITERS.get(file_ending), quoting=quoting, file=file, notes=notes
    )
