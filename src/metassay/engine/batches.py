"""Rows to score, cut into batches: the same cuts whatever the number of workers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.rankings import grade_mappings, ranked_lists
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric

BATCH_ROWS = 8_192
FIELDS = ("output", "references", "source", "system", "item")
_COLUMNS = {"source": "a column src", "references": "a column ref", "qrels": "judgements (--qrels)"}


@dataclass(frozen=True)
class Rows:
    """Outputs with whatever metrics may read of them: `FIELDS`, and `language`; for rankings, judgements."""

    frame: pl.DataFrame
    qrels: pl.DataFrame | None = None

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
        start = 0
        for end in [*changes.tolist(), len(self)]:
            while start < end:
                stop = min(start + BATCH_ROWS, end)
                yield replace(self, frame=self.frame[start:stop])
                start = stop

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Rows:
        """The chosen rows."""
        return replace(self, frame=self.frame[rows])

    def batch(self, needs: frozenset[str]) -> Batch:
        """The fields that metrics need, as they take them."""
        fields: dict[str, Sequence[Any]] = {name: self.frame[name].to_list() for name in self._fields(needs)}
        if self.qrels is not None:
            fields["output"] = ranked_lists(self.frame["item"], self.frame["output"], self.qrels)
            if "qrels" in needs:
                fields["qrels"] = grade_mappings(self.frame["item"], self.qrels)
        fields.setdefault("output", self.frame["output"].to_list())
        return Batch(fields, self.frame["language"][0] if len(self) else None)

    def digests(self, needs: frozenset[str]) -> list[bytes]:
        """For each row a 128-bit hash of every field that metrics with these needs read, and its language."""
        language = self.frame["language"][0] if len(self) else None
        seed = hashlib.blake2b((language or "").encode(), digest_size=16)
        columns = [_cells(self.frame[name]) for name in self._fields(needs)]
        if "qrels" in needs and self.qrels is not None:
            columns.append(_judgements(self.frame["item"], self.qrels))
        return [_digest(seed, row) for row in zip(*columns)]

    def _fields(self, needs: frozenset[str]) -> list[str]:
        return [name for name in FIELDS if name in needs and name in self.frame.columns]


def key(signature: str, digest: bytes) -> bytes:
    """The key of a score: a 128-bit hash of the metric's signature and the digest of what it reads."""
    return hashlib.blake2b(signature.encode() + b"\0" + digest, digest_size=16).digest()


def _cells(column: pl.Series) -> list[list[str] | None]:
    """Every cell as a list of texts, None where it is missing."""
    if column.dtype.is_nested():
        return column.to_list()
    return [None if cell is None else [cell] for cell in column.cast(pl.String).to_list()]


def _judgements(items: pl.Series, qrels: pl.DataFrame) -> list[list[str] | None]:
    """For each item a hash of everything judged for it: the same list is another matter for another topic."""
    judged: dict[str, Any] = {}
    for item, document, grade in (
        qrels.select("item", "document", "grade").sort("item", "document").iter_rows()
    ):
        own = judged.setdefault(item, hashlib.blake2b(digest_size=16))
        own.update(f"{len(document)} {document} {grade}".encode("utf-8", "surrogatepass"))
    return [[judged[item].hexdigest()] if item in judged else None for item in items]


def _digest(seed: Any, row: tuple[list[str] | None, ...]) -> bytes:
    digest = seed.copy()
    for cell in row:
        texts = [] if cell is None else [text.encode("utf-8", "surrogatepass") for text in cell]
        sizes = [-1 if cell is None else len(texts), *map(len, texts)]
        digest.update(f"{sizes}".encode())
        digest.update(b"".join(texts))
    return bytes(digest.digest())
