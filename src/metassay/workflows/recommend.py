"""`recommend`: which metric to use in each context of a run, with costs and the user's own criteria.

`compare`: what changed between runs, and whether by more than chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.errors import InputError, UnknownName
from metassay.meta.contexts.accuracy import pareto
from metassay.meta.contexts.choice import Evidence, robust_choice, stored_evidence
from metassay.meta.contexts.choice import recommend as recommended
from metassay.meta.contexts.drift import compare_series
from metassay.store.run import RunFolder
from metassay.workflows.run_files import RESULT, SCHEMA_VERSION, TIMINGS, Result, run_folders

Criteria = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class RecommendResult(Result):
    """A choice for every context of every column, and what it rests on."""

    evidence: Mapping[str, Evidence]
    cost: Mapping[str, float]
    robustness: Mapping[str, list[dict[str, Any]]]
    shared_errors: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay recommend`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "recommendation": {
                column: {
                    context: {
                        "metrics": list(entry.metrics),
                        "top_group": list(entry.top_group),
                        "behind": list(entry.behind),
                        "choice": entry.choice,
                        "why": entry.why,
                    }
                    for context, entry in recommended(evidence).items()
                }
                for column, evidence in self.evidence.items()
            },
            "robust_choice": {column: robust_choice(evidence) for column, evidence in self.evidence.items()},
            "robustness": dict(self.robustness),
            "cost": dict(self.cost),
            "pareto": self._pareto(),
            "shared_errors": dict(self.shared_errors),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row per column and context."""
        entries = self.to_dict()["recommendation"]
        rows = [
            {"column": column, "context": context, "choice": entry["choice"], "why": entry["why"]}
            for column, contexts in entries.items()
            for context, entry in contexts.items()
        ]
        return pl.DataFrame(rows, schema=dict.fromkeys(("column", "context", "choice", "why"), pl.String))

    def _pareto(self) -> list[str]:
        """The metrics that no other beats in both accuracy and cost."""
        evidence = next(iter(self.evidence.values()))
        cost = np.array([self.cost.get(metric, np.nan) for metric in evidence.metrics])
        kept = pareto(evidence.accuracy[:, 0], cost)
        return [metric for metric, keep in zip(evidence.metrics, kept) if keep]


def recommend(
    run: str | Path, *, context: str | None = None, criteria: Criteria | None = None
) -> RecommendResult:
    """Choose a metric per context from a finished assay.

    Inside the group of metrics that may be the best, stability is preferred, then measured cost, then
    `criteria`: numbers per metric, higher is better, in order of importance.
    """
    folder = RunFolder.existing(run)
    result = folder.read_json(RESULT)
    columns = list(result["contexts"])
    if context is not None and context not in columns:
        raise UnknownName("context of this run", context, columns)
    known = {row["metric"] for row in result["global"]}
    for name, numbers in (criteria or {}).items():
        unknown = sorted(set(numbers) - known)
        if unknown:
            raise InputError(f"criterion {name} names {unknown[0]}, which was not assayed.")
    cost = folder.read_json(TIMINGS)["seconds_per_1000_outputs"]
    chosen = columns if context is None else [context]
    return RecommendResult(
        {column: stored_evidence(result, column, cost=cost, criteria=criteria) for column in chosen},
        {metric: seconds for metric, seconds in cost.items() if metric in known},
        {column: result["contexts"][column]["robustness"] for column in chosen},
        result["phi"],
    )


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
    results = [RunFolder.existing(folder).read_json(RESULT) for folder in folders]
    tasks = sorted({result["task"] for result in results})
    if len(tasks) > 1:
        raise InputError(f"these runs are of different tasks ({', '.join(tasks)}).")
    return CompareResult(tuple(str(folder) for folder in folders), compare_series(results))
