"""Decompress gzip and zstd, and check ZIP archives, with a limit on the size of the result."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from typing import IO

from metassay.errors import InputError, InputLocation

COMPRESSION_ENDINGS = (".gz", ".zst", ".zstd")
# Environment variable: maximum size in MB of a decompressed file, and of the content of a pipe.
LIMIT_VARIABLE = "METASSAY_UNPACK_LIMIT"
# The first bytes of gzip and zstd files. The ending of a file does not always tell.
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_MEGABYTE = 1_000_000
# Decompressed content up to this size is read, however strongly it was compressed.
_SIZE_WITHOUT_LIMIT = 256 * _MEGABYTE
# Text shrinks to a third or a twentieth. What grows a hundredfold is hardly text.
_MAXIMUM_RATIO = 100
# A pipe has no size that could be checked before reading, and a device never ends.
_MAXIMUM_PIPE_SIZE = 4096 * _MEGABYTE
# Bytes read at a time, so that a decompression bomb is noticed before it fills memory.
_CHUNK_BYTES = 1 << 20


def decompress(content: bytes, path: str = "") -> bytes:
    """Decompress content if its first bytes are those of gzip or zstd. Other content is returned unchanged.

    Content that grows beyond 256 MB and to more than a hundred times its size is refused, unless
    METASSAY_UNPACK_LIMIT (in MB) allows it.
    """
    stream = _open_compressed_file(io.BytesIO(content))
    if stream is None:
        return content
    with stream:
        return _read_at_most(stream, _compute_decompressed_size_limit(len(content)), path)


def check_archive_size(content: bytes, path: str) -> None:
    """Raise an error if the files of a ZIP archive together are too large to be decompressed.

    A file cannot be larger than the archive says: `zipfile` reads no more, and zstd is checked on its own.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(info.file_size for info in archive.infolist())
    limit = _compute_decompressed_size_limit(len(content))
    if size > limit:
        raise _build_too_large_error(limit, path)


def read_decompressed_beginning(file: IO[bytes], byte_count: int) -> bytes:
    """Read the first bytes of a file, and decompress them if the file is compressed."""
    stream = _open_compressed_file(file)
    if stream is None:
        return file.read(byte_count)
    with stream:
        return bytes(stream.read(byte_count))


def read_pipe(pipe: IO[bytes], display_name: str) -> bytes:
    """Read a pipe or a device to its end. Content that is too long is an error, because a device never
    ends.
    """
    return _read_at_most(pipe, _read_size_limit_from_environment() or _MAXIMUM_PIPE_SIZE, display_name)


def _open_compressed_file(file: IO[bytes]) -> gzip.GzipFile | IO[bytes] | None:
    """Open a compressed file so that reading decompresses it. Returns None if the file is not compressed."""
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(_GZIP_MAGIC):
        return gzip.GzipFile(fileobj=file)
    if magic == _ZSTD_MAGIC:
        import pyarrow as pa

        stream: IO[bytes] = pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")
        return stream
    return None


def _read_at_most(stream: gzip.GzipFile | IO[bytes], byte_limit: int, path: str) -> bytes:
    """Read a stream to its end. Content of more than `byte_limit` bytes is an error."""
    content = io.BytesIO()
    while chunk := stream.read(_CHUNK_BYTES):
        content.write(chunk)
        if content.tell() > byte_limit:
            raise _build_too_large_error(byte_limit, path)
    return content.getvalue()


def _build_too_large_error(byte_limit: int, path: str) -> InputError:
    """Return the error for content that is too large when it is decompressed."""
    return InputError(
        f"it holds more than {byte_limit // _MEGABYTE:,} MB.",
        location=InputLocation(file=path),
        remedy=f"If the size is correct, raise the limit with {LIMIT_VARIABLE}=MB in the environment.",
    )


def _compute_decompressed_size_limit(compressed_size: int) -> int:
    """Compute how many bytes content may have after decompression, given the size of the compressed
    content.
    """
    return _read_size_limit_from_environment() or max(_SIZE_WITHOUT_LIMIT, _MAXIMUM_RATIO * compressed_size)


def _read_size_limit_from_environment() -> int | None:
    """Read the size limit in bytes from the environment. Returns None if the variable is not set."""
    megabytes = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not megabytes:
        return None
    is_number = megabytes.isascii() and megabytes.isdigit()
    if not is_number or not 0 < int(megabytes[:12]) < 10**9:
        raise InputError(f"{LIMIT_VARIABLE} is {megabytes!r}, not a number of megabytes.")
    return int(megabytes[:12]) * _MEGABYTE
