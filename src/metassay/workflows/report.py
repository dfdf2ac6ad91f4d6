"""`report`: the report of a run, made again from what the run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metassay.reporting.html import render
from metassay.store.run import RunFolder, read_manifest
from metassay.workflows.run_files import EXAMPLES, REPORT, RESULT, report_content


def report(run: str | Path) -> Path:
    """Write `report.html` of a finished run anew and return its path."""
    folder = RunFolder.existing(run)
    with folder.understood():
        page = render(run_content(folder))
    folder.write_text(REPORT, page)
    return folder.path / REPORT


def run_content(folder: RunFolder) -> dict[str, Any]:
    """Everything that a finished run says."""
    return report_content(
        folder.read_checked(RESULT, "assay"), folder.read_json(EXAMPLES), read_manifest(folder.path)
    )
