"""`compare`: what changed between runs, and whether by more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError
from metassay.meta.contexts.drift import compare_series
from metassay.workflows.results import SCHEMA_VERSION, Result
from metassay.workflows.run_files import RESULT, assay_run, run_folders


@dataclass(frozen=True)
class CompareResult(Result):
    """Each run against the one before it."""

    runs: tuple[str, ...]
    comparisons: list[dict[str, Any]]

    @property
    def changed(self) -> bool:
        """Whether any accuracy, order or recommendation changed by more than chance."""
        return any(comparison["changed"] for comparison in self.comparisons)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay compare`."""
        pairs = zip(self.runs, self.runs[1:], self.comparisons)
        return {
            "schema_version": SCHEMA_VERSION,
            "runs": list(self.runs),
            "changed": self.changed,
            "comparisons": [{"before": before, "after": after, **found} for before, after, found in pairs],
        }

    def to_frame(self) -> pl.DataFrame:
        """Moved accuracies: one row per comparison, column, context and metric."""
        rows = [
            {"before_run": entry["before"], "after_run": entry["after"], **row}
            for entry in self.to_dict()["comparisons"]
            for row in entry["accuracies"]
        ]
        return pl.DataFrame(rows, infer_schema_length=None)


def compare(*runs: str | Path) -> CompareResult:
    """Compare finished assays in the order given; a folder of runs stands for all in it, by name."""
    folders = run_folders(runs)
    if len(folders) < 2:
        raise InputError(
            "there is one run only.", remedy="Name two or more runs, or a folder that holds them."
        )
    opened = [assay_run(folder) for folder in folders]
    results = [run.read_checked(RESULT, "assay") for run in opened]
    tasks = sorted({result["task"] for result in results})
    if len(tasks) > 1:
        raise InputError(f"these runs are of different tasks ({', '.join(tasks)}).")
    with opened[-1].understood():
        return CompareResult(tuple(str(folder) for folder in folders), compare_series(results))
