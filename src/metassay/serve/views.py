"""What each page shows: runs from the shelf, questions to their pairs, notes. Nothing here knows of HTTP."""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

from metassay.errors import InputError, MetassayError
from metassay.reporting.dashboard import render_explorer, render_overview
from metassay.workflows.explore import PER_PAGE, WINDOW, Explored, Explorer, Question
from metassay.workflows.overview import LONGEST_NOTES, Shelf, read_notes, read_report, write_notes
from metassay.workflows.pair_table import PairTable

OPEN = 8
"""So many runs are kept open for questions."""
LONGEST = 500
"""Characters of one value of a question."""


class NoSuchPage(MetassayError):
    """An address that leads nowhere."""


class Dashboard:
    """The pages of some runs; any number of threads may ask for them."""

    def __init__(self, runs: Sequence[str | Path], *, writable: bool) -> None:
        self.shelf = Shelf(runs)
        self.writable = writable
        self.token = secrets.token_urlsafe(24)
        """Whoever sends notes must have read a page of this server."""
        self._lock, self._looking = Lock(), Lock()
        self._page: tuple[Any, str] | None = None
        self._open: OrderedDict[tuple[Any, ...], tuple[Explorer, Lock]] = OrderedDict()

    def overview(self) -> str:
        """The page of all runs, made again when one of them changed."""
        with self._looking:
            state = self.shelf.state()
            if self._page is None or self._page[0] != state:
                result = self.shelf.overview().to_dict()
                links = {run["name"]: _links(run) for run in result["runs"]}
                self._page = (state, render_overview(result, links))
            return self._page[1]

    def overview_json(self) -> str:
        """The same as data."""
        with self._looking:
            return self.shelf.overview().to_json()

    def report(self, name: str) -> bytes:
        """The report that a run left."""
        content = read_report(self._run(name))
        if content is None:
            raise NoSuchPage("This run has no report.")
        return content

    def explorer(self, name: str, query: Mapping[str, Sequence[str]], problem: str = "") -> str:
        """The page of the pairs of a run that fit a question."""
        if any(len(value) > LONGEST for values in query.values() for value in values):
            raise InputError(f"more than {LONGEST} characters are no question.")
        run, question = self._run(name), Question.of(query)
        explorer, lock = self._explorer(name)
        other = self._explorer(question.run)[0].table if question.run else None
        if other is not None and not question.metric2 and question.metric in other.metrics:
            question = replace(question, metric2=question.metric)
        with lock:
            found = explorer.explore(question, other)
        notes, entry = read_notes(run), self.shelf.entry(name)
        view = {
            **_facts(explorer.table, found),
            "name": name,
            "path": _path(name),
            "report": _path(name, "report") if entry.get("report") else None,
            "task": entry["task"],
            "runs": [other_name for other_name in self.shelf.explorable() if other_name != name],
            "other_metrics": explorer.table.metrics if other is None else other.metrics,
            "notes": {
                "text": notes,
                "before": _digest(notes),
                "token": self.token,
                "writable": self.writable,
                "longest": LONGEST_NOTES,
                "problem": problem,
            },
        }

        def address(**changes: Any) -> str:
            changes = {"page": 1, **changes} if changes else changes
            return _address(name, replace(found.question, **changes))

        return render_explorer(view, address)

    def write_notes(self, name: str, text: str, *, token: str, before: str) -> None:
        """Keep notes that came from a page of this server."""
        if not self.writable:
            raise InputError("notes are written where the dashboard is served to this machine only.")
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            raise InputError("these notes come from a page of another server.", remedy="Load the page again.")
        run = self._run(name)
        with self._lock:
            known = read_notes(run)
            write_notes(
                run, text.replace("\r\n", "\n").strip(), before=known if _digest(known) == before else "\0"
            )

    def _run(self, name: str) -> Any:
        run = self.shelf.run(name)
        if run is None:
            raise NoSuchPage("There is no run of this name.")
        return run

    def _explorer(self, name: str) -> tuple[Explorer, Lock]:
        """The explorer of a run, opened anew where its files changed."""
        run = self._run(name)
        with self._lock:
            key = next(each for each in self.shelf.state() if each[0] == run.path)
            if key not in self._open:
                self._open[key] = (Explorer(PairTable(run)), Lock())
            self._open.move_to_end(key)
            while len(self._open) > OPEN:
                self._open.popitem(last=False)
            return self._open[key]


def _facts(table: PairTable, found: Explored) -> dict[str, Any]:
    """What a page says of a run and of the pairs that were found in it."""
    question = found.question
    column = f"in/{question.column}"
    return {
        "question": asdict(question),
        "shown": question.shown(table),
        "total": table.total,
        "judged": table.judged,
        "metrics": table.metrics,
        "assayed": table.assayed,
        "columns": table.columns,
        "context_values": table.values(column) if question.column else [],
        "systems": table.values("system"),
        "methods": table.values("perturbation"),
        "accuracies": table.accuracies(question.column) if question.column else [],
        "found": found.fitting.count,
        "tallies": found.fitting.tallies,
        "searched": found.fitting.searched,
        "parts": max(1, -(-table.total // WINDOW)),
        "listed": found.listed,
        "page": question.page,
        "pages": found.pages,
        "per_page": PER_PAGE,
        "pairs": found.pairs,
        "cross": found.cross,
        "matched": found.matched,
    }


def _path(name: str, page: str = "") -> str:
    return f"/runs/{quote(name, safe='')}/{page}"


def _address(name: str, question: Question) -> str:
    query = urlencode(question.to_query())
    return f"{_path(name)}?{query}" if query else _path(name)


def _links(run: Mapping[str, Any]) -> dict[str, str]:
    pages = {"explorer": "", "report": "report"}
    return {kind: _path(run["name"], page) for kind, page in pages.items() if run.get(kind)}


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()
