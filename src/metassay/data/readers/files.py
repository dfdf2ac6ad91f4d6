"""From a path, or `-` for standard input, to bytes, text and first lines, decompressed and checked."""

from __future__ import annotations

import gzip
import sys
import zlib
from pathlib import Path

import pyarrow as pa

from metassay.errors import InputError, Place

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
COMPRESSED = (".gz", ".zst", ".zstd")


def read_bytes(path: str) -> bytes:
    """The content of a file or of standard input (`-`), decompressed where it is gzip or zstd."""
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file.", place=Place(file=path)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot be read ({reason}).", place=Place(file=path)) from None
    try:
        return decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be decompressed ({error}).", place=Place(file=path)) from None


def decompress(content: bytes) -> bytes:
    """Gzip and zstd by their first bytes, everything else as it is."""
    if content.startswith(GZIP_MAGIC):
        return gzip.decompress(content)
    if content.startswith(ZSTD_MAGIC):
        with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
            return bytes(stream.read())
    return content


def read_text(path: str) -> str:
    """The text of a file; invalid UTF-8, NUL and an empty file are refused, a leading BOM is dropped."""
    return checked_text(read_bytes(path), path)


def checked_text(content: bytes, path: str) -> str:
    """UTF-8 text without NUL, or an error with the line."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"byte 0x{content[error.start]:02x} is not valid UTF-8.",
            place=Place(file=path, line=line),
            remedy="Save the file as UTF-8.",
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(
            "there is a NUL character in the text.",
            place=Place(file=path, line=line),
            remedy="Remove it: no text contains one on purpose.",
        )
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InputError("the file is empty.", place=Place(file=path, line=1))
    return text


def plain_name(path: str) -> str:
    """The file's name without folder and without compression and format endings."""
    name = Path(path).name
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).stem if "." in name.strip(".") else name


def ending(path: str) -> str:
    """The format ending in lower case, behind any compression ending: `.csv` for `a.csv.gz`."""
    name = Path(path).name.lower()
    for compressed in COMPRESSED:
        name = name.removesuffix(compressed)
    return Path(name).suffix


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
