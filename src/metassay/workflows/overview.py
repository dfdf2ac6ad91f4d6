"""`overview`: many runs at a glance, for `metassay serve`.

`report`: the report of a run, made again from what the run left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError, Place
from metassay.meta.contexts.drift import compare_series
from metassay.reporting.answer import answer
from metassay.reporting.findings import find
from metassay.reporting.html import render
from metassay.reporting.reasons import with_sentences
from metassay.reporting.score_pages import render_aggregation, render_ranking
from metassay.store.run import RunFolder, read_manifest
from metassay.workflows.run_files import (
    EXAMPLES,
    REPORT,
    RESULT,
    SCHEMA_VERSION,
    Result,
    assay_run,
    command_of,
    report_content,
    run_folders,
)

PAGES = {"rank": render_ranking, "aggregate": render_aggregation}


@dataclass(frozen=True)
class OverviewResult(Result):
    """Every run, and each assay against the one before it of the same task."""

    runs: list[dict[str, Any]]
    comparisons: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that `metassay serve` answers with."""
        return {"schema_version": SCHEMA_VERSION, "runs": self.runs, "comparisons": self.comparisons}

    def to_frame(self) -> pl.DataFrame:
        """Accuracy over all contexts: one row per run and metric."""
        rows = [{"run": run["name"], **row} for run in self.runs for row in run["metrics"]]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_html(self, links: Mapping[str, str]) -> str:
        """The page; `links` are the addresses of reports by run folder."""
        from metassay.reporting.pages import render_overview

        return render_overview(self.to_dict(), links)

    def reports(self) -> dict[str, Path]:
        """The reports that the runs left, by run folder."""
        found = {run["folder"]: Path(run["folder"]) / REPORT for run in self.runs}
        return {folder: path for folder, path in found.items() if path.is_file()}


def overview(*runs: str | Path) -> OverviewResult:
    """Look at runs in the order given; a folder of runs stands for all in it, by name."""
    folders = run_folders(runs)
    if not folders:
        raise InputError("there is no run in this folder.", place=Place(file=str(runs[0])))
    results = {str(folder): _assay(folder) for folder in folders}
    entries = []
    for folder in folders:
        with RunFolder.existing(folder).understood():
            entries.append(_entry(folder, results[str(folder)]))
    with RunFolder.existing(folders[-1]).understood():
        return OverviewResult(entries, _comparisons(entries, results))


def _assay(folder: Path) -> dict[str, Any] | None:
    """The result of a finished assay; None for other runs and unfinished ones."""
    run = RunFolder.existing(folder)
    return run.read_checked(RESULT, "assay") if (folder / RESULT).is_file() else None


def _entry(folder: Path, result: Mapping[str, Any] | None) -> dict[str, Any]:
    manifest = read_manifest(folder)
    said = answer(find(result)) if result else []
    return {
        "name": folder.resolve().name,
        "folder": str(folder),
        "command": str(manifest.get("identity", {}).get("command", "")),
        "state": str(manifest.get("state", "")),
        "task": result["task"] if result else None,
        **{name: result[name] if result else None for name in ("items", "outputs", "pairs")},
        "answer": str(said[0]) if said else None,
        "metrics": [
            {name: row[name] for name in ("metric", "accuracy", "low", "high")}
            for row in (result["global"] if result else [])
        ],
    }


def _comparisons(
    entries: list[dict[str, Any]], results: Mapping[str, Mapping[str, Any] | None]
) -> list[dict[str, Any]]:
    found = []
    for task in sorted({entry["task"] for entry in entries if entry["task"]}):
        own = [entry for entry in entries if entry["task"] == task]
        series = compare_series([result for entry in own if (result := results[entry["folder"]])])
        changes = [with_sentences(change) for change in series]
        found += [
            {"before": before["name"], "after": after["name"]}
            | {name: change[name] for name in ("changed", "sentences")}
            for before, after, change in zip(own, own[1:], changes)
        ]
    return found


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
