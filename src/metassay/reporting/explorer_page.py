"""The page of `metassay serve` that shows the pairs of one run, with filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from metassay.metrics.labels import get_metric_labels
from metassay.reporting.dashboard_frame import render_dashboard_page
from metassay.reporting.pair_cards import build_pair_card
from metassay.reporting.wording import format_count, format_percent, format_percent_interval
from metassay.results.pair_explorer import (
    OUTCOMES,
    PAIRS_PER_PAGE,
    ContextAccuracy,
    ExplorerContent,
    PairQuery,
)

Labels = Mapping[str, str]

ORDERS = {"": "as in the run", "worst": "most wrong first", "best": "most right first"}
# A menu with more names than this is replaced by a text field.
LONGEST_MENU = 300


class LinkBuilder(Protocol):
    """A function that returns a link to the page of pairs with some of the current filters changed."""

    def __call__(self, **changes: Any) -> str:
        """Return a link to the page of pairs in which the given filters are changed."""


def render_pair_explorer_page(pair_explorer_content: ExplorerContent, build_link: LinkBuilder) -> str:
    """Render the dashboard page with those pairs of outputs of a run that match the filters of the user."""
    labels = get_metric_labels([*pair_explorer_content.metrics, *pair_explorer_content.other_metrics])
    query = pair_explorer_content.page.query
    chips = _list_removable_filters(query, labels, build_link)
    return render_dashboard_page(
        "explorer.html.j2",
        title=pair_explorer_content.run,
        view=pair_explorer_content,
        query=query,
        build_link=build_link,
        labels=labels,
        outcomes=OUTCOMES,
        orders=ORDERS,
        longest_menu=LONGEST_MENU,
        chips=chips,
        span=_format_range_of_listed_pairs(pair_explorer_content),
        searched=_describe_rows_searched_for_text(pair_explorer_content),
        outcome_rows=_build_outcome_share_rows(pair_explorer_content, labels, build_link),
        contexts=_build_accuracy_by_context_table(pair_explorer_content, labels, build_link),
        joint_table=_build_table_comparing_two_metrics(pair_explorer_content, build_link),
        pairs=_build_pair_cards(pair_explorer_content, labels),
        count=format_count,
    )


def _list_removable_filters(
    query: PairQuery, labels: Labels, build_link: LinkBuilder
) -> list[dict[str, str]]:
    """List the filters that the user has set, each with a link that removes it."""
    chips: list[dict[str, str]] = []

    def add_chip(text: str, kind: str = "", /, **without: Any) -> None:
        chips.append({"kind": kind, "text": text, "link_without": build_link(**without)})

    if query.metric:
        text = f"{labels.get(query.metric, query.metric)} {query.outcome}".strip()
        add_chip(text, metric="", outcome="", order="", part=1)
    if query.other_metric:
        text = f"{labels.get(query.other_metric, query.other_metric)} {query.other_outcome}".strip()
        if query.other_run:
            text += f" in {query.other_run}"
        add_chip(text, other_metric="", other_outcome="", part=1)
    if query.context and query.column:
        add_chip(f"{query.column}: {query.context}", context="", part=1)
    for name in ("perturbation", "system", "item"):
        value = getattr(query, name)
        if value:
            add_chip(value, name, **{name: "", "part": 1})
    if query.text:
        add_chip(f"“{query.text}”", text="", part=1)
    if query.other_run and not query.other_metric:
        add_chip(query.other_run, "also in", other_run="")
    return chips


def _format_range_of_listed_pairs(pair_explorer_content: ExplorerContent) -> str:
    """Write which of the matching pairs the page shows, for example `21–40`."""
    if not pair_explorer_content.page.listed:
        return ""
    first = (pair_explorer_content.page.query.page - 1) * PAIRS_PER_PAGE + 1
    last = min(first + PAIRS_PER_PAGE - 1, pair_explorer_content.page.listed)
    return f"{format_count(first)}–{format_count(last)}"


def _describe_rows_searched_for_text(pair_explorer_content: ExplorerContent) -> dict[str, Any] | None:
    """Return which rows of a large run were searched for a text. None if all rows were searched."""
    searched_rows = pair_explorer_content.page.matching.searched_rows
    if searched_rows is None or pair_explorer_content.search_parts == 1:
        return None
    first, last = searched_rows
    return {
        "first": format_count(first + 1),
        "last": format_count(last + 1),
        "part": pair_explorer_content.page.query.part,
        "parts": pair_explorer_content.search_parts,
    }


def _build_outcome_share_rows(
    pair_explorer_content: ExplorerContent, metric_labels: Labels, build_link: LinkBuilder
) -> list[dict[str, Any]]:
    """Build a table row for each metric with the shares of pairs in which it prefers the better output,
    neither, or the worse output.

    `bars` are start and width of the bar of each outcome, in per cent.
    """
    rows = []
    for metric in pair_explorer_content.shown_metrics:
        counts = pair_explorer_content.page.matching.outcome_counts.get(metric)
        if counts is None:
            continue
        # Without matching pairs, all shares are 0.
        total = max(1, sum(counts.values()))
        bars: dict[str, tuple[float, float]] = {}
        cells = {}
        start = 0.0
        for outcome in OUTCOMES:
            share = counts[outcome] / total
            if outcome != "undefined":
                bars[outcome] = (round(100 * start, 3), round(100 * share, 3))
                start += share
            cells[outcome] = {
                "value": counts[outcome],
                "text": format_percent(share, digits=1),
                "count": format_count(counts[outcome]),
                "link": build_link(metric=metric, outcome=outcome, part=1),
            }
        is_sentinel = metric not in pair_explorer_content.assayed_metrics
        row = {"metric": metric_labels[metric], "is_sentinel": is_sentinel, "bars": bars, "cells": cells}
        rows.append(row)
    return rows


def _build_accuracy_by_context_table(
    pair_explorer_content: ExplorerContent, metric_labels: Labels, build_link: LinkBuilder
) -> dict[str, Any] | None:
    """Build the table with the accuracy of each metric for each value of the column that the user chose. None
    if no accuracy is known.
    """
    metrics_with_accuracy = {accuracy.metric for accuracy in pair_explorer_content.accuracies}
    metrics = [metric for metric in pair_explorer_content.shown_metrics if metric in metrics_with_accuracy]
    if not metrics:
        return None
    column = pair_explorer_content.page.query.column
    by_context: dict[str, dict[str, ContextAccuracy]] = {}
    for accuracy in pair_explorer_content.accuracies:
        by_context.setdefault(accuracy.context, {})[accuracy.metric] = accuracy
    rows = []
    for context, accuracies in by_context.items():
        cells = []
        for metric in metrics:
            link = build_link(column=column, context=context, metric=metric, outcome="wrong", part=1)
            cells.append(_build_accuracy_cell(accuracies.get(metric), link))
        link = build_link(column=column, context=context, part=1)
        rows.append({"context": context, "link": link, "cells": cells})
    return {"column": column, "metrics": [metric_labels[metric] for metric in metrics], "rows": rows}


def _build_accuracy_cell(accuracy: ContextAccuracy | None, link: str) -> dict[str, Any]:
    if accuracy is None or accuracy.accuracy is None:
        return {"text": "—", "value": "", "link": None}
    return {
        "text": format_percent(accuracy.accuracy),
        "interval": format_percent_interval(accuracy.low, accuracy.high),
        "value": accuracy.accuracy,
        "link": link,
    }


def _build_table_comparing_two_metrics(
    pair_explorer_content: ExplorerContent, build_link: LinkBuilder
) -> dict[str, Any] | None:
    """Build a table that counts on how many pairs two metrics are both right, both wrong, or differ."""
    counts = pair_explorer_content.page.joint_outcomes
    if not counts:
        return None
    row_outcomes = [name for name in OUTCOMES if any(counts[name, other] for other in OUTCOMES)]
    column_outcomes = [name for name in OUTCOMES if any(counts[other, name] for other in OUTCOMES)]
    rows = []
    for row_outcome in row_outcomes:
        cells = []
        for column_outcome in column_outcomes:
            cell = {
                "text": format_count(counts[row_outcome, column_outcome]),
                "is_diagonal": row_outcome == column_outcome,
                "link": build_link(outcome=row_outcome, other_outcome=column_outcome, part=1),
            }
            cells.append(cell)
        rows.append((row_outcome, cells))
    return {"columns": column_outcomes, "rows": rows, "total": format_count(sum(counts.values()))}


def _build_pair_cards(pair_explorer_content: ExplorerContent, metric_labels: Labels) -> list[dict[str, Any]]:
    page = pair_explorer_content.page
    cards = []
    for number, pair in enumerate(page.pairs):
        pair_in_other_run = page.pairs_in_other_run[number] if page.pairs_in_other_run else None
        cards.append(
            build_pair_card(pair, pair_in_other_run, page.query, pair_explorer_content.task, metric_labels)
        )
    return cards
