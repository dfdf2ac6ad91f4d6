"""Choose the reader of a file or folder, and read its tables.

Readers are tried in order, those of plug-ins first. A built-in reader is imported only if the name of the
file allows its format.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from metassay import plugins
from metassay.data.languages import TARGET_LANGUAGE_COLUMNS
from metassay.data.readers.base import RawTable, Reader, ReaderOptions, convert_reader_result_to_tables
from metassay.data.readers.files import check_readable_path, get_file_ending, is_pipe
from metassay.data.readers.in_memory import convert_to_polars_frame
from metassay.data.readers.remote_files import download_if_remote
from metassay.errors import LOCAL_COPIES, InputError, InputLocation, format_path_for_user
from metassay.tasks import ranking
from metassay.text.languages import is_language_pair, parse_language

# Other names of the column `lp`, in lower case.
LANGUAGE_PAIR_COLUMNS = ("language_pair", "lang_pair", "langpair", "languagepair")
# Columns that may also hold something else. They are used if every value is a pair of languages.
POSSIBLE_LANGUAGE_PAIR_COLUMNS = ("langs", "languages", "language", "lang", "direction", "pair")
SOURCE_LANGUAGE_COLUMNS = ("source_lang", "src_lang", "source_language", "src_language")
_PACKAGE = "metassay.data.readers"


@dataclass(frozen=True)
class ReaderEntry:
    """An entry in the list of built-in readers: the class of the reader, and the names of the files that it
    can read.
    """

    module: str
    class_name: str
    endings: tuple[str, ...] = ()
    """File endings of the format. Empty if a file of any name may have it."""
    reads_folders: bool = False

    def load_reader(self) -> Reader:
        """Import the module of the reader, and create the reader."""
        module = importlib.import_module(f"{_PACKAGE}.{self.module}")
        reader: Reader = getattr(module, self.class_name)()
        return reader

    def can_read_file_name(self, path: str) -> bool:
        """Return whether the reader may be able to read a path, judged by the ending of the file or by
        whether the path is a folder.
        """
        if Path(path).is_dir():
            return self.reads_folders
        if self.reads_folders:
            return False
        return not self.endings or get_file_ending(path) in self.endings


# Special formats come before general ones, because the first reader that recognises a file is used.
BUILT_IN_READERS = (
    ReaderEntry("mt_metrics_eval", "MtMetricsEvalReader", reads_folders=True),
    ReaderEntry("wmt25", "Wmt25Reader", reads_folders=True),
    ReaderEntry("espnet", "EspnetReader", reads_folders=True),
    ReaderEntry("wmt25", "HumanEvaluationReader", (".jsonl",)),
    ReaderEntry("pearmut", "PearmutReader", (".json", ".jsonl")),
    ReaderEntry("appraise", "AppraiseReader", (".csv",)),
    ReaderEntry("inspect_logs", "InspectLogReader", (".eval", ".json")),
    ReaderEntry("deepeval", "DeepEvalReader", (".json",)),
    ReaderEntry("promptfoo", "PromptfooReader", (".json",)),
    ReaderEntry("inspect_samples", "InspectSamplesReader", (".csv", ".tsv", ".tab", ".parquet", ".pq")),
    ReaderEntry("lm_eval", "LmEvalReader", (".jsonl",)),
    ReaderEntry("speech_manifest", "SpeechManifestReader"),
    ReaderEntry("trec_runs", "TrecRunReader"),
    ReaderEntry("tables", "TableReader"),
)


@dataclass(frozen=True)
class MultiFileFormat:
    """A format whose files are named by command-line options, because no reader can recognise them."""

    name: str
    options: str
    summary: str


MULTI_FILE_FORMATS = (
    MultiFileFormat(
        "qrels", "--qrels", "judgements: topic iteration document grade; or a table, or a log of ratings"
    ),
    MultiFileFormat(
        "sclite trn", "--reference --hypothesis", "words of the transcript (utterance), one a line"
    ),
    MultiFileFormat(
        "nist stm, ctm", "--reference --hypothesis", "segments with transcripts, and recognised words in time"
    ),
    MultiFileFormat(
        "kaldi",
        "--reference FOLDER|FILE --hypothesis",
        "a data folder with text, utt2spk, spk2gender, or a file text",
    ),
    MultiFileFormat("plain text", "--reference --hypothesis", "one line a segment, a file per system"),
)


class PluginReader(Reader):
    """Reader that an installed plug-in package provides. It may be any object with the methods `sniff` and
    `read`.
    """

    def __init__(self, name: str, plugin: Any) -> None:
        docstring_lines = (getattr(plugin, "__doc__", None) or "").strip().splitlines()
        first_line = docstring_lines[0] if docstring_lines else "a plug-in's format"
        self.plugin = plugin
        self.name = name
        self.files = str(getattr(plugin, "files", "by its own rule"))
        self.summary = str(getattr(plugin, "summary", "") or first_line)
        self.task = getattr(plugin, "task", None)

    def sniff(self, path: str) -> bool:
        """Return whether the plug-in can read a file or folder."""
        return bool(self.plugin.sniff(path))

    def read(self, path: str) -> pl.DataFrame | RawTable | list[RawTable]:
        """Read a file or folder with the plug-in."""
        content: pl.DataFrame | RawTable | list[RawTable] = self.plugin.read(path)
        return content

    def read_tables(self, path: str, options: ReaderOptions) -> list[RawTable]:
        """Read all tables of a file or folder. Errors in the plug-in are raised as they are, so that its
        author sees them.
        """
        del options
        return convert_reader_result_to_tables(path, self.read(path), self.task)


def load_plugin_readers() -> list[Reader]:
    """Load the readers that installed plug-in packages provide."""
    readers: list[Reader] = []
    for name, announced in plugins.load_entry_points("readers").items():
        plugin = announced() if isinstance(announced, type) else announced
        readers.append(PluginReader(name, plugin))
    return readers


def load_all_readers() -> list[Reader]:
    """Import and return all readers, the built-in ones first."""
    return [*(entry.load_reader() for entry in BUILT_IN_READERS), *load_plugin_readers()]


def read_tables(source: Any, options: ReaderOptions) -> list[RawTable]:
    """Read all tables of a source: files, folders, `-`, a data frame of any kind or a list of rows."""
    frame = convert_to_polars_frame(source)
    if frame is not None:
        return [RawTable("the table", add_language_pair_column(frame))]
    tables = []
    for path in download_remote_paths(source):
        tables += _read_tables_of_path(path, options)
    tables = [replace(table, frame=add_language_pair_column(table.frame)) for table in tables]
    if LOCAL_COPIES:  # errors and notes shall name the address, not the downloaded copy
        tables = [replace(table, file=format_path_for_user(table.file)) for table in tables]
    return tables


def read_table_to_join(path: str, options: ReaderOptions) -> RawTable:
    """Read a file with one table, from which columns are to be added to other data.

    In `.tsv` files of raters, quotation marks belong to the text, so such files are read without quoting.
    """
    quoting = "none" if path.endswith(".tsv") else options.quoting
    tables = _read_tables_of_path(path, replace(options, quoting=quoting, task=None))
    if len(tables) != 1:
        raise InputError(
            f"there are {len(tables)} tables, but only one can be joined.", location=InputLocation(path)
        )
    return replace(tables[0], frame=add_language_pair_column(tables[0].frame))


def add_language_pair_column(table: pl.DataFrame) -> pl.DataFrame:
    """Add a column `lp` with the language pair, from a column such as `language_pair` or from columns of
    source and target languages.

    A table without such columns, or with a column `lp`, is returned unchanged.
    """
    columns = {}
    for name in reversed(table.columns):
        columns[re.sub(r"[^a-z]+", "_", name.strip().lower())] = name
    if "lp" in columns:
        return table
    for name in LANGUAGE_PAIR_COLUMNS:
        if name in columns and table.schema[columns[name]] == pl.String:
            return table.with_columns(table[columns[name]].alias("lp"))
    for name in POSSIBLE_LANGUAGE_PAIR_COLUMNS:
        if name in columns and _are_language_pairs(table[columns[name]]):
            return table.with_columns(table[columns[name]].alias("lp"))
    languages = []
    for names in (SOURCE_LANGUAGE_COLUMNS, TARGET_LANGUAGE_COLUMNS):
        languages += [columns[name] for name in names if name in columns and "lang" in name][:1]
    if len(languages) == 2 and all(_are_languages(table[name]) for name in languages):
        return table.with_columns(lp=pl.concat_str(languages, separator="-"))
    return table


def _are_languages(column: pl.Series) -> bool:
    """Return whether every value of a column is a language. A missing value is not."""
    if column.dtype != pl.String or column.is_empty():
        return False
    return all(parse_language(value or "") is not None for value in column.unique())


def _are_language_pairs(column: pl.Series) -> bool:
    """Return whether every value of a column is a pair of languages such as `en-de`."""
    if column.dtype != pl.String or column.is_empty():
        return False
    return all(is_language_pair(value or "") for value in column.unique())


def download_remote_paths(source: Any) -> list[str]:
    """Return each given path as a path on this machine, downloading remote files first.

    Raises an error if the source is neither a path nor a sequence of paths.
    """
    paths = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(paths, Sequence) or not all(isinstance(path, str | os.PathLike) for path in paths):
        raise InputError(
            f"data cannot be read from {type(source).__name__}.",
            remedy="Pass a path, several, a DataFrame, or a list of dicts.",
        )
    if not paths:
        raise InputError("no file was named.")
    return [download_if_remote(path) for path in paths]


def _read_tables_of_path(path: str, options: ReaderOptions) -> list[RawTable]:
    """Read all tables of a file, a folder or standard input with the reader that recognises it."""
    if path == "-":
        from metassay.data.readers.standard_input import read_standard_input

        return [read_standard_input(options)]
    plugin_readers = load_plugin_readers()
    reader = _find_reader_of_path(check_readable_path(path), plugin_readers)
    if reader is not None:
        return reader.read_tables(path, options)
    if Path(path).is_dir():
        return _read_tables_of_folder(path, options, plugin_readers)
    if options.task == ranking.TASK.name:
        from metassay.data.readers.trec_runs import read_trec_run

        return [RawTable(path, read_trec_run(path), ranking.TASK.name)]
    from metassay.data.readers.plain_text import reject_plain_text
    from metassay.data.readers.tables import TableReader

    reject_plain_text(path)
    return TableReader().read_tables(path, options)


def _find_reader_of_path(path: str, plugin_readers: Sequence[Reader]) -> Reader | None:
    """Find the first reader that recognises a file or folder. Returns None if there is none."""
    # A plug-in opens the file itself, and a pipe can be opened only once.
    if not is_pipe(path):
        for reader in plugin_readers:
            if reader.sniff(path):
                return reader
    for entry in BUILT_IN_READERS:
        if entry.can_read_file_name(path):
            reader = entry.load_reader()
            if reader.sniff(path):
                return reader
    return None


def _read_tables_of_folder(
    path: str, options: ReaderOptions, plugin_readers: Sequence[Reader]
) -> list[RawTable]:
    """Read the tables of all files in a folder, in sorted order. Files of unknown formats are ignored."""
    tables = []
    for file in sorted(str(file) for file in Path(path).iterdir() if file.is_file()):
        reader = _find_reader_of_path(file, plugin_readers)
        if reader is not None:
            tables += reader.read_tables(file, options)
    if not tables:
        raise InputError("this folder holds no table.", location=InputLocation(file=path))
    return tables
