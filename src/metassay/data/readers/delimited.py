"""Parse CSV and TSV, with quoting (`minimal`) or without (`none`: WMT publishes files of both kinds).

The header shows what separates the fields. Rows end at LF only, so that U+2028 and single CRs stay in texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import polars as pl

from metassay.data.cells import replace_decimal_commas
from metassay.errors import InputError, InputLocation, format_path_for_user

QUOTINGS = ("minimal", "none")
# Usual delimiter by file ending.
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PLAIN_TEXT_REMEDY = "If this is plain text, name its reference: --reference FILE OUTPUT…"
_QUOTING_REMEDY = "Files such as WMT's are written without quoting: try --quoting none."
_POSSIBLE_DELIMITERS = ",\t;|"
# A line before the header in which Excel notes the delimiter for itself.
_EXCEL_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")


def parse_table_with_guessed_delimiter(
    text: str, usual_delimiter: str | None, *, quoting: str, file: str, notes: list[str]
) -> pl.DataFrame:
    """Parse CSV, TSV or similar text. The delimiter is guessed from the header.

    Excel writes semicolons where numbers have a decimal comma. Such numbers are read, and a note is appended
    to `notes`.
    """
    excel_line = _EXCEL_SEPARATOR_LINE.match(text)
    if excel_line is not None:
        delimiter = excel_line[1]
        text = text[excel_line.end() :]
    else:
        delimiter = _guess_delimiter(text, usual_delimiter)
    if quoting == "minimal" and _would_quotes_join_complete_lines(text, delimiter, file):
        if delimiter == ",":  # texts often contain commas
            notes.append(
                f"{format_path_for_user(file)}: quoted cells span several lines, although every line is a "
                "complete row. If quotation marks belong to the texts, add --quoting none."
            )
        else:
            quoting = "none"
            notes.append(
                f"{format_path_for_user(file)}: quotation marks were read as text, "
                "because they would merge lines otherwise."
            )
    table = parse_delimited_table(text, delimiter=delimiter, quoting=quoting, file=file)
    # Spreadsheets that separate by semicolons do so because the comma is their decimal sign.
    if delimiter == ";":
        return replace_decimal_commas(table, file, notes)
    return table


def _would_quotes_join_complete_lines(text: str, delimiter: str, file: str) -> bool:
    """Return whether reading quotes as in CSV would join several lines into one row, although each line is a
    complete row.

    A file with quoted line ends has lines with fewer fields than its header.
    """
    if f'{delimiter}"' not in text and '\n"' not in text and not text.startswith('"'):
        return False
    lines = text.removesuffix("\n").split("\n")
    delimiters = lines[0].count(delimiter)
    if not delimiters or any(line.count(delimiter) != delimiters for line in lines):
        return False
    try:
        rows = _split_quoted_rows(text, delimiter, file)
    except InputError:
        return False  # a quote that is never closed is an error of its own
    return len(rows) < len(lines)


def _guess_delimiter(text: str, usual_delimiter: str | None) -> str:
    """Guess the delimiter of a table: the possible delimiter that occurs most often in the header, outside
    quotes.
    """
    header = re.sub(r'"[^"\n]*"', "", text.split("\n", 1)[0])
    if usual_delimiter == "\t" and "\t" in header:  # a name may contain commas, but no tab
        return "\t"
    counts = {delimiter: header.count(delimiter) for delimiter in _POSSIBLE_DELIMITERS}
    most_frequent = max(counts, key=lambda delimiter: (counts[delimiter], delimiter == usual_delimiter))
    if counts[most_frequent]:
        return most_frequent
    return usual_delimiter or ","


def parse_delimited_table(text: str, *, delimiter: str, quoting: str, file: str) -> pl.DataFrame:
    """Parse a table with a known delimiter into columns of texts."""
    if quoting not in QUOTINGS:
        raise InputError(f"unknown quoting {quoting!r}.", remedy=f"Known: {', '.join(QUOTINGS)}.")
    table = _parse_with_polars(text, delimiter, quoting)
    if table is None:
        return _parse_row_by_row(text, delimiter=delimiter, quoting=quoting, file=file)
    header = [str(name).strip() for name in table.row(0)]
    _check_header(header, file)
    if table.height == 1:
        raise build_missing_rows_error(file)
    return table.slice(1).rename(dict(zip(table.columns, header)))


def _parse_with_polars(text: str, delimiter: str, quoting: str) -> pl.DataFrame | None:
    """Parse a delimited table with Polars, which is fast. Returns None if the result may be wrong.

    Polars fills up short rows, ignores an empty last field of a file without final LF, takes any quote for
    one that opens or closes a field (as in `5" disk`), and drops the CR before every LF, which is right only
    if all lines end in CR LF.
    """
    has_quotes = quoting == "minimal" and '"' in text
    if has_quotes and not _are_fields_fully_quoted(text, delimiter):
        return None
    if "\r" in text and not text.count("\r") == text.count("\r\n") == text.count("\n"):
        return None
    try:
        table = pl.read_csv(
            (text if text.endswith("\n") else f"{text}\n").encode(),
            has_header=False,
            separator=delimiter,
            quote_char='"' if has_quotes else None,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        return None
    table = table.with_columns(pl.all().fill_null(""))
    # If no row was filled up or cut, the text has as many line ends and delimiters as the table needs.
    rows = text.removesuffix("\n").count("\n") + 1
    delimiters = text.count(delimiter)
    if has_quotes:
        rows -= _count_character(table, "\n")
        delimiters -= _count_character(table, delimiter)
    if rows != table.height or delimiters != table.height * (table.width - 1):
        return None
    return table


def _are_fields_fully_quoted(text: str, delimiter: str) -> bool:
    """Return whether every field is quoted as a whole or contains no quote."""
    # Possessive quantifiers: without them a long text that does not match takes quadratic time.
    quoted = r'"[^"]*+(?:""[^"]*+)*+"\r?+'
    unquoted = rf'[^"{delimiter}\n]*+'
    field_and_end = rf"(?:{quoted}|{unquoted})(?:{re.escape(delimiter)}|\n|\Z)"
    return re.fullmatch(rf"(?:{field_and_end})*+", text) is not None


def _count_character(table: pl.DataFrame, character: str) -> int:
    """Count how often a character occurs in all cells of a table."""
    counts = table.select(pl.all().str.count_matches(character, literal=True).sum())
    return int(sum(counts.row(0)))


def _parse_row_by_row(text: str, *, delimiter: str, quoting: str, file: str) -> pl.DataFrame:
    """Parse a delimited table row by row, which is slow but exact. Errors name the row."""
    if quoting == "none":
        rows = [line.split(delimiter) for line in text.removesuffix("\n").split("\n")]
    else:
        rows = _split_quoted_rows(text, delimiter, file)
    # The header shows whether lines end in CR LF; a CR in a single field belongs to its text.
    if rows[0][-1].endswith("\r"):
        for row in rows:
            row[-1] = row[-1].removesuffix("\r")
    header = [name.strip() for name in rows[0]]
    _check_header(header, file)
    body = rows[1:]
    if not body:
        raise build_missing_rows_error(file)
    for number, row in enumerate(body, start=1):
        if len(row) != len(header):
            remedy = _suggest_remedy_for_wrong_field_count(file, quoting=quoting, delimiter=delimiter)
            raise InputError(
                f"{len(row)} {'field' if len(row) == 1 else 'fields'} where the header has {len(header)}.",
                location=InputLocation(file=file, row=number),
                remedy=remedy,
            )
    columns = zip(*body, strict=True)
    return pl.DataFrame([pl.Series(name, cells, dtype=pl.String) for name, cells in zip(header, columns)])


def _split_quoted_rows(text: str, delimiter: str, file: str) -> list[list[str]]:
    """Split text with quoted fields into rows of fields."""
    text = text.removesuffix("\n")
    rows: list[list[str]] = []
    start = 0
    while start <= len(text):
        end = _find_line_end(text, start)
        has_quoted_field = text.startswith('"', start) or text.find(f'{delimiter}"', start, end) >= 0
        if has_quoted_field:
            row, end = _split_quoted_row(text, start, delimiter, InputLocation(file=file, row=len(rows)))
        else:
            row = text[start:end].split(delimiter)
        rows.append(row)
        start = end + 1
    return rows


def _find_line_end(text: str, start: int) -> int:
    """Return the position of the next line break, or of the end of the text."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _split_quoted_row(
    text: str, start: int, delimiter: str, location: InputLocation
) -> tuple[list[str], int]:
    """Split the row that begins at `start` into its fields, which may contain line breaks. Also returns where
    the row ends.
    """
    fields: list[str] = []
    while True:
        if text.startswith('"', start):
            closing_quote = _find_closing_quote(text, start + 1)
            if closing_quote is None:
                raise InputError(
                    "a quote is opened and never closed.", location=location, remedy=_QUOTING_REMEDY
                )
            fields.append(text[start + 1 : closing_quote].replace('""', '"'))
            field_end = closing_quote + 1
            if not text.startswith(delimiter, field_end):
                return _end_row_after_quoted_field(text, field_end, fields, location)
        else:
            line_end = _find_line_end(text, start)
            field_end = text.find(delimiter, start, line_end)
            if field_end < 0:
                fields.append(text[start:line_end])
                return fields, line_end
            fields.append(text[start:field_end])
        start = field_end + len(delimiter)


def _end_row_after_quoted_field(
    text: str, field_end: int, fields: list[str], location: InputLocation
) -> tuple[list[str], int]:
    """Return the fields and the end of a row whose last field is quoted.

    A carriage return before the line break belongs to this field.
    """
    record_end = field_end
    if text.startswith("\r", field_end):
        record_end += 1
    if record_end < len(text) and text[record_end] != "\n":
        location = InputLocation(file=location.file, row=location.row, column=str(len(fields)))
        raise InputError("text follows a closing quote.", location=location, remedy=_QUOTING_REMEDY)
    fields[-1] += text[field_end:record_end]
    return fields, record_end


def _find_closing_quote(text: str, start: int) -> int | None:
    """Find the quote that closes a field, skipping doubled quotes inside the field. Returns None if there is
    no such quote.
    """
    position = text.find('"', start)
    while position >= 0:
        if not text.startswith('"', position + 1):
            return position
        position = text.find('"', position + 2)
    return None


def build_missing_rows_error(file: str) -> InputError:
    """Return the error for a table that has only a header."""
    return InputError("the file has a header and no rows.", location=InputLocation(file=file))


def _check_header(header: Sequence[str], file: str) -> None:
    """Raise an error if a column name is empty or occurs twice."""
    counts = Counter(header)
    for name in header:
        if not name:
            raise InputError("a column has no name.", location=InputLocation(file=file, line=1))
        if counts[name] > 1:
            raise InputError(
                "this name heads two columns.", location=InputLocation(file=file, line=1, column=name)
            )


def _suggest_remedy_for_wrong_field_count(file: str, *, quoting: str, delimiter: str) -> str | None:
    """Return advice for the user about a row with more or fewer fields than the header, or None if there is
    no advice.
    """
    if quoting == "none":
        return "If the file quotes its fields, try --quoting minimal."
    if delimiter == "\t":
        return _QUOTING_REMEDY
    if file.endswith(".txt"):
        return PLAIN_TEXT_REMEDY
    return None
