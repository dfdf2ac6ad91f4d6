"""Temporary tables of a running assay."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

import polars as pl

from metassay.store.files import create_temporary_file


class ScratchTables:
    """Writes tables to temporary files, which nobody needs after the process has ended.

    If the process is killed, `delete_abandoned_temporary_files` finds them by their names.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.files: list[Path] = []

    def write_temporary_table(self, name: str, table: pl.DataFrame) -> Path:
        """Write a table to a temporary Arrow file, from which it can be memory-mapped."""
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="metassay-"))
            # Runs when the object is collected or the program ends, whichever comes first.
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        with create_temporary_file(self.folder / name) as file:
            self.files.append(file)
            # One record batch, so that a mapped column is one contiguous array.
            table.write_ipc(file, record_batch_size=max(1, table.height))
        return file

    def delete(self) -> None:
        """Delete all temporary files. Tables that are memory-mapped from these files can still be read."""
        # Another process may have tables in the folder, and Windows does not delete mapped files.
        with suppress(OSError):
            for file in self.files:
                file.unlink()
            if self.files and self.folder is not None:
                self.folder.rmdir()
