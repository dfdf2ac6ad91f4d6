"""Render the pages of the dashboard as HTML. `metassay.serve` serves them over HTTP."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

from metassay.errors import InputError, MetassayError
from metassay.reporting.dashboard_frame import build_dashboard_policy, render_error_page
from metassay.reporting.explorer_page import render_pair_explorer_page
from metassay.reporting.overview_page import render_overview
from metassay.reporting.watch_page import render_watch_page
from metassay.results.overview import OverviewContent, RunSummary
from metassay.results.pair_explorer import ExplorerContent, PairPage, PairQuery, RunNotes
from metassay.store.run_folder import RunFolder
from metassay.workflows.pair_explorer import PairExplorer
from metassay.workflows.pair_table import PairTable
from metassay.workflows.run_collection import RunCollection, RunState, read_report
from metassay.workflows.run_notes import MAXIMUM_LENGTH, hash_notes, read_notes, write_notes
from metassay.workflows.watch import find_metric_changes_over_runs

__all__ = ["BadRequest", "Dashboard", "PageNotFound", "build_dashboard_policy", "render_error_page"]

# Runs that are kept open for queries.
OPEN_RUNS = 8
# Characters of one value of a query.
LONGEST_VALUE = 500


class PageNotFound(MetassayError):
    """Raised if a page of the dashboard does not exist."""


class BadRequest(InputError):
    """Raised if the dashboard refuses a request, for example because a value is too long."""


class Dashboard:
    """Renders the pages of the web server that `metassay serve` starts. Several threads may use one dashboard
    at the same time.
    """

    def __init__(self, runs: Sequence[str | Path], *, writable: bool) -> None:
        self.runs = RunCollection(runs)
        self.writable = writable
        """Whether notes may be written."""
        self.token = secrets.token_urlsafe(24)
        """Must be sent with notes, so that pages of other servers cannot write any."""
        self._overview_lock = Lock()
        self._lock = Lock()
        self._overview_page: tuple[OverviewContent, str] | None = None
        self._open_runs: OrderedDict[RunState, tuple[PairExplorer, Lock]] = OrderedDict()

    def render_run_list(self, page_number: str | None = None) -> str:
        """Render one page of the list of all runs as HTML. By default it is the last page."""
        with self._overview_lock:
            overview = self.runs.summarize_runs_on_page(_parse_page_number(page_number))
            # The collection returns the same object as long as no file changed.
            if self._overview_page is None or self._overview_page[0] is not overview:
                links = {run.name: _build_urls_of_run_pages(run) for run in overview.runs}
                self._overview_page = (overview, render_overview(overview, links))
            return self._overview_page[1]

    def build_run_list_json(self, page_number: str | None = None) -> str:
        """Return one page of the list of all runs as JSON. By default it is the last page."""
        with self._overview_lock:
            return self.runs.summarize_runs_on_page(_parse_page_number(page_number)).to_json()

    def render_page_of_changes_over_runs(self) -> str:
        """Render the page that says whether metrics or judges changed over all runs."""
        return render_watch_page(find_metric_changes_over_runs(self.runs.list_run_folders()))

    def read_report(self, run_name: str) -> bytes:
        """Return the HTML of the report page of a run."""
        content = read_report(self._open_run(run_name))
        if content is None:
            raise PageNotFound("This run has no report.")
        return content

    def render_pair_explorer_page(self, run_name: str, query_values: Mapping[str, Sequence[str]]) -> str:
        """Render the page on which users search the pairs of a run, with the pairs that match a query."""
        for texts in query_values.values():
            if any(len(text) > LONGEST_VALUE for text in texts):
                raise BadRequest(f"a value has more than {LONGEST_VALUE} characters.")
        run = self._open_run(run_name)
        query = PairQuery.from_query_values(query_values)
        explorer, lock = self._get_searchable_pairs_of_run(run_name)
        other_table = self._get_searchable_pairs_of_run(query.other_run)[0].table if query.other_run else None
        if other_table is not None and not query.other_metric and query.metric in other_table.metrics:
            query = replace(query, other_metric=query.metric)
        # One query at a time for each run: the explorer changes its caches while it reads.
        with lock:
            page = explorer.read_search_result_page(query, other_table)
        view = self._collect_content_of_pair_search_page(run_name, run, explorer, page, other_table)

        def build_link_to_changed_query(**changes: Any) -> str:
            """Return the URL of the same query with some fields changed. A changed query begins at its first
            page.
            """
            if changes:
                changes = {"page": 1, **changes}
            return _build_url_path_of_pair_search(run_name, replace(page.query, **changes))

        return render_pair_explorer_page(view, build_link_to_changed_query)

    def save_notes(self, run_name: str, text: str, *, token: str, seen_version: str) -> None:
        """Save the notes on a run that a user wrote in the browser."""
        if not self.writable:
            raise BadRequest("notes can only be written where the dashboard is served to this machine only.")
        # Takes the same time for all tokens, so that none can be guessed letter by letter.
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            raise BadRequest("these notes come from a page of another server.", remedy="Load the page again.")
        run = self._open_run(run_name)
        # Browsers send forms with the line ends of Windows.
        notes = text.replace("\r\n", "\n").strip()
        with self._lock:
            try:
                write_notes(run, notes, seen_version=seen_version)
            except InputError as error:
                raise BadRequest(error.message, location=error.location, remedy=error.remedy) from None

    def _open_run(self, run_name: str) -> RunFolder:
        """Open the run with this name. Raises `PageNotFound` if there is none."""
        run = self.runs.open_run(run_name)
        if run is None:
            raise PageNotFound("There is no run of this name.")
        return run

    def _get_searchable_pairs_of_run(self, run_name: str) -> tuple[PairExplorer, Lock]:
        """Return the object that searches the pairs of a run, and the lock to hold while using it. Both are
        created anew if the files of the run changed.
        """
        run = self._open_run(run_name)
        with self._lock:
            state = self.runs.read_file_times_and_sizes(run_name)
            if state not in self._open_runs:
                self._open_runs[state] = (PairExplorer(PairTable(run)), Lock())
            self._open_runs.move_to_end(state)
            while len(self._open_runs) > OPEN_RUNS:
                self._open_runs.popitem(last=False)
            return self._open_runs[state]

    def _collect_content_of_pair_search_page(
        self,
        run_name: str,
        run_folder: RunFolder,
        pair_explorer: PairExplorer,
        pair_page: PairPage,
        other_pair_table: PairTable | None,
    ) -> ExplorerContent:
        """Collect everything that the page on which users search the pairs of a run shows."""
        table = pair_explorer.table
        summary = self.runs.summarize_run(run_name)
        notes = read_notes(run_folder)
        column = pair_page.query.column
        return ExplorerContent(
            run=run_name,
            path=_build_url_path_of_run(run_name),
            report_path=_build_url_path_of_run(run_name, "report") if summary.has_report else None,
            task=summary.task,
            page=pair_page,
            total=table.total,
            has_outcomes=table.has_outcomes,
            metrics=table.metrics,
            assayed_metrics=table.compared_metrics,
            shown_metrics=pair_explorer.choose_shown_metrics(pair_page.query),
            context_columns=table.context_columns,
            context_values=table.list_distinct_values(f"context/{column}") if column else [],
            systems=table.list_distinct_values("system"),
            perturbations=table.list_distinct_values("perturbation"),
            accuracies=table.read_metric_accuracies(column) if column else [],
            search_parts=pair_explorer.part_count_for_text_search,
            other_runs=[other for other in self.runs.list_runs_with_searchable_pairs() if other != run_name],
            other_metrics=table.metrics if other_pair_table is None else other_pair_table.metrics,
            notes=RunNotes(
                text=notes,
                version=hash_notes(notes),
                token=self.token,
                writable=self.writable,
                maximum_length=MAXIMUM_LENGTH,
            ),
        )


def _parse_page_number(page: str | None) -> int | None:
    """Convert the page number in a URL to an integer."""
    if page is None:
        return None
    # `isdigit` accepts digits of other scripts, and `int` refuses very long numbers with another error.
    if not (page.isascii() and page.isdigit() and len(page) < 8):
        raise BadRequest("the number of the page is not a number.")
    return int(page)


def _build_url_path_of_run(run_name: str, page: str = "") -> str:
    """Build the path of the URL of a run, or of one page of the run."""
    return f"/runs/{quote(run_name, safe='')}/{page}"


def _build_url_path_of_pair_search(run_name: str, pair_query: PairQuery) -> str:
    """Build the path of the URL that lists the pairs of a run which match a query."""
    values = urlencode(pair_query.to_query_values())
    return f"{_build_url_path_of_run(run_name)}?{values}" if values else _build_url_path_of_run(run_name)


def _build_urls_of_run_pages(run_summary: RunSummary) -> dict[str, str]:
    """Build the paths of the URLs of all pages that a run has."""
    links = {}
    if run_summary.has_pairs:
        links["explorer"] = _build_url_path_of_run(run_summary.name)
    if run_summary.has_report:
        links["report"] = _build_url_path_of_run(run_summary.name, "report")
    return links
