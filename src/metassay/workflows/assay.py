"""`assay`: perturb, score and judge, to say which metric can be trusted, here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data.context import Context, RowLabel, default_contexts, make_context
from metassay.data.dataset import Dataset
from metassay.engine.local import Progress, default_workers
from metassay.errors import InputError
from metassay.meta.contextual import ContextualResult, assay_pairs
from metassay.metrics.base import Metric
from metassay.perturb.pairs import Pairs, make_pairs
from metassay.store.run import RunFolder
from metassay.workflows.examples import wrong_pairs
from metassay.workflows.judging import JudgedPairs, judge_pairs
from metassay.workflows.preparing import (
    MetricChoice,
    as_dataset,
    chosen_metrics,
    normalisation,
    prepared,
    versions,
)
from metassay.workflows.read import Paths
from metassay.workflows.results import SCHEMA_VERSION, Result
from metassay.workflows.run_files import write_run

ContextRequest = str | RowLabel
AUTOMATIC = "metassay-run-<hash>"
"""As `out`: a folder named after what the run is, so that the same run finds it again."""
SMALLEST_CONTEXT = 30
"""Contexts with fewer items get a warning: their accuracies are mostly noise."""


@dataclass(frozen=True)
class AssayResult(Result):
    """Local accuracies, both hypotheses, confounding and a recommendation, for one data set."""

    dataset: Dataset
    metrics: tuple[Metric, ...]
    pairs: Pairs
    judged: JudgedPairs
    contextual: ContextualResult
    configuration: Mapping[str, Any]
    warnings: tuple[str, ...]
    folder: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay assay`."""
        counts = self.pairs.frame["perturbation"].value_counts().sort("perturbation")
        contextual = self.contextual.to_dict()
        return {
            "schema_version": SCHEMA_VERSION,
            "task": self.dataset.task,
            "items": len(self.dataset.items),
            "outputs": len(self.dataset),
            "pairs": len(self.pairs),
            "left_out": dict(self.dataset.left_out),
            "perturbations": dict(counts.iter_rows()),
            **contextual,
            "metrics": [
                {"metric": m.spec, "signature": m.signature, "higher_is_better": m.higher_is_better}
                for m in self.metrics
            ],
            "validity": [
                {"perturbation": name, "applied": count.applied, "not_applicable": count.not_applicable,
                 "unchanged": count.unchanged}
                for name, count in sorted(self.pairs.counts.items())
            ],
            "notes": [*self.dataset.notes, *self.judged.notes, *self.pairs.notes],
            "warnings": [*contextual.get("warnings", ()), *self.warnings],
        }  # fmt: skip

    def to_frame(self) -> pl.DataFrame:
        """Local accuracy: one row per column, context and metric."""
        parts = self.to_dict()["contexts"]
        rows = [{"column": column, **row} for column, part in parts.items() for row in part["local_accuracy"]]
        return pl.DataFrame(rows, infer_schema_length=None)

    def examples(self) -> list[dict[str, Any]]:
        """Pairs that each metric got wrong."""
        return wrong_pairs(self.dataset, self.metrics, self.judged)

    def manifest(self) -> dict[str, Any]:
        """What was done, with what, on how much: the same on any machine and number of workers."""
        return {
            "state": "finished",
            "versions": versions(),
            "metrics": {metric.spec: metric.signature for metric in self.metrics},
            "seed": self.configuration["seed"],
            "counts": {
                "items": len(self.dataset.items),
                "systems": len(self.dataset.systems),
                "outputs": len(self.dataset),
                "pairs": len(self.pairs),
                "left_out": dict(self.dataset.left_out),
            },
        }


def assay(
    dataset: Dataset | Paths,
    *,
    metrics: MetricChoice = None,
    contexts: Sequence[ContextRequest] | None = None,
    perturbations: str | Sequence[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    out: str | Path | None = None,
    per_output: int = 4,
    cluster: str | None = None,
    ties: str = "strict",
    agreement: str = "tau_ap_b",
    normalize: str | None = None,
    preprocess: str = "none",
    keep_references: bool = False,
    strict_resources: bool = False,
    resamples: int = 1000,
    permutations: int = 999,
    progress: Progress | None = None,
) -> AssayResult:
    """Measure how often each metric prefers an output over a worsened copy of it, per context.

    `contexts` are columns, crossings (`year+domain`), buckets (`mqm:250`) or functions from a row to a label.
    With `out`, a run folder with report is left there, or resumed where it belongs to the same run.
    """
    data = prepared(as_dataset(dataset), normalize=normalize, keep_references=keep_references)
    chosen = chosen_metrics(data, metrics)
    made = _contexts(data, contexts)
    configuration = {
        "task": data.task,
        "metrics": [metric.signature for metric in chosen],
        "contexts": [context.name for context in made],
        "perturbations": perturbations if isinstance(perturbations, str | None) else list(perturbations),
        "per_output": per_output,
        "cluster": cluster,
        "ties": ties,
        "agreement": agreement,
        "normalize": normalisation(data, normalize),
        "preprocess": preprocess,
        "keep_references": keep_references,
        "resamples": resamples,
        "permutations": permutations,
        "seed": seed,
    }
    identity = {"command": "assay", "configuration": configuration, "input": data.content_hash}
    run = None if out is None else RunFolder.open(run_name(identity) if out == AUTOMATIC else out, identity)
    threads = default_workers(workers)
    every = make_pairs(
        data,
        perturbations=perturbations,
        per_output=None,
        seed=seed,
        preprocess=preprocess,
        workers=threads,
        strict_resources=strict_resources,
        progress=None if progress is None else lambda done, total: progress("perturbing", done, total),
    )
    sample = every.sample(per_output)
    judged = judge_pairs(
        data,
        every,
        chosen,
        cluster=cluster,
        workers=threads,
        parts=None if run is None else run.parts,
        progress=progress,
    )
    kept = judged.chosen(sample)
    if progress is not None:
        progress("judging", 0, 1)
    contextual = assay_pairs(
        judged.judgements.take(kept),
        [judged.in_context(context, kept) for context in made],
        ties=ties,
        agreement=agreement,
        seed=seed,
        resamples=resamples,
        permutations=permutations,
        confounding=judged.judgements,
        workers=threads,
    )
    warnings = tuple(note for context in made for note in context.notes)
    result = AssayResult(
        data, chosen, sample, judged, contextual, configuration, warnings, None if run is None else run.path
    )
    if progress is not None:
        progress("judging", 1, 1)
    if run is not None:
        write_run(run, result)
    return result


def run_name(identity: Mapping[str, Any]) -> str:
    """The folder that a run leaves when none was named: the same for the same data and settings."""
    text = json.dumps(identity, sort_keys=True)
    return AUTOMATIC.replace("<hash>", hashlib.blake2b(text.encode(), digest_size=4).hexdigest())


def _contexts(data: Dataset, wanted: Sequence[ContextRequest] | None) -> list[Context]:
    made = [make_context(data, context) for context in wanted or default_contexts(data)]
    if not any(context.varies for context in made):
        names = ", ".join(context.name for context in made)
        raise InputError(
            f"no requested context varies ({names}), so there is nothing to compare.",
            remedy=f"Columns that could serve: {', '.join(('system', *data.metadata))}.",
        )
    return made
