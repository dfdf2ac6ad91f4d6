"""Ranked lists as arrays: relevance looked up once, every later question answered from grades alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
import polars as pl
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from metassay.errors import InputError

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
UNJUDGED = -1
"""The grade of a retrieved document that nobody judged."""


@dataclass(frozen=True)
class Judgements:
    """The grades given for each topic, highest first; negative ones (in the pool, unjudged) are not here.

    `grades[offsets[t]:offsets[t + 1]]` are those of topic t.
    """

    offsets: Ints
    grades: Codes


@dataclass(frozen=True)
class RankedLists(Sequence[tuple[str, ...]]):
    """Ranked lists of documents, best first, with the grade of every document in place.

    List i holds the entries `offsets[i]:offsets[i + 1]` of `documents` (codes into `names`) and of `grades`;
    `topics[i]` says whose `judgements` apply. As a sequence it yields the document ids of each list.
    """

    offsets: Ints
    documents: Codes
    grades: Codes
    topics: Ints
    judgements: Judgements
    names: pl.Series

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> RankedLists: ...
    def __getitem__(self, index: int | slice) -> tuple[str, ...] | RankedLists:
        rows = range(len(self))[index]
        if isinstance(rows, range):
            return self.take(np.asarray(rows, dtype=np.int64))
        return tuple(self.names.gather(self.documents[self.offsets[rows] : self.offsets[rows + 1]]))

    def take(self, rows: Ints) -> RankedLists:
        """The lists in these rows, in this order."""
        lengths = np.diff(self.offsets)[rows]
        offsets = _offsets(lengths)
        entries = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return replace(
            self,
            offsets=offsets,
            documents=self.documents[entries],
            grades=self.grades[entries],
            topics=self.topics[rows],
        )

    def reordered(self, order: Ints) -> RankedLists:
        """The same lists with their entries in another order: `order` permutes within each list."""
        return replace(self, documents=self.documents[order], grades=self.grades[order])

    def to_series(self) -> pl.Series:
        """The lists of document ids as a column, each id stored once."""
        coded = pa.DictionaryArray.from_arrays(pa.array(self.documents), self.names.to_arrow())
        return pl.Series(
            "output", pl.from_arrow(pa.LargeListArray.from_arrays(pa.array(self.offsets), coded))
        )

    @property
    def has_relevant(self) -> NDArray[np.bool_]:
        """Which lists hold a relevant document (grade 1 or more)."""
        before = np.concatenate([[0], np.cumsum(self.grades > 0)])
        return np.asarray(before[self.offsets[1:]] > before[self.offsets[:-1]])


def ranked_lists(items: pl.Series, outputs: pl.Series, qrels: pl.DataFrame) -> RankedLists:
    """Lists of document ids, best first, one per item given, with judgements `item, document, grade`."""
    lengths = outputs.list.len().to_numpy().astype(np.int64)
    documents = outputs.filter(pl.Series(lengths > 0)).explode().cast(pl.String)
    topics = _topic_codes(items, qrels)
    return _graded(_offsets(lengths), documents, topics, qrels)


def lists_from_mappings(outputs: Sequence[Sequence[str]], qrels: Sequence[Mapping[str, int]]) -> RankedLists:
    """Lists of document ids, best first, each with its own judgements as a mapping from document to grade."""
    distinct = {id(own): own for own in qrels}
    names = {key: str(place) for place, key in enumerate(distinct)}
    table = [
        (names[key], document, grade) for key, own in distinct.items() for document, grade in own.items()
    ]
    table += [(names[key], "", UNJUDGED) for key, own in distinct.items() if not own]
    return ranked_lists(
        pl.Series([names[id(own)] for own in qrels], dtype=pl.String),
        pl.Series([list(output) for output in outputs], dtype=pl.List(pl.String)),
        pl.DataFrame(
            table, schema={"item": pl.String, "document": pl.String, "grade": pl.Int32}, orient="row"
        ),
    )


def order_by_score(table: pl.DataFrame, qrels: pl.DataFrame) -> tuple[pl.DataFrame, RankedLists]:
    """Ranked lists from a table `system, item, document, score`, as trec_eval orders them.

    Scores are compared as float32, highest first; equal ones by document id, last in byte order first.
    Returns a table `system, item`, one row per list and sorted, and the lists. Every item must be judged.
    """
    (systems,), system_names = _codes(table["system"])
    (items,), item_names = _codes(table["item"])
    (documents,), document_names = _codes(table["document"])
    lists = systems.astype(np.int64) * len(item_names) + items
    order = _order(lists, table["score"].to_numpy().astype(np.float32), documents)
    keys, lengths = np.unique(lists[order], return_counts=True)
    index = pl.DataFrame(
        {
            "system": system_names.gather(keys // len(item_names)),
            "item": item_names.gather(keys % len(item_names)),
        }
    )
    topics = _topic_codes(index["item"], qrels)
    return index, _graded(_offsets(lengths), document_names.gather(documents[order]), topics, qrels)


def _order(lists: Ints, scores: NDArray[np.float32], documents: Codes) -> Ints:
    """The order of entries: by list, then score descending, then document descending."""
    bits = (scores + np.float32(0)).view(np.int32).astype(np.int64)  # + 0 makes −0.0 equal to 0.0
    ascending = np.where(bits >= 0, bits, np.int64(-0x80000000) - bits)
    keys = (lists << 32) + (0x7FFFFFFF - ascending)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    same = np.concatenate([[False], keys[1:] == keys[:-1]])
    tied = same | np.concatenate([same[1:], [False]])
    entries = order[tied]
    order[tied] = entries[np.lexsort((-documents[entries], keys[tied]))]
    return order


def _graded(offsets: Ints, documents: pl.Series, topics: Ints, qrels: pl.DataFrame) -> RankedLists:
    """Lists with the grade of each document looked up once."""
    (listed, judged), names = _codes(documents, qrels["document"])
    judged_topics = _topic_codes(qrels["item"], qrels)
    grades = qrels["grade"].to_numpy().astype(np.int32)
    count = qrels["item"].n_unique()
    by_document = np.lexsort((judged, judged_topics))
    found = _look_up(
        offsets,
        listed,
        topics,
        _offsets(np.bincount(judged_topics, minlength=count)),
        judged[by_document],
        grades[by_document],
    )
    return RankedLists(offsets, listed, found, topics, _judgements(judged_topics, grades, count), names)


def _judgements(topics: Ints, grades: Codes, count: int) -> Judgements:
    valid = grades >= 0
    topics, grades = topics[valid], grades[valid]
    order = np.lexsort((-grades, topics))
    return Judgements(_offsets(np.bincount(topics, minlength=count)), grades[order])


def _topic_codes(items: pl.Series, qrels: pl.DataFrame) -> Ints:
    """The place of each item among the judged items, in byte order."""
    judged = qrels["item"].unique().sort()
    codes = items.cast(pl.Enum(judged), strict=False).to_physical()
    if codes.has_nulls():
        unknown = items.filter(codes.is_null())[0]
        raise InputError(f"there are no judgements for item {unknown}.")
    return codes.to_numpy().astype(np.int64)


def _codes(*columns: pl.Series) -> tuple[tuple[Codes, ...], pl.Series]:
    """Codes that sort as the texts do in byte order, and the distinct texts in that order."""
    names = pl.concat([column.unique() for column in columns]).unique().sort()
    kind = pl.Enum(names)
    return tuple(column.cast(kind).to_physical().to_numpy().astype(np.int32) for column in columns), names


def _offsets(lengths: NDArray[np.integer]) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@njit(cache=True, nogil=True)
def _look_up(
    offsets: Ints,
    documents: Codes,
    topics: Ints,
    judged_offsets: Ints,
    judged_documents: Codes,
    judged_grades: Codes,
) -> Codes:
    """The grade of each listed document by binary search among its topic's judgements; unjudged is −1."""
    grades = np.empty(len(documents), np.int32)
    for i in range(len(topics)):
        start, end = judged_offsets[topics[i]], judged_offsets[topics[i] + 1]
        for entry in range(offsets[i], offsets[i + 1]):
            low, high = start, end
            while low < high:
                middle = (low + high) // 2
                if judged_documents[middle] < documents[entry]:
                    low = middle + 1
                else:
                    high = middle
            found = low < end and judged_documents[low] == documents[entry]
            grades[entry] = max(judged_grades[low], UNJUDGED) if found else UNJUDGED
    return grades
