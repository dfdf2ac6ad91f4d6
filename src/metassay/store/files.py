"""Files that are whole or absent: written under a temporary name, flushed to disk, renamed."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import polars as pl


def write_bytes(path: Path, content: bytes) -> None:
    """Put a whole file in place at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def write_json(path: Path, content: Any) -> None:
    """JSON with sorted structure as given, readable; NaN and infinities are refused."""
    write_bytes(path, (json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode())


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """A Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    write_bytes(path, buffer.getvalue())
