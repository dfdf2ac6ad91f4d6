"""The parts of what a command prints: lines, tables, notes and details.

`metassay.cli.printing` lays them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metassay.reporting.data_summary import describe_data_used, describe_left_out_data
from metassay.results.data_summary import DataSummary

# A row of a result: values by column name.
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """A sentence for standard output. An empty line separates paragraphs."""

    text: str = ""
    wrap: bool = True
    """Whether a terminal may break it between words."""


@dataclass(frozen=True)
class Table:
    """A table for standard output. A table without rows is not printed."""

    rows: Sequence[Row]
    title: str | None = None
    most_important: Sequence[str] = ()
    """Columns that stay when the terminal is too narrow for all, in this order."""
    most_rows: int | None = None
    """How many rows are printed without `--verbose`; None for all."""
    digits: int = 3
    """Decimals of numbers; p-values always have three."""

    @property
    def heading(self) -> str | None:
        """The title of the table. If the title does not explain the columns `low` and `high`, an explanation
        is added.
        """
        has_interval = any({"low", "high"} <= row.keys() for row in self.rows)
        if self.title is None or not has_interval or "interval" in self.title or "median" in self.rows[0]:
            return self.title
        return f"{self.title.removesuffix('.')}; low and high: 95 % interval"


@dataclass(frozen=True)
class Note:
    """A remark that is printed to standard error."""

    text: str
    heading: str = "Note"
    """What stands before the remark."""


@dataclass(frozen=True)
class Details:
    """Lines, tables and notes that are printed only with `--verbose`."""

    blocks: Sequence[Line | Table | Note]


Block = Line | Table | Note | Details


def convert_sentences_to_lines(sentences: Iterable[object]) -> list[Line]:
    """Make a line of each sentence."""
    return [Line(str(sentence)) for sentence in sentences]


def convert_sentences_to_notes(sentences: Iterable[object]) -> list[Note]:
    """Make a note of each sentence."""
    return [Note(str(sentence)) for sentence in sentences]


def summarize_data_in_note(data: DataSummary | None) -> list[Block]:
    """Build a note on the rows that were left out. Details on the data that was used are added for
    `--verbose`.
    """
    sentences = describe_data_used(data)
    if not sentences:
        return []
    summary = Note(" ".join(sentences).removeprefix("Data: "), heading="Data")
    return [*convert_sentences_to_notes(describe_left_out_data(data)), Details([summary])]


def select_columns(rows: Iterable[Row], names: Sequence[str]) -> list[Row]:
    """Return table rows that contain only the named columns, in the given order."""
    return [{name: row[name] for name in names} for row in rows]
