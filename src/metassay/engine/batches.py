"""Rows to score, cut into batches: the same cuts whatever the number of workers; where scores are kept."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.ranked_lists import build_grade_mappings, build_ranked_lists
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric, Scores, SharedWork
from metassay.recorded_warnings import RecordedWarnings
from metassay.stats.arrays import LongArray

Digests = NDArray[np.uint64]
"""128 bits per row: [n, 2]."""
BATCH_ROWS = 8_192
FIELDS = ("output", "references", "source", "system", "item")
TEXTS = FIELDS[:3]
_COLUMNS = {"source": "a column src", "references": "a column ref", "qrels": "judgements (--qrels)"}


@dataclass(frozen=True)
class Rows:
    """Outputs with whatever metrics may read of them: `FIELDS`, and `language`; for rankings, judgements."""

    frame: pl.DataFrame
    qrels: pl.DataFrame | None = None
    shared: SharedWork | None = None
    """What these rows, one piece of a run, have in common with the others."""

    def __len__(self) -> int:
        return self.frame.height

    def check(self, metric: Metric) -> None:
        """Refuse a metric that reads a field which the data does not have."""
        there = {*self.frame.columns, *([] if self.qrels is None else ["qrels"])}
        for name in sorted(metric.needs - there):
            raise InputError(
                f"{metric} needs {name}, and the data has none.",
                remedy=f"Add {_COLUMNS.get(name, f'a column {name}')}, or choose other metrics.",
            )

    def cuts(self) -> Iterator[Rows]:
        """Pieces of at most `BATCH_ROWS` rows, each in one language."""
        languages = self.frame["language"].fill_null("").to_numpy()
        changes = np.flatnonzero(languages[1:] != languages[:-1]) + 1
        edges = [0, *changes.tolist(), len(self)]
        starts = [at for start, end in pairwise(edges) for at in range(start, end, BATCH_ROWS)]
        homes = functools.cache(lambda: _homes(self.frame, starts))
        run: dict[Hashable, Any] = {}
        for start, stop in pairwise([*starts, len(self)]):
            yield replace(self, frame=self.frame[start:stop], shared=SharedWork(homes, run))

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Rows:
        """The chosen rows."""
        return replace(self, frame=self.frame[rows])

    def batch(self, needs: frozenset[str]) -> Batch:
        """The fields that metrics need, as they take them."""
        fields: dict[str, Sequence[Any]] = {name: self.frame[name].to_list() for name in self._fields(needs)}
        if self.qrels is not None:
            fields["output"] = build_ranked_lists(self.frame["item"], self.frame["output"], self.qrels)
            if "qrels" in needs:
                fields["qrels"] = build_grade_mappings(self.frame["item"], self.qrels)
        fields.setdefault("output", self.frame["output"].to_list())
        return Batch(fields, self.frame["language"][0] if len(self) else None, self.shared or SharedWork())

    def digests(self, needs: frozenset[str]) -> Digests:
        """For each row of texts a 128-bit hash of its language and of every field that such metrics read."""
        names = self._fields(needs)
        language = self.frame["language"][0] if len(self) else None
        head = pl.lit(f"{language or ''}|{','.join(names)}|")
        rows = self.frame.select(pl.concat_str(head, *(_written(self.frame[name]) for name in names)))
        content = rows.to_series().to_arrow(compat_level=pl.CompatLevel.oldest())
        _, starts, texts = content.buffers()
        view = memoryview(texts or b"")
        ends = (
            np.frombuffer(starts, np.int64)[content.offset :][: len(self) + 1].tolist() if len(self) else []
        )
        begun, hashed = hashlib.blake2b(digest_size=16), []
        for i, j in pairwise(ends):
            own = begun.copy()  # less to set up than a new one
            own.update(view[i:j])
            hashed.append(own.digest())
        return np.frombuffer(b"".join(hashed), np.uint64).reshape(-1, 2)

    def _fields(self, needs: frozenset[str]) -> list[str]:
        return [name for name in FIELDS if name in needs and name in self.frame.columns]


def _homes(frame: pl.DataFrame, starts: Sequence[int]) -> dict[str, tuple[int, int]]:
    """The texts that several pieces hold: the first of these pieces, and the first field that holds them."""
    piece = np.searchsorted(starts, np.arange(frame.height), side="right") - 1
    numbered = frame.with_columns(pl.Series("piece", piece))
    held = []
    for place, name in enumerate(TEXTS):
        if name in frame.columns:
            column = numbered.select(pl.col(name).alias("text"), "piece", pl.lit(place).alias("field"))
            held.append(column.explode("text") if frame[name].dtype.is_nested() else column)
    texts = pl.concat(held).drop_nulls("text").group_by("text")
    found = texts.agg(pl.col("piece", "field").min(), pl.col("piece").n_unique().alias("pieces"))
    several = found.filter(pl.col("pieces") > 1)
    return dict(zip(several["text"].to_list(), several.select("piece", "field").rows()))


def distinct(digests: Digests) -> tuple[LongArray, LongArray, LongArray]:
    """The first row of each content, in order; for every row the place of its content among them.

    And these places in the order of their digests, in which scores are kept.
    """
    order = in_order(digests)
    ordered = digests[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = order[new]
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    back = np.empty(len(order), dtype=np.int64)
    back[order] = place[np.cumsum(new) - 1]
    return np.sort(first), back, place


def in_order(digests: Digests) -> LongArray:
    """Which rows come first, second …; equal ones keep their order."""
    if (digests[1:, 0] > digests[:-1, 0]).all():
        return np.arange(len(digests))
    order = np.argsort(digests[:, 0], kind="stable")
    high, low = digests[order].T
    crossed = (high[1:] == high[:-1]) & (low[1:] < low[:-1])  # of two contents, hardly ever
    return np.lexsort((digests[:, 1], digests[:, 0])) if crossed.any() else order


def _written(column: pl.Series) -> pl.Expr:
    """Every cell in a way that no two cells share: lengths before texts, and a sign for what is missing."""
    if not column.dtype.is_nested():
        return _text(pl.col(column.name).cast(pl.String))
    texts = pl.col(column.name).list.eval(_text(pl.element())).list.join("")
    return pl.concat_str(pl.col(column.name).list.len().cast(pl.String), pl.lit("["), texts).fill_null("-")


def _text(cell: pl.Expr) -> pl.Expr:
    return pl.concat_str(cell.str.len_bytes().cast(pl.String), pl.lit(":"), cell).fill_null("-")


class Parts(Protocol):
    """Where finished scores are kept, so that a stopped run goes on where it was."""

    def find(
        self, metric: str, signature: str, number: int, digests: Digests
    ) -> tuple[Scores, RecordedWarnings]:
        """The scores of these contents, NaN where none is kept, and what was warned of as they were made."""
        ...

    def keep(
        self,
        metric: str,
        signature: str,
        number: int,
        digests: Digests,
        scores: Scores,
        notes: RecordedWarnings,
    ) -> None:
        """Keep a finished part; scores that are undefined are left out."""
        ...

    def has(self, metric: str, signature: str, number: int) -> bool:
        """Whether the run has a part of this name."""
        ...

    def look_again(self) -> None:
        """Find also what others have kept since the first look."""
        ...

    def places(self) -> tuple[str | None, str | None]:
        """The folders of the run and of the cache behind it, for others to open: `store.cache.parts_at`."""
        ...
