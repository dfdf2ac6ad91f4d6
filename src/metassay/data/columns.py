"""Which column of a table means what: names people already use, case-insensitive, one table per task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metassay.errors import InputError, Place, UnknownName

TEXT_NAMES: dict[str, tuple[str, ...]] = {
    "item": ("seg_id", "item", "id", "segment", "utt_id", "utterance"),
    "output": ("output", "hyp", "hypothesis", "mt", "translation"),
    "source": ("src", "source"),
    "system": ("system",),
}
RANKING_NAMES: dict[str, tuple[str, ...]] = {
    "system": ("run", "system", "tag"),
    "item": ("topic", "query", "qid", "user"),
    "document": ("docid", "document", "item_id"),
    "score": ("score",),
}
KEY_PREFIXES = ("year", "lp", "testset")
"""Columns that, with the segment, make an item unique over files."""
HUMAN = ("mqm", "da", "da_sqm", "esa", "human")
FIXED_TEXT = ("item", "system", "output", "source", "references")
"""Our own column names: a raw column of that name without that role is not carried along."""
_REFERENCE = re.compile(r"(ref|reference)\d*|references")


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


def recognise(columns: Sequence[str], *, given: Mapping[str, str] | None = None, file: str = "") -> Roles:
    """Roles of the columns of a translation or speech table; `given` maps a role to a column and wins."""
    given = dict(given or {})
    check_given(given, {*TEXT_NAMES, "references", "human"}, columns, file)
    lower = {name.lower(): name for name in reversed(columns)}
    taken = {role: given.get(role) or _first(names, lower) for role, names in TEXT_NAMES.items()}
    for role in ("item", "output"):
        if taken[role] is None:
            raise missing_column(role, TEXT_NAMES[role], columns, file)
    references = given["references"].split(",") if "references" in given else _references(columns)
    return Roles(
        item=str(taken["item"]),
        output=str(taken["output"]),
        system=taken["system"],
        source=taken["source"],
        references=tuple(references),
        key_prefixes=tuple(lower[name] for name in KEY_PREFIXES if name in lower),
        human=_human(lower, given.get("human")),
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


def _references(columns: Sequence[str]) -> list[str]:
    found = [name for name in columns if _REFERENCE.fullmatch(name.lower())]
    return sorted(found, key=lambda name: (len(name), name))


def _human(lower: Mapping[str, str], given: str | None) -> tuple[str, ...]:
    if given is not None:
        return tuple(given.split(","))
    named = tuple(lower[name] for name in HUMAN if name in lower)
    return named or ((lower["score"],) if "score" in lower else ())
