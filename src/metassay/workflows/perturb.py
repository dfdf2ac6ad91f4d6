"""`perturb`: outputs beside versions of them that are worse, made by rules or by a language model."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.preparation import normalisation, only_references, prepared
from metassay.engine.local import Progress, default_workers
from metassay.llm.answers import read_prompt
from metassay.llm.asking import LlmSettings, read_prices
from metassay.metrics.given import distinct_texts
from metassay.perturbations.pairs import Pairs, make_pairs
from metassay.settings import takes
from metassay.specs import single_parts
from metassay.store.run import RunFolder, made_with, versions
from metassay.workflows.judging import scored_texts
from metassay.workflows.read import Source, as_dataset
from metassay.workflows.run_files import SCHEMA_VERSION, Result
from metassay.workflows.settings import PerturbSettings

ANSWERS = "llm-answers.jsonl"
TEXTS = "texts.jsonl"
"""What others must score."""


def llm_settings(
    url: str | None,
    model: str | None,
    local: str | None,
    prompt: Path | None,
    concurrency: int,
    prices: Path | None = None,
    budget: float | None = None,
) -> LlmSettings | None:
    """The settings that the options name; None where no model was named."""
    if url is None and local is None:
        return None
    name = model or ""
    price = None if prices is None else read_prices(prices, name)
    return LlmSettings(url, name, local, prompt, concurrency=concurrency, price=price, budget=budget)


def described(llm: LlmSettings | None) -> dict[str, str | None] | None:
    """What identifies a model for a manifest: no address and no key."""
    if llm is None:
        return None
    prompt = None if llm.prompt is None else read_prompt(llm.prompt)
    return {"model": llm.name, "prompt": prompt}


def with_cache(llm: LlmSettings | None, run: RunFolder | None) -> LlmSettings | None:
    """The settings with answers kept in the run folder, so that a run taken up again asks nothing twice."""
    if llm is None or llm.cache is not None or run is None:
        return llm
    return replace(llm, cache=run.path / ANSWERS)


@dataclass(frozen=True)
class PerturbResult(Result):
    """The pairs, and how often each perturbation applied."""

    dataset: Dataset
    pairs: Pairs
    folder: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay perturb`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "task": self.dataset.task,
            "outputs": len(self.dataset),
            "pairs": len(self.pairs),
            "left_out": dict(self.dataset.left_out),
            "perturbations": [
                {"perturbation": name, "pairs": count.pairs, "applied": count.applied,
                 "not_applicable": count.not_applicable, "unchanged": count.unchanged}
                for name, count in sorted(self.pairs.counts.items())
            ],
            "usage": dict(self.pairs.usage),
            "notes": [*self.dataset.notes, *self.pairs.notes],
        }  # fmt: skip

    def to_frame(self) -> pl.DataFrame:
        """`item, system, perturbation, output, worse`."""
        return self.pairs.frame


@takes(PerturbSettings)
def perturb(
    dataset: Dataset | Source,
    asked: PerturbSettings,
    *,
    seed: int = 0,
    workers: int | None = None,
    out: str | Path | None = None,
    llm: LlmSettings | None = None,
    progress: Progress | None = None,
) -> PerturbResult:
    """Make each output worse in several ways; with `out`, leaves `pairs.parquet` and `texts.jsonl` there.

    The texts are those that an assay of the same data and settings scores: outputs and all worse copies, also
    those beyond `per_output`, but none of systems that are the reference itself.
    """
    data = prepared(as_dataset(dataset), normalize=asked.normalize, keep_references=asked.keep_references)
    named = None if asked.perturbations is None else single_parts(asked.perturbations)
    configuration = asked.to_dict() | {
        "perturbations": None if named is None else [str(part) for part in named],
        "normalize": normalisation(data, asked.normalize),
        "llm": described(llm),
        "seed": seed,
    }
    del configuration["strict_resources"]  # decides whether there is a result, not which
    identity = {"command": "perturb", "configuration": configuration, "input": data.content_hash}
    run = None if out is None else RunFolder.open(out, identity)
    make = functools.partial(
        make_pairs,
        perturbations=named,
        per_output=None,
        seed=seed,
        preprocess=asked.preprocess,
        workers=default_workers(workers),
        strict_resources=asked.strict_resources,
        llm=with_cache(llm, run),
        kept=None if run is None else run.texts(json.dumps(made_with(data.languages))),
        progress=None if progress is None else lambda done, total: progress("perturbing", done, total),
    )
    every = make(data)
    pairs = every.sample(asked.per_output)
    result = PerturbResult(data, pairs, None if run is None else run.path)
    if run is not None:
        run.write_frame("pairs.parquet", pairs.frame)
        if not data.kind.ranked:
            source = as_dataset(dataset)
            whole = asked.keep_references and only_references(source)  # no assay could leave them out
            assayed = prepared(source, normalize=asked.normalize, keep_references=whole)
            texts = scored_texts(assayed, every if len(assayed) == len(data) else make(assayed))
            run.write_text(TEXTS, distinct_texts(texts).write_ndjson())
        run.write_json("resources.json", dict(pairs.resources))
        run.write_manifest({"state": "finished", "versions": versions(), "result": result.to_dict()})
    return result
