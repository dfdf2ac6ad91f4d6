"""Ranked lists as arrays: relevance looked up once, every later question answered from grades alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.stats.arrays import LongArray

Codes = NDArray[np.int32]
# The grade of a retrieved document that nobody judged.
UNJUDGED = -1


@dataclass(frozen=True)
class Judgements:
    """The relevance grades of all judged documents of each topic, highest first. Negative grades are left
    out.

    `grades[offsets[t]:offsets[t + 1]]` are those of topic t.
    """

    offsets: LongArray
    grades: Codes


@dataclass(frozen=True)
class RankedLists(Sequence[tuple[str, ...]]):
    """Ranked lists of documents, best first, with the relevance grade of every document. They are stored as
    arrays of integers to save memory.

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
            return self.select_lists(np.asarray(rows, dtype=np.int64))
        return tuple(self.names.gather(self.documents[self.offsets[rows] : self.offsets[rows + 1]]))

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        names = self.names.to_list()
        bounds = self.offsets.tolist()
        for start, end in pairwise(bounds):
            yield tuple(names[code] for code in self.documents[start:end].tolist())

    def select_lists(self, row_numbers: LongArray) -> RankedLists:
        """Return the ranked lists with the given row numbers, in the order of the numbers."""
        from metassay.data.ranked_list_kernels import select_lists_by_row

        offsets = _compute_list_offsets(np.diff(self.offsets)[row_numbers])
        return replace(
            self,
            offsets=offsets,
            documents=select_lists_by_row(self.documents, self.offsets, row_numbers, offsets),
            grades=select_lists_by_row(self.grades, self.offsets, row_numbers, offsets),
            topics=self.topics[row_numbers],
        )

    def reorder_documents(self, document_order: LongArray) -> RankedLists:
        """Return the ranked lists with the documents inside each list in the given order.

        `document_order` has positions in all lists together; no document may change its list.
        """
        return replace(self, documents=self.documents[document_order], grades=self.grades[document_order])

    def to_series(self) -> pl.Series:
        """Return a Polars column with the list of document ids of each row."""
        import pyarrow as pa

        coded = pa.DictionaryArray.from_arrays(pa.array(self.documents), self.names.to_arrow())
        return pl.Series(
            "output", pl.from_arrow(pa.LargeListArray.from_arrays(pa.array(self.offsets), coded))
        )

    @property
    def lengths(self) -> LongArray:
        """The number of documents in each list."""
        return np.diff(self.offsets)

    def join_document_ids(self) -> pl.Series:
        """Return each list as one text, in which the document ids are separated by NUL characters."""
        return self.to_series().cast(pl.List(pl.String)).list.join("\0")

    @property
    def has_relevant_document(self) -> NDArray[np.bool_]:
        """For each list, whether it contains a relevant document, that is one with grade 1 or more."""
        # Relevant documents before each position: their difference counts those of a list.
        before = np.concatenate([[0], np.cumsum(self.grades > 0)])
        return np.asarray(before[self.offsets[1:]] > before[self.offsets[:-1]])


def build_ranked_lists(items: pl.Series, outputs: pl.Series, qrels: pl.DataFrame) -> RankedLists:
    """Build ranked lists from lists of document ids, best first. The relevance grades come from `qrels`, a
    table `item, document, grade`.
    """
    lengths = outputs.list.len().to_numpy().astype(np.int64)
    document_ids = outputs.filter(pl.Series(lengths > 0)).explode()
    if document_ids.dtype != pl.String:
        document_ids = document_ids.cast(pl.String)
    (documents, judged), names = _encode_texts_as_sorted_integers(document_ids, qrels["document"])
    topics = qrels["item"].unique().sort()
    judgements = _JudgementTable(qrels, topics, judged, len(names))
    return judgements.build_lists_with_grades(
        _compute_list_offsets(lengths), documents, _find_topic_numbers(items, topics), names
    )


def build_ranked_lists_from_dicts(
    ranked_documents: Sequence[Sequence[str]], grades_by_document: Sequence[Mapping[str, int]]
) -> RankedLists:
    """Build ranked lists from lists of document ids, best first. Each list comes with a dictionary from
    document ids to relevance grades.
    """
    # Equal items share one mapping object, so that identity finds the distinct ones without comparing them.
    distinct = {id(grades): grades for grades in grades_by_document}
    names = {key: str(position) for position, key in enumerate(distinct)}
    rows = []
    for key, grades in distinct.items():
        for document, grade in grades.items():
            rows.append((names[key], document, grade))
        if not grades:
            # A topic without judgements needs a row, or it would be unknown.
            rows.append((names[key], "", UNJUDGED))
    return build_ranked_lists(
        pl.Series([names[id(grades)] for grades in grades_by_document], dtype=pl.String),
        pl.Series([list(output) for output in ranked_documents], dtype=pl.List(pl.String)),
        pl.DataFrame(
            rows, schema={"item": pl.String, "document": pl.String, "grade": pl.Int32}, orient="row"
        ),
    )


def build_grades_by_document(items: pl.Series, qrels: pl.DataFrame) -> list[Mapping[str, int]]:
    """Build a dictionary from document ids to relevance grades for each item. Equal items share one
    dictionary.
    """
    judgements = qrels.filter(pl.col("item").is_in(items.unique().implode()))
    grades: dict[str, dict[str, int]] = {}
    for item, document, grade in judgements.select("item", "document", "grade").iter_rows():
        grades.setdefault(item, {})[document] = grade
    return [grades.get(item, {}) for item in items]


def sort_documents_into_ranked_lists(
    table: pl.DataFrame, qrels: pl.DataFrame
) -> tuple[pl.DataFrame, RankedLists]:
    """Sort retrieved documents into ranked lists by their scores, as trec_eval does.

    `table` has the columns `system, item, document, score`. Scores are compared as float32, highest first;
    equal ones by document id, last in byte order first. Returns a table `system, item`, one row per list and
    sorted, and the lists. Every item must be judged.
    """
    (systems,), system_names = _encode_texts_as_sorted_integers(table["system"])
    (documents, judged), names = _encode_texts_as_sorted_integers(table["document"], qrels["document"])
    topics = qrels["item"].unique().sort()
    keys = systems.astype(np.int64) * len(topics) + _find_topic_numbers(table["item"], topics)
    order = _find_sort_order_of_documents(keys, table["score"].to_numpy().astype(np.float32), documents)
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    system_of_list, topic_of_list = np.divmod(keys[starts], len(topics))
    index = pl.DataFrame(
        {"system": system_names.gather(system_of_list), "item": topics.gather(topic_of_list)}
    )
    judgements = _JudgementTable(qrels, topics, judged, len(names))
    offsets = np.append(starts, len(keys)).astype(np.int64)
    return index, judgements.build_lists_with_grades(offsets, documents[order], topic_of_list, names)


def _find_sort_order_of_documents(
    list_numbers: LongArray, scores: NDArray[np.float32], documents: Codes
) -> LongArray:
    """Return the order in which documents are sorted: by list, then by descending score, then by descending
    document id.
    """
    bits = (scores + np.float32(0)).view(np.int32).astype(np.int64)  # + 0 makes −0.0 equal to 0.0
    # The bits of a float, read as an integer, sort like the float; negative ones in reverse.
    ascending = np.where(bits >= 0, bits, np.int64(-0x80000000) - bits)
    # List and descending score in one integer: a single sort instead of one by two keys.
    keys = (list_numbers << 32) + (0x7FFFFFFF - ascending)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    same = np.concatenate([[False], keys[1:] == keys[:-1]])
    tied = same | np.concatenate([same[1:], [False]])
    # Few documents are tied, so that only these are sorted by document id.
    entries = order[tied]
    order[tied] = entries[np.lexsort((-documents[entries], keys[tied]))]
    return order


class _JudgementTable:
    """Relevance judgements grouped by topic, in which the grades of retrieved documents are looked up."""

    def __init__(
        self, qrels: pl.DataFrame, judged_topics: pl.Series, documents: Codes, document_count: int
    ) -> None:
        topics = _find_topic_numbers(qrels["item"], judged_topics)
        grades = qrels["grade"].to_numpy().astype(np.int32)
        # NumPy sorts 16-bit integers by a faster algorithm (radix sort).
        sort_keys = topics.astype(np.uint16) if len(judged_topics) <= 65_536 else topics
        order = np.argsort(sort_keys, kind="stable")
        self.offsets = _compute_list_offsets(np.bincount(topics, minlength=len(judged_topics)))
        self.documents = documents[order]
        self.grades = grades[order]
        self.document_count = document_count

    def build_lists_with_grades(
        self, list_offsets: LongArray, documents: Codes, topic_of_list: LongArray, document_ids: pl.Series
    ) -> RankedLists:
        """Build ranked lists from retrieved documents, adding the relevance grade of each document."""
        from metassay.data.ranked_list_kernels import look_up_grades_of_documents, sort_grades_of_topics

        grades = look_up_grades_of_documents(
            list_offsets,
            documents,
            topic_of_list,
            self.offsets,
            self.documents,
            self.grades,
            self.document_count,
        )
        ideal, starts = sort_grades_of_topics(self.offsets, self.grades)
        return RankedLists(
            list_offsets, documents, grades, topic_of_list, Judgements(starts, ideal), document_ids
        )


def _find_topic_numbers(items: pl.Series, judged_topics: pl.Series) -> LongArray:
    """Return the position of each item in the list of judged topics. An item without judgements is an
    error.
    """
    codes = items.cast(pl.Enum(judged_topics), strict=False).to_physical()
    if codes.has_nulls():
        raise InputError(f"there are no judgements for item {items.filter(codes.is_null())[0]}.")
    return codes.to_numpy().astype(np.int64)


def _encode_texts_as_sorted_integers(*columns: pl.Series) -> tuple[tuple[Codes, ...], pl.Series]:
    """Replace texts by integers that sort in the same order as the texts. Also returns the sorted distinct
    texts.
    """
    names = pl.concat([column.unique() for column in columns]).unique().sort()
    kind = pl.Enum(names)
    return tuple(column.cast(kind).to_physical().to_numpy().astype(np.int32) for column in columns), names


def _compute_list_offsets(list_lengths: NDArray[np.integer]) -> LongArray:
    """Compute the position at which each list starts if lists of these lengths are stored one after
    another.
    """
    return np.concatenate([[0], np.cumsum(list_lengths)]).astype(np.int64)
