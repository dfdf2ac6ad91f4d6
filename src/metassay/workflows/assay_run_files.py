"""Write the files of an assay to its run folder, and check whether a folder has the results of the same
assay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.memory import is_table_too_large_for_memory
from metassay.metrics.precomputed_scores import PrecomputedScores
from metassay.metrics.sentinels import SENTINELS
from metassay.perturbations.text_store import build_cache_key_of_perturbation
from metassay.reporting.assay_page import build_assay_page
from metassay.reporting.pages import render_page
from metassay.store.layout import TIMINGS
from metassay.store.metric_cache import hash_run_dependencies
from metassay.store.parts import hash_bytes
from metassay.store.run_folder import RunFolder
from metassay.workflows.assay_plan import AssayPlan
from metassay.workflows.cluster_accuracy_files import CLUSTER_SUMS_FILE, tabulate_accuracies_by_cluster
from metassay.workflows.outcome_tables import build_pair_outcome_table, build_pair_search_table
from metassay.workflows.pair_table import EXPLORER_FILE, OUTCOMES_FILE, OUTPUTS_FILE, PAIRS_FILE
from metassay.workflows.run_files import EXAMPLES, REPORT, RESULT, VERDICTS

if TYPE_CHECKING:
    from metassay.workflows.assay_result import AssayResult


def is_run_finished(
    run_folder: RunFolder, dataset: Dataset, assay_plan: AssayPlan, environment: Mapping[str, Any]
) -> bool:
    """Return whether the run folder has complete results of an assay of the same data, with the same settings
    and versions.

    Returns False with metrics that cannot be cached, because it is not known whether their code changed.
    """
    for metric in assay_plan.metrics:
        if not metric.is_cacheable and not isinstance(metric, (PrecomputedScores, *SENTINELS)):
            return False
    return run_folder.has_finished_results(
        hash_run_dependencies(
            environment, assay_plan.metrics, _list_values_that_change_results(run_folder, dataset, assay_plan)
        )
    )


def write_assay_run(run_folder: RunFolder, assay_result: AssayResult, environment: Mapping[str, Any]) -> None:
    """Write all files of an assay to its run folder. The manifest, which records the run, comes last because
    it marks the run as finished.
    """
    content = assay_result.content
    wrong_pairs = assay_result.collect_misordered_pairs()
    manifest = assay_result.build_run_manifest()
    tables = _build_tables_of_output_pairs(assay_result)
    outputs = assay_result.dataset.outputs
    files: dict[str, Any] = {
        OUTPUTS_FILE: [outputs] if is_table_too_large_for_memory(outputs.height) else outputs,
        PAIRS_FILE: tables[PAIRS_FILE],
        EXPLORER_FILE: tables[EXPLORER_FILE],
        "resources.json": dict(assay_result.pairs.resources),
        RESULT: content.to_dict(),
        EXAMPLES: wrong_pairs.to_dict(),
        "results/local_accuracy.parquet": assay_result.to_frame(),
        OUTCOMES_FILE: tables[OUTCOMES_FILE],
        CLUSTER_SUMS_FILE: tabulate_accuracies_by_cluster(
            assay_result.dataset,
            assay_result.scored_pairs,
            assay_result.assay_plan.contexts,
            len(assay_result.metrics),
            assay_result.assay_plan.settings.ties,
        ),
    }
    if assay_result.scored_pairs.verdicts is not None:
        files[VERDICTS] = assay_result.scored_pairs.verdicts
    shown_manifest = select_manifest_entries_for_report(run_folder.build_manifest(manifest))
    page = build_assay_page(content, wrong_pairs=wrong_pairs, manifest=shown_manifest)
    files[TIMINGS] = {
        "seconds": assay_result.scored_pairs.seconds,
        "seconds_per_1000_outputs": assay_result.measure_seconds_per_1000_outputs(),
    }
    files[REPORT] = render_page(page)
    further_inputs = _list_values_that_change_results(
        run_folder, assay_result.dataset, assay_result.assay_plan
    )
    run_folder.write_result_files(
        files,
        **manifest,
        basis=hash_run_dependencies(environment, assay_result.metrics, further_inputs),
    )


def select_manifest_entries_for_report(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return those entries of a run's manifest that its report page shows. Hashes of files are left out,
    because the page is one of the files.
    """
    return {key: value for key, value in manifest.items() if key not in {"basis", "files"}}


def _list_values_that_change_results(
    run_folder: RunFolder, dataset: Dataset, assay_plan: AssayPlan
) -> list[Any]:
    """List everything that changes the result besides settings and data, such as code of the user.

    Contexts and perturbations may be code of the user; notes and left-out rows depend on how data was read.
    """
    perturbations = [
        part if isinstance(part, str) else build_cache_key_of_perturbation(part)
        for part in assay_plan.perturbations or ()
    ]
    contexts = [
        (context.name, context.values, context.notes, hash_bytes(context.codes.tobytes()))
        for context in assay_plan.contexts
    ]
    reading = [dict(dataset.left_out), dataset.reference_systems, dataset.notes, dataset.rows_are_pairs]
    custom_task: list[str] = []
    if dataset.custom_task is not None:
        custom_task = [str(value) for value in vars(dataset.custom_task).values() if not callable(value)]
    return [perturbations, contexts, reading, custom_task, run_folder.data]


def _build_tables_of_output_pairs(
    assay_result: AssayResult,
) -> Mapping[str, pl.DataFrame | list[pl.DataFrame]]:
    """Build the tables of the pairs of an assay that are written to its run folder. Returns each table by the
    name of its file.

    Tables of large data sets are on disk already, and are memory-mapped.
    """
    scored = assay_result.scored_pairs
    if scored.spilled is not None:
        return scored.spilled.memory_map_tables()
    explorer_table = build_pair_search_table(
        assay_result.dataset,
        assay_result.pairs,
        scored,
        assay_result.assay_plan.contexts,
        assay_result.metrics,
    )
    return {
        PAIRS_FILE: assay_result.pairs.frame,
        EXPLORER_FILE: explorer_table,
        OUTCOMES_FILE: build_pair_outcome_table(scored),
    }
