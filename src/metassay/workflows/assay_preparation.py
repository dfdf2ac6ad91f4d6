"""Prepare an assay: read the data, choose the settings, and open the run folder and the caches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metassay.data.clusters import Clusters, assign_outputs_to_clusters
from metassay.data.context import group_outputs_by_all_contexts
from metassay.data.dataset import Dataset
from metassay.data.directions import (
    REQUESTED,
    RequestedDirections,
    do_scores_look_like_error_counts,
    reverse_human_scores_if_lower_is_better,
)
from metassay.data.normalisation import choose_text_normalisation
from metassay.data.preparation import prepare_dataset_for_scoring
from metassay.data.score_cautions import (
    warn_if_score_scales_differ_in_table,
    warn_of_values_that_may_mean_missing,
)
from metassay.engine.ray_cluster import parse_engine_option
from metassay.engine.score_store import ScoreStore
from metassay.engine.workers import choose_worker_count
from metassay.errors import InputError
from metassay.llm.settings import LlmSettings
from metassay.metrics.base import Metric
from metassay.metrics.external import apply_score_directions
from metassay.metrics.judge import connect_judges_to_model
from metassay.metrics.precomputed_scores import read_precomputed_scores
from metassay.metrics.registry import parse_metrics
from metassay.metrics.selection import choose_metrics, list_missing_sentinels
from metassay.options import (
    GIVEN_PAIRS,
    HUMAN_PAIRS,
    PERTURBED_PAIRS,
    are_pairs_read_from_table,
    get_single_human_name,
)
from metassay.perturbations.text_store import TextStore
from metassay.specs import split_metric_names
from metassay.stats.arrays import LongArray
from metassay.store.cache_folder import choose_cache_folder
from metassay.store.cached_scores import CachedScores
from metassay.store.cached_texts import CachedTexts
from metassay.store.layout import SHARDS_FOLDER
from metassay.store.run_folder import RunFolder
from metassay.store.scratch import ScratchTables
from metassay.store.versions import collect_code_and_package_versions
from metassay.workflows.assay_plan import AssayPlan, ExecutionOptions
from metassay.workflows.assay_run_files import is_run_finished
from metassay.workflows.given_pairs import drop_identical_pairs
from metassay.workflows.human_pairs import choose_human_score_for_comparison, find_human_column
from metassay.workflows.options import AssayOptions
from metassay.workflows.perturb import cache_llm_answers_in_run_folder, describe_language_model
from metassay.workflows.read import Source, read
from metassay.workflows.run_files import AUTOMATIC_FOLDER, make_run_folder_name


@dataclass(frozen=True)
class PreparedAssay:
    """Everything that is needed to start an assay (a comparison of metrics on pairs of outputs): the data,
    the settings, the run folder and the caches.

    `environment` has the versions of code, libraries and dictionaries. `run` is None if nothing is written.
    """

    dataset: Dataset
    plan: AssayPlan
    clusters: Clusters
    sentinels: Sequence[Metric]
    execution: ExecutionOptions
    run: RunFolder | None
    environment: Mapping[str, Any]

    @property
    def all_metrics(self) -> tuple[Metric, ...]:
        """The metrics of the assay, followed by metrics that know nothing about quality, for comparison."""
        return (*self.plan.metrics, *self.sentinels)

    def is_finished(self) -> bool:
        """Return whether the run folder already has the complete results of this assay.

        Returns False with a language model, because the answers of the model may differ.
        """
        if self.run is None or not self.run.is_resumed or self.execution.llm is not None:
            return False
        return is_run_finished(self.run, self.dataset, self.plan, self.environment)

    def find_human_scored_rows(self) -> LongArray | None:
        """Return the row numbers of outputs that have human scores. Returns None if the results are not
        compared with human scores.
        """
        column = self.plan.compared_human
        if column is None:
            return None
        return self.dataset.outputs[column].is_not_null().arg_true().to_numpy()


def read_data_and_prepare_run(data_source: Dataset | Source | None, options: AssayOptions) -> PreparedAssay:
    """Read the data of an assay, choose the settings, and open the run folder and the caches."""
    dataset, options = read_outputs_or_pairs(data_source, options)
    dataset, score_directions = prepare_assay_data(dataset, options)
    dataset, plan = choose_settings_from_options_and_data(dataset, options, score_directions)
    # Hashing takes time, and only a run folder stores it.
    fingerprint = None if options.out is None else dataset.fingerprint
    identity = {"command": "assay", "configuration": plan.to_dict(), "input": dataset.content_hash}
    folder = make_run_folder_name(identity) if options.out == AUTOMATIC_FOLDER else options.out
    run = (
        None if folder is None else RunFolder.open_for_writing(folder, identity, data_fingerprint=fingerprint)
    )
    environment = collect_code_and_package_versions(dataset.languages)
    llm = None if options.llm is None else cache_llm_answers_in_run_folder(options.llm, run)
    plan = replace(plan, metrics=connect_judges_to_model(plan.metrics, llm))
    return PreparedAssay(
        dataset=dataset,
        plan=plan,
        clusters=assign_outputs_to_clusters(dataset, options.cluster),
        sentinels=list_missing_sentinels(plan.metrics),
        execution=_choose_execution_options(options, plan, run, environment, llm),
        run=run,
        environment=environment,
    )


def read_outputs_or_pairs(
    data_source: Dataset | Source | None, options: AssayOptions
) -> tuple[Dataset, AssayOptions]:
    """Read a data set of outputs for an assay, or a table in which each row is a pair of outputs."""
    if are_pairs_read_from_table(options.pairs):
        if data_source is not None:
            raise InputError(
                "a file of pairs cannot be combined with other data.", remedy="Leave one of the two out."
            )
        dataset = read(options.pairs, pairs=True)
    elif data_source is None:
        raise InputError("no data was named.", remedy="Pass data, or pairs with item, output and worse.")
    else:
        dataset = read(data_source)
    if not dataset.rows_are_pairs:
        return dataset, options
    if options.perturbations is not None or options.preprocess != "none":
        raise InputError("pairs from a file are neither perturbed nor preprocessed.")
    return dataset, replace(options, pairs=GIVEN_PAIRS)


def prepare_assay_data(dataset: Dataset, options: AssayOptions) -> tuple[Dataset, RequestedDirections]:
    """Prepare the data of an assay: reverse human scores if lower is better, normalise texts, and leave out
    systems whose outputs are the references.
    """
    requested_human = get_single_human_name(options.human)
    if requested_human is not None:
        dataset = dataset.declare_human_column(requested_human)
    directions = RequestedDirections.parse_direction_options(
        options.lower_is_better, options.higher_is_better
    )
    dataset, directions = reverse_human_scores_if_lower_is_better(dataset, directions)
    # In pairs of the user, the user says which output is better, so references stay.
    keep_references = options.keep_references or dataset.rows_are_pairs
    dataset = prepare_dataset_for_scoring(
        dataset, normalize=options.normalize, keep_references=keep_references
    )
    if dataset.rows_are_pairs:
        dataset = drop_identical_pairs(dataset)
    return dataset, directions


def choose_settings_from_options_and_data(
    dataset: Dataset, options: AssayOptions, score_directions: RequestedDirections
) -> tuple[Dataset, AssayPlan]:
    """Choose the settings of an assay from its options and its data. Returns the data set with notes on what
    was chosen, and the settings.
    """
    normalize = choose_text_normalisation(dataset, options.normalize)
    requested_human = get_single_human_name(options.human)
    compared_human, notes = choose_human_score_for_comparison(dataset, options, requested_human)
    dataset = dataset.add_notes(*notes)
    contexts = group_outputs_by_all_contexts(dataset, options.contexts, requested_human)
    human = compared_human or requested_human
    if options.pairs == HUMAN_PAIRS:
        human = find_human_column(dataset, requested_human)
    if human is not None and "system" in dataset.outputs.columns:
        dataset = dataset.add_notes(
            *warn_if_score_scales_differ_in_table(dataset.outputs, human),
            *warn_of_values_that_may_mean_missing(human, dataset.outputs[human].to_numpy()),
        )
    # A direction that the user named is not doubted.
    oriented_by_user = {direction.score for direction in dataset.directions if direction.why == REQUESTED}
    may_count_errors = False
    if human is not None and human not in oriented_by_user:
        may_count_errors = do_scores_look_like_error_counts(human, dataset.outputs[human].to_numpy())
    valid_pairs = options.valid_pairs
    if valid_pairs is None:
        valid_pairs = options.pairs != HUMAN_PAIRS and dataset.task_definition.valid_pairs_only
    perturbations = (
        None if options.perturbations is None else tuple(split_metric_names(options.perturbations))
    )
    plan = AssayPlan(
        options,
        valid_pairs=valid_pairs,
        metrics=_list_computed_and_precomputed_metrics(dataset, options, normalize, score_directions),
        contexts=contexts,
        perturbations=perturbations,
        normalize=normalize,
        human=human,
        compared_human=compared_human,
        may_count_errors=may_count_errors,
        llm=describe_language_model(options.llm),
        seed=options.seed,
        language=_find_language_named_only_by_user(dataset),
    )
    return dataset, plan


def _find_language_named_only_by_user(dataset: Dataset) -> str | None:
    """Return the language that the user named. Returns None if the data says the same."""
    if dataset.language is None:
        return None
    languages_of_data = set(replace(dataset, language=None).languages)
    return None if languages_of_data == set(dataset.languages) else dataset.languages[0]


def _list_computed_and_precomputed_metrics(
    dataset: Dataset, options: AssayOptions, text_normalisation: str, score_directions: RequestedDirections
) -> tuple[Metric, ...]:
    """Return the metrics to compute, followed by the metrics whose scores are read from files."""
    precomputed = read_precomputed_scores(options.scores)
    # Precomputed scores are found by the text that was scored.
    if precomputed and dataset.task_definition.is_ranking:
        raise InputError("scores from a file can be used for texts, but not for rankings.")
    if options.metrics is not None:
        computed = parse_metrics(options.metrics)
    elif precomputed:
        computed = ()
    else:
        computed = parse_metrics(dataset.task_definition.default_metrics)
    metrics = apply_score_directions((*computed, *precomputed), score_directions)
    preprocess = options.preprocess if options.pairs == PERTURBED_PAIRS else "none"
    return choose_metrics(dataset, metrics, text_normalisation, preprocess)


def _choose_execution_options(
    options: AssayOptions,
    assay_plan: AssayPlan,
    run_folder: RunFolder | None,
    environment: Mapping[str, Any],
    llm_settings: LlmSettings | None,
) -> ExecutionOptions:
    """Choose the number of workers, and open the stores of scores and texts in the run folder and the
    cache.
    """
    run_scores = None if run_folder is None else run_folder.scores
    run_texts = None if run_folder is None else run_folder.open_stored_texts(json.dumps(environment))
    score_store: ScoreStore | None = run_scores
    text_store: TextStore | None = run_texts
    cache_folder = choose_cache_folder(options.cache)
    cluster = parse_engine_option(options.engine)
    if cache_folder is not None:
        score_store = CachedScores(run_scores, cache_folder, assay_plan.metrics)
        text_store = CachedTexts(run_texts, cache_folder, environment)
    if cluster is not None and score_store is None:
        raise InputError("a Ray cluster needs a run folder or a cache.", remedy="Pass --out.")
    return ExecutionOptions(
        workers=choose_worker_count(options.workers),
        score_store=score_store,
        text_store=text_store,
        cluster=cluster,
        progress=options.progress,
        llm=llm_settings,
        scratch=ScratchTables(None if run_folder is None else run_folder.path / SHARDS_FOLDER),
    )
