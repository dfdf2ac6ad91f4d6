"""Write tables and JSON files of a run."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data.memory import release_memory
from metassay.store.files import replace_file_atomically, write_bytes

# Row groups written between two calls of `release_memory`.
_GROUPS_PER_RELEASE = 64

_encode_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file with each entry of the outer objects on its own line. NaN and infinity raise an
    error.
    """
    write_bytes(path, f"{_format_json(content)}\n".encode())


def write_parquet_table(
    path: Path, table: pl.DataFrame | Sequence[pl.DataFrame], *, rows_per_group: int = 2**18
) -> None:
    """Write a table as a Parquet file.

    A sequence of tables is concatenated and written one row group at a time, for tables that do not fit in
    memory.
    """
    if isinstance(table, pl.DataFrame):
        buffer = io.BytesIO()
        table.write_parquet(buffer, compression="zstd", statistics=False, row_group_size=rows_per_group)
        write_bytes(path, buffer.getbuffer())
        return
    import pyarrow.parquet as pq

    # The tables may be mapped into memory. Rechunking would read all of them.
    concatenated = pl.concat(table, rechunk=False)
    arrow_types = pl.CompatLevel.oldest()
    # Polars writes a file as a whole; the writer of pyarrow takes one group at a time.
    schema = concatenated.head(0).to_arrow(compat_level=arrow_types).schema
    with (
        replace_file_atomically(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", write_statistics=False) as writer,
    ):
        for number, group in enumerate(concatenated.iter_slices(rows_per_group), start=1):
            writer.write_table(group.to_arrow(compat_level=arrow_types).cast(schema))
            if number % _GROUPS_PER_RELEASE == 0:
                release_memory()


def _format_json(content: Any, line_break_depth: int = 2) -> str:
    """Format JSON with line breaks in the outer levels only, which makes differences between files
    readable.
    """
    # The encoder of the standard library breaks all lines or none.
    if line_break_depth and content and isinstance(content, dict):
        entries = [
            f"{_encode_json(str(key))}: {_format_json(value, line_break_depth - 1)}"
            for key, value in content.items()
        ]
        return "{\n" + ",\n".join(entries) + "\n}"
    if content and isinstance(content, list | tuple):
        return "[\n" + ",\n".join(map(_encode_json, content)) + "\n]"
    return _encode_json(content)
