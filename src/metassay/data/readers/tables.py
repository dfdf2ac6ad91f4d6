"""Which format a file is in, and its raw table: columns as written, before anyone asks what they mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metassay.data.readers.delimited import parse_delimited
from metassay.data.readers.files import checked_text, ending, read_bytes
from metassay.data.readers.jsonlines import parse_json_lines
from metassay.errors import InputError, Place

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson", ".jsonlines")
PARQUET = (".parquet", ".pq")
ENDINGS = (*DELIMITERS, *JSON_LINES, *PARQUET)
PARQUET_MAGIC = b"PAR1"
_REFUSALS = (OSError, ValueError, TypeError, KeyError, NotImplementedError, OverflowError, MemoryError)
"""What Arrow's Python side raises beside its own errors."""


def read_table(path: str, *, quoting: str = "minimal") -> pl.DataFrame:
    """The table in a CSV, TSV, JSON lines or Parquet file (each also gzip or zstd), or from `-`.

    The format follows from the name; for standard input and other names, from the first bytes.
    """
    return parse_table(read_bytes(path), path, quoting=quoting)


def parse_table(content: bytes, path: str, *, quoting: str = "minimal") -> pl.DataFrame:
    """The table that `content`, decompressed, is; `path` is where it comes from."""
    name = "standard input" if path == "-" else path
    kind = ending(path)
    if kind in PARQUET or (kind not in ENDINGS and content.startswith(PARQUET_MAGIC)):
        frame = parse_parquet(content, file=name)
    else:
        frame = _parser(kind)(checked_text(content, name), name, quoting)
    if not frame.columns:
        raise InputError("the table has no columns.", place=Place(file=name))
    return frame


def is_table(path: Path) -> bool:
    """Whether the name says that a file is a table we read."""
    return ending(str(path)) in ENDINGS


def _parser(kind: str) -> Callable[[str, str, str], pl.DataFrame]:
    def parse(text: str, file: str, quoting: str) -> pl.DataFrame:
        if kind in JSON_LINES or (kind not in DELIMITERS and text.lstrip().startswith("{")):
            return parse_json_lines(text, file=file)
        header = text.split("\n", 1)[0]
        delimiter = DELIMITERS.get(kind) or ("\t" if "\t" in header else ",")
        return parse_delimited(text, delimiter=delimiter, quoting=quoting, file=file)

    return parse


def parse_parquet(content: bytes, *, file: str) -> pl.DataFrame:
    """The table in a Parquet file.

    Arrow's own reader takes it: one that is broken makes others panic, or ask for more memory than there is.
    """
    try:
        table = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)
        table.validate(full=True)
        frame = pl.DataFrame(pl.from_arrow(table))
    except (pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException, *_REFUSALS) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"this is not a Parquet file ({reason}).", place=Place(file=file)) from None
    if frame.is_empty():
        raise InputError("the file has no rows.", place=Place(file=file))
    categorical = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Categorical | pl.Enum)]
    return frame.with_columns(pl.col(categorical).cast(pl.String))
