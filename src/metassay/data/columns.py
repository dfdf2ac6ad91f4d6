"""Which column of a table means what: names people already use, case-insensitive, one table per task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metassay.errors import InputError, Place, UnknownName
from metassay.tasks import ranking
from metassay.tasks.base import TEXT_COLUMNS, Task
from metassay.tasks.registry import GENERAL

TEXT_NAMES = TEXT_COLUMNS
RANKING_NAMES = ranking.COLUMNS
KEY_PREFIXES = ("year", "lp", "testset")
"""Columns that, with the segment, make an item unique over files."""
HUMAN = ("mqm", "da", "da_sqm", "esa", "human")
"""Names of human scores in any task; `esa-human1` and the like are those of one person or campaign."""
ROW_NUMBERS = frozenset({"__index_level_0__", "unnamed: 0", ""})
"""What other programs call the number of a row, in lower case: neither a score nor a context."""
FIXED_TEXT = ("item", "system", "output", "source", "references")
"""Our own column names: a raw column of that name without that role is not carried along."""
_REFERENCE = re.compile(r"(ref|reference)\d*|references")
_ONE_OF_SEVERAL = re.compile(r"(?P<name>.+?)([-_]human)?[-_]?\d*(:.*)?")


@dataclass(frozen=True)
class Roles:
    """The column that plays each role; None where the table has none."""

    item: str
    output: str
    system: str | None
    source: str | None
    references: tuple[str, ...]
    key_prefixes: tuple[str, ...]
    human: tuple[str, ...]


def recognise(
    columns: Sequence[str], *, task: Task = GENERAL, given: Mapping[str, str] | None = None, file: str = ""
) -> Roles:
    """Roles of the columns of a table of texts; `given` maps a role to a column and wins."""
    given = dict(given or {})
    check_given(given, {*task.columns, "references", "human"}, columns, file)
    lower = {name.lower(): name for name in reversed(columns)}
    taken: dict[str, str | None] = {}
    for role, names in task.columns.items():
        free = {name: column for name, column in lower.items() if column not in taken.values()}
        taken[role] = given.get(role) or _first(names, free)
    for role in ("item", "output"):
        if taken[role] is None:
            raise missing_column(role, task.columns[role], columns, file)
    references = given["references"].split(",") if "references" in given else reference_columns(columns)
    return Roles(
        item=str(taken["item"]),
        output=str(taken["output"]),
        system=taken["system"],
        source=taken["source"],
        references=tuple(references),
        key_prefixes=tuple(lower[name] for name in KEY_PREFIXES if name in lower),
        human=_human(columns, task.criteria, given.get("human")),
    )


def missing_column(role: str, names: Sequence[str], columns: Sequence[str], file: str) -> InputError:
    """The error for a table in which no column plays a role that it needs."""
    listing = ", ".join(columns) or "none"
    return InputError(
        f"no column holds the {role} (looked for {', '.join(names)}; there are: {listing}).",
        place=Place(file=file or None),
        remedy=f"Name it with --column {role}=COLUMN.",
    )


def check_given(given: Mapping[str, str], roles: set[str], columns: Sequence[str], file: str) -> None:
    """Refuse `--column` choices with a role or a column that does not exist."""
    for role, column in given.items():
        if role not in roles:
            raise UnknownName("column role", role, roles)
        for part in column.split(","):
            if part not in columns:
                listing = ", ".join(columns)
                raise InputError(
                    f"there is no column {part!r} to be the {role}.",
                    place=Place(file=file or None),
                    remedy=f"The columns are: {listing}.",
                )


def _first(names: Sequence[str], lower: Mapping[str, str]) -> str | None:
    return next((lower[name] for name in names if name in lower), None)


def reference_columns(columns: Sequence[str]) -> list[str]:
    """The columns that hold references, `ref` before `ref1` before `ref10`."""
    found = [name for name in columns if _REFERENCE.fullmatch(name.lower())]
    return sorted(found, key=lambda name: (len(name), name))


def is_human(name: str, criteria: Sequence[str] = ()) -> bool:
    """Whether a column's name says that it holds scores of people: `mqm`, `esa-human2`, `mqm:rater1`.

    >>> [is_human(name) for name in ("MQM", "da-sqm", "esa-human2", "mqm:rater3", "bleu")]
    [True, True, True, True, False]
    """
    plain = name.lower()
    match = _ONE_OF_SEVERAL.fullmatch(plain)
    stem = match["name"] if match else plain
    return stem.replace("-", "_") in HUMAN or plain in criteria or stem in criteria


def _human(columns: Sequence[str], criteria: Sequence[str], given: str | None) -> tuple[str, ...]:
    """Columns of human scores: those named and those known by name; else `score`, if it is there."""
    named = () if given is None else tuple(given.split(","))
    known = tuple(name for name in columns if is_human(name, criteria) and name not in named)
    if named or known:
        return (*named, *known)
    return tuple(name for name in columns if name.lower() == "score")[:1]
