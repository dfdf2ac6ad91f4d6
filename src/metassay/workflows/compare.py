"""`compare`: what changed between runs by more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError, display_path
from metassay.meta.contexts import run_comparison
from metassay.reporting.reasons import with_sentences
from metassay.workflows.run_files import RESULT, SCHEMA_VERSION, Result, assay_run, run_folders


@dataclass(frozen=True, repr=False)
class CompareResult(Result):
    """Each run against the run before it."""

    runs: tuple[str, ...]
    comparisons: list[dict[str, Any]]

    @property
    def changed(self) -> bool:
        """Whether any accuracy, order of metrics or recommendation changed by more than chance."""
        return any(comparison["changed"] for comparison in self.comparisons)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of `metassay compare`."""
        comparisons = []
        for before, after, comparison in zip(self.runs, self.runs[1:], self.comparisons):
            comparisons.append({"before": before, "after": after, **comparison})
        return {
            "schema_version": SCHEMA_VERSION,
            "runs": list(self.runs),
            "changed": self.changed,
            "comparisons": comparisons,
        }

    def to_frame(self) -> pl.DataFrame:
        """Return a row per comparison, column, context and metric, with both accuracies."""
        rows = []
        for comparison in self.to_dict()["comparisons"]:
            runs = {"before_run": comparison["before"], "after_run": comparison["after"]}
            rows += [{**runs, **row} for row in comparison["accuracies"]]
        return pl.DataFrame(rows, infer_schema_length=None)


def compare(*runs: str | Path) -> CompareResult:
    """Compare finished assays in the order given. A folder of runs stands for all runs in it, by name.

    >>> import tempfile
    >>> from metassay.workflows.assay import assay, read_sample
    >>> run = tempfile.mkdtemp() + "/run"
    >>> few = {"metrics": "rouge1,rougel", "contexts": ["domain"], "perturbations": "removal,insertion"}
    >>> result = assay(read_sample("text"), resamples=20, permutations=19, out=run, **few)
    >>> compare(run, run).changed
    False
    """
    folders = run_folders(runs)
    if len(folders) < 2:
        raise InputError(
            "there is only one run.", remedy="Name two or more runs, or a folder that holds them."
        )
    run_list = [assay_run(folder) for folder in folders]
    results = [run.read_checked(RESULT, "assay") for run in run_list]
    tasks = sorted({result["task"] for result in results})
    if len(tasks) > 1:
        raise InputError(f"these runs are of different tasks ({', '.join(tasks)}).")
    with run_list[-1].explain_errors():
        comparisons = [with_sentences(comparison) for comparison in run_comparison.compare_series(results)]
    return CompareResult(tuple(map(display_path, folders)), comparisons)
