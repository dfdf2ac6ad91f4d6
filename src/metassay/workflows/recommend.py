"""`recommend`: which metric to use in each context of a run, with costs and the user's own criteria.

`compare`: what changed between runs, and whether by more than chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError, UnknownName
from metassay.meta.contexts.choice import GLOBAL, Evidence, stored_evidence
from metassay.meta.contexts.drift import compare_series
from metassay.meta.contexts.tables import choice_entries
from metassay.reporting.reasons import with_reasons, with_sentences
from metassay.store.run import TIMINGS
from metassay.workflows.run_files import RESULT, SCHEMA_VERSION, Result, assay_run, run_folders

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
            {column: with_reasons(choice_entries(evidence[column]), evidence[column]) for column in chosen}
            if criteria
            else stored,
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
                "people": result.get("people"),
            },
        )
        made.to_dict()  # so that what does not fit together is found here
        return made


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
        return CompareResult(
            tuple(str(folder) for folder in folders),
            [with_sentences(found) for found in compare_series(results)],
        )
