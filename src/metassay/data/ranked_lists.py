"""Ranked lists as arrays: relevance looked up once, every later question answered from grades alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import overload

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.stats.arrays import LongArray
from metassay.stats.compilation import kernel

Codes = NDArray[np.int32]
UNJUDGED = -1
"""The grade of a retrieved document that nobody judged."""


@dataclass(frozen=True)
class Judgements:
    """The grades given for each topic, highest first; negative ones (in the pool, unjudged) are not here.

    `grades[offsets[t]:offsets[t + 1]]` are those of topic t.
    """

    offsets: LongArray
    grades: Codes


@dataclass(frozen=True)
class RankedLists(Sequence[tuple[str, ...]]):
    """Ranked lists of documents, best first, with the grade of every document in place.

    List i holds the entries `offsets[i]:offsets[i + 1]` of `documents` (codes into `names`) and of `grades`;
    `topics[i]` says whose `judgements` apply. As a sequence it yields the document ids of each list.
    """

    offsets: LongArray
    documents: Codes
    grades: Codes
    topics: LongArray
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

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        names = self.names.to_list()
        bounds = self.offsets.tolist()
        for start, end in pairwise(bounds):
            yield tuple(names[code] for code in self.documents[start:end].tolist())

    def take(self, rows: LongArray) -> RankedLists:
        """The lists in these rows, in this order."""
        offsets = _offsets(np.diff(self.offsets)[rows])
        return replace(
            self,
            offsets=offsets,
            documents=_gather(self.documents, self.offsets, rows, offsets),
            grades=_gather(self.grades, self.offsets, rows, offsets),
            topics=self.topics[rows],
        )

    def reordered(self, order: LongArray) -> RankedLists:
        """The same lists with their entries in another order: `order` permutes within each list."""
        return replace(self, documents=self.documents[order], grades=self.grades[order])

    def to_series(self) -> pl.Series:
        """The lists of document ids as a column, each id stored once."""
        coded = pa.DictionaryArray.from_arrays(pa.array(self.documents), self.names.to_arrow())
        return pl.Series(
            "output", pl.from_arrow(pa.LargeListArray.from_arrays(pa.array(self.offsets), coded))
        )

    @property
    def lengths(self) -> LongArray:
        """The number of documents in each list."""
        return np.diff(self.offsets)

    def joined(self) -> pl.Series:
        """Each list as one text, its ids parted by NUL: what random numbers are drawn from."""
        return self.to_series().cast(pl.List(pl.String)).list.join("\0")

    @property
    def has_relevant(self) -> NDArray[np.bool_]:
        """Which lists hold a relevant document (grade 1 or more)."""
        before = np.concatenate([[0], np.cumsum(self.grades > 0)])
        return np.asarray(before[self.offsets[1:]] > before[self.offsets[:-1]])


def build_ranked_lists(items: pl.Series, outputs: pl.Series, qrels: pl.DataFrame) -> RankedLists:
    """Lists of document ids, best first, one per item given, with judgements `item, document, grade`."""
    lengths = outputs.list.len().to_numpy().astype(np.int64)
    listed = outputs.filter(pl.Series(lengths > 0)).explode()
    if listed.dtype != pl.String:
        listed = listed.cast(pl.String)
    (documents, judged), names = _codes(listed, qrels["document"])
    topics = qrels["item"].unique().sort()
    judgements = _Judged(_places(qrels["item"], topics), judged, _grades(qrels), len(topics), len(names))
    return judgements.lists(_offsets(lengths), documents, _places(items, topics), names)


def build_ranked_lists_from_mappings(
    outputs: Sequence[Sequence[str]], qrels: Sequence[Mapping[str, int]]
) -> RankedLists:
    """Lists of document ids, best first, each with its own judgements as a mapping from document to grade."""
    distinct = {id(own): own for own in qrels}
    names = {key: str(place) for place, key in enumerate(distinct)}
    table = [
        (names[key], document, grade) for key, own in distinct.items() for document, grade in own.items()
    ]
    table += [(names[key], "", UNJUDGED) for key, own in distinct.items() if not own]
    return build_ranked_lists(
        pl.Series([names[id(own)] for own in qrels], dtype=pl.String),
        pl.Series([list(output) for output in outputs], dtype=pl.List(pl.String)),
        pl.DataFrame(
            table, schema={"item": pl.String, "document": pl.String, "grade": pl.Int32}, orient="row"
        ),
    )


def build_grade_mappings(items: pl.Series, qrels: pl.DataFrame) -> list[Mapping[str, int]]:
    """For each item its judgements as a mapping from document to grade, one object per distinct item."""
    wanted = qrels.filter(pl.col("item").is_in(items.unique().implode()))
    grades: dict[str, dict[str, int]] = {}
    for item, document, grade in wanted.select("item", "document", "grade").iter_rows():
        grades.setdefault(item, {})[document] = grade
    return [grades.get(item, {}) for item in items]


def order_by_score(table: pl.DataFrame, qrels: pl.DataFrame) -> tuple[pl.DataFrame, RankedLists]:
    """Ranked lists from a table `system, item, document, score`, as trec_eval orders them.

    Scores are compared as float32, highest first; equal ones by document id, last in byte order first.
    Returns a table `system, item`, one row per list and sorted, and the lists. Every item must be judged.
    """
    (systems,), system_names = _codes(table["system"])
    (documents, judged), names = _codes(table["document"], qrels["document"])
    topics = qrels["item"].unique().sort()
    keys = systems.astype(np.int64) * len(topics) + _places(table["item"], topics)
    order = _order(keys, table["score"].to_numpy().astype(np.float32), documents)
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    own_system, own_topic = np.divmod(keys[starts], len(topics))
    index = pl.DataFrame({"system": system_names.gather(own_system), "item": topics.gather(own_topic)})
    judgements = _Judged(_places(qrels["item"], topics), judged, _grades(qrels), len(topics), len(names))
    offsets = np.append(starts, len(keys)).astype(np.int64)
    return index, judgements.lists(offsets, documents[order], own_topic, names)


def _order(lists: LongArray, scores: NDArray[np.float32], documents: Codes) -> LongArray:
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


class _Judged:
    """Judgements in arrays: for each, the topic, the document and the grade, grouped by topic."""

    def __init__(self, topics: LongArray, documents: Codes, grades: Codes, count: int, names: int) -> None:
        small = topics.astype(np.uint16) if count <= 65_536 else topics  # radix sort, where it is possible
        order = np.argsort(small, kind="stable")
        self.offsets = _offsets(np.bincount(topics, minlength=count))
        self.documents, self.grades, self.names = documents[order], grades[order], names

    def lists(self, offsets: LongArray, documents: Codes, topics: LongArray, names: pl.Series) -> RankedLists:
        """Lists of these documents with the grade of each looked up."""
        grades = _look_up(offsets, documents, topics, self.offsets, self.documents, self.grades, self.names)
        ideal, starts = _highest_first(self.offsets, self.grades)
        return RankedLists(offsets, documents, grades, topics, Judgements(starts, ideal), names)


def _places(items: pl.Series, topics: pl.Series) -> LongArray:
    """The place of each item among the judged ones."""
    codes = items.cast(pl.Enum(topics), strict=False).to_physical()
    if codes.has_nulls():
        raise InputError(f"there are no judgements for item {items.filter(codes.is_null())[0]}.")
    return codes.to_numpy().astype(np.int64)


def _grades(qrels: pl.DataFrame) -> Codes:
    return qrels["grade"].to_numpy().astype(np.int32)


def _codes(*columns: pl.Series) -> tuple[tuple[Codes, ...], pl.Series]:
    """Codes that sort as the texts do in byte order, and the distinct texts in that order."""
    names = pl.concat([column.unique() for column in columns]).unique().sort()
    kind = pl.Enum(names)
    return tuple(column.cast(kind).to_physical().to_numpy().astype(np.int32) for column in columns), names


def _offsets(lengths: NDArray[np.integer]) -> LongArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@kernel
def _look_up(
    offsets: LongArray,
    documents: Codes,
    topics: LongArray,
    judged_offsets: LongArray,
    judged_documents: Codes,
    judged_grades: Codes,
    names: int,
) -> Codes:
    """The grade of each listed document; −1 where its topic has none, or a negative one."""
    found = np.empty(len(documents), np.int32)
    grade = np.empty(names, np.int32)
    known_for = np.full(names, -1, np.int64)  # the topic that a document's entry in `grade` belongs to
    for i in range(len(topics)):
        topic = topics[i]
        if i == 0 or topics[i - 1] != topic:
            for entry in range(judged_offsets[topic], judged_offsets[topic + 1]):
                grade[judged_documents[entry]] = judged_grades[entry]
                known_for[judged_documents[entry]] = topic
        for entry in range(offsets[i], offsets[i + 1]):
            document = documents[entry]
            found[entry] = max(grade[document], UNJUDGED) if known_for[document] == topic else UNJUDGED
    return found


@kernel
def _highest_first(offsets: LongArray, grades: Codes) -> tuple[Codes, LongArray]:
    """The grades of each topic that are not negative, highest first, and where each topic starts."""
    ordered = np.empty(len(grades), np.int32)
    starts = np.zeros(len(offsets), np.int64)
    end = 0
    for topic in range(len(offsets) - 1):
        own = np.sort(grades[offsets[topic] : offsets[topic + 1]])
        for place in range(len(own) - 1, -1, -1):
            if own[place] < 0:
                break
            ordered[end] = own[place]
            end += 1
        starts[topic + 1] = end
    return ordered[:end].copy(), starts


@kernel
def _gather(values: Codes, offsets: LongArray, rows: LongArray, new_offsets: LongArray) -> Codes:
    """The entries of the lists in these rows, one list after the other."""
    gathered = np.empty(new_offsets[-1], np.int32)
    for i in range(len(rows)):
        start, new = offsets[rows[i]], new_offsets[i]
        for place in range(new_offsets[i + 1] - new):
            gathered[new + place] = values[start + place]
    return gathered
