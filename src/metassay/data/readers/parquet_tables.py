"""Parse Parquet files, large ones row group by row group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from metassay.data.memory import is_table_too_large_for_memory, spill_to_disk
from metassay.data.readers.files import get_file_ending, is_pipe
from metassay.errors import InputError, InputLocation

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

PARQUET_ENDINGS = (".parquet", ".pq")
# The first bytes of every Parquet file.
_MAGIC = b"PAR1"
# Larger files are not loaded into memory as a whole before they are parsed.
_LARGE_FILE_BYTES = 2**26
# What libraries that parse binary files raise besides errors of their own.
PYTHON_ERRORS = (OSError, ValueError, TypeError, KeyError, NotImplementedError, OverflowError, MemoryError)


def looks_like_parquet(content: bytes) -> bool:
    """Return whether the first bytes of some content are those of a Parquet file."""
    return content.startswith(_MAGIC)


def is_large_parquet(path: str) -> bool:
    """Return whether a path is an uncompressed Parquet file that is too large to be loaded into memory."""
    if get_file_ending(path) not in PARQUET_ENDINGS or is_pipe(path) or not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        begins_like_parquet = file.read(len(_MAGIC)) == _MAGIC
    return begins_like_parquet and Path(path).stat().st_size > _LARGE_FILE_BYTES


def read_large_parquet(path: str) -> pl.DataFrame:
    """Read a Parquet file part by part, so that it is never in memory as a whole."""
    import pyarrow as pa

    return _parse_parquet_stream(pa.OSFile(path), path)


def parse_parquet(content: bytes, *, file_name: str) -> pl.DataFrame:
    """Parse the content of a Parquet file into a table. Errors name the file."""
    import pyarrow as pa

    return _parse_parquet_stream(pa.BufferReader(content), file_name)


def _parse_parquet_stream(stream: pa.NativeFile, file: str) -> pl.DataFrame:
    """Parse a Parquet file into a table. A large table is kept in a temporary file instead of in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Arrow's reader, because a broken file makes others panic or ask for more memory than there is.
    try:
        parquet = pq.ParquetFile(stream, pre_buffer=False)
        groups = _iterate_row_groups(parquet)
        if is_table_too_large_for_memory(parquet.metadata.num_rows):
            table = spill_to_disk(groups)
        else:
            table = pl.concat(groups, rechunk=True)
    except (
        pa.ArrowException,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        *PYTHON_ERRORS,
    ) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"this is not a Parquet file ({reason}).", location=InputLocation(file=file)
        ) from None
    if table.is_empty():
        raise InputError("the file has no rows.", location=InputLocation(file=file))
    return table


def _iterate_row_groups(parquet: pq.ParquetFile) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file in the groups in which they were written, so that only one group is in
    memory.
    """
    if not parquet.num_row_groups:
        yield pl.DataFrame(pl.from_arrow(parquet.schema_arrow.empty_table()))
    for number in range(parquet.num_row_groups):
        group = parquet.read_row_group(number, use_threads=False)
        group.validate(full=True)
        table = pl.DataFrame(pl.from_arrow(group))
        categories = [
            name for name, dtype in table.schema.items() if isinstance(dtype, pl.Categorical | pl.Enum)
        ]
        yield table.with_columns(pl.col(categories).cast(pl.String))
