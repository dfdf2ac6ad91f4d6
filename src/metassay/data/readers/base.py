"""`Reader`: a file format, with the options and the tables that all readers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from metassay.data.readers.json_tables import report_malformed_file


@dataclass(frozen=True)
class RawTable:
    """A table as it was read from a file, with what the file format says about its columns."""

    file: str
    frame: pl.DataFrame
    task: str | None = None
    """The task that the format belongs to. None if the format may hold data of any task."""
    notes: tuple[str, ...] = ()
    """Sentences for the user about how the file was read."""
    human_columns: tuple[str, ...] = ()
    """Columns that the format declares to be human scores, whatever their names."""
    metadata_columns: tuple[str, ...] = ()
    """Columns that the format declares to be metadata, even if they hold numbers."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of rows of the file that were left out, by reason."""


@dataclass(frozen=True)
class ReaderOptions:
    """Options that the user set for reading files. Most readers ignore them."""

    quoting: str = "minimal"
    """Quoting of CSV and TSV files: "minimal" or "none"."""
    task: str | None = None
    """Name of the task, if the user named it."""
    reference: tuple[str, ...] = ()
    """References to use, for folders that have several."""


class Reader(ABC):
    """A file format: how to recognise its files or folders, and how to read them.

    To add a format, subclass `Reader` in a module of its own and list the module in `registry`. A plug-in
    announces a reader, class or object, under the entry point `metassay.readers`. It need not be a subclass:
    `sniff` and `read` are enough.
    """

    name: str
    files: str
    """What such files are called, as `metassay list readers` shows it."""
    summary: str
    """What such files hold, as `metassay list readers` shows it."""
    task: str | None = None
    """The task that the format belongs to. None if the format may hold data of any task."""

    @abstractmethod
    def sniff(self, path: str) -> bool:
        """Return whether a file or folder is in this format."""

    @abstractmethod
    def read(self, path: str) -> pl.DataFrame | RawTable | list[RawTable]:
        """Read a file or folder: one table with the usual column names, or several."""

    def read_tables(self, path: str, options: ReaderOptions) -> list[RawTable]:
        """Read all tables of a file or folder. A reader that uses options overrides this method."""
        del options  # most formats have none
        with report_malformed_file(path):
            return convert_reader_result_to_tables(path, self.read(path), self.task)


def convert_reader_result_to_tables(
    path: str, reader_result: pl.DataFrame | RawTable | list[RawTable], task: str | None
) -> list[RawTable]:
    """Convert whatever a reader returned, such as a single data frame, to a list of `RawTable` objects."""
    if isinstance(reader_result, list):
        return reader_result
    if isinstance(reader_result, RawTable):
        return [reader_result]
    return [RawTable(path, reader_result, task)]
