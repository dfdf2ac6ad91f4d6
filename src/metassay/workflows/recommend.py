"""`recommend`: which metric to use in each context of a run, with costs and the user's own criteria."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError, UnknownName
from metassay.meta.contexts.evidence import GLOBAL, Evidence, stored_evidence
from metassay.meta.contexts.tables import choice_entries
from metassay.workflows.results import SCHEMA_VERSION, Result
from metassay.workflows.run_files import RESULT, TIMINGS, assay_run

Criteria = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class RecommendResult(Result):
    """A choice for every context of every column, and what it rests on.

    `entries` is the recommendation that the run left, or one made anew with the user's criteria.
    """

    answer: Mapping[str, Any] | None
    entries: Mapping[str, Mapping[str, Any]]
    evidence: Mapping[str, Evidence]
    robustness: Mapping[str, list[dict[str, Any]]]
    costs: Costs
    rest: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay recommend`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "answer": self.answer,
            "recommendation": {column: dict(entries) for column, entries in self.entries.items()},
            "robust_choice": {
                column: entries[GLOBAL].get("robust_choice") for column, entries in self.entries.items()
            },
            "robustness": dict(self.robustness),
            "cost_class": dict(self.costs.classes),
            "price": dict(self.costs.prices),
            "cost": dict(self.costs.seconds),
            **self.rest,
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


@dataclass(frozen=True)
class Costs:
    """Of each metric its class of cost, its price where requests are paid, and seconds per 1,000 outputs.

    Seconds are for information: nothing is decided by them.
    """

    classes: Mapping[str, str]
    prices: Mapping[str, list[float]]
    seconds: Mapping[str, float]


def recommend(
    run: str | Path, *, context: str | None = None, criteria: Criteria | None = None
) -> RecommendResult:
    """The metric to use in each context of a finished assay: what its report says, with the reasons.

    With `criteria` (numbers per metric, higher is better, in order of importance) the choice is made anew:
    inside the group of metrics that may be the best, stability is preferred, then the class of cost, then
    the criteria.
    """
    folder = assay_run(run)
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
        evidence = {column: stored_evidence(result, column, criteria=criteria) for column in chosen}
        stored = {column: result["recommendation"][column] for column in chosen}
        seconds = folder.read_json(TIMINGS)["seconds_per_1000_outputs"]
        made = RecommendResult(
            None if criteria else result.get("answer"),
            {column: choice_entries(evidence[column]) for column in chosen} if criteria else stored,
            evidence,
            {column: result["contexts"][column]["robustness"] for column in chosen},
            Costs(
                result.get("cost_class") or {},
                result.get("price") or {},
                {metric: float(taken) for metric, taken in seconds.items() if metric in known},
            ),
            {
                "pareto": result["pareto"],
                "same_decisions": result.get("same_decisions") or [],
                "shared_errors": result["phi"],
            },
        )
        made.to_dict()  # so that what does not fit together is found here
        return made
