"""`compare`: what changed between finished assays, and whether by more than chance."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl

from metassay.errors import InputError, display_path
from metassay.meta.contexts.run_comparison import compare_series
from metassay.reporting.comparison_sentences import describe_changes
from metassay.reporting.result_display import ResultDisplay
from metassay.results.assay import AssayContent
from metassay.results.compare import CompareContent
from metassay.workflows.run_files import RESULT, assay_run, run_folders


class CompareResult(ResultDisplay, CompareContent, frozen=True, kw_only=True):
    """Result of `compare`: each run against the one before it."""

    def to_frame(self) -> pl.DataFrame:
        """Return one row per comparison, column, context and metric, with the change of the accuracy."""
        rows = []
        for comparison in self.comparisons:
            for change in comparison.accuracies:
                runs = {"before_run": comparison.before, "after_run": comparison.after}
                rows.append(runs | msgspec.structs.asdict(change))
        return pl.DataFrame(rows, infer_schema_length=None)


def compare(*runs: str | Path) -> CompareResult:
    """Compare finished assays in the order given; a folder of runs stands for all in it, by name.

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
            "there is one run only.", remedy="Name two or more runs, or a folder that holds them."
        )
    opened = [assay_run(folder) for folder in folders]
    results = [run.read_result(RESULT, AssayContent) for run in opened]
    tasks = sorted({result.task for result in results})
    if len(tasks) > 1:
        raise InputError(f"these runs are of different tasks ({', '.join(tasks)}).")
    names = [display_path(folder) for folder in folders]
    with opened[-1].explain_errors():
        comparisons = [
            msgspec.structs.replace(
                comparison, before=before, after=after, sentences=describe_changes(comparison)
            )
            for before, after, comparison in zip(names, names[1:], compare_series(results))
        ]
    changed = any(comparison.changed for comparison in comparisons)
    return CompareResult(runs=names, changed=changed, comparisons=comparisons)
