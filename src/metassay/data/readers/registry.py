"""Every format that is read, and one way to tell them apart: all verbs come through `read_tables`.

A reader of one's own is an object with `sniff(path)`, whether it can read a file or folder, and `read(path)`,
which returns a Polars table with the usual column names; it is announced under the entry point
`metassay.readers`, and asked first. If it has a `task`, its data is of that task.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from metassay import plugins
from metassay.data.readers import inspect_logs, mqm_ratings, mt_metrics_eval, pearmut, trec
from metassay.data.readers.files import check_path, decode_text, is_pipe, read_bytes, split_first_lines
from metassay.data.readers.json_tables import BROKEN
from metassay.data.readers.remote_files import download_if_remote
from metassay.data.readers.speech_utterances import is_espnet, is_manifest, read_espnet, read_manifest
from metassay.data.readers.tables import is_table, parse_table, read_table
from metassay.errors import LOCAL_COPIES, InputError, Place, display_path
from metassay.tasks import asr, ranking

STANDARD_INPUT = "standard input"


@dataclass(frozen=True)
class RawTable:
    """A table as it stands in a file, and what its format tells beside it."""

    file: str
    frame: pl.DataFrame
    task: str | None = None
    """The task that the format belongs to; None where it may hold anything."""
    notes: tuple[str, ...] = ()
    human: tuple[str, ...] = ()
    """Columns that people gave, whatever their names."""
    described: tuple[str, ...] = ()
    """Columns that are metadata, numbers though they may hold."""


@dataclass(frozen=True)
class ReaderOptions:
    """What the user says about reading; a reader takes from it what concerns it."""

    quoting: str = "minimal"
    task: str | None = None
    reference: tuple[str, ...] = ()
    """Of a folder with several references, those to use."""


class Reader(Protocol):
    """A format: how a file or folder of it is recognised, and the tables in it."""

    name: str
    files: str
    summary: str

    def sniff(self, path: str) -> bool:
        """Whether a file or folder is in this format."""
        ...

    def tables(self, path: str, how: ReaderOptions) -> list[RawTable]:
        """The tables in it."""
        ...


@dataclass(frozen=True)
class Format:
    """A reader made of two functions."""

    name: str
    files: str
    summary: str
    sniff: Callable[[str], bool]
    read: Callable[[str, ReaderOptions], pl.DataFrame | list[RawTable]]
    task: str | None = None

    def tables(self, path: str, how: ReaderOptions) -> list[RawTable]:
        """The tables, marked with the format's task."""
        found = self.read(path, how)
        return found if isinstance(found, list) else [RawTable(path, found, self.task)]


def _score_trees(path: str, how: ReaderOptions) -> list[RawTable]:
    trees = mt_metrics_eval.read_score_trees(path, reference=how.reference)
    return [RawTable(path, tree.frame, None, tree.notes, tree.human, tree.described) for tree in trees]


def _told(read: Callable[[str], inspect_logs.Told]) -> Callable[[str, ReaderOptions], list[RawTable]]:
    """A reader of one table that names its metadata, and tells what it left out."""

    def tables(path: str, _: ReaderOptions) -> list[RawTable]:
        try:
            frame, described, notes = read(path)
        except InputError:
            raise
        except BROKEN as error:
            what = f"this is not in the form that was expected ({type(error).__name__})."
            raise InputError(what, place=Place(path)) from None
        return [RawTable(path, frame, None, notes, described=described)]

    return tables


def _table(path: str, how: ReaderOptions) -> list[RawTable]:
    notes: list[str] = []
    frame = read_table(path, quoting=how.quoting, notes=notes)
    if mqm_ratings.is_ratings(frame):
        frame = mqm_ratings.segment_scores(frame, file=path)
    return [RawTable(path, frame, None, tuple(notes))]


FORMATS: tuple[Format, ...] = (
    Format(
        "mt-metrics-eval",
        "a folder",
        "scores of people and metrics, and texts: human-scores/, metric-scores/, system-outputs/ …",
        mt_metrics_eval.is_score_tree,
        _score_trees,
    ),
    Format(
        "espnet",
        "a folder",
        "results: SYSTEM/TESTSET/score_wer/{ref,hyp}.trn",
        is_espnet,
        lambda path, _: read_espnet(path),
        asr.TASK.name,
    ),
    Format(
        "pearmut",
        ".json .jsonl",
        "annotations.json, or a campaign's log: scores of people by document, segment and model",
        pearmut.is_pearmut,
        _told(pearmut.read_pearmut),
    ),
    Format(
        "appraise",
        ".csv without header",
        "ExportSystemScoresToCSV: annotator, system, segment, TGT …; scores alone, so --join it to outputs",
        pearmut.is_appraise,
        _told(pearmut.read_appraise),
    ),
    Format(
        "inspect log",
        ".eval .json",
        "samples with their outputs, targets, scores and metadata",
        inspect_logs.is_inspect_log,
        _told(inspect_logs.read_inspect_log),
    ),
    Format(
        "inspect samples",
        ".csv .parquet",
        "the table of samples_df: scores and metadata without outputs",
        inspect_logs.is_inspect_table,
        _told(inspect_logs.read_inspect_table),
    ),
    Format(
        "lm-eval samples",
        "samples_*.jsonl",
        "MODEL/samples_TASK_DATE.jsonl: prompts, answers, targets, metrics",
        inspect_logs.is_lm_eval,
        _told(inspect_logs.read_lm_eval),
    ),
    Format(
        "speech manifest",
        ".json .jsonl",
        "JSON lines with audio_filepath, text and pred_text",
        is_manifest,
        lambda path, _: read_manifest(path),
        asr.TASK.name,
    ),
    Format(
        "trec run",
        "any name, second word Q0",
        "a ranking: topic Q0 document rank score tag; needs --qrels",
        trec.is_run,
        lambda path, _: trec.read_run(path),
        ranking.TASK.name,
    ),
    Format(
        "table",
        ".csv .tsv .json .jsonl .parquet .xlsx",
        "a row per output (and metric); also .gz and .zst; commas, tabs, semicolons or bars; --quoting none "
        "for files like WMT's; tables of marked errors (system, category, severity) become MQM",
        lambda path: is_table(Path(path)),
        _table,
    ),
)
"""In the order in which they are asked."""
PAIRED = (
    ("qrels", "--qrels", "judgements: topic iteration document grade; or a table, or a log of ratings"),
    ("sclite trn", "--reference --hypothesis", "words of the transcript (utterance), one a line"),
    ("nist stm, ctm", "--reference --hypothesis", "segments with transcripts, and recognised words in time"),
    ("kaldi", "--reference FOLDER --hypothesis", "a data folder with text, utt2spk, spk2gender"),
    ("plain text", "--reference --hypothesis", "one line a segment, a file per system"),
)
"""Formats in several files: name, how they are given, what they are."""


def load_plugin_readers() -> list[Format]:
    """Readers of installed packages."""
    return [_plugged_in(name, reader) for name, reader in plugins.load_entry_points("readers").items()]


def _plugged_in(name: str, reader: Any) -> Format:
    lines = (getattr(reader, "__doc__", None) or "").strip().splitlines()
    return Format(
        name,
        str(getattr(reader, "files", "by its own rule")),
        str(getattr(reader, "summary", "") or (lines[0] if lines else "a plug-in's format")),
        reader.sniff,
        lambda path, _: reader.read(path),
        getattr(reader, "task", None),
    )


def read_tables(source: Any, how: ReaderOptions) -> list[RawTable]:
    """The tables that a source holds: files, folders, `-`, a frame of any kind, a list of rows."""
    if (frame := convert_to_frame(source)) is not None:
        return [RawTable("the table", frame)]
    tables = [table for path in fetch_paths(source) for table in _tables_at(path, how)]
    return [replace(table, file=display_path(table.file)) for table in tables] if LOCAL_COPIES else tables


def read_join_table(path: str, how: ReaderOptions) -> RawTable:
    """A table to be joined; in `.tsv` files of raters quotation marks stand alone, so they quote nothing."""
    quoting = "none" if path.endswith(".tsv") else how.quoting
    tables = _tables_at(path, replace(how, quoting=quoting, task=None))
    if len(tables) != 1:
        raise InputError(f"{len(tables)} tables stand here; one can be joined.", place=Place(path))
    return tables[0]


def fetch_paths(source: Any) -> list[str]:
    """Paths as texts; anything else that can be no data is refused with a word."""
    parts = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(parts, Sequence) or not all(isinstance(part, str | os.PathLike) for part in parts):
        raise InputError(
            f"data cannot be read from {type(source).__name__}.",
            remedy="Pass a path, several, a DataFrame, or a list of dicts.",
        )
    if not parts:
        raise InputError("no file was named.")
    return [download_if_remote(part) for part in parts]


def _tables_at(path: str, how: ReaderOptions) -> list[RawTable]:
    if path == "-":
        return [_standard_input(how)]
    # a plug-in opens files itself, and a pipe can be opened once only
    formats = FORMATS if is_pipe(check_path(path)) else (*load_plugin_readers(), *FORMATS)
    for reader in formats:
        if reader.sniff(path):
            return reader.tables(path, how)
    if Path(path).is_dir():
        return _folder(path, formats, how)
    if how.task == ranking.TASK.name:
        return [RawTable(path, trec.read_run(path), ranking.TASK.name)]
    return _table(path, how)


def _folder(path: str, formats: Sequence[Format], how: ReaderOptions) -> list[RawTable]:
    """The tables in a folder's files, sorted; files in no format that we read are passed over."""
    files = sorted(str(file) for file in Path(path).iterdir() if file.is_file())
    inside = [(file, reader) for file in files if (reader := _first(formats, file)) is not None]
    if not inside:
        raise InputError("this folder holds no table.", place=Place(file=path))
    return [table for file, reader in inside for table in reader.tables(file, how)]


def _first(formats: Sequence[Format], file: str) -> Format | None:
    return next((reader for reader in formats if reader.sniff(file)), None)


def _standard_input(how: ReaderOptions) -> RawTable:
    content = read_bytes("-")
    if trec.looks_like_run(split_first_lines(content)):
        text = decode_text(content, STANDARD_INPUT)
        return RawTable(STANDARD_INPUT, trec.parse_run(text, STANDARD_INPUT), ranking.TASK.name)
    notes: list[str] = []
    table = parse_table(content, "-", quoting=how.quoting, notes=notes)
    return RawTable(STANDARD_INPUT, table, None, tuple(notes))


def convert_to_frame(source: Any) -> pl.DataFrame | None:
    """The table as Polars; None where the source is no table but names one (paths)."""
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return source.lazy().collect()
    package = type(source).__module__.partition(".")[0]
    if package == "pandas":
        return _of_arrays({str(name): source[name] for name in source.columns})
    if package == "pyarrow":
        return _only_table(pl.from_arrow(source))
    if package == "datasets":
        return _only_table(pl.from_arrow(source.with_format("arrow")[:]))
    if isinstance(source, Sequence) and source and all(isinstance(row, Mapping) for row in source):
        return pl.DataFrame([dict(row) for row in source], infer_schema_length=None, strict=False)
    return None


def _of_arrays(columns: Mapping[str, Any]) -> pl.DataFrame:
    """From pandas columns; its index is not data."""
    made = []
    for name, values in columns.items():
        try:
            made.append(pl.Series(name, values.to_numpy(), strict=True, nan_to_null=True))
        except (TypeError, pl.exceptions.PolarsError):
            cells = [None if cell is None or cell != cell else cell for cell in values.tolist()]  # noqa: PLR0124 - NaN
            made.append(pl.Series(name, cells, strict=False))
    return pl.DataFrame(made)


def _only_table(found: Any) -> pl.DataFrame:
    if not isinstance(found, pl.DataFrame):
        raise InputError("a table was expected, not a single column.")
    return found
