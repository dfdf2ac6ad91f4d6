"""Scores in and out: one wide frame from whatever people have, and files that mt-metrics-eval reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.data.columns import (
    TEST_SET_COLUMNS,
    find_ignored_columns,
    find_reference_columns,
    find_score_columns,
    list_column_names,
    resolve_role_names,
)
from metassay.data.dataset import Dataset
from metassay.data.directions import RequestedDirections, note_reversed_scores
from metassay.data.fingerprint import DataFingerprint, fingerprint_data
from metassay.data.joins import drop_repeated_rows, join_columns
from metassay.data.languages import find_target_languages
from metassay.data.readers.base import RawTable, ReaderOptions
from metassay.data.readers.registry import fetch_paths, read_join_table, read_tables
from metassay.data.score_cautions import note_score_cautions
from metassay.data.score_cube import ScoreCube
from metassay.data.score_tables import build_score_cubes, pivot_long_scores
from metassay.data.summary import summarize_cubes
from metassay.errors import InputError, InputLocation, UnknownName
from metassay.results.data_summary import DataSummary
from metassay.stats.arrays import FloatArray

REPEATED_ROW_REASON = "exact copy of another row"
ROLES = ("item", "system", "human", "output", "source", "references")
_WITH_REFERENCE = re.compile(r".+-(src|ref\w*|\w+_ref)")


@dataclass(frozen=True)
class ScoreFrame:
    """A table of scores, the name of its source, and notes on how it was read."""

    frame: pl.DataFrame
    file: str
    notes: tuple[str, ...] = ()
    human: tuple[str, ...] = ()
    """Columns that the format says people gave."""
    described: tuple[str, ...] = ()
    """Columns that the format says are metadata."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of rows that were left out while files were read, by reason."""


@dataclass(frozen=True)
class Scores:
    """One cube per data set that has human scores and metrics, and what was asked for in their names."""

    cubes: tuple[ScoreCube, ...]
    human: str
    metrics: tuple[str, ...]
    """Those asked for; empty: all."""
    notes: tuple[str, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Any] = field(default_factory=dict)
    """`hashes`: of the content of each cube, by its name; `marks`: what tells this data from other data."""
    data: DataSummary | None = None
    """What was read. None if no scores were read."""

    def with_human(self, human: str) -> Scores:
        """Those that have this human score."""
        kept = tuple(cube for cube in self.cubes if human in cube.human_scores)
        if not kept:
            raise InputError(f"no data set has the human score {human}.")
        return replace(self, cubes=kept, hashes={c.dataset: self.hashes[c.dataset] for c in kept})


@dataclass(frozen=True)
class ScoreRequest:
    """What the user said about the scores to compare."""

    human: tuple[str, ...] = ()
    """Names of human scores."""
    directions: RequestedDirections = field(default_factory=RequestedDirections)
    has_clusters: bool = False
    """Whether the user named a column of clusters."""


def read_cubes(
    source: Any,
    request: ScoreRequest,
    metrics: Sequence[Any],
    *,
    also: Sequence[str],
    ours: Callable[[Sequence[str]], Mapping[str, bool]],
    computed: Callable[[pl.DataFrame, Sequence[Any]], tuple[pl.DataFrame, list[str], list[str]]],
    keep_references: bool = False,
    rated: bool = True,
    **reading: Any,
) -> Scores:
    """From files to cubes in one go: read, joined, selected, arranged, with directions.

    `metrics` are those asked for; of those that are no column `computed` gives the frame with them, their
    names, and notes. If none is asked for and no column is a metric, it is called with an empty list for the
    default metrics. `ours` says of column names which are metrics of ours, and whether higher is
    better. `also` names columns beside the metrics that are no human scores; `reading` is for
    `read_score_frame`.
    """
    texts = [part for part in metrics if isinstance(part, str)]
    read_in = read_score_frame(source, human=request.human, metrics=texts, **reading)
    frame, notes = read_in.frame, list(read_in.notes)
    missing = [part for part in metrics if not (isinstance(part, str) and part in frame.columns)]
    names = [str(part) for part in metrics]
    if missing:
        frame, made, said = computed(frame, missing)
        own = iter(made)
        names = [next(own) if part in missing else str(part) for part in metrics]
        notes += said
    elif not metrics and not _has_metric_columns(frame, request, read_in, also):
        frame, names, default_notes = computed(frame, [])
        notes += default_notes
    known = ours(frame.columns)
    found = build_score_cubes(
        frame,
        human=[*dict.fromkeys([*request.human, *read_in.human])],
        metrics=[*known, *names, *also],
        metadata=read_in.described,
        lower_metrics=[name for name, higher in known.items() if not higher],
        requested=request.directions,
        file=read_in.file,
        keep_references=keep_references,
    )
    scores = chosen_cubes(found, request, names, notes, rated=rated)
    summary = summarize_cubes(
        scores.cubes,
        scores.human or None,
        left_out=_count_left_out(read_in, found),
        ignored_columns=_find_ignored_scores(frame),
        languages=[language for language in find_target_languages(frame) or () if language is not None],
    )
    return replace(scores, data=summary)


def _has_metric_columns(
    frame: pl.DataFrame, request: ScoreRequest, score_frame: ScoreFrame, further_columns: Sequence[str]
) -> bool:
    """Whether a table has a column of metric scores."""
    human = list(dict.fromkeys([*request.human, *score_frame.human]))
    _, metric_columns = find_score_columns(frame, human, metadata=score_frame.described)
    return any(name not in further_columns for name in metric_columns)


def _count_left_out(frame: ScoreFrame, cubes: Sequence[ScoreCube]) -> dict[str, int]:
    """Count the rows that were left out before any score was looked at, by reason."""
    left_out = Counter(frame.left_out)
    for cube in cubes:
        left_out.update(cube.left_out)
    return dict(left_out)


def _find_ignored_scores(frame: pl.DataFrame) -> dict[str, str]:
    """Find the columns without a role that can be neither scores nor contexts, with the reason."""
    names = {*find_reference_columns(frame.columns), *TEST_SET_COLUMNS}
    for role in ("item", "system", "output", "source"):
        names.update(list_column_names(role))
    return find_ignored_columns(frame.select(name for name in frame.columns if name.lower() not in names))


def chosen_cubes(
    found: Sequence[ScoreCube],
    request: ScoreRequest,
    metrics: Sequence[str],
    notes: list[str],
    *,
    rated: bool,
) -> Scores:
    """The cubes with something to compare, in the directions that the user gave."""
    useful = [cube for cube in found if cube.metric_scores and (cube.human_scores or not rated)]
    if not useful:
        lacking = (
            "are no human scores" if any(cube.metric_scores for cube in found) else "is no metric to rank"
        )
        raise InputError(
            f"there {lacking}.",
            remedy="Add a column with --join FILE, name one with --human, or compute metrics with --metrics.",
        )
    notes += [f"{c.dataset}: passed over, without metric or human scores." for c in found if c not in useful]
    notes += note_reversed_scores(direction for cube in useful for direction in cube.directions)
    human = choose_human_score(useful, request.human) if rated else ""
    cubes = tuple(_apply_directions(useful, request.directions))
    for cube in cubes:
        cube.resolve_metrics(metrics or None)  # a metric that is none here is refused before anything is done
    notes += note_score_cautions(cubes, human, has_clusters=request.has_clusters)
    hashes = {cube.dataset: cube.content_hash for cube in cubes}
    summary = summarize_cubes(cubes, human or None)
    return Scores(cubes, human, tuple(metrics), tuple(notes), hashes, fingerprint_cubes(cubes), summary)


def _apply_directions(cubes: Sequence[ScoreCube], requested: RequestedDirections) -> list[ScoreCube]:
    """Set the directions that the user requested. Raises an error for a name that no cube has."""
    names = dict.fromkeys(name for cube in cubes for name in (*cube.metric_scores, *cube.human_scores))
    requested.check(names)
    oriented = []
    for cube in cubes:
        lower = requested.apply_to(cube.lower_is_better)
        oriented.append(replace(cube, lower_is_better=lower))
    return oriented


def choose_human_score(cubes: Sequence[ScoreCube], requested: Sequence[str]) -> str:
    """Return the first human score requested, or the only one that the cubes have."""
    if requested:
        return requested[0]
    # a name with a colon (`mqm:rater1`) is the score of one rater
    names = list(dict.fromkeys(name for cube in cubes for name in cube.human_scores if ":" not in name))
    if not names:
        raise InputError("there is no column of human scores.", remedy="Name one with --human COLUMN.")
    if len(names) > 1:
        raise InputError(
            f"there are several human scores: {', '.join(names)}.", remedy="Choose one with --human COLUMN."
        )
    return names[0]


def fingerprint_cubes(cubes: Sequence[ScoreCube]) -> DataFingerprint:
    """Return the fingerprint of all data sets together; items are named as in a `Dataset`."""
    human_names = sorted({name for cube in cubes for name in cube.human_scores})
    no_scores = pl.lit(None, dtype=pl.Float64)
    tables = []
    for cube in cubes:
        items = cube.qualified_items
        columns = {"item": np.tile(items, len(cube.systems)), "system": np.repeat(cube.systems, len(items))}
        scores = {name: array.ravel() for name, array in cube.human_scores.items()}
        missing = [no_scores.alias(name) for name in human_names if name not in cube.human_scores]
        table = pl.DataFrame(columns | scores).with_columns(missing)
        tables.append(table.select("item", "system", *human_names))
    return fingerprint_data(pl.concat(tables), human_names)


def read_score_frame(
    source: Any,
    *,
    human: Sequence[str] = (),
    metrics: Sequence[str] = (),
    how: ReaderOptions | None = None,
    join: Any = None,
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    systems: Sequence[str] | None = None,
    exclude_systems: Sequence[str] | None = None,
) -> ScoreFrame:
    """All tables of the source under each other, with the columns of the files to be joined.

    `human` and `metrics` settle of which kind a column is, where a number in one file is text in another.
    """
    how = how or ReaderOptions()
    columns = resolve_role_names(columns)
    raw = (
        [RawTable("the data set", source.outputs, None, source.notes, source.human, source.declared_metadata)]
        if isinstance(source, Dataset)
        else []
    )
    raw = raw or read_tables(source, how)
    notes = [note for table in raw for note in table.notes]
    frames = []
    left_out: Counter[str] = Counter()
    for table in raw:
        frame, said = drop_repeated_rows(table.frame)
        left_out[REPEATED_ROW_REASON] += table.frame.height - frame.height
        left_out.update(table.left_out)
        frames.append((table.file, pivot_long_scores(frame, table.file)))
        notes += said
    for file in [] if join is None else fetch_paths(join):
        beside = read_join_table(file, how)
        other = pivot_long_scores(beside.frame, file)
        notes += beside.notes
        left_out.update(beside.left_out)
        for index, (name, frame) in enumerate(frames):
            joined, note = join_columns(*_with_items(frame, other), file=file, chosen=columns)
            frames[index] = (name, joined)
            notes.append(note)
    frames = [(name, _with_roles(frame, columns)) for name, frame in frames]
    people = tuple(dict.fromkeys(name for table in raw for name in table.human_columns))
    described = tuple(dict.fromkeys(name for table in raw for name in table.metadata_columns))
    merged = _merged([frame for _, frame in frames], [*human, *people], metrics, described)
    file = frames[0][0] if len(frames) == 1 else "the tables"
    selected = _selected(merged, where or {}, systems, exclude_systems)
    return ScoreFrame(selected, file, tuple(notes), people, described, left_out)


def _with_items(frame: pl.DataFrame, other: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables with the column `item`, where one has it and the other its parts (year, lp, seg_id)."""
    ids = [[name for name in list_column_names("item") if name in table.columns] for table in (frame, other)]
    if {*ids[0]} & {*ids[1]} or not all(ids) or ["item"] not in ids:
        return frame, other
    made = []
    for table, own in zip((frame, other), ids):
        parts = [name for name in (*TEST_SET_COLUMNS, own[0]) if name in table.columns]
        whole = pl.concat_str([pl.col(name).cast(pl.String) for name in parts], separator="/")
        made.append(table if "item" in own else table.with_columns(item=whole))
    return made[0], made[1]


def _with_roles(frame: pl.DataFrame, columns: Mapping[str, str] | None) -> pl.DataFrame:
    """Columns named by the user under the names that are recognised."""
    for role, column in (columns or {}).items():
        if role not in ROLES:
            raise UnknownName("column role", role, ROLES)
        if column not in frame.columns:
            raise UnknownName("column", column, frame.columns)
    new_names = {"item": "seg_id", "references": "ref"}
    renamed = {column: new_names.get(role, role) for role, column in (columns or {}).items()}
    clash = [name for name in renamed.values() if name in frame.columns and name not in renamed]
    return frame.drop(clash).rename(renamed)


def _merged(
    frames: Sequence[pl.DataFrame], human: Sequence[str], metrics: Sequence[str], described: Sequence[str]
) -> pl.DataFrame:
    """All tables under each other; a column that is a number in one file and text in another becomes text."""
    if len(frames) == 1:
        return frames[0]
    numbers = []
    for frame in frames:
        here = [name for name in human if name in frame.columns]
        scores = {name for kind in find_score_columns(frame, here, metrics, described) for name in kind}
        kinds = [
            pl.col(name).cast(pl.Float64, strict=False) if name in scores else pl.col(name).cast(pl.String)
            for name, kind in frame.schema.items()
            if not kind.is_nested()
        ]
        numbers.append(frame.select(kinds))
    return pl.concat(numbers, how="diagonal_relaxed")


def _selected(
    frame: pl.DataFrame,
    where: Mapping[str, str | Sequence[str]],
    systems: Sequence[str] | None,
    excluded: Sequence[str] | None,
) -> pl.DataFrame:
    """The rows of `--where`, `--systems` and `--exclude-systems`."""
    wanted = {name: [values] if isinstance(values, str) else list(values) for name, values in where.items()}
    if systems:
        wanted["system"] = list(systems)
    for name, values in wanted.items():
        if name not in frame.columns:
            raise UnknownName("column", name, frame.columns)
        frame = frame.filter(pl.col(name).cast(pl.String).is_in(values))
    if excluded:
        frame = frame.filter(~pl.col("system").cast(pl.String).is_in(list(excluded)))
    if frame.is_empty():
        raise InputError("no row is left after --where, --systems and --exclude-systems.")
    return frame


def write_score_files(
    table: ScoreCube, folder: str | Path, *, lp: str, reference: str = "refA"
) -> list[Path]:
    """Write `metric-scores/LP/NAME-REF.{seg,sys}.score`, `human-scores/LP.NAME.{seg,sys}.score`, documents.

    A metric whose name does not say which reference it used gets `-reference`; characters that a file name
    cannot hold become `_`. Missing scores are `None`; a system's score is the mean of those it has.
    Returns the files written; existing ones are refused.
    """
    root = Path(folder)
    contents: dict[Path, str] = {root / "documents" / f"{lp}.docs": _documents(table)}
    for name, scores in table.human_scores.items():
        contents |= _files(root / "human-scores", f"{lp}.{name}", table.systems, scores)
    for name, scores in table.metric_scores.items():
        full = name if _WITH_REFERENCE.fullmatch(name) else f"{name}-{reference}"
        contents |= _files(root / "metric-scores" / lp, full, table.systems, scores)
    for path in contents:
        if path.exists():
            raise InputError(
                "exists already.", location=InputLocation(str(path)), remedy="Choose an empty folder."
            )
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(contents)


def _documents(table: ScoreCube) -> str:
    """Domain and document of each segment; a document of its own where the table does not say."""
    count = len(table.items)
    domains = table.item_metadata.get("domain", ("all",) * count)
    documents = table.item_metadata.get("doc_id", table.items)
    return "".join(
        f"{domain or 'all'}\t{document or own}\n"
        for domain, document, own in zip(domains, documents, table.items)
    )


def _files(folder: Path, name: str, systems: tuple[str, ...], scores: FloatArray) -> dict[Path, str]:
    safe = re.sub(r"[^\w.+()=,@-]", "_", name)
    by_segment = [f"{system}\t{_text(score)}\n" for system, row in zip(systems, scores) for score in row]
    by_system = [f"{system}\t{_text(_mean(row))}\n" for system, row in zip(systems, scores)]
    return {
        folder / f"{safe}.seg.score": "".join(by_segment),
        folder / f"{safe}.sys.score": "".join(by_system),
    }


def _mean(scores: FloatArray) -> float:
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if len(known) else np.nan


def _text(score: float) -> str:
    return "None" if np.isnan(score) else repr(float(score))
