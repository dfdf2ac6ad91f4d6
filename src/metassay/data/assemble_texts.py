"""From raw tables to a `Dataset`: roles, keys, references, and every check that names its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from metassay.data import cells
from metassay.data.columns import (
    FIXED_TEXT,
    ColumnRoles,
    assign_roles,
    check_column_choices,
    is_human_criterion,
    is_numeric,
    is_row_number,
    missing_column_error,
)
from metassay.data.dataset import Dataset
from metassay.data.memory import release_memory
from metassay.data.readers.base import RawTable
from metassay.data.readers.files import file_stem
from metassay.data.readers.standard_input import STANDARD_INPUT
from metassay.errors import InputError, Place
from metassay.tasks import find_task
from metassay.tasks.base import Task

FILE, ROW = "_file", "_row"
PAIR_ROLES = ("worse", "perturbation")
"""What a table of pairs holds beside an output: the worse text, and how it was made."""
REFERENCE_RULES = ("per-item", "per-output")


def assemble(
    tables: Sequence[RawTable],
    *,
    task: str | Task,
    columns: Mapping[str, str] | None = None,
    references: str = "per-item",
    language: str | None = None,
    paired: bool = False,
) -> Dataset:
    """One data set of texts from one or more tables, every cell checked.

    With `paired` each row is a pair, with the worse text in a column `worse` (or as `columns` says).
    """
    if references not in REFERENCE_RULES:
        raise InputError(
            f"unknown rule for references {references!r}.", remedy=f"Known: {', '.join(REFERENCE_RULES)}."
        )
    kind = find_task(task)
    if paired:
        tables, columns = [_with_sides(table, columns) for table in tables], _without_sides(columns)
    parts = [_canonical(table, kind, columns) for table in tables]
    human = tuple(dict.fromkeys(name for _, names in parts for name in names))
    frame = _stack([part for part, _ in parts])
    frame, left_out = _without_gaps(frame, paired=paired)
    frame, notes = _without_repeats(frame, paired=paired)
    notes += _check_references(frame, references)
    release_memory()
    frame = frame.drop(FILE, ROW)
    if paired:  # a pair has no key, so that all of it decides its place
        plain = [name for name, dtype in frame.schema.items() if not dtype.is_nested()]
        frame = frame.sort(sorted(plain, key=lambda name: (name != "perturbation", name)))
    return Dataset(
        kind.name,
        frame,
        human=human,
        language=language,
        left_out=left_out,
        notes=tuple(notes),
        custom_task=kind,
        rows_are_pairs=paired,
        declared_metadata=tuple(dict.fromkeys(name for table in tables for name in table.metadata_columns)),
    )


def _with_sides(table: RawTable, columns: Mapping[str, str] | None) -> RawTable:
    """The table with the worse text, and how it was made if that is said, under our names."""
    lower = {name.lower(): name for name in reversed(table.frame.columns)}
    named = {role: (columns or {}).get(role, lower.get(role)) for role in PAIR_ROLES}
    check_column_choices(
        {role: name for role, name in named.items() if name}, {*PAIR_ROLES}, table.frame.columns, table.file
    )
    if named["worse"] is None:
        raise missing_column_error("worse", ("worse",), table.frame.columns, table.file)
    frame = table.frame.rename({name: role for role, name in named.items() if name})
    worse = cells.texts(frame["worse"], table.file)
    if "perturbation" in frame.columns:
        frame = frame.with_columns(pl.col("perturbation").cast(pl.String))
    return replace(table, frame=frame.with_columns(worse))


def _without_sides(columns: Mapping[str, str] | None) -> dict[str, str]:
    return {role: name for role, name in (columns or {}).items() if role not in PAIR_ROLES}


def _canonical(
    table: RawTable, kind: Task, columns: Mapping[str, str] | None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table with our column names, and the names of its human scores."""
    frame, file = table.frame, table.file
    given = dict(columns or {})
    named = [
        name for name in dict.fromkeys([*given.get("human", "").split(","), *table.human_columns]) if name
    ]
    if named:
        given["human"] = ",".join(named)
    roles = assign_roles(frame.columns, task=kind, given=given, file=file)
    human = tuple(
        name
        for name in roles.human
        if name in named
        or not is_human_criterion(name)
        or is_numeric(frame[name])  # a quality in words is metadata
    )
    made: dict[str, pl.Series] = {
        "item": _item(frame, roles, file),
        "system": _system(frame, roles, file),
        "output": cells.texts(frame[roles.output], file),
    }
    if roles.source is not None:
        made["source"] = cells.texts(frame[roles.source], file)
    if roles.references:
        made["references"] = _reference_lists(frame, roles.references, file)
    for name in human:
        made[name] = cells.scores(frame[name], file)
    for name in _metadata(frame, replace(roles, human=human)):
        made.setdefault(name, frame[name])
    release_memory()
    made[FILE] = pl.Series([file], dtype=pl.Categorical).new_from_index(0, frame.height)
    made[ROW] = pl.int_range(1, frame.height + 1, dtype=pl.UInt32, eager=True)
    return pl.DataFrame([series.alias(name) for name, series in made.items()]), human


def _metadata(frame: pl.DataFrame, roles: ColumnRoles) -> list[str]:
    """Columns without a role; nested ones cannot be contexts and are passed over."""
    taken = {roles.item, roles.output, roles.system, roles.source, *roles.references, *roles.human}
    plain = [name for name, kind in frame.schema.items() if not kind.is_nested()]
    taken |= {*FIXED_TEXT, *(name for name in plain if is_row_number(name))}
    return [name for name in plain if name not in taken]


def _item(frame: pl.DataFrame, roles: ColumnRoles, file: str) -> pl.Series:
    parts = [cells.ids(frame[name], file) for name in (*roles.key_prefixes, roles.item)]
    if len(parts) == 1:
        return parts[0]
    return pl.DataFrame([part.alias(str(i)) for i, part in enumerate(parts)]).select(
        pl.concat_str(pl.all(), separator="/")
    )["0"]


def _system(frame: pl.DataFrame, roles: ColumnRoles, file: str) -> pl.Series:
    if roles.system is not None:
        column = frame[roles.system]
        if column.dtype == pl.String and (gap := (column.is_null() | (column == ""))).any():
            raise InputError(
                "the system is missing.",
                place=Place(file, int(gap.fill_null(value=True).arg_max() or 0) + 1, roles.system),
                remedy="Every row needs one: fill it in or delete the row.",
            )
        return cells.ids(column, file)
    if file == STANDARD_INPUT:
        raise InputError(
            "there is no system column, and standard input has no name to use instead.",
            place=Place(file=file),
            remedy="Add a column system, or name one with --column system=COLUMN.",
        )
    return pl.Series([file_stem(file)]).new_from_index(0, frame.height)


def _reference_lists(frame: pl.DataFrame, names: Sequence[str], file: str) -> pl.Series:
    """For each row the list of its references; missing and empty ones do not count."""
    streams, gaps = [], False
    for name in names:
        column = frame[name]
        if column.dtype == pl.List(pl.String):
            streams.append(pl.col(name).fill_null([]).list.eval(pl.element().filter(pl.element() != "")))
            gaps = True
        else:
            text = cells.texts(column, file)
            filled = not text.has_nulls() and not (text == "").any()
            streams.append(pl.col(name) if filled else pl.col(name).cast(pl.String).replace("", None))
            gaps |= not filled
    if len(names) == 1 and not gaps:  # the same texts, not copies of them
        return frame[names[0]].reshape((-1, 1)).arr.to_list()
    lists = pl.concat_list(streams)
    return frame.select((lists.list.drop_nulls() if gaps else lists).alias("references")).to_series()


def _stack(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All parts under each other; metadata that differ in type become text."""
    kinds: dict[str, set[pl.DataType]] = {}
    for part in parts:
        for name, kind in part.schema.items():
            kinds.setdefault(name, set()).add(kind)
    if len(parts) == 1:
        return parts[0]
    mixed = [name for name, seen in kinds.items() if len(seen - {pl.Null()}) > 1]
    return pl.concat(
        [
            part.with_columns(pl.col([name for name in mixed if name in part.columns]).cast(pl.String))
            for part in parts
        ],
        how="diagonal_relaxed",
    )


def _without_gaps(frame: pl.DataFrame, *, paired: bool) -> tuple[pl.DataFrame, dict[str, int]]:
    """The rows that have an output and a reference, and of pairs both sides; the others counted."""
    left_out: dict[str, int] = {}
    needed = {"no output": pl.col("output").is_not_null()}
    if paired:
        needed["no worse text"] = pl.col("worse").is_not_null()
    if "references" in frame.columns:
        needed["no reference"] = pl.col("references").list.len().fill_null(0) > 0
    for reason, filled in needed.items():
        there = frame.select(filled).to_series()
        if not there.all():
            left_out[reason] = int((~there).sum())
            frame = frame.filter(there)
    return frame, left_out


def _without_repeats(frame: pl.DataFrame, *, paired: bool) -> tuple[pl.DataFrame, list[str]]:
    """Rows that say the same to the letter are one; two that differ on one item and system are an error."""
    if not paired and _distinct(frame.select(pl.struct("item", "system"))) == frame.height:
        return frame, []  # keys of different hashes differ
    kept = frame.unique(
        [name for name in frame.columns if name not in {FILE, ROW}], keep="first", maintain_order=True
    )
    if not paired:
        _refuse_duplicates(kept)
    repeats = frame.height - kept.height
    rows = "1 row repeats" if repeats == 1 else f"{repeats} rows repeat"
    notes = [f"{rows} another to the letter; each is kept once."] if repeats else []
    return kept, notes


def _distinct(keys: pl.DataFrame) -> int:
    """How many different values a column has, by their hashes: a set of them would take more memory."""
    hashes = keys.to_series().hash().sort()
    return int((hashes[1:] != hashes[:-1]).sum()) + 1


def _refuse_duplicates(frame: pl.DataFrame) -> None:
    again = frame.filter(pl.struct("item", "system").is_duplicated())
    if again.is_empty():
        return
    first = again.row(0, named=True)
    second = again.filter((pl.col("item") == first["item"]) & (pl.col("system") == first["system"])).row(
        1, named=True
    )
    other = "" if first[FILE] == second[FILE] else f" of {first[FILE]}"
    raise InputError(
        f"item {first['item']} of system {first['system']} was already given in row {first[ROW]}{other}.",
        place=Place(second[FILE], second[ROW]),
        remedy=UNNAMED
        if first["system"] == file_stem(second[FILE])
        else "A system has one output per item; a column year, lp or testset keeps the ids of files apart.",
    )


UNNAMED = "That is the file's name. If another column says which system it is: --column system=COLUMN."


def _check_references(frame: pl.DataFrame, rule: str) -> list[str]:
    """Refuse items whose references differ between rows, or count them."""
    if "references" not in frame.columns:
        return ["There are no references: only metrics that do without can be used."]
    single = bool((frame["references"].list.len() == 1).all())
    references = pl.col("references").list
    key = (references.first() if single else references.join("\x1f")).alias("key")
    if _distinct(frame.select("item")) == _distinct(frame.select(pl.struct("item", key))):
        return []
    joined = frame.select("item", FILE, ROW, key)
    varying = joined.group_by("item").agg(pl.col("key").n_unique().alias("n")).filter(pl.col("n") > 1)
    if varying.is_empty():
        return []
    if rule == "per-output":
        return [f"The references of {varying.height} items differ between rows; each row keeps its own."]
    item = varying["item"].sort()[0]
    rows = joined.filter(pl.col("item") == item)
    other = rows.filter(pl.col("key") != rows["key"][0]).row(0, named=True)
    raise InputError(
        f"the reference of item {item} differs from that in row {rows[ROW][0]} "
        f"({varying.height} such {'item' if varying.height == 1 else 'items'} in all).",
        place=Place(other[FILE], other[ROW], "references"),
        remedy="Use --references per-output if each row should keep its own.",
    )
