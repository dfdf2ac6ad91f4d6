"""Search the pairs of a run: find those that match a query, count how often metrics are right on them, and
read one page.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.errors import UnknownName
from metassay.results.pair_explorer import OUTCOMES, PAIRS_PER_PAGE, MatchingPairs, PairPage, PairQuery
from metassay.stats.arrays import count_joint_occurrences, find_positions_of_lowest, find_true_positions
from metassay.workflows.pair_table import (
    OUTCOME_CODES,
    ROWS_PER_READ,
    UNDEFINED,
    PairTable,
    report_unreadable_file,
)

# Pairs that are searched for a text at a time.
SEARCH_PART = 2**19
# Pairs that are listed when they are ordered by margin.
LISTED_BY_MARGIN = 10_000
# Metrics that are shown if none were chosen.
SHOWN_METRICS = 6
ORDERS = ("", "worst", "best")
# Bytes of matching rows that are kept for the next page of the same query.
CACHED_ROWS = 16 * 2**20
# Orders, and tables of two metrics, that are kept.
CACHED_RESULTS = 16

Rows = NDArray[np.uint32]
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class OtherRun:
    """A second run, which a user compares with the run whose pairs are shown."""

    table: PairTable
    rows: NDArray[np.int64]
    """For each pair of this run its row in the other run, −1 where it is absent."""


class PairExplorer:
    """Searches the pairs of one run, for the dashboard. The results of recent queries are cached."""

    def __init__(self, pair_table: PairTable) -> None:
        self.table = pair_table
        self._matching: OrderedDict[tuple[PairQuery, str], MatchingPairs] = OrderedDict()
        self._orders: OrderedDict[tuple[PairQuery, str, str], Rows] = OrderedDict()
        self._joint_outcomes: OrderedDict[tuple[PairQuery, str], dict[tuple[str, str], int]] = OrderedDict()
        self._rows_with_text: tuple[tuple[str, int], Rows] | None = None
        self._other_run: OtherRun | None = None

    def read_search_result_page(
        self, search_query: PairQuery, compared_table: PairTable | None = None
    ) -> PairPage:
        """Read one page of the pairs that match a query. Returns also how often each metric is right, wrong
        or tied on all matching pairs.

        `compared_table` has the pairs of the run that the query compares with.
        """
        if search_query.text:
            # The number comes from an address and may be too high: the page shows which part was searched.
            search_query = replace(
                search_query, part=self._compute_row_range_for_text_search(search_query)[0] // SEARCH_PART + 1
            )
        else:
            search_query = replace(search_query, part=1)
        _reject_unknown_names_in_query(search_query, self.table, compared_table or self.table)
        with report_unreadable_file(self.table.file):
            other_run = None if compared_table is None else self._find_pairs_in_other_run(compared_table)
            shown_metrics = self.choose_shown_metrics(search_query)
            matching = self._find_matching_pairs(search_query, other_run)
            self._count_right_and_wrong_pairs(matching, shown_metrics)
            order = self._sort_pairs_by_margin(search_query, matching, other_run)
            joint_outcomes = self._count_joint_outcomes(search_query, other_run)
        listed = matching.count if order is None else len(order)
        # Negated floor division rounds up.
        last_page = max(1, -(-listed // PAIRS_PER_PAGE))
        page = min(search_query.page, last_page)
        first = (page - 1) * PAIRS_PER_PAGE
        last = min(first + PAIRS_PER_PAGE, listed)
        listed_rows = matching.rows if order is None else order
        # Without filters, all rows match, and no array of them is made.
        rows = list(range(first, last)) if listed_rows is None else listed_rows[first:last].tolist()
        pairs = self.table.read_output_pairs_at_rows(rows, shown_metrics)
        pairs_in_other_run = []
        common_pairs = None
        if other_run is not None:
            other_rows = [int(other_run.rows[row]) for row in rows]
            other_metrics = [search_query.other_metric] if search_query.other_metric else []
            pairs_in_other_run = other_run.table.read_output_pairs_at_rows(other_rows, other_metrics)
            common_pairs = int((other_run.rows >= 0).sum())
        return PairPage(
            query=replace(search_query, page=page),
            matching=matching,
            listed=listed,
            pairs=[pair for pair in pairs if pair is not None],
            pairs_in_other_run=[pair for pair in pairs_in_other_run if pair is not None],
            joint_outcomes=joint_outcomes,
            common_pairs=common_pairs,
        )

    def choose_shown_metrics(self, search_query: PairQuery) -> list[str]:
        """Return the metrics whose scores the page shows. The query may name them.

        If it names none, these are the metrics by which it filters, and the first metrics of the run.
        """
        if search_query.shown:
            return list(search_query.shown)
        named = [
            name for name in (search_query.metric, search_query.other_metric) if name in self.table.metrics
        ]
        metrics = list(dict.fromkeys([*named, *self.table.compared_metrics]))
        return metrics[: max(SHOWN_METRICS, len(named))]

    @property
    def part_count_for_text_search(self) -> int:
        """The number of parts into which a large run is divided to search texts. One query
        searches one part.
        """
        return max(1, -(-self.table.total // SEARCH_PART))

    def _find_pairs_in_other_run(self, other_pair_table: PairTable) -> OtherRun:
        """Find the row of each pair in another run, which the user compares with this one."""
        # Matching the pairs of two runs is a join over all of them, so the latest one is kept.
        if self._other_run is None or self._other_run.table is not other_pair_table:
            self._other_run = OtherRun(other_pair_table, self.table.find_rows_in_other_run(other_pair_table))
        return self._other_run

    def _find_matching_pairs(self, search_query: PairQuery, other_run: OtherRun | None) -> MatchingPairs:
        """Find the pairs that pass all filters of a query."""
        key = (search_query.filters_without_page, _get_path_of_other_run(other_run))
        if key in self._matching:
            self._matching.move_to_end(key)
            return self._matching[key]
        mask = self._find_pairs_passing_filters(
            search_query, filter_by_outcome=True, filter_by_other_outcome=other_run is None
        )
        rows: Rows | None = None
        if search_query.text:
            rows = self._find_rows_with_searched_text(search_query)
            if mask is not None:
                rows = rows[mask[rows]]
        elif mask is not None:
            rows = find_true_positions(mask)
        if other_run is not None:
            all_rows = np.arange(self.table.total, dtype=np.uint32)
            rows = _select_rows_shared_with_other_run(
                all_rows if rows is None else rows, search_query, other_run
            )
        matching = MatchingPairs(
            count=self.table.total if rows is None else len(rows),
            rows=rows,
            outcome_counts={},
            searched_rows=self._compute_row_range_for_text_search(search_query)
            if search_query.text
            else None,
        )
        self._matching[key] = matching
        # The latest answer stays, even if it alone exceeds the limit: its next pages need it.
        while (
            len(self._matching) > 1
            and sum(map(_estimate_memory_of_search_result, self._matching.values())) > CACHED_ROWS
        ):
            self._matching.popitem(last=False)
        return matching

    def _compute_row_range_for_text_search(self, search_query: PairQuery) -> tuple[int, int]:
        """Return the first and the last row number of the part of the run in which a query
        searches a text.
        """
        first_of_last_part = (self.table.total - 1) // SEARCH_PART * SEARCH_PART
        first = min((search_query.part - 1) * SEARCH_PART, first_of_last_part)
        return first, min(first + SEARCH_PART, self.table.total) - 1

    def _find_rows_with_searched_text(self, search_query: PairQuery) -> Rows:
        """Find the pairs of which one output contains the searched text, within one part of the run. Returns
        row numbers.
        """
        first, last = self._compute_row_range_for_text_search(search_query)
        key = (search_query.text, first)
        if self._rows_with_text is None or self._rows_with_text[0] != key:
            contains_text = pl.any_horizontal(
                _build_text_search_expression(self.table, column, search_query.text)
                for column in ("output", "worse")
            )
            part = self.table.texts.slice(first, last - first + 1).filter(contains_text)
            rows = part.select("row").collect().to_series().to_numpy()
            self._rows_with_text = (key, rows)
        return self._rows_with_text[1]

    def _find_pairs_passing_filters(
        self, search_query: PairQuery, *, filter_by_outcome: bool, filter_by_other_outcome: bool
    ) -> NDArray[np.bool_] | None:
        """Return for every pair whether it passes the filters of a query, except for the searched text.
        Returns None if there are no such filters.

        A query may filter by the outcomes of two metrics. These filters are applied only with
        `filter_by_outcome` and `filter_by_other_outcome`.
        """
        filters = {
            "system": search_query.system,
            "perturbation": search_query.perturbation,
            f"context/{search_query.column}": search_query.context if search_query.column else "",
            "item": search_query.item,
        }
        masks = [self.table.find_pairs_with_value(column, name) for column, name in filters.items() if name]
        if filter_by_outcome and search_query.metric and search_query.outcome:
            masks.append(self.table.read_outcomes(search_query.metric) == OUTCOME_CODES[search_query.outcome])
        if filter_by_other_outcome and search_query.other_metric and search_query.other_outcome:
            masks.append(
                self.table.read_outcomes(search_query.other_metric)
                == OUTCOME_CODES[search_query.other_outcome]
            )
        if not masks:
            return None
        combined = masks[0]
        for mask in masks[1:]:
            # In place, because a mask of a large run takes megabytes. All masks are new arrays.
            combined &= mask
        return combined

    def _count_right_and_wrong_pairs(self, matching_pairs: MatchingPairs, metrics: Sequence[str]) -> None:
        """Count how often each metric is right, wrong or tied on the matching pairs. The counts are stored in
        `matching_pairs`.
        """
        for metric in metrics:
            if metric in matching_pairs.outcome_counts:
                continue
            outcomes = self.table.read_outcomes(metric)
            if matching_pairs.rows is not None:
                outcomes = outcomes[matching_pairs.rows]
            matching_pairs.outcome_counts[metric] = {
                name: int(np.count_nonzero(outcomes == code)) for name, code in OUTCOME_CODES.items()
            }

    def _sort_pairs_by_margin(
        self, search_query: PairQuery, matching_pairs: MatchingPairs, other_run: OtherRun | None
    ) -> Rows | None:
        """Sort the matching pairs by margin, which is the score of the better output minus that of the worse
        one. Returns the first rows, or None if the query does not sort.
        """
        if not search_query.order or not search_query.metric:
            return None
        key = (search_query.filters_without_page, search_query.order, _get_path_of_other_run(other_run))
        if key not in self._orders:
            sign = 1 if search_query.order == "worst" else -1
            best_rows = np.empty(0, dtype=np.uint32)
            best_margins = np.empty(0)
            for number, margins in enumerate(self.table.read_margins(search_query.metric)):
                start = number * ROWS_PER_READ
                stop = start + len(margins)
                rows = np.arange(start, stop, dtype=np.uint32)
                if matching_pairs.rows is not None:
                    # The matching rows are sorted, so those in this block are a slice.
                    rows = matching_pairs.rows[slice(*np.searchsorted(matching_pairs.rows, (start, stop)))]
                candidate_rows = np.concatenate([best_rows, rows])
                candidate_margins = np.concatenate([best_margins, sign * margins[rows - start]])
                chosen = find_positions_of_lowest(candidate_margins, LISTED_BY_MARGIN)
                best_rows = candidate_rows[chosen]
                best_margins = candidate_margins[chosen]
            _add_to_bounded_cache(self._orders, key, best_rows)
        return self._orders[key]

    def _count_joint_outcomes(
        self, search_query: PairQuery, other_run: OtherRun | None
    ) -> dict[tuple[str, str], int]:
        """Count on how many pairs two metrics are both right, both wrong, one right and the other wrong, and
        so on.
        """
        if not search_query.metric or not search_query.other_metric:
            return {}
        # The table of two metrics counts all outcomes, so that both outcomes are no filter here.
        key = (
            replace(search_query.filters_without_page, outcome="", other_outcome=""),
            _get_path_of_other_run(other_run),
        )
        if key not in self._joint_outcomes:
            mask = self._find_pairs_passing_filters(
                search_query, filter_by_outcome=False, filter_by_other_outcome=False
            )
            if search_query.text:
                has_text = np.zeros(self.table.total, dtype=np.bool_)
                has_text[self._find_rows_with_searched_text(search_query)] = True
                mask = has_text if mask is None else mask & has_text
            outcomes = self.table.read_outcomes(search_query.metric)
            other_table = self.table if other_run is None else other_run.table
            other_outcomes = other_table.read_outcomes(search_query.other_metric)
            other_rows = None if other_run is None else other_run.rows
            counts = count_joint_occurrences(
                outcomes - UNDEFINED, other_outcomes - UNDEFINED, mask, other_rows
            )
            by_outcomes = {}
            for name, code in OUTCOME_CODES.items():
                for other_name, other_code in OUTCOME_CODES.items():
                    count = counts[code - UNDEFINED, other_code - UNDEFINED]
                    by_outcomes[name, other_name] = int(count)
            _add_to_bounded_cache(self._joint_outcomes, key, by_outcomes)
        return self._joint_outcomes[key]


def _get_path_of_other_run(other_run: OtherRun | None) -> str:
    """Return the path of the pair file of the other run, or an empty text if there is no other run."""
    return "" if other_run is None else str(other_run.table.file)


def _add_to_bounded_cache(cache: OrderedDict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    """Add a value to a cache. If the cache has become too large, the oldest values are removed."""
    cache[key] = value
    while len(cache) > CACHED_RESULTS:
        cache.popitem(last=False)


def _reject_unknown_names_in_query(
    search_query: PairQuery, pair_table: PairTable, other_table: PairTable
) -> None:
    """Raise `UnknownName` if a query names a metric, a column, an outcome or an order that does not exist."""
    names: list[tuple[str, str, Sequence[str]]] = [
        ("metric", search_query.metric, pair_table.metrics),
        ("metric", search_query.other_metric, other_table.metrics),
        ("context column", search_query.column, pair_table.context_columns),
        ("outcome", search_query.outcome, OUTCOMES),
        ("outcome", search_query.other_outcome, OUTCOMES),
        ("order", search_query.order, ORDERS),
        *(("metric", name, pair_table.metrics) for name in search_query.shown),
    ]
    for kind, name, known in names:
        if name and name not in known:
            raise UnknownName(kind, name, known)


def _build_text_search_expression(pair_table: PairTable, column: str, searched_text: str) -> pl.Expr:
    """Build a Polars expression that is true for rows whose column contains the searched text. Case is
    ignored.
    """
    texts = pl.col(column)
    if pair_table.texts.collect_schema()[column] != pl.String:
        texts = texts.cast(pl.List(pl.String)).list.join(" ")
    # The literal search of Polars cannot ignore case.
    return texts.str.contains(f"(?i){re.escape(searched_text)}").fill_null(value=False)


def _select_rows_shared_with_other_run(pair_rows: Rows, search_query: PairQuery, other_run: OtherRun) -> Rows:
    """Select the pairs that another run has too. If the query filters by the outcome there, only pairs with
    this outcome are selected.
    """
    common_rows = pair_rows[other_run.rows[pair_rows] >= 0]
    if not search_query.other_metric or not search_query.other_outcome:
        return common_rows
    outcomes = other_run.table.read_outcomes(search_query.other_metric)[other_run.rows[common_rows]]
    selected: Rows = common_rows[outcomes == OUTCOME_CODES[search_query.other_outcome]]
    return selected


def _estimate_memory_of_search_result(matching_pairs: MatchingPairs) -> int:
    """Estimate how many bytes of memory a list of matching pairs takes."""
    return 4096 if matching_pairs.rows is None else 4096 + matching_pairs.rows.nbytes
