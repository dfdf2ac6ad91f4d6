"""`read`: read files, folders, data frames or rows into a `Dataset`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metassay.data.assemble_rankings import combine_ranking_tables
from metassay.data.assemble_texts import combine_output_tables
from metassay.data.columns import replace_short_role_names
from metassay.data.dataset import Dataset
from metassay.data.joins import join_tables_by_id
from metassay.data.memory import is_table_too_large_for_memory, release_memory, spill_to_disk
from metassay.data.readers.base import RawTable, ReaderOptions
from metassay.data.readers.judgements import read_relevance_judgements
from metassay.data.readers.line_scores import is_score_per_line_file, read_score_per_line_file
from metassay.data.readers.plain_text import read_parallel_lines
from metassay.data.readers.registry import download_remote_paths, read_table_to_join, read_tables
from metassay.data.readers.remote_files import download_if_remote
from metassay.data.readers.transcripts import read_transcripts
from metassay.data.row_selection import select_rows
from metassay.errors import InputError, InputLocation, UnknownName, format_path_for_user
from metassay.options import (
    OutputReadOptions,
    replace_options_parameter_by_keywords,
    split_comma_separated_names,
)
from metassay.tasks import asr, find_task, guess_task
from metassay.tasks.base import TableEvidence, Task

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
# A path or several, a Polars or pandas DataFrame, an Arrow table, a `datasets.Dataset`, a list of dicts.
Source = Any
# Columns that speech data often has, and other data may have too.
_SPEECH_COLUMNS = frozenset({"utt_id", "utterance", "speaker_id", "speaker"})


@dataclass(frozen=True, kw_only=True)
class ReadOptions(OutputReadOptions):
    """All keyword arguments of `metassay.read`."""

    pairs: bool = False


@replace_options_parameter_by_keywords(ReadOptions)
def read(source: Source, options: ReadOptions) -> Dataset:
    """Read the outputs of systems from files, folders or tables.

    `source` is a file in any format that `metassay list readers` shows, a folder, several of these, a data
    frame or a list of dicts. `columns` maps a role to a column (`{"item": "seg_id"}`), `where` keeps rows
    with the given values, `join` adds columns of other files by shared keys, and `human` names further
    columns of human scores. With `references="per-output"`, references may differ between the rows of an
    item.

    Rankings need `qrels`, a file of judgements or of ratings (relevant from `relevant_from` on). Judged
    topics for which a system has no list count as 0, or with `complete=False` are left out of its means.

    With `pairs`, each row is a pair that someone else made, with the worse text in the column `worse`.

    >>> read([{"seg_id": 1, "system": "a", "hyp": "a red fox", "ref": "the red fox"}]).systems
    ('a',)
    """
    if isinstance(source, Dataset):
        return source
    options = replace(options, columns=replace_short_role_names(options.columns))
    task_name = None if options.task is None else find_task(options.task).name
    reader_options = ReaderOptions(quoting=options.quoting, task=task_name)
    tables = read_tables(source, reader_options)
    tables, notes = _join_further_files(tables, options.join, reader_options, options.columns)
    task, task_guess = _choose_task(
        tables[0], options.task, language=options.language, has_judgements=options.qrels is not None
    )
    if task.is_ranking:
        dataset = _build_ranking_dataset(tables, task, options)
    else:
        dataset = _build_text_dataset(tables, task, options)
    input_files = _list_input_files(source, options.join, options.qrels)
    dataset = replace(dataset, task_guess=task_guess, input_files=input_files)
    dataset = dataset.add_notes(*dict.fromkeys(notes))
    dataset = _select_requested_rows(dataset, options)
    if is_table_too_large_for_memory(len(dataset)):
        dataset = replace(dataset, outputs=spill_to_disk([dataset.outputs]))
        release_memory()
    return dataset


def read_parallel_files(
    references: Sequence[str],
    outputs: Sequence[str],
    source: str | None = None,
    *,
    task: str | Task | None = None,
    language: str | None = None,
    join: Paths | None = None,
) -> Dataset:
    """Read one text file of outputs per system and one or more files of references. Line n of every file
    belongs to the same item.

    Transcripts of speech (trn, stm with ctm, Kaldi folders) are matched by utterance instead. `join` names
    files with further columns, or with one human score per line.
    """
    references = [download_if_remote(path) for path in references]
    outputs = [download_if_remote(path) for path in outputs]
    source = None if source is None else download_if_remote(source)
    transcripts = None
    if len(references) == 1 and outputs:
        transcripts = read_transcripts(references[0], outputs)
    if transcripts is not None:
        frame, notes = transcripts
        table = RawTable(references[0], frame, asr.TASK.name, tuple(notes))
    else:
        table = RawTable(outputs[0], read_parallel_lines(references, outputs, source))
    tables, notes = _join_further_files([table], join, ReaderOptions())
    chosen_task, task_guess = _choose_task(
        table,
        task,
        language=language,
        has_reference_files=transcripts is None,
        has_source_file=source is not None,
    )
    dataset = combine_output_tables(tables, task=chosen_task, language=language)
    input_files = _list_input_files([*references, *outputs], source, join)
    return replace(dataset, task_guess=task_guess, input_files=input_files).add_notes(*notes)


def _build_ranking_dataset(tables: Sequence[RawTable], task: Task, options: ReadOptions) -> Dataset:
    """Build a data set of ranked lists from tables and the judgements that the user named."""
    first_file = InputLocation(file=tables[0].file)
    if options.pairs:
        raise InputError("pairs of rankings are not read; pairs of texts are.", location=first_file)
    if options.qrels is None:
        raise InputError(
            "rankings need relevance judgements.",
            location=first_file,
            remedy="Name the file that holds them with --qrels FILE.",
        )
    qrels = read_relevance_judgements(
        download_if_remote(options.qrels), rating_threshold=options.relevant_from
    )
    return combine_ranking_tables(
        tables, qrels, task=task, chosen_columns=options.columns, add_empty_lists=options.complete
    )


def _build_text_dataset(tables: Sequence[RawTable], task: Task, options: ReadOptions) -> Dataset:
    """Build a data set of texts from tables, following the options of the user."""
    columns = dict(options.columns or {})
    human = split_comma_separated_names(options.human)
    if human:
        columns["human"] = ",".join(human)
    return combine_output_tables(
        tables,
        task=task,
        chosen_columns=columns,
        # Each pair has a reference of its own, so that an item may have several.
        references_rule="per-output" if options.pairs else options.references,
        language=options.language,
        rows_are_pairs=options.pairs,
    )


def _list_input_files(*sources: Source | Paths | None) -> tuple[str, ...]:
    """List the paths among the given sources, leaving out data frames and rows."""
    paths = []
    for source in sources:
        parts = source if isinstance(source, list | tuple) else [source]
        paths += [os.fspath(part) for part in parts if isinstance(part, str | os.PathLike)]
    return tuple(paths)


def _choose_task(
    table: RawTable,
    requested_task: str | Task | None,
    *,
    language: str | None = None,
    has_judgements: bool = False,
    has_reference_files: bool = False,
    has_source_file: bool = False,
) -> tuple[Task, str | None]:
    """Choose the task that the user named, or else the task that the columns of a table suggest.

    Also returns a sentence that says how the task was guessed, or None.
    """
    if requested_task is not None:
        return find_task(requested_task), None
    columns = frozenset(name.lower() for name in table.frame.columns)
    evidence = TableEvidence(
        columns,
        format_task=table.task,
        language=language,
        has_judgements=has_judgements,
        has_reference_files=has_reference_files,
        has_source_file=has_source_file,
    )
    task, reason = guess_task(evidence)
    guess = f"The data is read as {task.title} (--task {task.name}) because {reason}."
    speech_columns = sorted(_SPEECH_COLUMNS & columns)
    if speech_columns and not task.ignores_case_and_punctuation and not task.is_ranking:
        guess += f" If this is speech ({', '.join(speech_columns)}), add --task {asr.TASK.name}."
    return task, guess


def _join_further_files(
    tables: Sequence[RawTable],
    join_files: Paths | None,
    options: ReaderOptions,
    columns: Mapping[str, str] | None = None,
) -> tuple[list[RawTable], list[str]]:
    """Add the columns of further files to all tables. Rows are matched by the id columns that both have.

    Also returns notes for the user.
    """
    joined = list(tables)
    notes = [note for table in tables for note in table.notes]
    join_paths = [] if join_files is None else download_remote_paths(join_files)
    for file in join_paths:
        if is_score_per_line_file(file):
            joined, line_notes = _add_human_scores_by_line(joined, file)
            notes += line_notes
            continue
        other = read_table_to_join(file, options)
        notes += other.notes
        for index, table in enumerate(joined):
            frame, note = join_tables_by_id(table.frame, other.frame, file=file, chosen_columns=columns)
            left_out = table.left_out if index else Counter(table.left_out) + Counter(other.left_out)
            joined[index] = replace(table, frame=frame, left_out=left_out)
            notes.append(note)
    return joined, notes


def _add_human_scores_by_line(
    tables: Sequence[RawTable], score_file: str
) -> tuple[list[RawTable], list[str]]:
    """Add human scores to tables of outputs, from a file with one score per output in the same order. Also
    returns notes for the user.
    """
    outputs = sum(table.frame.height for table in tables)
    scores = read_score_per_line_file(score_file)
    if len(scores) != outputs:
        raise InputError(
            f"the file has {len(scores)} lines of scores, but there are {outputs} outputs.",
            location=InputLocation(file=score_file),
            remedy="Write one line per output: all lines of the first system, then those of the next.",
        )
    joined = []
    start = 0
    for table in tables:
        part = scores.slice(start, table.frame.height)
        human_columns = (*table.human_columns, scores.name)
        joined.append(replace(table, frame=table.frame.with_columns(part), human_columns=human_columns))
        start += table.frame.height
    file = format_path_for_user(score_file)
    note = f"{file}: the lines are read as human scores ({scores.name}), one per output."
    return joined, [note]


def _select_requested_rows(dataset: Dataset, options: ReadOptions) -> Dataset:
    """Return the data set with only the rows that the user's options select. Unknown systems and columns are
    errors.
    """
    if not (options.where or options.systems or options.exclude_systems):
        return dataset
    for name in [*(options.systems or ()), *(options.exclude_systems or ())]:
        if name not in dataset.systems:
            raise UnknownName("system", name, dataset.systems)
    columns = ("item", "system", *dataset.metadata)
    for column in options.where or {}:
        if column not in columns:
            raise UnknownName("column", column, columns)
    outputs = select_rows(dataset.outputs, options.where, options.systems, options.exclude_systems)
    return replace(dataset, outputs=outputs)
