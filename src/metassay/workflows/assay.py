"""`assay`: which metric can be trusted on this data? `demo`: the same for the bundled sample."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.options import Progress, replace_options_parameter_by_keywords
from metassay.results.partial_run import PartialRun
from metassay.sample import DEFAULT, get_bundled_sample_path_and_options
from metassay.workflows.assay_outcome import (
    look_up_precomputed_scores_of_pairs,
    score_pairs_and_compare_metrics,
)
from metassay.workflows.assay_pairs import (
    is_dataset_too_large_for_one_shard,
    make_output_pairs,
    make_output_pairs_shard_by_shard,
)
from metassay.workflows.assay_preparation import read_data_and_prepare_run
from metassay.workflows.assay_result import AssayResult
from metassay.workflows.assay_run_files import write_assay_run
from metassay.workflows.options import AssayOptions, AssayPartsOptions
from metassay.workflows.pair_scoring import score_selected_pair_batches
from metassay.workflows.read import Source, read
from metassay.workflows.shards import ShardScorer

__all__ = ["PartialRun", "assay", "demo", "read_bundled_sample", "score_selected_assay_batches"]


@replace_options_parameter_by_keywords(AssayOptions)
def assay(dataset: Dataset | Source | None, options: AssayOptions) -> AssayResult:
    """Measure how often each metric gives an output a higher score than a version of it that was made worse.

    The share of such pairs that a metric orders correctly is its accuracy. It is reported over all outputs
    and within each context, such as a domain or a language pair. `dataset` is a data set, a table, or a file
    that `read` accepts. Every output is made worse in several ways, and both versions are scored by every
    metric.

    - `contexts` are the columns in whose values accuracy is reported: names of columns, two columns
      (`year+domain`), 10 ranges of a number with about as many outputs each (`mqm:10`), or functions from a
      row to a label.
    - `pairs` says which pairs are compared: `"perturbed"` (the default), `"human"` for the outputs of two
      systems, of which the one with the higher human score is the better, or a table or file with the columns
      `item, output, worse`. With such a table or file, `dataset` is None.
    - `valid_pairs` leaves out perturbed rankings whose discounted gain is not lower than before. It is on by
      default for rankings.
    - `weights` names a column of positive numbers by which outputs are weighted. With `"density"`, outputs
      that are typical of their context count more.
    - `scores` are files or tables of metric scores that were computed elsewhere, for the texts that `perturb`
      writes to `texts.jsonl`.
    - `llm` says which language model is asked, by the perturbation `llm` and by judges that are used as
      metrics.
    - `out` is the run folder in which the results and the report are stored. If it holds an unfinished run
      with the same data and settings, that run is resumed.
    - `cache` is a folder of metric scores that runs share, or `"off"`. By default it is the folder that the
      environment variable METASSAY_CACHE names, if any.
    - `engine` is `"local"`, or `"ray"` or `"ray,ADDRESS"` to score on a Ray cluster. All machines of the
      cluster must be able to read and write `out`.

    >>> few = {"resamples": 20, "permutations": 19, "perturbations": "removal,insertion"}
    >>> result = assay(read_bundled_sample("text"), metrics="rouge1,rougel", contexts=["domain"], **few)
    >>> [row.metric for row in result.content.overall]
    ['rouge1', 'rougel']
    """
    prepared = read_data_and_prepare_run(dataset, options)
    if prepared.is_finished():
        return AssayResult(prepared, partial(score_pairs_and_compare_metrics, prepared), is_stored=True)
    outcome = score_pairs_and_compare_metrics(prepared)
    result = AssayResult(prepared, lambda: outcome)
    if prepared.run is not None:
        write_assay_run(prepared.run, result, prepared.environment)
    prepared.execution.scratch.delete()
    return result


@replace_options_parameter_by_keywords(AssayPartsOptions)
def score_selected_assay_batches(dataset: Dataset | Source | None, options: AssayPartsOptions) -> PartialRun:
    """Score and store only some parts of an assay (a comparison of metrics on pairs of outputs), so that
    several processes can share the work.

    All processes use the same options and the same run folder. `parts` are the numbers of the parts that this
    process scores, counted from 0. When all parts are scored, `assay` with the same options finishes the run.
    """
    prepared = read_data_and_prepare_run(dataset, options)
    data = prepared.dataset
    plan = prepared.plan
    execution = prepared.execution
    if prepared.run is None or data.task_definition.is_ranking:
        raise InputError("parts can be scored only for texts and only in a run folder.", remedy="Pass --out.")
    if is_dataset_too_large_for_one_shard(data, plan, execution):
        pairs_by_shard = make_output_pairs_shard_by_shard(data, plan, execution, prepared.clusters)
        result = ShardScorer(prepared, None).score_selected_batches_of_shards(pairs_by_shard, options.parts)
    else:
        pairs = make_output_pairs(data, plan, execution)
        selected = score_selected_pair_batches(
            data,
            pairs,
            look_up_precomputed_scores_of_pairs(data, pairs, prepared.all_metrics),
            options.parts,
            execution,
            additional_output_rows=prepared.find_human_scored_rows(),
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
    """Run an assay on the sample data that comes with metassay. No network is needed.

    - `task` chooses the sample: the data of machine translation, speech recognition, ranking or other text.
    - `out` is the run folder in which the results and the report are stored, or None to store nothing.

    >>> demo(task="text", out=None).to_dict()["task"]
    'text'
    """
    return assay(read_bundled_sample(task), seed=seed, workers=workers, out=out, progress=progress)


def read_bundled_sample(task: str) -> Dataset:
    """Read the sample data that comes with metassay for a task, such as `mt`."""
    source, keywords = get_bundled_sample_path_and_options(task)
    return read(source, task=task, **keywords)
