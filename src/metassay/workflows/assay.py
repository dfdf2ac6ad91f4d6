"""`assay`: perturb, score and judge, to say which metric can be trusted, here; `demo`: that, of a sample."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from metassay.data.clusters import Clusters, find_clusters
from metassay.data.context import RowLabel, build_contexts
from metassay.data.dataset import Dataset
from metassay.data.directions import (
    REQUESTED,
    RequestedDirections,
    looks_like_penalties,
    orient_human_scores,
)
from metassay.data.memory import release_memory
from metassay.data.normalisation import choose_normalisation
from metassay.data.preparation import prepare_dataset
from metassay.data.uninformed_scores import find_determining_property, list_output_properties
from metassay.engine.ray_cluster import parse_engine
from metassay.engine.workers import count_workers
from metassay.errors import InputError
from metassay.meta.contexts.pair_analysis import analyze_pairs
from metassay.metrics.base import Metric
from metassay.metrics.external import orient_metrics
from metassay.metrics.judge import connect_judges
from metassay.metrics.precomputed_scores import (
    PrecomputedScores,
    list_distinct_texts,
    read_precomputed_scores,
)
from metassay.metrics.registry import parse_metrics
from metassay.metrics.selection import MetricCosts, choose_metrics, choose_missing_sentinels, collect_costs
from metassay.metrics.sentinels import SENTINELS
from metassay.options import (
    GIVEN_PAIRS,
    HUMAN_PAIRS,
    PERTURBED_PAIRS,
    Progress,
    accept_options,
    is_pair_source,
    split_names,
)
from metassay.perturbations.label_errors import find_label_errors
from metassay.perturbations.pairs import Pairs
from metassay.reporting.assay_sentences import describe_uninformed_metric
from metassay.results.partial_run import PartialRun
from metassay.sample import DEFAULT, sample_source
from metassay.specs import split_specs
from metassay.stats.arrays import FloatArray, LongArray
from metassay.store.cache_folder import find_cache_folder
from metassay.store.cached_scores import CachedScores
from metassay.store.cached_texts import CachedTexts
from metassay.store.layout import SHARDS_FOLDER
from metassay.store.run_folder import RunFolder
from metassay.store.scratch import ScratchTables
from metassay.store.versions import collect_environment
from metassay.workflows.assay_plan import Plan
from metassay.workflows.assay_result import AssayResult
from metassay.workflows.options import AssayOptions, AssayPartsOptions, AssaySettings
from metassay.workflows.pair_scoring import judge_pairs, score_selected_parts, scored_texts
from metassay.workflows.pairs import (
    context_metadata,
    human_column,
    output_weights,
    people_column,
    people_side,
    told_apart,
)
from metassay.workflows.perturb import described, every_pair, in_shards, shard_pairs, with_cache
from metassay.workflows.read import Source, ensure_dataset, read
from metassay.workflows.run_files import AUTOMATIC, Found, is_done, run_name, warnings_as_notes, write_run
from metassay.workflows.shards import Execution, Shards

ContextRequest = str | RowLabel

__all__ = ["PartialRun", "assay", "demo", "read_sample", "score_assay_parts"]


@accept_options(AssayOptions)
def assay(dataset: Dataset | Source | None, options: AssayOptions) -> AssayResult:
    """Measure how often each metric prefers an output over a worsened copy of it, per context.

    `contexts` are columns, crossings (`year+domain`), buckets (`mqm:250`) or functions from a row to a label.
    `valid_pairs` drops rankings whose worse copy did not lose gain, and is the default of that task.
    `weights` names a column of positive numbers, or is `density`: typical outputs of a context count more.
    `llm` says which language model to ask, for the perturbation of that name and for judges.
    With `pairs="human"` the pairs are two systems' outputs for an item, the better one by human score.
    `scores` are files or tables of scores of the texts that `perturb` leaves in `texts.jsonl`.
    With a path or a table as `pairs`, with `item, output, worse`, those are the pairs, and `dataset` is None.
    With `out`, a run folder with report is left there, or resumed where it belongs to the same run.
    `cache` is a folder of scores that runs share, or `off`; default what METASSAY_CACHE names, else none.
    `engine`: `ray` or `ray,ADDRESS` has a cluster score the parts, into `out`, which all its machines see.

    >>> few = {"resamples": 20, "permutations": 19, "perturbations": "removal,insertion"}
    >>> found = assay(read_sample("text"), metrics="rouge1,rougel", contexts=["domain"], **few).to_dict()
    >>> [row["metric"] for row in found["global"]]
    ['rouge1', 'rougel']
    """
    prepared = prepare_assay(dataset, options)
    run = prepared.run
    folder = None if run is None else run.path
    workers = prepared.execution.workers
    if run is not None and run.is_resumed and options.llm is None and prepared.is_finished():
        return AssayResult(prepared.data, prepared.plan, partial(_carry_out, prepared), folder, run, workers)
    found = _carry_out(prepared)
    result = AssayResult(prepared.data, prepared.plan, lambda: found, folder, workers=workers)
    if run is not None:
        write_run(run, result, prepared.environment)
        prepared.execution.scratch.delete()
    return result


@accept_options(AssayPartsOptions)
def score_assay_parts(dataset: Dataset | Source | None, options: AssayPartsOptions) -> PartialRun:
    """Score and store only the parts of an assay with these numbers, as one of many processes.

    All processes use the same options and run folder. When all parts are scored, `assay` finishes the run.
    """
    prepared = prepare_assay(dataset, options)
    data = prepared.data
    plan = prepared.plan
    execution = prepared.execution
    if prepared.run is None or data.task_definition.is_ranking:
        raise InputError("parts are of a run with a folder, and of texts.", remedy="Pass --out.")
    also = _find_human_scored_rows(data, plan)
    if in_shards(data, plan, execution):
        metrics = (*plan.metrics, *prepared.sentinels)
        shards = Shards(
            data, metrics, len(plan.metrics), plan.contexts, prepared.clusters, None, execution, also
        )
        result = shards.score_parts(shard_pairs(data, plan, execution, prepared.clusters), options.parts)
    else:
        pairs = every_pair(data, plan, execution)
        selected = score_selected_parts(
            data,
            pairs,
            (*_with_scores(data, pairs, plan.metrics), *prepared.sentinels),
            options.parts,
            store=execution.score_store,
            workers=execution.workers,
            also=also,
            progress=execution.progress,
        )
        result = PartialRun(part_numbers=selected.numbers, part_count=selected.batch_count)
    if not result.part_numbers:
        last = result.part_count - 1
        raise InputError(f"this run has no such part: its {last + 1} are numbered from 0 to {last}.")
    return result


@dataclass(frozen=True)
class PreparedAssay:
    """Everything that is decided before the first pair is made."""

    data: Dataset
    plan: Plan
    clusters: Clusters
    sentinels: Sequence[Metric]
    costs: MetricCosts
    execution: Execution
    run: RunFolder | None
    environment: Mapping[str, Any]
    """Versions of code, libraries and dictionaries."""

    def is_finished(self) -> bool:
        """Whether the run folder has complete results of the same assay."""
        return self.run is not None and is_done(self.run, self.data, self.plan, self.environment)


def prepare_assay(dataset: Dataset | Source | None, options: AssayOptions) -> PreparedAssay:
    """Read and orient the data, make the plan, and open the run folder and caches."""
    data, options = _source(dataset, options)
    declared = split_names(options.human)
    for name in declared:
        data = data.with_human_column(name)
    requested = RequestedDirections(
        split_names(options.lower_is_better), split_names(options.higher_is_better)
    )
    data, requested = orient_human_scores(data, requested)
    keep_references = (
        options.keep_references or data.rows_are_pairs
    )  # whoever made the pairs says which side is better
    data = prepare_dataset(data, normalize=options.normalize, keep_references=keep_references)
    data = told_apart(data) if data.rows_are_pairs else data
    contexts, content = build_contexts(data, options.contexts), data.content_hash
    marks = None if options.out is None else data.fingerprint
    unit, changes = find_clusters(data, options.cluster), choose_normalisation(data, options.normalize)
    human = declared[0] if declared else None
    heard, unheard = people_column(data, options, human)
    data = data.with_notes(*unheard)
    people = human_column(data, human) if options.pairs == HUMAN_PAIRS else heard or human
    requested_by_user = [direction.score for direction in data.directions if direction.why == REQUESTED]
    counted = (
        people is not None
        and people not in requested_by_user
        and looks_like_penalties(people, data.outputs[people].to_numpy())
    )
    perturbed = options.pairs != "human"
    plan = Plan(
        options,
        valid_pairs=perturbed and data.task_definition.valid_pairs_only
        if options.valid_pairs is None
        else options.valid_pairs,
        metrics=_metrics(data, options, changes, requested),
        contexts=contexts,
        perturbations=None if options.perturbations is None else tuple(split_specs(options.perturbations)),
        normalize=changes,
        human=people,
        heard=heard,
        counted=counted,
        llm=described(options.llm),
        seed=options.seed,
    )
    identity = {"command": "assay", "configuration": plan.to_dict(), "input": content}
    place = run_name(identity) if options.out == AUTOMATIC else options.out
    run = None if place is None else RunFolder.open(place, identity, data=marks)
    shared, known = find_cache_folder(options.cache), collect_environment(data.languages)
    parts, texts = (None, None) if run is None else (run.scores, run.texts(json.dumps(known)))
    scratch = ScratchTables(None if run is None else run.path / SHARDS_FOLDER)
    cluster = parse_engine(options.engine)
    kept, threads = (
        None if options.llm is None else with_cache(options.llm, run),
        count_workers(options.workers),
    )
    plan = replace(plan, metrics=connect_judges(plan.metrics, kept))
    scores = parts if shared is None else CachedScores(parts, shared, plan.metrics)
    made = texts if shared is None else CachedTexts(texts, shared, known)
    if cluster is not None and scores is None:
        raise InputError("a cluster leaves its parts in a run folder.", remedy="Pass --out.")
    return PreparedAssay(
        data=data,
        plan=plan,
        clusters=unit,
        sentinels=choose_missing_sentinels(plan.metrics),
        costs=collect_costs(plan.metrics),
        execution=Execution(threads, scores, made, cluster, options.progress, kept, scratch),
        run=run,
        environment=known,
    )


def _find_human_scored_rows(data: Dataset, plan: Plan) -> LongArray | None:
    """Return the rows that have the human score which the assay compares with, if it does."""
    if plan.heard is None:
        return None
    return data.outputs[plan.heard].is_not_null().arg_true().to_numpy()


def _source(dataset: Dataset | Source | None, asked: AssayOptions) -> tuple[Dataset, AssayOptions]:
    """The data, and the settings with `pairs` as one of the known words."""
    if is_pair_source(asked.pairs):
        if dataset is not None:
            raise InputError(
                "pairs that are brought along need no other data.", remedy="Leave one of the two out."
            )
        data = read(asked.pairs, pairs=True)
    elif dataset is None:
        raise InputError("no data was named.", remedy="Pass data, or pairs with item, output and worse.")
    else:
        data = ensure_dataset(dataset)
    if not data.rows_are_pairs:
        return data, asked
    if asked.perturbations is not None or asked.preprocess != "none":
        raise InputError("pairs that are brought along are neither perturbed nor preprocessed.")
    return data, replace(asked, pairs=GIVEN_PAIRS)


def _carry_out(prepared: PreparedAssay) -> Found:
    """Make worse, score, judge."""
    data = prepared.data
    plan = prepared.plan
    unit = prepared.clusters
    sentinels = prepared.sentinels
    costs = prepared.costs
    execution = prepared.execution
    settings, heard = plan.asked, plan.heard
    also = _find_human_scored_rows(data, plan)
    weights = output_weights(data, settings.weights, plan.contexts)
    if in_shards(data, plan, execution):
        metrics = (*plan.metrics, *sentinels)
        work = Shards(data, metrics, len(plan.metrics), plan.contexts, unit, weights, execution, also)
        with warnings_as_notes() as notes:
            sample, judged = work.judge(shard_pairs(data, plan, execution, unit), settings.per_output)
        labels = find_label_errors(judged.pairs.counts, data.languages)
    else:
        every = every_pair(data, plan, execution)
        told = settings.pairs == PERTURBED_PAIRS and not data.task_definition.is_ranking
        labels = find_label_errors(every.counts if told else (), data.languages)
        sample = every.sample(settings.per_output) if settings.pairs == PERTURBED_PAIRS else every
        metrics = (*_with_scores(data, every, plan.metrics), *sentinels)
        with warnings_as_notes() as notes:
            judged = judge_pairs(
                data,
                every,
                metrics,
                sample=sample,
                unit=unit,
                weights=weights,
                also=also,
                workers=execution.workers,
                parts=execution.score_store,
                cluster=execution.cluster,
                progress=execution.progress,
            )
    uninformed = _find_uninformed_metrics(data, metrics, judged.outputs)
    uninformed_notes = [describe_uninformed_metric(*entry) for entry in uninformed.items()]
    judged = replace(judged, notes=(*judged.notes, *notes, *judged.of_metrics, *uninformed_notes))
    execution.report_progress("judging", 0, 1)
    contexts = [judged.in_context(context) for context in plan.contexts]
    people = None if heard is None else people_side(data, heard, judged, metrics, plan.contexts, weights)
    if heard is not None and people is None:
        judged = replace(judged, notes=(*judged.notes, f"{heard} tells no two outputs of an item apart."))
    analysis = analyze_pairs(
        judged.outcomes.select_pairs(judged.sampled),
        contexts,
        ties=settings.ties,
        agreement=settings.agreement,
        seed=plan.seed,
        resamples=settings.resamples,
        permutations=settings.permutations,
        all_perturbations=judged.outcomes,
        cost_classes=costs.classes,
        sentinels=[metric.spec for metric in sentinels],
        uninformed=[
            metric.spec
            for metric in plan.metrics
            if metric.spec in uninformed or isinstance(metric, tuple(SENTINELS))
        ],
        facts=context_metadata(data, plan.contexts),
        minimum_items=settings.minimum_items,
        workers=execution.workers,
        pairs_from=_made_by(settings, sample),
        human_pairs=people,
    )
    execution.report_progress("judging", 1, 1)
    release_memory()
    return Found(sample, judged, analysis, costs.prices, labels)


def _find_uninformed_metrics(
    data: Dataset, metrics: Sequence[Metric], output_scores: FloatArray
) -> dict[str, str]:
    """Find metrics whose scores depend on one property of the outputs alone, and that property."""
    uninformed: dict[str, str] = {}
    if output_scores.shape != (len(metrics), len(data)):
        return uninformed
    properties = list_output_properties(data)
    for metric, scores in zip(metrics, output_scores):
        determining = find_determining_property(scores, properties)
        if determining is not None and not isinstance(metric, tuple(SENTINELS)):
            uninformed[metric.spec] = determining
    return uninformed


def _metrics(
    data: Dataset, asked: AssaySettings, normalised: str, requested: RequestedDirections
) -> tuple[Metric, ...]:
    """The metrics asked for: those to compute, and those that files of scores hold."""
    given = read_precomputed_scores(asked.scores)
    if given and data.task_definition.is_ranking:
        raise InputError("scores made elsewhere are taken of texts, not of rankings.")
    default = () if given else parse_metrics(data.task_definition.default_metrics)
    named = default if asked.metrics is None else parse_metrics(asked.metrics)
    wanted = orient_metrics((*named, *given), requested)
    changed = asked.preprocess if asked.pairs == PERTURBED_PAIRS else "none"
    return choose_metrics(data, wanted, normalised, changed)


def _with_scores(data: Dataset, pairs: Pairs, metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """The metrics, those of scores made elsewhere with the scores of the texts of these pairs."""
    if not any(isinstance(metric, PrecomputedScores) for metric in metrics):
        return tuple(metrics)
    texts = list_distinct_texts(scored_texts(data, pairs))
    return tuple(
        metric.bind_to_texts(texts) if isinstance(metric, PrecomputedScores) else metric for metric in metrics
    )


def _made_by(settings: AssaySettings, sample: Pairs) -> str:
    """Where the pairs come from: people, rules, rules and a language model; empty: others made them."""
    if settings.pairs != PERTURBED_PAIRS:
        return "people" if settings.pairs == HUMAN_PAIRS else ""
    asked = sample.counts.get("llm")
    return "model" if asked is not None and asked.pairs else "rule"


def demo(
    *,
    task: str = DEFAULT,
    out: str | Path | None = "demo",
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AssayResult:
    """Assay the sample that comes with metassay, offline.

    >>> demo(task="text", out=None).to_dict()["task"]
    'text'
    """
    return assay(read_sample(task), seed=seed, workers=workers, out=out, progress=progress)


def read_sample(task: str) -> Dataset:
    """The bundled sample of a task."""
    source, keywords = sample_source(task)
    return read(source, task=task, **keywords)
