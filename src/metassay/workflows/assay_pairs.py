"""Make the pairs of an assay: from perturbed outputs, from human scores, or from a table of the user."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from metassay.data.clusters import Clusters
from metassay.data.dataset import Dataset
from metassay.metrics.judge import Judge
from metassay.metrics.precomputed_scores import PrecomputedScores
from metassay.options import HUMAN_PAIRS, PERTURBED_PAIRS
from metassay.perturbations.pairs import Pairs, make_pairs_by_shard, make_perturbed_output_pairs
from metassay.perturbations.registry import list_default_perturbations, parse_perturbations
from metassay.perturbations.runner import PairSettings
from metassay.workflows import shards
from metassay.workflows.assay_plan import AssayPlan, ExecutionOptions
from metassay.workflows.given_pairs import build_output_pairs_from_user_table
from metassay.workflows.human_pairs import pair_outputs_by_human_score
from metassay.workflows.ranking_validity import check_if_rankings_became_worse
from metassay.workflows.shards import divide_items_into_shards


def make_output_pairs(dataset: Dataset, assay_plan: AssayPlan, execution_options: ExecutionOptions) -> Pairs:
    """Make the pairs of a better and a worse output that metrics have to order. They come from a table of the
    user, from human scores, or from making outputs worse.
    """
    settings = assay_plan.settings
    if dataset.rows_are_pairs:
        return build_output_pairs_from_user_table(dataset)
    if assay_plan.human is not None and settings.pairs == HUMAN_PAIRS:
        return pair_outputs_by_human_score(dataset, assay_plan.human, settings.minimum_gap)
    # A language model that judges the pairs should not also make them, unless the user asks for it.
    model_judges = any(isinstance(metric, Judge) for metric in assay_plan.metrics)
    llm = None if model_judges and assay_plan.perturbations is None else execution_options.llm
    pairs = make_perturbed_output_pairs(
        dataset,
        perturbations=assay_plan.perturbations,
        per_output=None,
        seed=assay_plan.seed,
        preprocess=settings.preprocess,
        workers=execution_options.workers,
        strict_resources=settings.strict_resources,
        llm=llm,
        store=execution_options.text_store,
        progress=None
        if execution_options.progress is None
        else partial(execution_options.progress, "perturbing"),
    )
    if not assay_plan.valid_pairs and not dataset.task_definition.is_ranking:
        return pairs
    return check_if_rankings_became_worse(pairs, valid_only=assay_plan.valid_pairs)


def is_dataset_too_large_for_one_shard(
    dataset: Dataset, assay_plan: AssayPlan, execution_options: ExecutionOptions
) -> bool:
    """Return whether the data set is so large that its pairs must be made and scored one slice (shard) at a
    time.

    It is not if something must see all pairs at once: a language model, scores from files, or a perturbation
    that takes the output of a worse system.
    """
    is_large = len(dataset) > shards.SHARD_SIZE
    if not is_large or assay_plan.settings.pairs != PERTURBED_PAIRS or dataset.task_definition.is_ranking:
        return False
    if execution_options.llm is not None:
        return False
    if any(isinstance(metric, Judge | PrecomputedScores) for metric in assay_plan.metrics):
        return False
    if assay_plan.perturbations is None:
        perturbations = list_default_perturbations(dataset.task_definition)
    else:
        perturbations = parse_perturbations(assay_plan.perturbations)
    return not any("rivals" in perturbation.needed_fields for perturbation in perturbations)


def make_output_pairs_shard_by_shard(
    dataset: Dataset, assay_plan: AssayPlan, execution_options: ExecutionOptions, clusters: Clusters
) -> Iterator[tuple[slice, Pairs]]:
    """Divide the data set into slices (shards) and yield each slice with its pairs. A pair is an output and a
    version of it that was made worse.
    """
    pair_settings = PairSettings(
        requested=assay_plan.perturbations is not None,
        seed=assay_plan.seed,
        preprocess=assay_plan.settings.preprocess,
        workers=execution_options.workers,
        strict_resources=assay_plan.settings.strict_resources,
        store=execution_options.text_store,
    )
    slices = divide_items_into_shards(clusters.items)
    datasets = (dataset.slice_rows(shard) for shard in slices)
    yield from zip(slices, make_pairs_by_shard(dataset, datasets, pair_settings, assay_plan.perturbations))
