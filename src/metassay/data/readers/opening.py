"""The first lines of a file, to tell its format by."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from metassay.data.readers.files import GZIP_MAGIC

_SIZE = 65_536


def opening(path: str) -> list[str]:
    """The first lines that are neither empty nor comments (`#`, `;;`); none where nothing can be read."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(2)
        reader = gzip.open if start == GZIP_MAGIC else open
        with reader(path, "rb") as file:
            content = file.read(_SIZE)
    except (OSError, EOFError, zlib.error):
        return []
    return opening_lines(content)


def opening_lines(content: bytes) -> list[str]:
    """The same for content that is at hand."""
    lines = content[:_SIZE].decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    if len(content) >= _SIZE and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip() and not line.lstrip().startswith(("#", ";;"))]
