"""Tables of the page: what each column is called, how its cells read, and what sorts and exports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from metassay.reporting.answer import brief
from metassay.reporting.findings import Estimate
from metassay.reporting.labels import Label
from metassay.reporting.wording import NOTHING, count, number, percent, probability

Kind = Literal[
    "name", "text", "prose", "percent", "amount", "count", "number", "decimal", "probability", "verdict"
]


@dataclass(frozen=True)
class Field:
    """A table column: its key in the rows, its heading, how its cells read; `hint` explains the heading."""

    key: str
    label: str
    kind: Kind = "text"
    hint: str = ""

    @property
    def numeric(self) -> bool:
        """Whether cells align right."""
        return self.kind not in {"name", "text", "prose", "verdict"}

    def show(self, row: Mapping[str, Any]) -> str:
        """What a person reads in the cell."""
        value = row.get(self.key)
        if isinstance(value, Estimate):
            return brief(value)
        if value is None or value == "":
            return NOTHING
        return _SHOW[self.kind](value)

    def raw(self, row: Mapping[str, Any]) -> str:
        """What sorts the column and goes into the CSV."""
        value = row.get(self.key)
        if isinstance(value, Estimate):
            value = value.accuracy
        if isinstance(value, tuple | list):
            value = " ".join(map(_exact, value))
        return "" if value is None else _exact(value)


@dataclass(frozen=True)
class Grid:
    """A table to show, sort and download; `left` counts rows that were not put on the page."""

    name: str
    caption: str
    fields: tuple[Field, ...]
    rows: tuple[Mapping[str, Any], ...]
    left: int = 0


def grid(
    name: str,
    caption: str,
    fields: Sequence[Field],
    rows: Sequence[Mapping[str, Any]],
    *,
    at_most: int = 2000,
) -> Grid:
    """A table without the columns that hold nothing, cut to `at_most` rows."""
    held = tuple(
        field for field in fields if any(row.get(field.key) not in {None, ""} for row in _hashable(rows))
    )
    return Grid(name, caption, held, tuple(rows[:at_most]), left=max(0, len(rows) - at_most))


def plain_grids(result: Mapping[str, Any], *, at_most: int = 20) -> list[Grid]:
    """Every list of rows in a result as a table, under the name it has there."""
    tables = {
        str(name): [row for row in value if isinstance(row, Mapping)]
        for name, value in result.items()
        if isinstance(value, list | tuple)
    }
    return [
        grid(name, name, [_plain_field(key, rows) for key in rows[0]], rows, at_most=at_most)
        for name, rows in tables.items()
        if rows
    ]


def _plain_field(key: str, rows: Sequence[Mapping[str, Any]]) -> Field:
    values = [row.get(key) for row in rows if row.get(key) is not None]
    if values and all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return Field(key, key, "count")
    exact = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return Field(key, key, "decimal" if values and exact else "text")


def _hashable(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value if isinstance(value, str | None) else True for key, value in row.items()} for row in rows
    ]


def _exact(value: Any) -> str:
    """What other programs read: of a metric its spec."""
    return value.spec if isinstance(value, Label) else str(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


_SHOW = {
    "name": _text,
    "text": _text,
    "prose": _text,
    "verdict": _text,
    "percent": lambda value: percent(value, digits=1),
    "amount": lambda value: percent(value, digits=1) if isinstance(value, float) else count(value),
    "count": count,
    "number": number,
    "decimal": lambda value: number(value, digits=4),
    "probability": probability,
}
