"""Errors a person can act on: what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


class MetassayError(Exception):
    """Every error that metassay raises on purpose."""

    exit_code = 1


@dataclass(frozen=True)
class Place:
    """Where in the input something is wrong: any of file, row (first data row is 1) and column."""

    file: str | None = None
    row: int | None = None
    column: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        parts = [
            self.file,
            None if self.row is None else f"row {self.row}",
            None if self.line is None else f"line {self.line}",
            None if self.column is None else f"column {self.column}",
        ]
        return ", ".join(part for part in parts if part is not None)


class InputError(MetassayError, ValueError):
    """Bad input or usage.

    Prints as `FILE, row N, column C: what is wrong.` and, where there is one, a second line with the remedy.
    """

    exit_code = 2

    def __init__(self, what: str, *, place: Place | None = None, remedy: str | None = None) -> None:
        self.what = what
        self.place = place or Place()
        self.remedy = remedy
        where = str(self.place)
        first = f"{where}: {what}" if where else what
        super().__init__(f"{first}\n{remedy}" if remedy else first)


class UnknownName(InputError):
    """A metric, reader or column that does not exist; offers the nearest and lists the known."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        nearest = difflib.get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=0.5)
        offer = next((k for k in known if nearest and k.lower() == nearest[0]), None)
        question = f" Did you mean {offer}?" if offer else ""
        listing = f"Known: {', '.join(known)}." if known else "None is known."
        super().__init__(f"unknown {kind} {name!r}.{question}", remedy=listing)


class TiedScores(InputError):
    """A statistic that is defined for distinct scores only was given ties."""


class MissingBackend(InputError):
    """A metric or perturbation needs a package or a dictionary that is not installed."""

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(
            f"{what} is not installed.", remedy=f"Install it with: pip install 'metassay[{extra}]'"
        )


class MetricFailure(MetassayError):
    """A metric returned what its definition forbids (inf, or NaN where there is a value)."""


class Counted(UserWarning):
    """A warning about a number of things, `3 texts were …`, which adds up over the parts of a run."""

    def __init__(self, count: int, kind: str) -> None:
        self.count, self.kind = count, kind
        super().__init__(f"{count:,} {kind}")
