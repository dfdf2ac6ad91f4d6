"""`assay`: perturb, score and judge, to say which metric can be trusted, here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from metassay.data.context import RowLabel, make_contexts
from metassay.data.dataset import Dataset
from metassay.data.preparation import Unit, clusters, normalisation, prepared
from metassay.engine.local import Progress, default_workers
from metassay.errors import UnknownName
from metassay.llm.asking import LlmSettings
from metassay.meta.contexts.assay import assay_pairs
from metassay.metrics.base import Metric
from metassay.metrics.judge import Judge, connect_judges
from metassay.metrics.registry import chosen_metrics, sentinels_beside
from metassay.perturbations.pairs import Pairs, make_pairs
from metassay.settings import takes
from metassay.specs import single_parts
from metassay.store.run import RunFolder, ScoreParts
from metassay.workflows.assay_result import AssayResult, Plan
from metassay.workflows.judging import judge_pairs
from metassay.workflows.pairs import checked, context_metadata, human_column, human_pairs, output_weights
from metassay.workflows.perturb import described, with_cache
from metassay.workflows.preparing import as_dataset
from metassay.workflows.read import Source
from metassay.workflows.run_files import warnings_as_notes, write_run
from metassay.workflows.settings import AssaySettings, names_of

ContextRequest = str | RowLabel
AUTOMATIC = "metassay-run-<hash>"
"""As `out`: a folder named after what the run is, so that the same run finds it again."""
PAIRS = ("perturbed", "human")


@takes(AssaySettings)
def assay(
    dataset: Dataset | Source,
    asked: AssaySettings,
    *,
    seed: int = 0,
    workers: int | None = None,
    out: str | Path | None = None,
    llm: LlmSettings | None = None,
    progress: Progress | None = None,
) -> AssayResult:
    """Measure how often each metric prefers an output over a worsened copy of it, per context.

    `contexts` are columns, crossings (`year+domain`), buckets (`mqm:250`) or functions from a row to a label.
    `valid_pairs` drops rankings whose worse copy did not lose gain.
    `weights` names a column of positive numbers, or is `density`: typical outputs of a context count more.
    `llm` says which language model to ask, for the perturbation of that name and for judges.
    With `pairs="human"` the pairs are two systems' outputs for an item, the better one by human score.
    With `out`, a run folder with report is left there, or resumed where it belongs to the same run.
    """
    if asked.pairs not in PAIRS:
        raise UnknownName("kind of pairs", asked.pairs, PAIRS)
    data = as_dataset(dataset)
    declared = names_of(asked.human)
    for name in declared:
        data = data.with_human(name)
    data = prepared(data, normalize=asked.normalize, keep_references=asked.keep_references)
    contexts, content = make_contexts(data, asked.contexts), data.content_hash
    unit = clusters(data, asked.cluster)
    human = declared[0] if declared else None
    plan = Plan(
        asked,
        metrics=chosen_metrics(
            data,
            asked.metrics,
            normalisation(data, asked.normalize),
            "none" if asked.pairs == "human" else asked.preprocess,
        ),
        contexts=contexts,
        perturbations=None if asked.perturbations is None else tuple(single_parts(asked.perturbations)),
        normalize=normalisation(data, asked.normalize),
        human=human_column(data, human) if asked.pairs == "human" else human,
        llm=described(llm),
        seed=seed,
    )
    identity = {"command": "assay", "configuration": plan.to_dict(), "input": content}
    run = None if out is None else RunFolder.open(run_name(identity) if out == AUTOMATIC else out, identity)
    parts = None if run is None else run.parts
    kept = None if llm is None else with_cache(llm, run)
    how = _How(default_workers(workers), run, parts, progress, kept)
    plan = replace(plan, metrics=connect_judges(plan.metrics, how.llm))
    result = _carry_out(data, plan, unit, sentinels_beside(plan.metrics), how)
    if run is not None:
        write_run(run, result)
    return result


@dataclass(frozen=True)
class _How:
    """What may differ between two runs of the same assay."""

    workers: int
    run: RunFolder | None
    parts: ScoreParts | None
    progress: Progress | None
    llm: LlmSettings | None

    def tell(self, stage: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(stage, done, total)


def _carry_out(data: Dataset, plan: Plan, unit: Unit, sentinels: Sequence[Metric], how: _How) -> AssayResult:
    """Make worse, score, judge."""
    settings = plan.asked
    every = _pairs(data, plan, how)
    sample = every if settings.pairs == "human" else every.sample(settings.per_output)
    with warnings_as_notes() as notes:
        judged = judge_pairs(
            data,
            every,
            (*plan.metrics, *sentinels),
            unit=unit,
            weights=output_weights(data, settings.weights, plan.contexts),
            workers=how.workers,
            parts=how.parts,
            progress=how.progress,
        )
    judged = replace(judged, notes=(*judged.notes, *notes, *judged.of_metrics))
    kept = judged.chosen(sample)
    how.tell("judging", 0, 1)
    contexts = [judged.in_context(context, kept) for context in plan.contexts]
    metadata = {context.name: context_metadata(data, context) for context in plan.contexts}
    source = _source(settings, sample)
    contextual = assay_pairs(
        judged.judgements.take(kept),
        contexts,
        ties=settings.ties,
        agreement=settings.agreement,
        seed=plan.seed,
        resamples=settings.resamples,
        permutations=settings.permutations,
        confounding=judged.judgements,
        sentinels=[metric.spec for metric in sentinels],
        metadata=metadata,
        minimum_items=settings.minimum_items,
        workers=how.workers,
        pairs_from=source,
    )
    how.tell("judging", 1, 1)
    folder = None if how.run is None else how.run.path
    return AssayResult(data, plan, sample, judged, contextual, folder)


def _source(settings: AssaySettings, sample: Pairs) -> str:
    """Where the pairs come from: people, rules, or rules and a language model."""
    if settings.pairs == "human":
        return "people"
    return "model" if (sample.frame["perturbation"] == "llm").any() else "rule"


def _pairs(data: Dataset, plan: Plan, how: _How) -> Pairs:
    """All pairs: chosen by people, or every applicable perturbation of every output."""
    settings = plan.asked
    if plan.human is not None and settings.pairs == "human":
        return human_pairs(data, plan.human, settings.minimum_gap)
    judged_by_model = any(isinstance(metric, Judge) for metric in plan.metrics)
    pairs = make_pairs(
        data,
        perturbations=plan.perturbations,
        per_output=None,
        seed=plan.seed,
        preprocess=settings.preprocess,
        workers=how.workers,
        strict_resources=settings.strict_resources,
        llm=None if judged_by_model and plan.perturbations is None else how.llm,
        progress=None if how.progress is None else partial(how.progress, "perturbing"),
    )
    if not settings.valid_pairs and not data.kind.ranked:
        return pairs
    return checked(pairs, valid_only=settings.valid_pairs)


def run_name(identity: Mapping[str, Any]) -> str:
    """The folder that a run leaves when none was named: the same for the same data and settings."""
    text = json.dumps(identity, sort_keys=True)
    return AUTOMATIC.replace("<hash>", hashlib.blake2b(text.encode(), digest_size=4).hexdigest())
