"""Read the bytes, the text or the first lines of a file, a pipe or standard input (`-`)."""

from __future__ import annotations

import io
import os
import stat
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

from metassay.data.readers.compression import (
    COMPRESSION_ENDINGS,
    decompress,
    read_decompressed_beginning,
    read_pipe,
)
from metassay.errors import InputError, InputLocation, NoSuchFile

# Bytes from which a format is recognised.
_BEGINNING_BYTES = 65_536
# Content of pipes that `read_first_lines_without_comments` read, kept because a pipe can be read only once.
_PIPE_CONTENTS: dict[str, bytes] = {}


def read_bytes(path: str) -> bytes:
    """Read the content of a file, a pipe or standard input. Content that is compressed with gzip or zstd is
    decompressed.
    """
    try:
        content = _PIPE_CONTENTS.pop(path, None)
        if content is None:
            content = _read_raw_bytes(check_readable_path(path))
    except FileNotFoundError:
        raise NoSuchFile(location=InputLocation(file=path)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot be read ({reason}).", location=InputLocation(file=path)) from None
    try:
        return decompress(content, path)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be decompressed ({error}).", location=InputLocation(file=path)) from None


def _read_raw_bytes(path: str) -> bytes:
    """Read the content of a file, a pipe or standard input as it is, without decompression."""
    if path == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed.", remedy="Name a file, or give the data on it.")
        return read_pipe(sys.stdin.buffer, "standard input")
    if is_pipe(path):
        with Path(path).open("rb") as pipe:
            return read_pipe(pipe, path)
    return Path(path).read_bytes()


def is_pipe(path: str) -> bool:
    """Return whether a path can be read only once, as standard input (`-`), a named pipe or a device."""
    if path == "-":
        return True
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def check_readable_path(path: str) -> str:
    """Raise an error if a path is empty, is not valid UTF-8 or does not exist. Otherwise return the path
    unchanged.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        raise InputError(
            "the name is not valid UTF-8.", location=InputLocation(file=path), remedy="Rename the file."
        ) from None
    if not path:
        raise InputError("the name of a file is empty.")
    try:
        if path != "-":
            Path(path).stat()
    except FileNotFoundError:
        raise NoSuchFile(location=InputLocation(file=path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read ({reason}).", location=InputLocation(file=path)) from None
    return path


def read_text(path: str) -> str:
    """Read a file as UTF-8 text, without a byte order mark at its start."""
    return decode_text(read_bytes(path), path)


def decode_text(content: bytes, path: str) -> str:
    """Decode UTF-8 text, and drop a byte order mark at its start.

    Raises an error with the line for invalid UTF-8 and for NUL characters, and for an empty file.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"byte 0x{content[error.start]:02x} is not valid UTF-8.",
            location=InputLocation(file=path, line=line),
            remedy="Save the file as UTF-8.",
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(
            "there is a NUL character in the text.",
            location=InputLocation(file=path, line=line),
            remedy="Remove it: no text contains one on purpose.",
        )
    text = text.removeprefix("\ufeff")
    if not text or text.isspace():
        raise InputError("the file is empty.", location=InputLocation(file=path, line=1))
    return text


def read_first_lines_without_comments(path: str) -> list[str]:
    """Read the first lines of a file that are neither empty nor comments (`#`, `;;`).

    Returns none if the file is unreadable.
    A pipe is read to its end, and `read_bytes` returns its content later.
    """
    try:
        if is_pipe(path):
            if path not in _PIPE_CONTENTS:
                _PIPE_CONTENTS[path] = _read_raw_bytes(path)
            beginning = read_decompressed_beginning(io.BytesIO(_PIPE_CONTENTS[path]), _BEGINNING_BYTES)
        else:
            with Path(path).open("rb") as file:
                beginning = read_decompressed_beginning(file, _BEGINNING_BYTES)
    except InputError:
        raise
    except (OSError, EOFError, ValueError, zlib.error):
        return []
    return list_first_lines_without_comments(beginning)


def list_first_lines_without_comments(file_content: bytes) -> list[str]:
    """Return the first lines of decompressed content that are neither empty nor comments."""
    text = file_content[:_BEGINNING_BYTES].decode("utf-8", "replace")
    lines = text.removeprefix("\ufeff").split("\n")
    is_cut = len(file_content) >= _BEGINNING_BYTES
    if is_cut and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip() and not line.lstrip().startswith(("#", ";;"))]


def get_file_stem(path: str) -> str:
    """Return the name of a file without folder and endings: `a` for `data/a.csv.gz`."""
    name = Path(path).name
    for ending in COMPRESSION_ENDINGS:
        name = name.removesuffix(ending)
    return Path(name).stem if "." in name.strip(".") else name


def get_file_ending(path: str) -> str:
    """Return the ending of a file in lower case, ignoring the ending of a compression: `.csv` for
    `a.csv.gz`.
    """
    name = Path(path).name.lower()
    for ending in COMPRESSION_ENDINGS:
        name = name.removesuffix(ending)
    return Path(name).suffix


def reject_overwriting_inputs(target: str | os.PathLike[str], input_paths: Sequence[str]) -> None:
    """Raise an error if writing to `target` would replace an input file or a file in an input folder."""
    for source in input_paths:
        if source == target or _is_file_or_inside_folder(Path(target), source):
            raise InputError(
                "this file is also an input and would be overwritten.",
                location=InputLocation(file=str(target)),
                remedy="Choose another name for the output.",
            )


def _is_file_or_inside_folder(file: Path, file_or_folder: str) -> bool:
    """Return whether a file is the given file, or lies inside the given folder."""
    if file_or_folder == "-" or not file.exists() or not Path(file_or_folder).exists():
        return False
    if Path(file_or_folder).samefile(file):
        return True
    return Path(file_or_folder).is_dir() and Path(file_or_folder).resolve() in file.resolve().parents
