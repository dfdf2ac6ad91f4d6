"""`recommend`: which metric to use in each context of a run, with costs and the user's own criteria."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.errors import InputError, UnknownName
from metassay.meta.contexts.choice import Evidence, robust_choice, stored_evidence
from metassay.meta.contexts.choice import recommend as recommended
from metassay.meta.contexts.robustness import pareto
from metassay.store.run import RunFolder
from metassay.workflows.results import SCHEMA_VERSION, Result
from metassay.workflows.run_files import RESULT, TIMINGS

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
    result = folder.read_checked(RESULT, "assay")
    columns = list(result["contexts"])
    if context is not None and context not in columns:
        raise UnknownName("context of this run", context, columns)
    known = {row["metric"] for row in result["global"]}
    for name, numbers in (criteria or {}).items():
        unknown = sorted(set(numbers) - known)
        if unknown:
            raise InputError(f"criterion {name} names {unknown[0]}, which was not assayed.")
    chosen = columns if context is None else [context]
    with folder.understood():
        cost = {
            metric: float(s) for metric, s in folder.read_json(TIMINGS)["seconds_per_1000_outputs"].items()
        }
        made = RecommendResult(
            {column: stored_evidence(result, column, cost=cost, criteria=criteria) for column in chosen},
            {metric: seconds for metric, seconds in cost.items() if metric in known},
            {column: result["contexts"][column]["robustness"] for column in chosen},
            result["phi"],
        )
        made.to_dict()  # so that what does not fit together is found here
        return made
