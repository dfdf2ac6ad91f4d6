"""Which pairs of a run fit a question, how its metrics judge those, and a page of them."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.errors import UnknownName
from metassay.stats.arrays import count_code_pairs, find_lowest, find_positions
from metassay.workflows.pair_table import SAID, STRETCH, PairTable, readable

PER_PAGE = 20
WINDOW = 2**19
"""So many pairs are searched for a text at a time."""
LISTED = 10_000
"""So many pairs are listed in order of their margins."""
SHOWN = 6
"""So many metrics are shown where none were chosen."""
ORDERS = ("", "worst", "best")
_REMEMBERED = 16 * 2**20
"""Bytes of rows that fitted earlier questions about a run."""
_ORDERS = 16
"""So many orders of a run, and tables of two metrics, are remembered."""
Rows = NDArray[np.uint32]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """What a person wants to see: empty fields ask for nothing. An address carries exactly these."""

    metric: str = ""
    said: str = ""
    run: str = ""
    """The run in which the second metric is looked up; empty for the same."""
    metric2: str = ""
    said2: str = ""
    column: str = ""
    context: str = ""
    method: str = ""
    system: str = ""
    item: str = ""
    text: str = ""
    order: str = ""
    part: int = 1
    """Of the parts that are searched for a text one after the other."""
    page: int = 1
    show: tuple[str, ...] = ()
    """The metrics whose scores are shown; empty for all that were assayed."""

    @classmethod
    def of(cls, values: Mapping[str, Sequence[str]]) -> Self:
        """The question that the values of a query ask; names that mean nothing here are left alone."""
        found: dict[str, Any] = {}
        for each in fields(cls):
            given = [value for value in values.get(each.name, ()) if value]
            if given and each.name == "show":
                found["show"] = tuple(dict.fromkeys(given))
            elif given and each.name in {"part", "page"}:
                found[each.name] = int(given[0]) if re.fullmatch(r"[1-9][0-9]{0,8}", given[0]) else 1
            elif given:
                found[each.name] = given[0]
        return cls(**found)

    def to_query(self) -> list[tuple[str, str]]:
        """Names and values of what is asked, in a fixed order."""
        plain = [(each.name, getattr(self, each.name)) for each in fields(self) if each.name != "show"]
        kept = [(name, str(value)) for name, value in plain if value not in {"", 1}]
        return [*kept, *(("show", name) for name in self.show)]

    def shown(self, table: PairTable) -> list[str]:
        """The metrics whose judgements are shown: those chosen, else the first of the run."""
        chosen = [name for name in (self.metric, self.metric2) if name in table.metrics]
        every = list(dict.fromkeys([*chosen, *table.assayed]))
        return list(self.show) or every[: max(SHOWN, len(chosen))]

    @property
    def filters(self) -> Self:
        """The same without what decides only which of the fitting pairs are shown, and how."""
        return replace(self, order="", page=1, show=())


@dataclass(frozen=True)
class Fitting:
    """The pairs that fit a question."""

    count: int
    rows: Rows | None
    """Their rows, ascending; None where they are all pairs of the run."""
    tallies: dict[str, dict[str, int]]
    """By metric, how many of them it judged right, tie, wrong or undefined."""
    searched: tuple[int, int] | None = None
    """The first and last row that were searched for a text, from 0; None where none was asked for."""


@dataclass(frozen=True)
class Explored:
    """A page of the pairs that fit a question."""

    question: Question
    fitting: Fitting
    listed: int
    """How many of the fitting pairs the pages show: in order of margins not more than `LISTED`."""
    pairs: list[dict[str, Any]]
    cross: dict[tuple[str, str], int] = field(default_factory=dict)
    """How often the two metrics said what, by (first, second), whatever was asked of what they said."""
    matched: int | None = None
    """How many pairs of the run the other run has too."""

    @property
    def pages(self) -> int:
        """How many pages the listed pairs fill."""
        return max(1, -(-self.listed // PER_PAGE))


class Explorer:
    """Answers questions about the pairs of a run, and remembers the latest answers."""

    def __init__(self, table: PairTable) -> None:
        self.table = table
        self.known: OrderedDict[tuple[Question, str], Fitting] = OrderedDict()
        self.compared: tuple[PairTable, Places] | None = None
        self.found: tuple[tuple[str, int], Rows] | None = None
        self.ordered: OrderedDict[tuple[Question, str, str], Rows] = OrderedDict()
        self.crossed: OrderedDict[tuple[Question, str], dict[tuple[str, str], int]] = OrderedDict()

    def explore(self, question: Question, other: PairTable | None = None) -> Explored:
        """The page of pairs that a question asks for; `other` is the run of the second metric."""
        question = replace(question, part=self._part(question)[0] // WINDOW + 1 if question.text else 1)
        _check_names(question, self.table, self.table if other is None else other)
        with readable(self.table.file):
            there = None if other is None else self._places(other)
            shown = question.shown(self.table)
            fitting = self._fitting(question, other, there)
            self._tally(fitting, shown)
            order = self._order(question, fitting, other)
            cross = self._cross(question, other, there)
        listed = fitting.count if order is None else len(order)
        first = min((question.page - 1) * PER_PAGE, max(0, (listed - 1) // PER_PAGE * PER_PAGE))
        span = slice(first, min(first + PER_PAGE, listed))
        chosen = fitting.rows if order is None else order
        rows = list(range(span.start, span.stop)) if chosen is None else chosen[span].tolist()
        pairs = self.table.read(rows, shown)
        if other is not None and there is not None:
            copies = other.read([int(there[row]) for row in rows], [question.metric2])
            pairs = [{**pair, "there": copy} for pair, copy in zip(pairs, copies)]
        asked = replace(question, page=first // PER_PAGE + 1)
        matched = None if there is None else int((there >= 0).sum())
        return Explored(asked, fitting, listed, pairs, cross, matched)

    def _places(self, other: PairTable) -> Places:
        """For each pair its row in the other run, −1 where there is none; found once."""
        if self.compared is None or self.compared[0] is not other:
            self.compared = (other, self.table.matching(other))
        return self.compared[1]

    def _fitting(self, question: Question, other: PairTable | None, there: Places | None) -> Fitting:
        key = (question.filters, "" if other is None else str(other.file))
        if (known := self.known.get(key)) is not None:
            self.known.move_to_end(key)
            return known
        mask = self._mask(question, second=other is None)
        rows: Rows | None = None
        if question.text:
            rows = self._holding(question)
            rows = rows if mask is None else rows[mask[rows]]
        elif mask is not None:
            rows = find_positions(mask)
        if other is not None and there is not None:
            every = np.arange(self.table.total, dtype=np.uint32)
            rows = _judged_there(every if rows is None else rows, question, other, there)
        searched = self._part(question) if question.text else None
        found = Fitting(self.table.total if rows is None else len(rows), rows, {}, searched)
        self.known[key] = found
        while len(self.known) > 1 and sum(map(_size, self.known.values())) > _REMEMBERED:
            self.known.popitem(last=False)
        return found

    def _part(self, question: Question) -> tuple[int, int]:
        """The first and last row of the part that is searched for a text."""
        first = min((question.part - 1) * WINDOW, (self.table.total - 1) // WINDOW * WINDOW)
        return first, min(first + WINDOW, self.table.total) - 1

    def _holding(self, question: Question) -> Rows:
        """The rows of the searched part that hold the text."""
        first, last = self._part(question)
        key = (question.text, first)
        if self.found is None or self.found[0] != key:
            either = pl.any_horizontal(
                _holds(self.table, side, question.text) for side in ("output", "worse")
            )
            part = self.table.texts.slice(first, last - first + 1).filter(either)
            self.found = (key, part.select("row").collect().to_series().to_numpy())
        return self.found[1]

    def _mask(self, question: Question, *, judged: bool = True, second: bool) -> NDArray[np.bool_] | None:
        """Which pairs are as asked, but for their text; without `judged`, whatever the metrics said."""
        named = {
            "system": question.system,
            "perturbation": question.method,
            f"in/{question.column}": question.context if question.column else "",
            "item": question.item,
        }
        tests = [self.table.where(name, value) for name, value in named.items() if value]
        if judged and question.metric and question.said:
            tests.append(self._said(question.metric, question.said))
        if judged and second and question.metric2 and question.said2:
            tests.append(self._said(question.metric2, question.said2))
        for other in tests[1:]:
            tests[0] &= other
        return tests[0] if tests else None

    def _said(self, metric: str, said: str) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.table.said(metric) == _CODES[said]
        return found

    def _tally(self, fitting: Fitting, metrics: Sequence[str]) -> None:
        """Count what these metrics said of the fitting pairs, where that is not known yet."""
        for metric in metrics:
            if metric not in fitting.tallies:
                said = self.table.said(metric)
                own = said if fitting.rows is None else said[fitting.rows]
                counts = {name: int(np.count_nonzero(own == code)) for name, code in _CODES.items()}
                fitting.tallies[metric] = counts

    def _order(self, question: Question, fitting: Fitting, other: PairTable | None) -> Rows | None:
        """The rows of the widest margins in order, undefined ones last; None where pairs come as they are."""
        if not question.order or not question.metric:
            return None
        key = (question.filters, question.order, "" if other is None else str(other.file))
        if key not in self.ordered:
            sign = 1 if question.order == "worst" else -1
            best, values = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.float32)
            for number, margins in enumerate(self.table.margins(question.metric)):
                start, stop = number * STRETCH, number * STRETCH + len(margins)
                own = np.arange(start, stop, dtype=np.uint32) if fitting.rows is None else fitting.rows
                own = own[slice(*np.searchsorted(own, (start, stop)))]
                both = np.concatenate([best, own]), np.concatenate([values, sign * margins[own - start]])
                chosen = find_lowest(both[1], LISTED)
                best, values = both[0][chosen], both[1][chosen]
            _remember(self.ordered, key, best)
        return self.ordered[key]

    def _cross(
        self, question: Question, other: PairTable | None, there: Places | None
    ) -> dict[tuple[str, str], int]:
        """How often the two metrics said what, over the pairs that fit the other filters."""
        if not question.metric or not question.metric2:
            return {}
        asked = replace(question.filters, said="", said2="")
        key = (asked, "" if other is None else str(other.file))
        if key not in self.crossed:
            mask = self._mask(question, judged=False, second=False)
            if question.text:
                holding = np.zeros(self.table.total, dtype=np.bool_)
                holding[self._holding(question)] = True
                mask = holding if mask is None else mask & holding
            mine = self.table.said(question.metric)
            theirs = (other or self.table).said(question.metric2)
            counts = count_code_pairs(mine + 2, theirs + 2, mask, there)
            said = {(a, b): int(counts[i + 2, j + 2]) for a, i in _CODES.items() for b, j in _CODES.items()}
            _remember(self.crossed, key, said)
        return self.crossed[key]


_CODES = {name: -2 if code is None else code for name, code in SAID.items()}
"""What metrics said, as columns in memory have it."""


def _remember(known: OrderedDict[Any, Any], key: Any, found: Any) -> None:
    known[key] = found
    while len(known) > _ORDERS:
        known.popitem(last=False)


def _check_names(question: Question, here: PairTable, there: PairTable) -> None:
    asked: list[tuple[str, str, Sequence[str]]] = [
        ("metric", question.metric, here.metrics),
        ("metric", question.metric2, there.metrics),
        ("context column", question.column, here.columns),
        ("judgement", question.said, list(SAID)),
        ("judgement", question.said2, list(SAID)),
        ("order", question.order, ORDERS),
        *(("metric", name, here.metrics) for name in question.show),
    ]
    for kind, name, known in asked:
        if name and name not in known:
            raise UnknownName(kind, name, known)


def _holds(table: PairTable, side: str, text: str) -> pl.Expr:
    """Whether a text, or one of a list of them, holds these characters, in capitals or not."""
    column = pl.col(side)
    if table.texts.collect_schema()[side] != pl.String:
        column = column.cast(pl.List(pl.String)).list.join(" ")
    return column.str.contains(f"(?i){re.escape(text)}").fill_null(value=False)


def _judged_there(rows: Rows, question: Question, other: PairTable, there: Places) -> Rows:
    """Those of the rows that the other run has too, and judges as asked."""
    kept = rows[there[rows] >= 0]
    if not question.metric2 or not question.said2:
        return kept
    code = _CODES[question.said2]
    found: Rows = kept[other.said(question.metric2)[there[kept]] == code]
    return found


def _size(fitting: Fitting) -> int:
    return 4096 if fitting.rows is None else 4096 + fitting.rows.nbytes
