"""Rows to score, cut into batches: the same cuts whatever the number of workers."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from metassay.metrics.base import Batch, Metric

BATCH_ROWS = 16_384
FIELDS = ("output", "references", "source", "system", "item", "qrels")


def cuts(frame: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    """Numbered pieces of at most `BATCH_ROWS` rows, each in one language (column `language`)."""
    number = 0
    start = 0
    languages = frame["language"].fill_null("").to_numpy()
    changes = np.flatnonzero(languages[1:] != languages[:-1]) + 1
    for end in [*changes.tolist(), frame.height]:
        while start < end:
            stop = min(start + BATCH_ROWS, end)
            yield number, frame[start:stop]
            number, start = number + 1, stop


def to_batch(frame: pl.DataFrame, metric: Metric) -> Batch:
    """The fields that a metric needs, as it takes them."""
    fields: dict[str, Sequence[Any]] = {
        name: frame[name].to_list() for name in FIELDS if name in frame.columns and name in metric.needs
    }
    fields.setdefault("output", frame["output"].to_list())
    language = frame["language"][0] if frame.height else None
    return Batch(fields, language)


def keys(frame: pl.DataFrame, metric: Metric) -> list[bytes]:
    """A 128-bit key per row: a hash of the metric's signature and every field it needs, never a position."""
    seed = hashlib.blake2b(metric.signature.encode(), digest_size=16)
    seed.update((frame["language"][0] or "").encode() if frame.height else b"")
    columns = [frame[name].to_list() for name in FIELDS if name in frame.columns and name in metric.needs]
    return [_key(seed, row) for row in zip(*columns)]


def _key(seed: Any, row: tuple[Any, ...]) -> bytes:
    digest = seed.copy()
    for cell in row:
        parts = [cell] if isinstance(cell, str) else cell or ()
        digest.update(struct.pack("<i", -1 if cell is None else len(parts)))
        for part in parts:
            content = str(part).encode("utf-8", "surrogatepass")
            digest.update(struct.pack("<q", len(content)))
            digest.update(content)
    return bytes(digest.digest())
