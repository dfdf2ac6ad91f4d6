"""`assay`: which metric can be trusted on this data? `demo`: the same for the bundled sample."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.options import Progress, accept_options
from metassay.results.partial_run import PartialRun
from metassay.sample import DEFAULT, get_sample_source
from metassay.workflows.assay_outcome import attach_precomputed_scores, compute_assay_outcome
from metassay.workflows.assay_pairs import make_assay_pairs, make_sharded_pairs, needs_shards
from metassay.workflows.assay_preparation import prepare_assay
from metassay.workflows.assay_result import AssayResult
from metassay.workflows.assay_run_files import write_assay_run
from metassay.workflows.options import AssayOptions, AssayPartsOptions
from metassay.workflows.pair_scoring import score_selected_parts
from metassay.workflows.read import Source, read
from metassay.workflows.shards import ShardScorer

__all__ = ["PartialRun", "assay", "demo", "read_bundled_sample", "score_assay_parts"]


@accept_options(AssayOptions)
def assay(dataset: Dataset | Source | None, options: AssayOptions) -> AssayResult:
    """Measure how often each metric prefers an output over a perturbed version of it, by context.

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
    >>> result = assay(read_bundled_sample("text"), metrics="rouge1,rougel", contexts=["domain"], **few)
    >>> [row.metric for row in result.content.overall]
    ['rouge1', 'rougel']
    """
    prepared = prepare_assay(dataset, options)
    if prepared.is_finished():
        return AssayResult(prepared, partial(compute_assay_outcome, prepared), is_stored=True)
    outcome = compute_assay_outcome(prepared)
    result = AssayResult(prepared, lambda: outcome)
    if prepared.run is not None:
        write_assay_run(prepared.run, result, prepared.environment)
    prepared.execution.scratch.delete()
    return result


@accept_options(AssayPartsOptions)
def score_assay_parts(dataset: Dataset | Source | None, options: AssayPartsOptions) -> PartialRun:
    """Score and store some parts of an assay, as one of several processes that share the work.

    All processes use the same options and run folder. When all parts are scored, `assay` finishes the run.
    """
    prepared = prepare_assay(dataset, options)
    data = prepared.dataset
    plan = prepared.plan
    execution = prepared.execution
    if prepared.run is None or data.task_definition.is_ranking:
        raise InputError("parts can be scored only for texts and only in a run folder.", remedy="Pass --out.")
    if needs_shards(data, plan, execution):
        pairs_by_shard = make_sharded_pairs(data, plan, execution, prepared.clusters)
        result = ShardScorer(prepared, None).score_parts(pairs_by_shard, options.parts)
    else:
        pairs = make_assay_pairs(data, plan, execution)
        selected = score_selected_parts(
            data,
            pairs,
            attach_precomputed_scores(data, pairs, prepared.all_metrics),
            options.parts,
            execution,
            further_rows=prepared.find_human_scored_rows(),
        )
        result = PartialRun(part_numbers=selected.numbers, part_count=selected.batch_count)
    if not result.part_numbers:
        last = result.part_count - 1
        raise InputError(f"this run has no such part. Its {last + 1} parts are numbered from 0 to {last}.")
    return result


def demo(
    *,
    task: str = DEFAULT,
    out: str | Path | None = "demo",
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AssayResult:
    """Run an assay on the sample data that comes with metassay; no network is needed.

    >>> demo(task="text", out=None).to_dict()["task"]
    'text'
    """
    return assay(read_bundled_sample(task), seed=seed, workers=workers, out=out, progress=progress)


def read_bundled_sample(task: str) -> Dataset:
    """Read the bundled sample data of a task."""
    source, keywords = get_sample_source(task)
    return read(source, task=task, **keywords)
