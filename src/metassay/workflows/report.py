"""`report`: the report of a run, made again from what the run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metassay.reporting.html import render
from metassay.reporting.score_pages import render_aggregation, render_ranking
from metassay.store.run import RunFolder, read_manifest
from metassay.workflows.run_files import (
    EXAMPLES,
    REPORT,
    RESULT,
    assay_run,
    command_of,
    report_content,
)

PAGES = {"rank": render_ranking, "aggregate": render_aggregation}


def report(run: str | Path) -> Path:
    """Write `report.html` of a finished run of `assay`, `rank` or `aggregate` anew and return its path."""
    folder = RunFolder.existing(run)
    with folder.understood():
        command = command_of(folder)
        if command in PAGES:
            page = PAGES[command](folder.read_json(f"results/{command}.json"))
        else:
            page = render(run_content(assay_run(run)))
    folder.write_text(REPORT, page)
    return folder.path / REPORT


def run_content(folder: RunFolder) -> dict[str, Any]:
    """Everything that a finished run says."""
    return report_content(
        folder.read_checked(RESULT, "assay"), folder.read_json(EXAMPLES), read_manifest(folder.path)
    )
