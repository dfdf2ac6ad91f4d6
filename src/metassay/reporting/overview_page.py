"""The first page of `metassay serve`: all runs, and what changed between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from metassay.reporting.dashboard_frame import render_dashboard_page
from metassay.reporting.labels import MetricLabels
from metassay.reporting.wording import find_installed_task, format_count
from metassay.results.overview import OverviewContent, RunSummary

STATES_WITHOUT_ANSWER = {"running": "not finished yet", "finished": "no answer"}
# Changes between runs that are shown; earlier ones are folded away.
LISTED_CHANGES = 12


def render_overview(overview: OverviewContent, links: Mapping[str, Mapping[str, str]]) -> str:
    """Render the dashboard page that lists all runs. `links` are the links to the pairs and the report of
    each run.
    """
    labels = MetricLabels(row.metric for run in overview.runs for row in run.metrics)
    changes = []
    for change in reversed(overview.comparisons):
        if change.sentences or change.error is not None:
            sentences = [labels.replace_specs_by_labels(text) for text in change.sentences]
            changes.append(msgspec.structs.replace(change, sentences=sentences))
    return render_dashboard_page(
        "dashboard.html.j2",
        kind="overview",
        title="Runs",
        runs=[_build_run_row(run, links.get(run.name, {})) for run in overview.runs],
        several_runs=overview.total > 1,
        changes=changes,
        listed=LISTED_CHANGES,
        page=overview.page,
        pages=overview.pages,
        total=format_count(overview.total),
        unchanged=len(overview.comparisons) - len(changes),
    )


def _build_run_row(run: RunSummary, links: Mapping[str, str]) -> dict[str, Any]:
    """Build the table row of a run. Its numbers of items, outputs and pairs are given as numbers for sorting,
    and as text.
    """
    task = find_installed_task(run.task)
    numbers = []
    for number in (run.items, run.outputs, run.pairs):
        numbers.append((number, "" if number is None else format_count(number)))
    return {
        "name": run.name,
        "explorer_link": links.get("explorer"),
        "report_link": links.get("report"),
        "content": run.command if task is None else task.output_noun_plural,
        "numbers": numbers,
        "answer": run.answer or STATES_WITHOUT_ANSWER.get(run.state, ""),
        "error": run.error,
    }
