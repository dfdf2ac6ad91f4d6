"""`read`: from files, folders, frames or rows to a `Dataset`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from metassay.data.assemble_rankings import assemble_rankings
from metassay.data.assemble_texts import assemble_texts
from metassay.data.dataset import Dataset
from metassay.data.joins import join_columns
from metassay.data.memory import is_large_table, release_memory, spill_to_disk
from metassay.data.readers.base import RawTable, ReaderOptions
from metassay.data.readers.judgements import read_judgements
from metassay.data.readers.plain_text import read_parallel_lines
from metassay.data.readers.registry import fetch_paths, read_join_table, read_tables
from metassay.data.readers.remote_files import download_if_remote
from metassay.data.readers.transcripts import read_transcripts
from metassay.errors import InputError, Place, UnknownName
from metassay.options import OutputReadOptions, accept_options, split_names
from metassay.tasks import asr, find_task, guess_task
from metassay.tasks.base import TableEvidence, Task

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Source = Any
"""A path or several, a Polars or pandas DataFrame, an Arrow table, a `datasets.Dataset`, a list of dicts."""
Where = Mapping[str, str | Sequence[str]]
SPOKEN = frozenset({"utt_id", "utterance", "speaker_id", "speaker"})
"""Columns that data of speech often has, and other data may have too."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions(OutputReadOptions):
    """All keywords of `read`."""

    pairs: bool = False


@accept_options(ReadOptions)
def read(source: Source, options: ReadOptions) -> Dataset:
    """Read outputs: CSV, TSV, JSON lines, Parquet, also compressed, or `-`; runs; a frame; a list of dicts.

    `columns` maps a role to a column (`{"item": "seg_id"}`); `where` keeps rows with the given values;
    `references="per-output"` lets each row keep its own; `join` adds columns of other files by shared keys;
    `human` names columns of human scores beside those known by their names.
    Rankings need `qrels`, a file of judgements or of ratings (relevant from `relevant_from` on); judged
    topics that a run does not answer count as 0, or with `complete=False` are left out of its means.
    With `pairs` each row is a pair that someone else made: `worse` stands beside `output`, and beside
    `perturbation` and `severity`, where they are there, any column may serve as context.

    >>> read([{"seg_id": 1, "system": "a", "hyp": "a red fox", "ref": "the red fox"}]).systems
    ('a',)
    """
    if isinstance(source, Dataset):
        return source
    how = ReaderOptions(
        quoting=options.quoting, task=None if options.task is None else find_task(options.task).name
    )
    tables, notes = _joined(read_tables(source, how), options.join, how)
    kind, guess = _task(tables, options.task, language=options.language, judged=options.qrels is not None)
    declared = ",".join(split_names(options.human))
    named = dict(options.columns or {}) | ({"human": declared} if declared else {})
    if kind.is_ranking and options.pairs:
        raise InputError("pairs of rankings are not read; pairs of texts are.", place=Place(tables[0].file))
    if kind.is_ranking:
        judged = _judgements(options.qrels, tables[0].file, options.relevant_from)
        dataset = assemble_rankings(
            tables, judged, task=kind, columns=options.columns, complete=options.complete
        )
    else:
        dataset = assemble_texts(
            tables,
            task=kind,
            columns=named,
            references="per-output" if options.pairs else options.references,  # a pair is whole by itself
            language=options.language,
            rows_are_pairs=options.pairs,
        )
    files = _named_files(source, options.join, options.qrels)
    dataset = replace(dataset, task_guess=guess, input_files=files).with_notes(*dict.fromkeys(notes))
    dataset = _select(dataset, options.where, options.systems, options.exclude_systems)
    if not is_large_table(len(dataset)):
        return dataset
    found = replace(dataset, outputs=spill_to_disk([dataset.outputs]))
    release_memory()
    return found


def read_parallel_files(
    reference: Sequence[str],
    hypothesis: Sequence[str],
    source: str | None = None,
    *,
    task: str | Task | None = None,
    language: str | None = None,
) -> Dataset:
    """Read parallel text files: line n of each belongs to segment n; a file's name is its system.

    Transcripts of speech (trn, stm with ctm, Kaldi folders) are matched by utterance instead.
    """
    reference, hypothesis = [
        [download_if_remote(path) for path in paths] for paths in (reference, hypothesis)
    ]
    source = None if source is None else download_if_remote(source)
    spoken = read_transcripts(reference[0], hypothesis) if len(reference) == 1 and hypothesis else None
    if spoken is not None:
        frame, notes = spoken
        table = RawTable(reference[0], frame, asr.TASK.name, tuple(notes))
    else:
        table = RawTable(hypothesis[0], read_parallel_lines(list(reference), list(hypothesis), source))
    kind, guess = _task([table], task, language=language)
    dataset = assemble_texts([table], task=kind, language=language)
    files = _named_files([*reference, *hypothesis], source)
    return replace(dataset, task_guess=guess, input_files=files).with_notes(*table.notes)


def _named_files(*sources: Source | Paths | None) -> tuple[str, ...]:
    """The paths among what was named; frames and rows have none."""
    repeatable_option = [source if isinstance(source, list | tuple) else [source] for source in sources]
    paths = (part for source in repeatable_option for part in source if isinstance(part, str | os.PathLike))
    return tuple(os.fspath(path) for path in paths)


def _task(
    tables: Sequence[RawTable], named: str | Task | None, *, language: str | None = None, judged: bool = False
) -> tuple[Task, str | None]:
    """The task as named, or as the first table shows it, with a sentence that says so."""
    names = frozenset(name.lower() for name in tables[0].frame.columns)
    evidence = TableEvidence(names, tables[0].task, language, judged)
    found, why = guess_task(evidence) if named is None else (named, None)
    task = find_task(found)
    if why is None:
        return task, None
    hint = ""
    if (spoken := sorted(SPOKEN & names)) and not task.ignores_case_and_punctuation and not task.is_ranking:
        hint = f" If this is speech ({', '.join(spoken)}), say so: --task {asr.TASK.name}."
    return task, f"Taken for {task.title} (--task {task.name}), since {why}.{hint}"


def _judgements(qrels: str | os.PathLike[str] | None, file: str, relevant_from: float) -> pl.DataFrame:
    if qrels is None:
        raise InputError(
            "rankings need relevance judgements.",
            place=Place(file=file),
            remedy="Name the file that holds them with --qrels FILE.",
        )
    return read_judgements(download_if_remote(qrels), threshold=relevant_from)


def _joined(
    tables: Sequence[RawTable], join: Paths | None, how: ReaderOptions
) -> tuple[list[RawTable], list[str]]:
    """The tables with the columns of further files, and notes on what was read and how much matched."""
    found, notes = list(tables), [note for table in tables for note in table.notes]
    for file in [] if join is None else fetch_paths(join):
        other = read_join_table(file, how)
        notes += other.notes
        for index, table in enumerate(found):
            frame, note = join_columns(table.frame, other.frame, file=file)
            found[index] = replace(table, frame=frame)
            notes.append(note)
    return found, notes


def _select(
    dataset: Dataset, where: Where | None, systems: Sequence[str] | None, excluded: Sequence[str] | None
) -> Dataset:
    for name in [*(systems or ()), *(excluded or ())]:
        if name not in dataset.systems:
            raise UnknownName("system", name, dataset.systems)
    wanted: dict[str, list[str]] = {}
    for column, values in (where or {}).items():
        known = ("item", "system", *dataset.metadata)
        if column not in known:
            raise UnknownName("column", column, known)
        wanted[column] = [values] if isinstance(values, str) else list(values)
    if systems:
        wanted["system"] = [*wanted.get("system", []), *systems]
    if not wanted and not excluded:
        return dataset
    keep = pl.Series([True] * len(dataset))
    for column, accepted in wanted.items():
        keep &= dataset.outputs[column].cast(pl.String).is_in(accepted).fill_null(value=False)
    if excluded:
        keep &= ~dataset.outputs["system"].is_in(list(excluded))
    if not keep.any():
        raise InputError("no row is left after --where, --systems and --exclude-systems.")
    return replace(dataset, outputs=dataset.outputs.filter(keep))
