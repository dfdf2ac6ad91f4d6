"""Parts: small immutable Parquet files of scores or texts, with the checksum of their bytes in the name.

A part whose bytes do not match its name is renamed to `*.broken`, reported, and computed again.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import re
import threading
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from metassay.errors import InputError, format_path_for_user
from metassay.recorded_warnings import RecordedWarnings
from metassay.store.files import write_bytes
from metassay.store.remote import delete_file, download_file_if_remote, list_files, upload_file_if_remote

_WARNINGS_KEY = "notes"


@dataclass(frozen=True)
class EncodedTable:
    """The bytes of a Parquet file with scores or texts, and their checksum."""

    content: bytes
    checksum: str


def encode_table_as_parquet(table: pl.DataFrame, recorded_warnings: RecordedWarnings = ()) -> EncodedTable:
    """Encode a table of scores or texts as the bytes of a Parquet file, together with the warnings that were
    issued during the computation.
    """
    buffer = io.BytesIO()
    metadata = {_WARNINGS_KEY: json.dumps(recorded_warnings, ensure_ascii=False)}
    # Parts are read as a whole, so that statistics of columns would never be used.
    table.write_parquet(buffer, compression="lz4", statistics=False, metadata=metadata)
    content = buffer.getvalue()
    return EncodedTable(content, hash_bytes(content))


def write_parquet_file(folder: Path, name: str, encoded_table: EncodedTable) -> Path:
    """Write an encoded Parquet file to a folder as `NAME-CHECKSUM.parquet`, and return its path."""
    path = folder / f"{name}-{encoded_table.checksum}.parquet"
    write_bytes(path, encoded_table.content, durable=False)
    return path


def read_parquet_file(path: Path) -> tuple[pl.DataFrame, RecordedWarnings] | None:
    """Read a table and its warnings from a Parquet file; None if the file is missing or damaged.

    A broken part is renamed and reported.
    """
    download_file_if_remote(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        log_note_for_user(
            f"{format_path_for_user(path)} cannot be read ({error.strerror}), "
            "so its contents are computed again."
        )
        return None
    if hash_bytes(content) != _parse_checksum_in_file_name(path):
        _rename_damaged_file(path)
        return None
    metadata = pl.read_parquet_metadata(io.BytesIO(content))
    recorded_warnings = tuple((count, text) for count, text in json.loads(metadata[_WARNINGS_KEY]))
    return pl.read_parquet(io.BytesIO(content)), recorded_warnings


def has_correct_checksum(path: Path) -> bool:
    """Return whether the content of a file matches the checksum in its name."""
    download_file_if_remote(path)
    try:
        return hash_bytes(path.read_bytes()) == _parse_checksum_in_file_name(path)
    except OSError:
        return False


def hash_bytes(content: bytes) -> str:
    """Return a 128-bit BLAKE2 hash as hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def make_short_file_name(text: str) -> str:
    """Replace characters that are not allowed in file names, such as brackets, and shorten the text to at
    most 60 characters.

    >>> make_short_file_name("chrF(word_order=2)")
    'chrf-word_order-2'
    """
    # Lower case, because some file systems do not distinguish case.
    return re.sub(r"[^a-z0-9_.-]+", "-", text.lower())[:60].strip("-")


def log_note_for_user(message: str) -> None:
    """Show a note to the user, through the logger of the package."""
    logging.getLogger("metassay").warning("Note: %s", message)


class PartIndex:
    """Finds and replaces Parquet files in a folder by their names without the checksum.

    The folder is listed once; after that, the index knows only what this process writes.
    """

    def __init__(self, folder: Path, prefix: str) -> None:
        self.folder = folder
        self.prefix = prefix
        self._lock = threading.Lock()
        self._paths: dict[str, list[Path]] | None = None

    def find_files_by_name(self, name: str) -> list[Path]:
        """Return the files that have this name without their checksums. There are two if a process was killed
        while it replaced one by the other.
        """
        with self._lock:
            return self._list_files_by_name().get(name, [])

    def replace_stored_file(self, name: str, encoded_table: EncodedTable) -> None:
        """Write a file, then delete older files with the same name."""
        # The new part is written before the old one is deleted: a killed process leaves two parts, never
        # none.
        path = write_parquet_file(self.folder, name, encoded_table)
        for previous in self.find_files_by_name(name):
            if previous != path:
                delete_file(previous)
        with self._lock:
            self._list_files_by_name()[name] = [path]

    def clear_file_list(self) -> None:
        """Discard the list of files. The next search lists the folder again and finds files of other
        processes.
        """
        with self._lock:
            self._paths = None

    def _list_files_by_name(self) -> dict[str, list[Path]]:
        """Return the paths of the files in the folder by their names without checksums. The folder is listed
        only once.
        """
        if self._paths is None:
            self._paths = {}
            for path in list_files(self.folder, f"{self.prefix}*.parquet"):
                name = path.stem.rpartition("-")[0]
                self._paths.setdefault(name, []).append(path)
        return self._paths


def _parse_checksum_in_file_name(path: Path) -> str:
    """Return the checksum that a file has in its name."""
    return path.stem.rpartition("-")[2]


def _rename_damaged_file(path: Path) -> None:
    """Add `.broken` to the name of a damaged file, so that it is not read again."""
    renamed = path.with_name(f"{path.name}.broken")
    try:
        path.replace(renamed)
        upload_file_if_remote(renamed)
        delete_file(path)
    except (OSError, InputError):
        outcome = "its checksum is wrong"
    else:
        outcome = f"its checksum is wrong, and it was renamed to {renamed.name}"
    log_note_for_user(f"{format_path_for_user(path)}: {outcome}. Its contents are computed again.")
