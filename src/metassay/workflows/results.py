"""What every verb returns: a dict, a table, a picture in a notebook, and notes on what was warned of."""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl

from metassay.errors import Counted

SCHEMA_VERSION = 1


class Result(ABC):
    """A result: `to_dict()` is the JSON of the command line, `to_frame()` its main table."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, beginning with `schema_version`."""

    @abstractmethod
    def to_frame(self) -> pl.DataFrame:
        """The main table of the result."""

    def to_json(self) -> str:
        """The JSON object that the command line prints."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        from metassay.reporting.html import render_fragment

        return render_fragment(self.to_dict())


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """A list that holds, once the block is left, what was warned of in it, each warning once, sorted."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    notes.extend(sorted(_summed(w.message for w in caught if issubclass(w.category, UserWarning))))


def _summed(messages: Iterable[Warning | str]) -> set[str]:
    """Each message once; counts of one kind, which parts of a run report apart, as one count."""
    plain: set[str] = set()
    counts: dict[str, int] = {}
    for message in messages:
        if isinstance(message, Counted):
            counts[message.kind] = counts.get(message.kind, 0) + message.count
        else:
            plain.add(str(message))
    return plain | {str(Counted(count, kind)) for kind, count in counts.items()}
