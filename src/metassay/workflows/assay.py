"""`assay`: perturb, score and judge, to say which metric can be trusted, here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metassay.data.context import Context, RowLabel, default_contexts, make_context
from metassay.data.dataset import Dataset
from metassay.engine.local import Progress, default_workers
from metassay.errors import InputError, UnknownName
from metassay.meta.contexts.assay import assay_pairs
from metassay.perturbations.pairs import Pairs, make_pairs
from metassay.specs import split_list
from metassay.store.run import RunFolder
from metassay.workflows.assay_result import AssayResult, Settings
from metassay.workflows.human_pairs import human_column, human_pairs
from metassay.workflows.judging import judge_pairs
from metassay.workflows.llm_settings import LlmSettings, described, with_cache
from metassay.workflows.noting import warnings_as_notes
from metassay.workflows.preparing import (
    MetricChoice,
    as_dataset,
    chosen_metrics,
    normalisation,
    prepared,
    sentinels_beside,
)
from metassay.workflows.read import Paths
from metassay.workflows.run_files import write_run
from metassay.workflows.valid_pairs import checked
from metassay.workflows.weights import context_metadata, output_weights

ContextRequest = str | RowLabel
AUTOMATIC = "metassay-run-<hash>"
"""As `out`: a folder named after what the run is, so that the same run finds it again."""
PAIRS = ("perturbed", "human")


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
    valid_pairs: bool = False,
    resamples: int = 1000,
    permutations: int = 999,
    minimum_items: int = 20,
    weights: str | None = None,
    pairs: str = "perturbed",
    human: str | None = None,
    minimum_gap: float = 0.0,
    llm: LlmSettings | None = None,
    progress: Progress | None = None,
) -> AssayResult:
    """Measure how often each metric prefers an output over a worsened copy of it, per context.

    `contexts` are columns, crossings (`year+domain`), buckets (`mqm:250`) or functions from a row to a label.
    `valid_pairs` drops rankings whose worse copy did not lose gain.
    `weights` names a column of positive numbers, or is `density`: typical outputs of a context count more.
    `llm` says which language model to ask for the perturbation of that name.
    With `pairs="human"` the pairs are two systems' outputs for an item, the better one by human score.
    With `out`, a run folder with report is left there, or resumed where it belongs to the same run.
    """
    if pairs not in PAIRS:
        raise UnknownName("kind of pairs", pairs, PAIRS)
    data = prepared(as_dataset(dataset), normalize=normalize, keep_references=keep_references)
    settings = Settings(
        metrics=chosen_metrics(data, metrics),
        contexts=_contexts(data, contexts),
        perturbations=_names(perturbations),
        per_output=per_output,
        cluster=cluster,
        ties=ties,
        agreement=agreement,
        normalize=normalisation(data, normalize),
        preprocess=preprocess,
        keep_references=keep_references,
        valid_pairs=valid_pairs,
        resamples=resamples,
        permutations=permutations,
        minimum_items=minimum_items,
        weights=weights,
        pairs=pairs,
        human=human_column(data, human) if pairs == "human" else human,
        minimum_gap=minimum_gap,
        llm=described(llm),
        seed=seed,
    )
    identity = {"command": "assay", "configuration": settings.to_dict(), "input": data.content_hash}
    run = None if out is None else RunFolder.open(run_name(identity) if out == AUTOMATIC else out, identity)
    how = _How(default_workers(workers), run, progress, with_cache(llm, run), strict_resources)
    result = _carry_out(data, settings, how)
    if run is not None:
        write_run(run, result)
    return result


@dataclass(frozen=True)
class _How:
    """What may differ between two runs of the same assay."""

    workers: int
    run: RunFolder | None
    progress: Progress | None
    llm: LlmSettings | None
    strict_resources: bool

    def tell(self, stage: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(stage, done, total)


def _carry_out(data: Dataset, settings: Settings, how: _How) -> AssayResult:
    """Make worse, score, judge."""
    every = _pairs(data, settings, how)
    sample = every if settings.pairs == "human" else every.sample(settings.per_output)
    sentinels = sentinels_beside(settings.metrics)
    with warnings_as_notes() as notes:
        judged = judge_pairs(
            data,
            every,
            (*settings.metrics, *sentinels),
            cluster=settings.cluster,
            weights=output_weights(data, settings.weights, settings.contexts),
            workers=how.workers,
            parts=None if how.run is None else how.run.parts,
            progress=how.tell,
        )
    judged = replace(judged, notes=(*judged.notes, *notes))
    kept = judged.chosen(sample)
    how.tell("judging", 0, 1)
    contextual = assay_pairs(
        judged.judgements.take(kept),
        [judged.in_context(context, kept) for context in settings.contexts],
        ties=settings.ties,
        agreement=settings.agreement,
        seed=settings.seed,
        resamples=settings.resamples,
        permutations=settings.permutations,
        confounding=judged.judgements,
        sentinels=[metric.spec for metric in sentinels],
        metadata={context.name: context_metadata(data, context) for context in settings.contexts},
        minimum_items=settings.minimum_items,
        workers=how.workers,
        pairs_from=_source(settings, sample),
    )
    how.tell("judging", 1, 1)
    folder = None if how.run is None else how.run.path
    return AssayResult(data, settings, sample, judged, contextual, folder)


def _source(settings: Settings, sample: Pairs) -> str:
    """Where the pairs come from: people, rules, or rules and a language model."""
    if settings.pairs == "human":
        return "people"
    return "model" if (sample.frame["perturbation"] == "llm").any() else "rule"


def _pairs(data: Dataset, settings: Settings, how: _How) -> Pairs:
    """All pairs: chosen by people, or every applicable perturbation of every output."""
    if settings.human is not None and settings.pairs == "human":
        return human_pairs(data, settings.human, settings.minimum_gap)
    pairs = make_pairs(
        data,
        perturbations=settings.perturbations,
        per_output=None,
        seed=settings.seed,
        preprocess=settings.preprocess,
        workers=how.workers,
        strict_resources=how.strict_resources,
        llm=how.llm,
        progress=lambda done, total: how.tell("perturbing", done, total),
    )
    return checked(pairs, valid_only=settings.valid_pairs)


def run_name(identity: Mapping[str, Any]) -> str:
    """The folder that a run leaves when none was named: the same for the same data and settings."""
    text = json.dumps(identity, sort_keys=True)
    return AUTOMATIC.replace("<hash>", hashlib.blake2b(text.encode(), digest_size=4).hexdigest())


def _contexts(data: Dataset, wanted: Sequence[ContextRequest] | None) -> tuple[Context, ...]:
    made = tuple(make_context(data, context) for context in wanted or default_contexts(data))
    if not any(context.varies for context in made):
        names = ", ".join(context.name for context in made)
        raise InputError(
            f"no requested context varies ({names}), so there is nothing to compare.",
            remedy=f"Columns that could serve: {', '.join(('system', *data.metadata))}.",
        )
    return made


def _names(perturbations: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if perturbations is None or isinstance(perturbations, str):
        return None if perturbations is None else tuple(split_list(perturbations))
    return tuple(perturbations)
