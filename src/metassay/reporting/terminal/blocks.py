"""The parts of what a command prints: lines, tables and notes. `metassay.cli.printing` lays them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metassay.reporting.data_summary import describe_data_used
from metassay.results.data_summary import DataSummary

Row = Mapping[str, Any]
"""A row of a result: values by column name."""


@dataclass(frozen=True)
class Line:
    """A line of text for standard output; an empty one separates blocks."""

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
    """A remark that is printed to standard error."""

    text: str
    heading: str = "Note"
    """What stands before the remark."""


Block = Line | Table | Note


def convert_sentences_to_lines(sentences: Iterable[object]) -> list[Block]:
    """Convert sentences to lines of terminal output."""
    return [Line(str(sentence)) for sentence in sentences]


def convert_sentences_to_notes(sentences: Iterable[object]) -> list[Block]:
    """Convert sentences to notes, which are printed to standard error."""
    return [Note(str(sentence)) for sentence in sentences]


def summarize_data_in_note(data_summary: DataSummary | None) -> list[Block]:
    """Summarise in one note which data was used."""
    sentences = describe_data_used(data_summary)
    return [Note(" ".join(sentences).removeprefix("Data: "), heading="Data")] if sentences else []


def select_columns(rows: Iterable[Row], names: Sequence[str]) -> list[Row]:
    """Return rows with only the named columns, in that order."""
    return [{name: row[name] for name in names} for row in rows]
