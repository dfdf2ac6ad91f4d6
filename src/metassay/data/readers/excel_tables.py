"""Parse Excel files."""

from __future__ import annotations

import io
import zipfile

import polars as pl

from metassay.data.readers.compression import check_archive_size
from metassay.data.readers.delimited import build_missing_rows_error
from metassay.data.readers.parquet_tables import PYTHON_ERRORS
from metassay.errors import InputError, InputLocation, MissingBackend

EXCEL_ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls")
# Above it, a float does not hold every whole number.
_LARGEST_EXACT_INTEGER = 2.0**53


def parse_excel(content: bytes, *, file: str) -> pl.DataFrame:
    """Parse the first sheet of an Excel file into a table. The first row has the column names.

    Excel stores all numbers as floats, so columns of whole numbers are converted to integers.
    """
    try:
        import fastexcel
    except ImportError:
        raise MissingBackend("fastexcel, which reads Excel files,", extra="excel") from None
    try:
        if zipfile.is_zipfile(io.BytesIO(content)):
            check_archive_size(content, file)
        table = pl.read_excel(io.BytesIO(content), infer_schema_length=None)
    except InputError:
        raise
    except (
        zipfile.BadZipFile,
        fastexcel.FastExcelError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        IndexError,  # there is no sheet
        *PYTHON_ERRORS,
    ) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"this is not an Excel file ({reason}).", location=InputLocation(file=file)
        ) from None
    if table.is_empty():
        raise build_missing_rows_error(file)
    whole_number_columns = [name for name in table.columns if _is_whole_number_column(table[name])]
    return table.with_columns(pl.col(whole_number_columns).cast(pl.Int64))


def _is_whole_number_column(column: pl.Series) -> bool:
    """Return whether a column has the type float, but all of its numbers are whole."""
    if column.dtype != pl.Float64:
        return False
    is_whole = (column == column.round()) & (column.abs() < _LARGEST_EXACT_INTEGER)
    return bool((column.is_null() | is_whole).all())
