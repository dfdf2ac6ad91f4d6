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
    """A sentence on standard output. An empty one separates blocks."""

    text: str = ""
    wrap: bool = True
    """Whether a terminal may break it between words."""


@dataclass(frozen=True)
class Table:
    """Rows with the same columns. A table without rows is not printed."""

    rows: Sequence[Row]
    title: str | None = None
    most_important: Sequence[str] = ()
    """Columns that stay when the terminal is too narrow for all, in this order."""


@dataclass(frozen=True)
class Note:
    """A remark on standard error."""

    text: str
    heading: str = "Note"
    """What stands before the remark."""


Block = Line | Table | Note


def lines(sentences: Iterable[object]) -> list[Block]:
    """Return a line for each sentence."""
    return [Line(str(sentence)) for sentence in sentences]


def notes(sentences: Iterable[object]) -> list[Block]:
    """Return a note for each sentence."""
    return [Note(str(sentence)) for sentence in sentences]


def summarize_data(data: DataSummary | None) -> list[Block]:
    """Return the summary of the data as one remark."""
    sentences = describe_data(data)
    return [Note(" ".join(sentences).removeprefix("Data: "), heading="Data")] if sentences else []


def select_columns(rows: Iterable[Row], names: Sequence[str]) -> list[Row]:
    """Return the rows with these columns only, in this order."""
    return [{name: row[name] for name in names} for row in rows]
