"""From run files and long tables to a `Dataset` of ranked lists, with every check that names its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from metassay.data import cells
from metassay.data.columns import check_column_choices, missing_column_error
from metassay.data.dataset import Dataset
from metassay.data.ranked_lists import order_by_score
from metassay.data.readers.base import RawTable
from metassay.data.readers.files import file_stem
from metassay.errors import InputError, Place
from metassay.tasks import find_task
from metassay.tasks.base import Task
from metassay.tasks.ranking import TASK as RANKING

FILE, ROW, LINE = "_file", "_row", "line"
IGNORED = ("rank", "iteration", "q0", LINE)
"""Columns of runs that say nothing: trec_eval ignores them too."""
UNKNOWN_TOPIC = "topic without judgements"
UNANSWERED = "judged topic without a list"


def assemble_rankings(
    tables: Sequence[RawTable],
    qrels: pl.DataFrame,
    *,
    task: str | Task = RANKING,
    columns: Mapping[str, str] | None = None,
    complete: bool = True,
) -> Dataset:
    """One data set of ranked lists from tables `run, topic, docid, score` and judgements.

    Lists for topics that nobody judged are left out and counted. Judged topics that a run does not answer get
    an empty list, so that every measure is 0 there (`-c` of trec_eval); with `complete=False` they are left
    out of that run's means instead. `qrels` has `item, document, grade`.
    """
    kind = find_task(task)
    frame = pl.concat([_canonical(table, kind, columns) for table in tables], how="diagonal_relaxed")
    _refuse_repeated(frame)
    frame, left_out, notes = _judged(frame, qrels)
    index, lists = order_by_score(frame, qrels)
    outputs = index.with_columns(lists.to_series().cast(pl.List(pl.String)))
    missing = _unanswered(index, qrels)
    if missing.height:
        notes.append(_unanswered_note(missing, complete=complete))
        if complete:
            outputs = pl.concat([outputs, missing])
        else:
            left_out[UNANSWERED] = missing.height
    outputs = _with_metadata(outputs, frame)
    return Dataset(kind.name, outputs, custom_task=kind, qrels=qrels, left_out=left_out, notes=tuple(notes))


def _canonical(table: RawTable, kind: Task, given: Mapping[str, str] | None) -> pl.DataFrame:
    """The table with the columns `system, item, document, score`, its metadata, and where each row stands."""
    frame, file = table.frame, table.file
    given = dict(given or {})
    check_column_choices(given, set(kind.column_names), frame.columns, file)
    lower = {name.lower(): name for name in reversed(frame.columns)}
    roles = {
        role: given.get(role) or next((lower[name] for name in names if name in lower), None)
        for role, names in kind.column_names.items()
    }
    for role, column in roles.items():
        if column is None and role != "system":
            raise missing_column_error(role, kind.column_names[role], frame.columns, file)
    made = {
        role: cells.ids(frame[column], file) for role, column in roles.items() if column and role != "score"
    }
    made.setdefault("system", pl.Series([file_stem(file)]).new_from_index(0, frame.height))
    made["score"] = cells.scores(frame[str(roles["score"])], file)
    metadata = [c for c in frame.columns if c not in roles.values() and c.lower() not in IGNORED]
    made |= {name: frame[name] for name in metadata if not frame[name].dtype.is_nested() and name not in made}
    made[FILE] = pl.Series([file]).new_from_index(0, frame.height)
    made[LINE if LINE in frame.columns else ROW] = (
        frame[LINE] if LINE in frame.columns else pl.int_range(1, frame.height + 1, eager=True)
    )
    result = pl.DataFrame([series.alias(name) for name, series in made.items()])
    if result["score"].has_nulls():
        first = result.filter(pl.col("score").is_null()).row(0, named=True)
        raise InputError("the retrieval score is missing.", place=_place(first, str(roles["score"])))
    return result


def _place(row: Mapping[str, object], column: str | None = None) -> Place:
    line, number = row.get(LINE), row.get(ROW)
    return Place(
        file=str(row[FILE]),
        row=number if isinstance(number, int) else None,
        line=line if isinstance(line, int) else None,
        column=column,
    )


def _refuse_repeated(frame: pl.DataFrame) -> None:
    key = ("system", "item", "document")
    first = frame.select(pl.struct(key).is_first_distinct())[key[0]]
    if first.all():
        return
    again = frame.filter(~first).row(0, named=True)
    same = pl.all_horizontal(pl.col(name) == again[name] for name in key)
    before = _place(frame.filter(same).row(0, named=True))
    raise InputError(
        f"document {again['document']} was already retrieved for topic {again['item']} by {again['system']} "
        f"({before}).",
        place=_place(again),
        remedy="Remove one of the two, or give the runs different tags.",
    )


def _judged(frame: pl.DataFrame, qrels: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int], list[str]]:
    """The rows of judged topics; the others are counted, and named where they stand first."""
    known = frame["item"].is_in(qrels["item"].unique().implode())
    if known.all():
        return frame, {}, []
    unknown = frame.filter(~known)
    first = unknown.row(0, named=True)
    what = f"topic {first['item']} is not among the judged ones"
    if not known.any():
        raise InputError(
            f"{what}, nor is any other of the {frame['item'].n_unique()} here.",
            place=_place(first),
            remedy="Do the judgements belong to these runs?",
        )
    lists = unknown.select(pl.struct("system", "item").n_unique())["system"][0]
    topics = unknown["item"].n_unique()
    note = f"{_place(first)}: {what}; {topics} such topics ({lists} lists) are left out."
    return frame.filter(known), {UNKNOWN_TOPIC: lists}, [note]


def _unanswered(index: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """Judged topics for which a system has no list, as `system, item, output` with an empty list."""
    every = index.select(pl.col("system").unique().sort()).join(
        qrels.select(pl.col("item").unique().sort()), how="cross"
    )
    missing = every.join(index, on=("system", "item"), how="anti")
    return missing.with_columns(pl.lit([], dtype=pl.List(pl.String)).alias("output"))


def _unanswered_note(missing: pl.DataFrame, *, complete: bool) -> str:
    fate = "count as 0" if complete else "are left out of the means"
    systems = missing["system"].n_unique()
    return (
        f"Judged topics without a list: {missing.height}, in {systems} of the runs "
        f"(such as topic {missing['item'][0]} of {missing['system'][0]}); they {fate}."
    )


def _with_metadata(outputs: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Columns that belong to a topic or to a run, joined to the lists; others can be no context."""
    fixed = {"system", "item", "document", "score", FILE, ROW, LINE}
    for name in (column for column in frame.columns if column not in fixed):
        for key in ("item", "system"):
            values = frame.select(key, name).unique()
            if values.height == values[key].n_unique():
                outputs = outputs.join(values, on=key, how="left")
                break
    return outputs
