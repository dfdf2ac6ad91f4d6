"""Which column of a table means what: names people already use, case-insensitive, one table per task.

Tables are joined by the columns that are keys.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from metassay.data.cells import MISSING_SCORES
from metassay.data.readers.delimited import PLAIN_TEXT_REMEDY
from metassay.errors import InputError, Place, UnknownName, join_names
from metassay.tasks import FALLBACK_TASK, list_human_criteria, load_tasks, ranking
from metassay.tasks.base import TEXT_COLUMNS, Task

TEXT_NAMES = TEXT_COLUMNS
RANKING_NAMES = ranking.COLUMNS
KEY_PREFIXES = ("year", "lp", "testset")
"""Columns that, with the segment, make an item unique over files."""
METADATA = (
    *("domain", "doc_id", "doc", "document", "document_id", "speaker", "speaker_id", "rater", "is_human"),
    *("ref_name", "hyp_source", "position", "line", "rank", "split", "language", "gender", "accent", "age"),
)
"""Columns that describe an output and measure nothing."""
HUMAN = ("mqm", "da", "da_sqm", "esa", "human")
"""Names of human scores in any task; `esa-human1` and the like are those of one person or campaign."""
FIXED_TEXT = ("item", "system", "output", "source", "references")
"""Our own column names: a raw column of that name without that role is not carried along."""
_HUMAN = re.compile(rf"({'|'.join(HUMAN)})_?\d*|.+_human_?\d+")
_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+(\.\d+)?|")
_REFERENCE = re.compile(r"(ref|reference)\d*|references")


@dataclass(frozen=True)
class ColumnRoles:
    """The column that plays each role; None where the table has none."""

    item: str
    output: str
    system: str | None
    source: str | None
    references: tuple[str, ...]
    key_prefixes: tuple[str, ...]
    human: tuple[str, ...]


def assign_roles(
    columns: Sequence[str],
    *,
    task: Task = FALLBACK_TASK,
    given: Mapping[str, str] | None = None,
    file: str = "",
) -> ColumnRoles:
    """Roles of the columns of a table of texts; `given` maps a role to a column and wins."""
    given = dict(given or {})
    check_column_choices(given, {*task.column_names, "references", "human"}, columns, file)
    lower = {name.lower(): name for name in reversed(columns)}
    taken: dict[str, str | None] = {}
    for role, names in task.column_names.items():
        free = {name: column for name, column in lower.items() if column not in taken.values()}
        taken[role] = given.get(role) or _first(names, free)
    for role in ("item", "output"):
        if taken[role] is None:
            raise missing_column_error(role, task.column_names[role], columns, file)
    references = given["references"].split(",") if "references" in given else find_reference_columns(columns)
    return ColumnRoles(
        item=str(taken["item"]),
        output=str(taken["output"]),
        system=taken["system"],
        source=taken["source"],
        references=tuple(references),
        key_prefixes=tuple(lower[name] for name in KEY_PREFIXES if name in lower),
        human=_human(columns, given.get("human")),
    )


def is_human_score(name: str, metrics: Collection[str] = ()) -> bool:
    """Whether a column of this name holds human scores; `metrics` are names that are known to be metrics.

    Human are mqm, da and the like, numbered ones (`mqm-human1`), one rater's (`mqm:NAME`), and criteria.

    >>> [is_human_score(name) for name in ("MQM", "esa-human2", "da:rater7", "coherence", "COMET")]
    [True, True, True, True, False]
    """
    plain = name.lower().replace("-", "_").partition(":")[0]
    return bool(_HUMAN.fullmatch(plain)) or (name not in metrics and is_human_criterion(plain))


def is_human_criterion(name: str) -> bool:
    """Whether a name is that of something people are asked to rate, in any task: `coherence`, `fluency_2`."""
    return name.lower().rstrip("_0123456789") in list_human_criteria()


def is_row_number(name: str) -> bool:
    """Whether a column is the row number that pandas wrote into a file: neither metric nor context."""
    return bool(_INDEX.fullmatch(name))


def is_reserved(name: str) -> bool:
    """Whether a table would take a column of this name for more than metadata: an id, a text, a score."""
    lower = name.lower()
    tasks = [task for task in load_tasks().values() if not task.is_ranking]
    roles = {own for task in tasks for names in task.column_names.values() for own in names}
    taken = {*KEY_PREFIXES, *METADATA, *FIXED_TEXT, "score", "metric", "worse", "perturbation"} | roles
    return lower in taken or bool(_REFERENCE.fullmatch(lower)) or is_human_score(name) or is_row_number(name)


def find_score_columns(
    frame: pl.DataFrame,
    human: Sequence[str] = (),
    metrics: Collection[str] = (),
    described: Collection[str] = (),
) -> tuple[list[str], list[str]]:
    """The columns of human scores and those of metrics.

    Known id, metadata, text and human columns are never metrics; every other column of numbers is, under its
    exact name. `human` declares further human columns, `described` further metadata; `metrics` are as in
    `is_human_score`.
    """
    for name in human:
        if name not in frame.columns:
            raise UnknownName("column", name, frame.columns)
    lower = {name.lower().replace("-", "_"): name for name in reversed(frame.columns)}
    texts = {*item_names(), *system_names(), *output_names(), *TEXT_NAMES["source"]}
    known = {*KEY_PREFIXES, *METADATA, *texts}
    measured = [
        name
        for name in frame.columns
        if name.lower() not in known and not is_row_number(name) and name not in described
    ]
    usual = [lower[name] for name in HUMAN if name in lower]
    rated = [name for name in measured if is_human_score(name, metrics) and is_numeric(frame[name])]
    people = list(dict.fromkeys([*human, *usual, *rated]))
    if not people and "score" in lower:
        people = [lower["score"]]
    return people, [name for name in measured if name not in people and is_numeric(frame[name])]


def is_numeric(column: pl.Series) -> bool:
    """Whether a column holds numbers, or text that is numbers throughout, as in CSV files."""
    if column.dtype.is_numeric():
        return True
    if column.dtype != pl.String:
        return False
    filled = column.drop_nulls()
    filled = filled.filter(~filled.str.strip_chars().str.to_lowercase().is_in(list(MISSING_SCORES)))
    return len(filled) > 0 and filled.cast(pl.Float64, strict=False).is_not_null().all()


def item_names() -> tuple[str, ...]:
    """Every name that an id of items has in any task, those of texts first."""
    return _names_of("item")


def system_names() -> tuple[str, ...]:
    """Every name that a system has in any task."""
    return _names_of("system")


def output_names() -> tuple[str, ...]:
    """Every name that an output has in any task of texts."""
    return _names_of("output")


def _names_of(role: str) -> tuple[str, ...]:
    others = (name for task in load_tasks().values() for name in task.column_names.get(role, ()))
    return tuple(dict.fromkeys((*TEXT_NAMES.get(role, ()), *others)))


def missing_column_error(role: str, names: Sequence[str], columns: Sequence[str], file: str) -> InputError:
    """The error for a table in which no column plays a role that it needs."""
    listing = join_names(columns, 120) or "none"
    plain = f" {PLAIN_TEXT_REMEDY}" if file.endswith(".txt") else ""
    return InputError(
        f"no column holds the {role} (looked for {join_names(names, 120)}; there are: {listing}).",
        place=Place(file=file or None),
        remedy=f"Name it with --column {role}=COLUMN.{plain}",
    )


def check_column_choices(
    given: Mapping[str, str], roles: set[str], columns: Sequence[str], file: str
) -> None:
    """Refuse `--column` choices with a role or a column that does not exist."""
    for role, column in given.items():
        if role not in roles:
            raise UnknownName("column role", role, roles)
        for part in column.split(","):
            if part not in columns:
                raise InputError(
                    f"there is no column {part!r} to be the {role}.",
                    place=Place(file=file or None),
                    remedy=f"The columns are: {join_names(columns)}.",
                )


def _first(names: Sequence[str], lower: Mapping[str, str]) -> str | None:
    return next((lower[name] for name in names if name in lower), None)


def find_reference_columns(columns: Sequence[str]) -> list[str]:
    """The columns that hold references, `ref` before `ref1` before `ref10`."""
    found = [name for name in columns if _REFERENCE.fullmatch(name.lower())]
    return sorted(found, key=lambda name: (len(name), name))


def _human(columns: Sequence[str], given: str | None) -> tuple[str, ...]:
    """Columns of human scores: those named and those known by name; else `score`, if it is there."""
    named = () if given is None else tuple(given.split(","))
    known = tuple(name for name in columns if is_human_score(name) and name not in named)
    if named or known:
        return (*named, *known)
    return tuple(name for name in columns if name.lower() == "score")[:1]


def drop_repeated_rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The frame without rows that repeat another to the byte, and a note on how many.

    A row number that some program wrote into the file is no part of the row, and is left out.
    """
    plain = frame.drop([name for name in frame.columns if is_row_number(name)])
    single = plain.unique(maintain_order=True)
    copies = frame.height - single.height
    if not copies:
        return plain, []
    return single, [f"{copies} rows are exact copies of others and were left out."]


OTHERS = ("doc_id", "speaker_id")
"""Keys beside those of items and systems."""


def join_columns(frame: pl.DataFrame, other: pl.DataFrame, *, file: str) -> tuple[pl.DataFrame, str]:
    """`frame` with the further columns of `other`, and a sentence that says how many rows found a match."""
    known = dict.fromkeys((*KEY_PREFIXES, *item_names(), *system_names(), *OTHERS))
    keys = [name for name in frame.columns if name in other.columns and name.lower() in known]
    if not keys:
        raise InputError(
            "shares no key column with the data.",
            place=Place(file=file),
            remedy=f"Both need some of: {', '.join(known)}.",
        )
    right = other.select([*keys, *(name for name in other.columns if name not in frame.columns)])
    if len(right.columns) == len(keys):
        raise InputError("adds no column that the data does not have.", place=Place(file=file))
    repeated = right.select(keys).is_duplicated()
    if repeated.any():
        row = int(repeated.arg_max() or 0) + 1
        raise InputError(
            f"the key {', '.join(keys)} occurs more than once.",
            place=Place(file=file, row=row, column=keys[-1]),
        )
    text = [pl.col(key).cast(pl.String).alias(f"_key_{key}") for key in keys]
    names = [f"_key_{key}" for key in keys]
    left = frame.with_columns(text)
    marked = right.with_columns(*text, pl.lit(value=True).alias("_found")).drop(keys)
    joined = left.join(marked, on=names, how="left", maintain_order="left")
    found = int(joined["_found"].fill_null(value=False).sum())
    note = f"{Path(file).name}: joined by {', '.join(keys)}; {found} of {frame.height} rows found a match."
    return joined.drop([*names, "_found"]), note
