"""`read`: from files to a `Dataset`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from metassay import plugins
from metassay.data.assemble import RawTable, assemble
from metassay.data.assemble_rankings import assemble_rankings
from metassay.data.dataset import Dataset
from metassay.data.join import join_columns
from metassay.data.readers import espnet, manifest, trec
from metassay.data.readers.files import checked_text, opening_lines, read_bytes
from metassay.data.readers.judgements import read_judgements
from metassay.data.readers.plain import read_parallel
from metassay.data.readers.recommender import THRESHOLD
from metassay.data.readers.tables import is_table, parse_table, read_table
from metassay.data.readers.transcripts import read_transcripts
from metassay.errors import InputError, Place, UnknownName

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Where = Mapping[str, str | Sequence[str]]
_SPEECH = frozenset({"utt_id", "utterance", "speaker_id", "speaker"})
_RANKING = frozenset({"docid", "topic", "qid"})


def read(
    path_or_paths: Paths,
    *,
    task: str | None = None,
    columns: Mapping[str, str] | None = None,
    where: Where | None = None,
    references: str = "per-item",
    systems: Sequence[str] | None = None,
    exclude_systems: Sequence[str] | None = None,
    join: Paths | None = None,
    quoting: str = "minimal",
    language: str | None = None,
    qrels: str | os.PathLike[str] | None = None,
    complete: bool = True,
    relevant_from: float = THRESHOLD,
) -> Dataset:
    """Read tables of outputs: CSV, TSV, JSON lines, Parquet, each also compressed, or `-`; and TREC runs.

    `columns` maps a role to a column (`{"item": "seg_id"}`); `where` keeps rows with the given values;
    `references="per-output"` lets each row keep its own; `join` adds columns of other files by shared keys.
    Rankings need `qrels`, a file of judgements or of ratings (relevant from `relevant_from` on); judged
    topics that a run does not answer count as 0, or with `complete=False` are left out of its means.
    """
    task = task or (None if qrels is None else "ranking")
    tables = [_table(path, quoting, task) for path in expand(path_or_paths)]
    notes: list[str] = []
    for file in [] if join is None else expand(join):
        other = read_table(file, quoting=quoting)
        for index, table in enumerate(tables):
            frame, note = join_columns(table.frame, other, file=file)
            tables[index] = RawTable(table.file, frame)
            notes.append(note)
    task = task or guess_task(tables[0].frame.columns)
    if task == "ranking":
        if qrels is None:
            raise InputError(
                "rankings need relevance judgements.",
                place=Place(file=tables[0].file),
                remedy="Name the file that holds them with --qrels FILE.",
            )
        judged = read_judgements(os.fspath(qrels), threshold=relevant_from)
        dataset = assemble_rankings(tables, judged, columns=columns, complete=complete)
        return _select(dataset.with_notes(*dict.fromkeys(notes)), where, systems, exclude_systems)
    dataset = assemble(tables, task=task, columns=columns, references=references, language=language)
    return _select(dataset.with_notes(*dict.fromkeys(notes)), where, systems, exclude_systems)


def read_plain(
    reference: Sequence[str],
    hypothesis: Sequence[str],
    source: str | None = None,
    *,
    task: str | None = None,
    language: str | None = None,
) -> Dataset:
    """Read parallel text files: line n of each belongs to segment n; a file's name is its system.

    Transcripts of speech (trn, stm with ctm, Kaldi folders) are matched by utterance instead.
    """
    spoken = read_transcripts(reference[0], hypothesis) if len(reference) == 1 and hypothesis else None
    if spoken is not None:
        frame, notes = spoken
        dataset = assemble([RawTable(reference[0], frame)], task=task or "asr", language=language)
        return dataset.with_notes(*notes)
    frame = read_parallel(list(reference), list(hypothesis), source)
    return assemble([RawTable(hypothesis[0], frame)], task=task or "mt", language=language)


def expand(path_or_paths: Paths) -> list[str]:
    """The files meant: a folder stands for the tables in it, sorted."""
    if isinstance(path_or_paths, str | os.PathLike):
        paths = [os.fspath(path_or_paths)]
    else:
        paths = [os.fspath(path) for path in path_or_paths]
    if not paths:
        raise InputError("no file was named.")
    files: list[str] = []
    for path in paths:
        if not Path(path).is_dir() or espnet.sniff(path):
            files.append(path)
            continue
        inside = sorted(str(file) for file in Path(path).iterdir() if file.is_file() and _is_data(file))
        if not inside:
            raise InputError("this folder holds no table.", place=Place(file=path))
        files.extend(inside)
    return files


def guess_task(columns: Sequence[str]) -> str:
    """The task a table is about, from the names of its columns."""
    names = {name.lower() for name in columns}
    if names & _RANKING:
        return "ranking"
    return "asr" if names & _SPEECH else "mt"


def _is_data(file: Path) -> bool:
    return is_table(file) or trec.sniff(str(file)) or manifest.sniff(str(file))


def _table(path: str, quoting: str, task: str | None = None) -> RawTable:
    """The table in a file, or what stands for one: a plug-in's format, a run, a manifest, ESPnet results."""
    if path == "-":
        return _standard_input(quoting)
    for reader in plugins.installed("readers").values():
        if reader.sniff(path):
            return RawTable(path, reader.read(path))
    if espnet.sniff(path):
        return RawTable(path, espnet.read_espnet(path))
    if manifest.sniff(path):
        return RawTable(path, manifest.read_manifest(path))
    if trec.sniff(path) or (task == "ranking" and not is_table(Path(path))):
        return RawTable(path, trec.read_run(path))
    return RawTable(path, read_table(path, quoting=quoting))


def _standard_input(quoting: str) -> RawTable:
    name, content = "standard input", read_bytes("-")
    if trec.looks_like_run(opening_lines(content)):
        return RawTable(name, trec.parse_run(checked_text(content, name), name))
    return RawTable(name, parse_table(content, "-", quoting=quoting))


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
    keep = pl.Series([True] * len(dataset))
    for column, accepted in wanted.items():
        keep &= dataset.outputs[column].cast(pl.String).is_in(accepted).fill_null(value=False)
    if excluded:
        keep &= ~dataset.outputs["system"].is_in(list(excluded))
    if not keep.any():
        raise InputError("no row is left after --where, --systems and --exclude-systems.")
    return replace(dataset, outputs=dataset.outputs.filter(keep))
