"""The parts of what a command prints: lines, tables and notes. `metassay.cli.printing` lays them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metassay.reporting.data_summary import describe_data
from metassay.results.data_summary import DataSummary

Row = Mapping[str, Any]
"""A row of a result: values by column name."""


@dataclass(frozen=True)
class Line:
    """A sentence for standard output; an empty one separates blocks."""

    text: str = ""
    wrap: bool = True
    """Whether a terminal may break it between words."""


@dataclass(frozen=True)
class Table:
    """A table for standard output; without rows it is not printed."""

    rows: Sequence[Row]
    title: str | None = None
    most_important: Sequence[str] = ()
    """Columns that stay when the terminal is too narrow for all, in this order."""


@dataclass(frozen=True)
class Note:
    """A remark for standard error."""

    text: str
    heading: str = "Note"
    """What stands before the remark."""


Block = Line | Table | Note


def make_lines(sentences: Iterable[object]) -> list[Block]:
    """Make a line of each sentence."""
    return [Line(str(sentence)) for sentence in sentences]


def make_notes(sentences: Iterable[object]) -> list[Block]:
    """Make a note of each sentence."""
    return [Note(str(sentence)) for sentence in sentences]


def summarize_data(data: DataSummary | None) -> list[Block]:
    """Describe which data was used in one note."""
    sentences = describe_data(data)
    return [Note(" ".join(sentences).removeprefix("Data: "), heading="Data")] if sentences else []


def select_columns(rows: Iterable[Row], names: Sequence[str]) -> list[Row]:
    """Return rows with only the named columns, in that order."""
    return [{name: row[name] for name in names} for row in rows]
