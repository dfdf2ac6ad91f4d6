"""Outputs to score, split into batches: the same batches for any number of workers."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.dataset import Dataset
from metassay.data.ranked_lists import build_grades_by_document, build_ranked_lists
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric
from metassay.metrics.shared_cache import SharedCache
from metassay.stats.hashes import Hashes

BATCH_ROWS = 8_192
# The columns that metrics may read.
FIELDS = ("output", "references", "source", "system", "item")
TEXT_FIELDS = ("output", "references", "source")
_HOW_TO_ADD = {"source": "a column src", "references": "a column ref", "qrels": "judgements (--qrels)"}


@dataclass(frozen=True)
class OutputRows:
    """A table with one row per output to score: the output and, where the data has them, its references,
    source and language. Rankings also have relevance judgements.
    """

    frame: pl.DataFrame
    qrels: pl.DataFrame | None = None
    shared: SharedCache | None = None
    """Results that this batch shares with other batches of the run."""

    def __len__(self) -> int:
        return self.frame.height

    def check_fields_needed_by_metric(self, metric: Metric) -> None:
        """Raise an error if a metric needs a column, such as references, that the table does not have."""
        available = set(self.frame.columns)
        if self.qrels is not None:
            available.add("qrels")
        for name in sorted(metric.needs - available):
            addition = _HOW_TO_ADD.get(name, f"a column {name}")
            raise InputError(
                f"{metric} needs {name}, but the data has none.",
                remedy=f"Add {addition}, or choose other metrics.",
            )

    def split_into_batches(self) -> Iterator[OutputRows]:
        """Split the table into batches of at most `BATCH_ROWS` rows. All rows of a batch have the same
        language.
        """
        languages = self.frame["language"].fill_null("").to_numpy()
        language_changes = np.flatnonzero(languages[1:] != languages[:-1]) + 1
        starts: list[int] = []
        for start, stop in pairwise([0, *language_changes.tolist(), len(self)]):
            starts.extend(range(start, stop, BATCH_ROWS))
        # Called by neural metrics only, so that other metrics do not pay for the search.
        find_shared_texts = functools.cache(lambda: _find_texts_shared_by_batches(self.frame, starts))
        run_cache: dict[Hashable, Any] = {}
        for start, stop in pairwise([*starts, len(self)]):
            shared_cache = SharedCache(find_shared_texts, run_cache)
            yield replace(self, frame=self.frame[start:stop], shared=shared_cache)

    def select_rows(self, row_numbers: Sequence[int] | NDArray[np.int64]) -> OutputRows:
        """Return a table with only the rows at these positions."""
        return replace(self, frame=self.frame[row_numbers])

    def build_metric_batch(self, needed_fields: frozenset[str]) -> Batch:
        """Convert the rows to the form that metrics accept, with only the fields that the metrics need."""
        fields: dict[str, Sequence[Any]] = {
            name: self.frame[name].to_list() for name in self._list_available_fields(needed_fields)
        }
        if self.qrels is not None:
            fields["output"] = build_ranked_lists(self.frame["item"], self.frame["output"], self.qrels)
            if "qrels" in needed_fields:
                fields["qrels"] = build_grades_by_document(self.frame["item"], self.qrels)
        fields.setdefault("output", self.frame["output"].to_list())
        return Batch(fields, self._get_common_language(), self.shared or SharedCache())

    def hash_row_contents(self, needed_fields: frozenset[str]) -> Hashes:
        """Return a hash for each row, computed from its language and the fields that a metric needs. Rows
        with equal hashes get equal scores.
        """
        names = self._list_available_fields(needed_fields)
        # Equal texts in another language, or with other fields, can have another score.
        prefix = pl.lit(f"{self._get_common_language() or ''}|{','.join(names)}|")
        contents = self.frame.select(
            pl.concat_str(prefix, *(_convert_column_to_text(self.frame[name]) for name in names))
        ).to_series()
        # An empty Arrow array may have no offset buffer.
        if not len(self):
            return np.empty((0, 2), np.uint64)
        # The bytes of all rows lie in one buffer: slices of it are hashed without making Python strings.
        # The oldest level gives one buffer of bytes with 64-bit offsets instead of string views.
        arrow_array = contents.to_arrow(compat_level=pl.CompatLevel.oldest())
        _, offset_buffer, text_buffer = arrow_array.buffers()
        offsets = np.frombuffer(offset_buffer, np.int64)[arrow_array.offset :][: len(self) + 1].tolist()
        text_bytes = memoryview(text_buffer or b"")
        empty_hash = hashlib.blake2b(digest_size=16)
        digests = []
        for start, stop in pairwise(offsets):
            row_hash = empty_hash.copy()  # faster than creating a new one
            row_hash.update(text_bytes[start:stop])
            digests.append(row_hash.digest())
        return np.frombuffer(b"".join(digests), np.uint64).reshape(-1, 2)

    def _list_available_fields(self, needed_fields: frozenset[str]) -> list[str]:
        """Return the needed fields that are columns of the table."""
        return [name for name in FIELDS if name in needed_fields and name in self.frame.columns]

    def _get_common_language(self) -> str | None:
        """Return the language of a batch, which all of its rows share. None if it is not known."""
        return self.frame["language"][0] if len(self) else None


def _find_texts_shared_by_batches(
    frame: pl.DataFrame, batch_starts: Sequence[int]
) -> dict[str, tuple[int, int]]:
    """Find the texts that occur in more than one batch. Returns, for each such text, the number of the first
    batch and of the first field that contain it.
    """
    batch_numbers = np.searchsorted(batch_starts, np.arange(frame.height), side="right") - 1
    numbered = frame.with_columns(pl.Series("batch", batch_numbers))
    columns = []
    for field_number, name in enumerate(TEXT_FIELDS):
        if name in frame.columns:
            column = numbered.select(pl.col(name).alias("text"), "batch", pl.lit(field_number).alias("field"))
            columns.append(column.explode("text") if frame[name].dtype.is_nested() else column)
    texts = pl.concat(columns).drop_nulls("text").group_by("text")
    first_places = texts.agg(pl.col("batch", "field").min(), pl.col("batch").n_unique().alias("batches"))
    repeated = first_places.filter(pl.col("batches") > 1)
    return dict(zip(repeated["text"].to_list(), repeated.select("batch", "field").rows()))


def _convert_column_to_text(column: pl.Series) -> pl.Expr:
    """Return a Polars expression that converts each cell of a column to a text. Different cells get different
    texts.
    """
    if not column.dtype.is_nested():
        return _prefix_text_with_its_length(pl.col(column.name).cast(pl.String))
    texts = pl.col(column.name).list.eval(_prefix_text_with_its_length(pl.element())).list.join("")
    count = pl.col(column.name).list.len().cast(pl.String)
    return pl.concat_str(count, pl.lit("["), texts).fill_null("-")


def _prefix_text_with_its_length(cell: pl.Expr) -> pl.Expr:
    """Return a Polars expression that writes the length of each text in front of it. A missing text becomes
    `-`.
    """
    # The length before each text keeps ("ab", "c") and ("a", "bc") apart.
    return pl.concat_str(cell.str.len_bytes().cast(pl.String), pl.lit(":"), cell).fill_null("-")


def build_table_of_outputs_to_score(dataset: Dataset) -> OutputRows:
    """Return the outputs of a data set as a table to score, with only the columns that metrics may read."""
    names = [name for name in FIELDS if name in dataset.outputs.columns]
    languages = pl.Series("language", dataset.languages, dtype=pl.String)
    return OutputRows(dataset.outputs.select(names).with_columns(languages), dataset.qrels)
