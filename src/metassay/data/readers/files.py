"""From a path, or `-` for standard input, to bytes, text and first lines, decompressed and checked."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa

from metassay.errors import InputError, NoSuchFile, Place

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
COMPRESSED = (".gz", ".zst", ".zstd")
LIMIT = "METASSAY_UNPACK_LIMIT"
"""In the environment: how many MB a compressed file may grow to, or a pipe may hold."""
_MEGABYTE = 1_000_000
_UNPACKED_FREELY = 256 * _MEGABYTE
_RATIO = 100
"""Text shrinks to a third or a twentieth; what grows a hundredfold is no text, or text worth a question."""
_PIECE = 1 << 20
_SIZE = 65_536
_PIPED: dict[str, bytes] = {}
"""Content of pipes that `read_first_lines` had to read, because a pipe can be read only once."""


def read_bytes(path: str) -> bytes:
    """The content of a file, a pipe or standard input (`-`), decompressed where it is gzip or zstd."""
    kept = _PIPED.pop(path, None)
    try:
        content = _whole(check_path(path)) if kept is None else kept
    except FileNotFoundError:
        raise NoSuchFile(place=Place(file=path)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot be read ({reason}).", place=Place(file=path)) from None
    try:
        return decompress(content, path)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be decompressed ({error}).", place=Place(file=path)) from None


def _whole(path: str) -> bytes:
    """All bytes of a file or pipe as they are."""
    if not is_pipe(path):
        return Path(path).read_bytes()
    if path != "-":
        with Path(path).open("rb") as pipe:
            return _read_up_to(pipe, _piped_limit(), path)
    if sys.stdin is None:
        raise InputError("standard input is closed.", remedy="Name a file, or give the data on it.")
    return _read_up_to(sys.stdin.buffer, _piped_limit(), "standard input")


def is_pipe(path: str) -> bool:
    """Whether a path can be read once only: `-`, a FIFO, a process substitution, a device."""
    if path == "-":
        return True
    try:
        kind = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def size_if_starts_with(path: str, magic: bytes) -> int:
    """The bytes of a file that begins with `magic`, whatever its name says; 0 of everything else."""
    if is_pipe(path) or not Path(path).is_file():
        return 0
    with Path(path).open("rb") as file:
        return Path(path).stat().st_size if file.read(len(magic)) == magic else 0


def check_path(path: str) -> str:
    """A path that the system can look at; an empty one, and one that is no text, are refused with a word."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise InputError(
            "the name is not valid UTF-8.", place=Place(file=path), remedy="Rename the file."
        ) from None
    if not path:
        raise InputError("the name of a file is empty.")
    try:
        if path != "-":
            Path(path).stat()
    except FileNotFoundError:
        raise NoSuchFile(place=Place(file=path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read ({reason}).", place=Place(file=path)) from None
    return path


def decompress(content: bytes, path: str = "") -> bytes:
    """Gzip and zstd by their first bytes, everything else as it is.

    What grows beyond 256 MB and a hundredfold is refused, unless METASSAY_UNPACK_LIMIT (in MB) allows it.
    """
    stream = _unpacking(content)
    if stream is None:
        return content
    limit = _asked_limit() or max(_UNPACKED_FREELY, _RATIO * len(content))
    with stream:
        return _read_up_to(stream, limit, path)


def _unpacking(content: bytes) -> gzip.GzipFile | IO[bytes] | None:
    """A stream of what was compressed; None where nothing was."""
    if content.startswith(GZIP_MAGIC):
        return gzip.GzipFile(fileobj=io.BytesIO(content))
    if content.startswith(ZSTD_MAGIC):
        stream: IO[bytes] = pa.CompressedInputStream(pa.BufferReader(content), "zstd")
        return stream
    return None


def _read_up_to(stream: gzip.GzipFile | IO[bytes], limit: int, path: str) -> bytes:
    """All that a stream holds, or an error where that is more than `limit` bytes."""
    found = io.BytesIO()
    while piece := stream.read(_PIECE):
        found.write(piece)
        if found.tell() > limit:
            raise InputError(
                f"it holds more than {limit // _MEGABYTE:,} MB.",
                place=Place(file=path),
                remedy=f"If that is as it should be, allow more with {LIMIT}=MB in the environment.",
            )
    return found.getvalue()


def _asked_limit() -> int | None:
    asked = os.environ.get(LIMIT, "").strip()
    if not asked:
        return None
    if not asked.isascii() or not asked.isdigit() or not 0 < int(asked[:12]) < 10**9:
        raise InputError(f"{LIMIT} is {asked!r}, not a number of megabytes.")
    return int(asked[:12]) * _MEGABYTE


def _piped_limit() -> int:
    """Devices never end, and a pipe may not either."""
    return _asked_limit() or 4096 * _MEGABYTE


def read_text(path: str) -> str:
    """The text of a file; invalid UTF-8, NUL and an empty file are refused, a leading BOM is dropped."""
    return decode_text(read_bytes(path), path)


def decode_text(content: bytes, path: str) -> str:
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


def file_stem(path: str) -> str:
    """The file's name without folder and without compression and format endings."""
    name = Path(path).name
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).stem if "." in name.strip(".") else name


def file_ending(path: str) -> str:
    """The format ending in lower case, behind any compression ending: `.csv` for `a.csv.gz`."""
    name = Path(path).name.lower()
    for compressed in COMPRESSED:
        name = name.removesuffix(compressed)
    return Path(name).suffix


def read_first_lines(path: str) -> list[str]:
    """The first lines that are neither empty nor comments (`#`, `;;`); none where nothing can be read.

    A pipe is read whole, once: its content waits for `read_bytes`.
    """
    try:
        if is_pipe(path):
            if path not in _PIPED:
                _PIPED[path] = _whole(path)
            return split_first_lines(_unpacked_start(io.BytesIO(_PIPED[path])))
        with Path(path).open("rb") as file:
            return split_first_lines(_unpacked_start(file))
    except InputError:
        raise
    except (OSError, EOFError, ValueError, zlib.error):
        return []


def _unpacked_start(file: IO[bytes]) -> bytes:
    """The first bytes, decompressed."""
    start = file.read(4)
    file.seek(0)
    if start.startswith(GZIP_MAGIC):
        with gzip.GzipFile(fileobj=file) as unpacked:
            return unpacked.read(_SIZE)
    if start == ZSTD_MAGIC:
        with pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd") as stream:
            return bytes(stream.read(_SIZE))
    return file.read(_SIZE)


def split_first_lines(content: bytes) -> list[str]:
    """The same for content that is at hand."""
    lines = content[:_SIZE].decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    if len(content) >= _SIZE and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip() and not line.lstrip().startswith(("#", ";;"))]


def refuse_overwriting(target: str | os.PathLike[str], inputs: Sequence[str]) -> None:
    """An error where writing to `target` would replace a file that was read, or one in a folder of data."""
    file = Path(target)
    for source in inputs:
        given = Path(source)
        if source == target or (source != "-" and file.exists() and given.exists() and _holds(given, file)):
            raise InputError(
                "this is an input, which writing would replace.",
                place=Place(file=str(target)),
                remedy="Choose another name for the output.",
            )


def _holds(source: Path, file: Path) -> bool:
    return source.samefile(file) or (source.is_dir() and source.resolve() in file.resolve().parents)
