"""Hashes that tell whether two data sets are the same."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from typing import TypedDict

import numpy as np
import polars as pl

# Rows that are hashed together, so that memory stays small.
_BATCH_ROWS = 2**16


class DataFingerprint(TypedDict):
    """Counts and hashes of a data set, by which a later run recognises the same data."""

    items: int
    systems: int
    keys: str
    """Hash of all item and system ids."""
    human: dict[str, str]
    """Hash of each human score together with the ids of its outputs."""


def hash_outputs_and_human_scores(outputs: pl.DataFrame, human_columns: Sequence[str]) -> DataFingerprint:
    """Compute counts and hashes by which a later run recognises the same outputs and human scores.

    The order of rows does not matter. The signs of scores do not matter either, because some verbs reverse
    human scores.
    """
    items = outputs["item"].unique().sort()
    systems = outputs["system"].unique().sort()
    human = {name: _hash_text_column(_list_scored_outputs(outputs, name)) for name in sorted(human_columns)}
    return DataFingerprint(
        items=len(items),
        systems=len(systems),
        keys=_hash_text_column(items) + _hash_text_column(systems),
        human=human,
    )


def hash_rows(table: pl.DataFrame) -> bytes:
    """Hash every row of a table. The hashes are sorted, so that the order of rows does not matter.

    Rows are hashed in their JSON form, which does not change between versions of Polars.
    """
    # The empty text after the last line end counts as a row: stored hashes depend on it.
    digests = [hashlib.blake2b(digest_size=16).digest()]
    for batch in table.iter_slices(_BATCH_ROWS):
        buffer = io.BytesIO()
        batch.write_ndjson(buffer)
        lines = buffer.getvalue().split(b"\n")[:-1]
        digests += [hashlib.blake2b(line, digest_size=16).digest() for line in lines]
    halves = np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    return halves[order].tobytes()


def _list_scored_outputs(outputs: pl.DataFrame, score_column: str) -> pl.Series:
    """Return a sorted column of texts, one per scored output, each made of item, system and score without
    sign.
    """
    score = pl.col(score_column).cast(pl.Float64).fill_nan(None).abs()
    scored = outputs.select("item", "system", score).drop_nulls()
    return scored.select(pl.concat_str(pl.all().cast(pl.String), separator="\0")).to_series().sort()


def _hash_text_column(texts: pl.Series) -> str:
    """Return one hash of a column of texts."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, len(texts), _BATCH_ROWS):
        batch = texts[start : start + _BATCH_ROWS]
        digest.update("".join(f"{line}\n" for line in batch).encode())
    return digest.hexdigest()
