"""Tables as they stand in files, before anyone asks what their columns mean: CSV, TSV, JSON, Parquet, Excel.

CSV and TSV are read with quoting (`minimal`) or without (`none`: WMT files are written both ways). What parts
their fields, the header says: Excel writes semicolons where numbers have a comma.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metassay.data.cells import with_points
from metassay.data.memory import is_large_table, spill_to_disk
from metassay.data.readers.files import (
    decode_text,
    file_ending,
    read_bytes,
    read_first_lines,
    size_if_starts_with,
)
from metassay.data.readers.json_tables import parse_json_array, parse_json_lines
from metassay.errors import InputError, MissingBackend, Place

QUOTINGS = ("minimal", "none")
_TRY_NONE = "Files such as WMT's are written without quoting: try --quoting none."
PLAIN_TEXT = "If this is plain text, name its reference: --reference FILE OUTPUT…"
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_SEPARATORS = ",\t;|"
_TOLD = re.compile(r"sep=(.)\r?\n")
"""What Excel writes before the header, to itself."""
JSON_LINES = (".jsonl", ".ndjson", ".jsonlines")
PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm", ".xlsb", ".xls")
ENDINGS = (*DELIMITERS, *JSON_LINES, *PARQUET, *EXCEL)
PARQUET_MAGIC = b"PAR1"
_WHOLE = 2**26
"""Larger Parquet files are read part by part."""
_EXACT = 2.0**53  # above it a float is no exact whole number
_REFUSALS = (OSError, ValueError, TypeError, KeyError, NotImplementedError, OverflowError, MemoryError)
"""What Arrow's Python side raises beside its own errors."""


def read_table(path: str, *, quoting: str = "minimal", notes: list[str] | None = None) -> pl.DataFrame:
    """The table in a CSV, TSV, JSON, Parquet (each also gzip or zstd) or Excel file, or from `-`.

    The format follows from the name; for standard input and other names, from the first bytes. What was
    read otherwise than it is written is added to `notes`.
    """
    if file_ending(path) in PARQUET and size_if_starts_with(path, PARQUET_MAGIC) > _WHOLE:
        return parse_parquet(pa.OSFile(path), file=path)
    return parse_table(read_bytes(path), path, quoting=quoting, notes=notes)


def parse_table(
    content: bytes, path: str, *, quoting: str = "minimal", notes: list[str] | None = None
) -> pl.DataFrame:
    """The table that `content`, decompressed, is; `path` is where it comes from."""
    name = "standard input" if path == "-" else path
    kind = file_ending(path)
    if kind in PARQUET or (kind not in ENDINGS and content.startswith(PARQUET_MAGIC)):
        frame = parse_parquet(content, file=name)
    elif kind in EXCEL:
        frame = parse_excel(content, file=name)
    else:
        frame = _parser(kind, [] if notes is None else notes)(decode_text(content, name), name, quoting)
    if not frame.columns:
        raise InputError("the table has no columns.", place=Place(file=name))
    return frame


def is_table(path: Path) -> bool:
    """Whether the name says that a file is a table we read; of JSON, whether it is an array."""
    kind = file_ending(str(path))
    return kind in ENDINGS or (kind == ".json" and "".join(read_first_lines(str(path))[:1]).startswith("["))


def _parser(kind: str, notes: list[str]) -> Callable[[str, str, str], pl.DataFrame]:
    def parse(text: str, file: str, quoting: str) -> pl.DataFrame:
        if kind in JSON_LINES or (kind not in DELIMITERS and text.lstrip().startswith("{")):
            return parse_json_lines(text, file=file)
        if kind == ".json" or (kind not in ENDINGS and re.match(r"\s*\[\s*\{", text)):
            return parse_json_array(text, file=file)
        delimiter, text = _separated(text, DELIMITERS.get(kind))
        table = parse_delimited(text, delimiter=delimiter, quoting=quoting, file=file)
        return with_points(table, file, notes) if delimiter == ";" else table

    return parse


def _separated(text: str, usual: str | None) -> tuple[str, str]:
    """What parts the fields, and the text without a line that says so: `sep=;`, else the header shows it."""
    if told := _TOLD.match(text):
        return told[1], text[told.end() :]
    header = re.sub(r'"[^"\n]*"', "", text.split("\n", 1)[0])
    if usual == "\t" and usual in header:  # a name may hold commas, never a tab
        return usual, text
    found = max(_SEPARATORS, key=lambda each: (header.count(each), each == usual))
    return (found if header.count(found) else usual or ","), text


def parse_parquet(content: bytes | pa.NativeFile, *, file: str) -> pl.DataFrame:
    """The table in a Parquet file.

    Arrow's own reader takes it: one that is broken makes others panic, or ask for more memory than there is.
    """
    try:
        opened = pa.BufferReader(content) if isinstance(content, bytes) else content
        source = pq.ParquetFile(opened, pre_buffer=False)
        parts = _row_groups(source)
        frame = (
            spill_to_disk(parts)
            if is_large_table(source.metadata.num_rows)
            else pl.concat(parts, rechunk=True)
        )
    except (pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException, *_REFUSALS) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"this is not a Parquet file ({reason}).", place=Place(file=file)) from None
    if frame.is_empty():
        raise InputError("the file has no rows.", place=Place(file=file))
    return frame


def _row_groups(file: pq.ParquetFile) -> Iterator[pl.DataFrame]:
    """The parts of a Parquet file, one after the other: Arrow's copy of each is gone before the next."""
    if not file.num_row_groups:
        yield pl.DataFrame(pl.from_arrow(file.schema_arrow.empty_table()))
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, use_threads=False)
        table.validate(full=True)
        frame = pl.DataFrame(pl.from_arrow(table))
        names = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Categorical | pl.Enum)]
        yield frame.with_columns(pl.col(names).cast(pl.String))


def parse_delimited(text: str, *, delimiter: str, quoting: str, file: str) -> pl.DataFrame:
    """A table of text columns. Rows end at LF alone, so that U+2028 and bare CR stay in the text."""
    if quoting not in QUOTINGS:
        raise InputError(f"unknown quoting {quoting!r}.", remedy=f"Known: {', '.join(QUOTINGS)}.")
    table = _read_by_polars(text, delimiter, quoting)
    if table is None:
        return _read_row_by_row(text, delimiter=delimiter, quoting=quoting, file=file)
    header = [str(name).strip() for name in table.row(0)]
    _check_header(header, file)
    if table.height == 1:
        raise _without_rows(file)
    return table.slice(1).rename(dict(zip(table.columns, header)))


def parse_excel(content: bytes, *, file: str) -> pl.DataFrame:
    """The first sheet of an Excel file; its first row names the columns. Whole numbers are integers."""
    try:
        import fastexcel
    except ImportError:
        raise MissingBackend("fastexcel, which reads Excel files,", extra="excel") from None
    refusals = (fastexcel.FastExcelError, pl.exceptions.PolarsError, pl.exceptions.PanicException, IndexError)
    try:
        found = pl.read_excel(io.BytesIO(content), infer_schema_length=None)
    except (*refusals, *_REFUSALS) as error:  # an IndexError: there is no sheet
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"this is not an Excel file ({reason}).", place=Place(file=file)) from None
    if found.is_empty():
        raise _without_rows(file)
    whole = [
        name
        for name, cells in found.to_dict().items()
        if cells.dtype == pl.Float64
        and (cells.is_null() | ((cells == cells.round()) & (cells.abs() < _EXACT))).all()
    ]
    return found.with_columns(pl.col(whole).cast(pl.Int64))


def _read_by_polars(text: str, delimiter: str, quoting: str) -> pl.DataFrame | None:
    """Header and rows as polars reads them; None where it reads otherwise than we do, or something is wrong.

    It fills up rows that are too short, and lets an empty field too many pass where the file ends without LF.
    It takes any quote for one that opens or closes a field, also in `5" disk`. It drops the CR before every
    LF, which we do only where all lines end in CR LF.
    """
    quoted = quoting == "minimal" and '"' in text
    ends_alike = "\r" not in text or text.count("\r") == text.count("\r\n") == text.count("\n")
    if not ends_alike or (quoted and not _quotes_whole_fields(text, delimiter)):
        return None
    try:
        table = pl.read_csv(
            (text if text.endswith("\n") else f"{text}\n").encode(),
            has_header=False,
            separator=delimiter,
            quote_char='"' if quoted else None,
            infer_schema=False,
        ).with_columns(pl.all().fill_null(""))
    except pl.exceptions.PolarsError:
        return None
    inside = _inside_cells(table, "\n", delimiter) if quoted else (0, 0)
    rows = text.removesuffix("\n").count("\n") + 1 - inside[0]
    delimiters = text.count(delimiter) - inside[1]
    return table if (rows, delimiters) == (table.height, table.height * (table.width - 1)) else None


def _quotes_whole_fields(text: str, delimiter: str) -> bool:
    """Whether every field is quoted as a whole or has no quote at all."""
    quoted, bare = r'"[^"]*+(?:""[^"]*+)*+"\r?+', rf'[^"{delimiter}\n]*+'
    return re.fullmatch(rf"(?:(?:{quoted}|{bare})(?:{re.escape(delimiter)}|\n|\Z))*+", text) is not None


def _inside_cells(table: pl.DataFrame, *characters: str) -> tuple[int, ...]:
    """How often each character stands inside the cells."""
    counts = (table.select(pl.all().str.count_matches(each, literal=True).sum()) for each in characters)
    return tuple(int(sum(count.row(0))) for count in counts)


def _read_row_by_row(text: str, *, delimiter: str, quoting: str, file: str) -> pl.DataFrame:
    """The same by our own parser, which knows where something is wrong."""
    rows = _unquoted(text, delimiter) if quoting == "none" else _quoted(text, delimiter, file)
    if rows and rows[0][-1].endswith("\r"):
        for row in rows:
            row[-1] = row[-1].removesuffix("\r")
    header = [name.strip() for name in rows[0]]
    _check_header(header, file)
    body = rows[1:]
    if not body:
        raise _without_rows(file)
    for number, row in enumerate(body, start=1):
        if len(row) != len(header):
            raise _ragged(len(row), header, number, file, quoting=quoting, delimiter=delimiter)
    columns = list(zip(*body, strict=True))
    return pl.DataFrame(
        {name: pl.Series(name, column, dtype=pl.String) for name, column in zip(header, columns)}
    )


def _unquoted(text: str, delimiter: str) -> list[list[str]]:
    return [line.split(delimiter) for line in text.removesuffix("\n").split("\n")]


def _quoted(text: str, delimiter: str, file: str) -> list[list[str]]:
    """Rows of a file with minimal quoting; lines without a quote at a field's start take a short cut."""
    text = text.removesuffix("\n")
    rows: list[list[str]] = []
    opening, start = f'{delimiter}"', 0
    while start <= len(text):
        end = _line_end(text, start)
        if text.startswith('"', start) or text.find(opening, start, end) >= 0:
            row, end = _record(text, start, delimiter, Place(file=file, row=len(rows)))
        else:
            row = text[start:end].split(delimiter)
        rows.append(row)
        start = end + 1
    return rows


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _record(text: str, start: int, delimiter: str, place: Place) -> tuple[list[str], int]:
    """The fields of the record that begins at `start`, and where it ends; quoted fields may hold LF."""
    fields: list[str] = []
    while True:
        if not text.startswith('"', start):
            last = _line_end(text, start)
            end = text.find(delimiter, start, last)
            fields.append(text[start : last if end < 0 else end])
            if end < 0:
                return fields, last
        else:
            closing = _closing_quote(text, start + 1)
            if closing is None:
                raise InputError("a quote is opened and never closed.", place=place, remedy=_TRY_NONE)
            end = closing + 1
            fields.append(text[start + 1 : closing].replace('""', '"'))
            if not text.startswith(delimiter, end):
                return _at_end(text, end, fields, place)
        start = end + 1


def _at_end(text: str, end: int, fields: list[str], place: Place) -> tuple[list[str], int]:
    """The record where it ends after a closing quote; a CR before the LF belongs to its last field."""
    last = end + text.startswith("\r", end)
    if last < len(text) and text[last] != "\n":
        place = Place(file=place.file, row=place.row, column=str(len(fields)))
        raise InputError("text follows a closing quote.", place=place, remedy=_TRY_NONE)
    fields[-1] += text[end:last]
    return fields, last


def _closing_quote(record: str, start: int) -> int | None:
    position = record.find('"', start)
    while position >= 0:
        if not record.startswith('"', position + 1):
            return position
        position = record.find('"', position + 2)
    return None


def _without_rows(file: str) -> InputError:
    return InputError("the file has a header and no rows.", place=Place(file=file))


def _check_header(header: list[str], file: str) -> None:
    counts = Counter(header)
    for name in header:
        if not name:
            raise InputError("a column has no name.", place=Place(file=file, line=1))
        if counts[name] > 1:
            raise InputError("this name heads two columns.", place=Place(file=file, line=1, column=name))


def _ragged(
    found: int, header: list[str], row: int, file: str, *, quoting: str, delimiter: str
) -> InputError:
    remedy = None
    if quoting == "none":
        remedy = "If the file quotes its fields, try --quoting minimal."
    elif delimiter == "\t":
        remedy = _TRY_NONE
    elif file.endswith(".txt"):
        remedy = PLAIN_TEXT
    what = f"{found} {'field' if found == 1 else 'fields'} where the header has {len(header)}."
    return InputError(what, place=Place(file=file, row=row), remedy=remedy)
